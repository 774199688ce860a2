/* Reduce_scatter(_block), recursive halving: ranks are cut in two (as in seed 000, 5.1.3),
 * partners in the two parts give each other the blocks of their parts, and so on in each part
 * (plans/reduce_scatter_halving.h: odd ranks, memory).
 *
 *   p = 4, blocks that ranks have sums of:   0123 0123 0123 0123  |  01 01 23 23  |  0 1 2 3
 *
 * Cost: ceil(log2 p) rounds; with even blocks of n bytes in all, p a power of two, n (p - 1) / p
 * bytes. For small and medium vectors. Commutative operations only. */
#include "algorithms/plans/reduce_scatter_halving.h"

const struct cs_algorithm cs_algorithm_reduce_scatter_halving = {
	.colls = CS_SET(CS_REDUCE_SCATTER) | CS_SET(CS_REDUCE_SCATTER_BLOCK),
	.name = "halving",
	.summary = "ranks cut in two give each other their parts, then each part in two",
	.needs = { .commutative = true },
	.build = cs_reduce_scatter_halving_build,
};
