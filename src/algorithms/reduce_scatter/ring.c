/* Reduce_scatter(_block), ring: a block's sum goes from the rank above its owner round to the
 * owner, and each rank adds its own (the ring of seed 000, 5.3.2, with sums in place of blocks;
 * plans/reduce_scatter_ring.h).
 *
 *   p = 4, what rank 0 has after each round:   block 2: 3+0  |  block 1: 2+3+0  |  block 0: 1+2+3+0
 *
 * Cost: p - 1 rounds; each rank sends every block but its own. For large vectors: neighbours are
 * near, and pieces let a rank add while it receives. With blocks of several sizes all ranks wait
 * for the largest. Commutative operations only. */
#include "algorithms/plans/reduce_scatter_ring.h"

const struct cs_algorithm cs_algorithm_reduce_scatter_ring = {
	.colls = CS_SET(CS_REDUCE_SCATTER) | CS_SET(CS_REDUCE_SCATTER_BLOCK),
	.name = "ring",
	.summary = "sums go round to the owners of blocks, each rank adds its own",
	.needs = { .commutative = true },
	.params = CS_REDUCE_SCATTER_RING_PARAMS,
	.build = cs_reduce_scatter_ring_build,
	.cost = cs_reduce_scatter_ring_cost,
};
