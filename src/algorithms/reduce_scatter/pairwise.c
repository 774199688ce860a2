/* Reduce_scatter(_block), pairwise exchange (seed 002, 2.3.1): in round k each rank sends the rank
 * k above it that rank's block, and adds the block from the rank k below
 * (plans/reduce_scatter_pairwise.h).
 *
 *   p = 4, block 1 at rank 1:   1  |  0+1  |  0+1, 3  |  0+1, 2+3  ->  0+1+2+3
 *
 * Cost: p - 1 rounds; each rank sends every block but its own, and receives its own p - 1 times.
 * For large vectors of even blocks, and for operations that are not commutative: the order of ranks
 * is kept. */
#include "algorithms/plans/reduce_scatter_pairwise.h"

const struct cs_algorithm cs_algorithm_reduce_scatter_pairwise = {
	.colls = CS_SET(CS_REDUCE_SCATTER) | CS_SET(CS_REDUCE_SCATTER_BLOCK),
	.name = "pairwise",
	.summary = "each rank gives each other one its block, one exchange after another",
	.build = cs_reduce_scatter_pairwise_build,
	.has_ports = true,
	.cost = cs_reduce_scatter_pairwise_cost,
};
