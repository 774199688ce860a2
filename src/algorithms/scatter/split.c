/* Scatter(v), split for LogGP (seed 000, 5.1.3, "LogGP Optimal Algorithm"): like the binomial
 * tree, but what is sent away is less than half (more, if g is above L'), so that both sides end
 * at the same time. With L' = o + L + o and blocks of s bytes on average the best cut c is that of
 *
 *   t(1) = 0,  t(n) = min over c of  c (s - 1) G + max(L' + t(c), g + t(n - c))
 *
 *   p = 8, root 0, L' = 3, g = 1, G = 0:   0 -> 6, 4, 3, 2, 1, one after another; 6 -> 7; 4 -> 5
 *                                          time 7; halves would take 9
 *
 * Cost: from 1 round (L' large) to p - 1 (g large); the root sends each block but its own. CS_TMP
 * as large as the subtree's blocks. For many ranks and small blocks, where L' is well above g.
 * Parts above 2048 ranks are halved. */
#include "algorithms/plans/tree_scatter.h"

static void
build(struct cs_builder *builder)
{
	struct cs_partition partition;
	cs_partition_split_by(&partition, builder->problem);
	cs_tree_scatter(builder, &partition, 0);
}

const struct cs_algorithm cs_algorithm_scatter_split = {
	.colls = CS_SET(CS_SCATTER) | CS_SET(CS_SCATTERV),
	.name = "split",
	.summary = "tree cut so that all parts end at the same time in the LogGP model",
	.needs = { .all_sizes = true },
	.params = { CS_PARTITION_SPLIT_PARAMS },
	.build = build,
};
