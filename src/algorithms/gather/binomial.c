/* Gather(v), binomial tree (recursive splitting: seed 000, 5.1.3 and 5.2.2; seed 002, 2.3.1): the
 * first rank of a part gets the blocks of the part's second half from the first rank of that half.
 *
 *   p = 8:  0 1 2 3 4 5 6 7 | 01 . 23 . 45 . 67 . | 0123 . . . 4567 . . . | 01234567 . . . . . . .
 *
 * Cost: floor(log2 p) rounds, less where blocks are empty; the root receives each block but its
 * own. CS_TMP as large as the subtree's blocks. For small blocks of similar sizes: it is the ranks
 * that are halved, not the bytes. */
#include "algorithms/plans/tree_scatter.h"

static void
build(struct cs_builder *builder)
{
	struct cs_partition partition;
	cs_partition_even(&partition, 1);
	cs_tree_gather(builder, &partition, 0);
}

const struct cs_algorithm cs_algorithm_gather_binomial = {
	.colls = CS_SET(CS_GATHER) | CS_SET(CS_GATHERV),
	.name = "binomial",
	.summary = "binomial tree: each rank collects the blocks of its subtree",
	.needs = { .all_sizes = true },
	.build = build,
};
