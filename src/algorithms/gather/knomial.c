/* Gather(v), k-nomial tree (seed 000, 5.1.3 and 5.2.2): the first rank of a part cuts it
 * into k + 1 equal parts and gets the blocks of k of them, all at once, from the first ranks of
 * those parts.
 *
 *   p = 9, k = 2, root 0:  0 1 2 3 4 5 6 7 8 | 012 . . 345 . . 678 . . | 012345678 . . . . . . . .
 *
 * Cost: at most ceil(log_(k + 1) p) rounds, less where blocks are empty; the root receives each
 * block but its own. CS_TMP as large as the subtree's blocks. For small blocks of similar sizes
 * where several messages at once cost a rank little more than one (LogfP). */
#include "algorithms/plans/tree_scatter.h"

/* Parameters. */
enum { K };

static void
build(struct cs_builder *builder)
{
	struct cs_partition partition;
	cs_partition_even(&partition, (int)builder->problem->params[K]);
	cs_tree_gather(builder, &partition, 0);
}

const struct cs_algorithm cs_algorithm_gather_knomial = {
	.colls = CS_SET(CS_GATHER) | CS_SET(CS_GATHERV),
	.name = "knomial",
	.summary = "n-way binomial tree: each rank collects k parts at once",
	.needs = { .all_sizes = true },
	.params = { [K] = { "k", "parts that a rank cuts off at once", 4, 2, 1024 } },
	.build = build,
};
