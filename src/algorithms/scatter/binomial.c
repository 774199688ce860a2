/* Scatter(v), binomial tree (recursive splitting: seed 000, 5.1.3; seed 002, 2.3.1): who has the
 * blocks of several ranks sends those of the second half to the first rank of that half.
 *
 *   p = 8:  01234567 . . . . . . . | 0123 . . . 4567 . . . | 01 . 23 . 45 . 67 . | 0 1 2 3 4 5 6 7
 *
 * Cost: floor(log2 p) rounds, less where blocks are empty; the root sends each block but its own.
 * CS_TMP as large as the subtree's blocks. For small blocks of similar sizes: it is the ranks that
 * are halved, not the bytes. */
#include "algorithms/plans/tree_scatter.h"

static void
build(struct cs_builder *builder)
{
	struct cs_partition partition;
	cs_partition_even(&partition, 1);
	cs_tree_scatter(builder, &partition, 0);
}

const struct cs_algorithm cs_algorithm_scatter_binomial = {
	.colls = CS_SET(CS_SCATTER) | CS_SET(CS_SCATTERV),
	.name = "binomial",
	.summary = "binomial tree: who has several blocks passes half of them on",
	.needs = { .all_sizes = true },
	.build = build,
};
