/* Gather(v), split for LogGP (seed 000, 5.1.3, "LogGP Optimal Algorithm", and 5.2.2): the scatter
 * of that name, backwards. Like the binomial tree, but a child's part is less than half (more, if
 * g is above L'), so that both sides take the same time. With L' = o + L + o and blocks of s bytes
 * on average the best cut c is that of
 *
 *   t(1) = 0,  t(n) = min over c of  c (s - 1) G + max(L' + t(c), g + t(n - c))
 *
 *   p = 8, root 0, L' = 3, g = 1, G = 0:   7 -> 6; 5 -> 4; then 1, 2, 3, 4, 6 -> 0, one after
 *                                          another time 7; halves would take 9
 *
 * Cost: from 1 round (L' large) to p - 1 (g large); the root receives each block but its own.
 * CS_TMP as large as the subtree's blocks. For many ranks and small blocks, where L' is well above
 * g. Parts above 2048 ranks are halved. */
#include "algorithms/plans/tree_scatter.h"

static void
build(struct cs_builder *builder)
{
	struct cs_partition partition;
	cs_partition_split_by(&partition, builder->problem);
	cs_tree_gather(builder, &partition, 0);
}

const struct cs_algorithm cs_algorithm_gather_split = {
	.colls = CS_SET(CS_GATHER) | CS_SET(CS_GATHERV),
	.name = "split",
	.summary = "tree cut so that all parts end at the same time in the LogGP model",
	.needs = { .all_sizes = true },
	.params = { CS_PARTITION_SPLIT_PARAMS },
	.build = build,
};
