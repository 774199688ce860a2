/* Allgatherv, linear ring (seed 001, 2.1): each rank passes whole blocks on to the next rank as
 * they come.
 *
 *   sizes 2 0 1, rank 0's blocks:   aa . .  |  aa . c
 *                 rank 0 sends aa to 1, which passes it to 2; 2 sends c to 0
 *
 * An empty block is no message, and no rank waits for it.
 *
 * Cost: p - 1 rounds; a rank sends and receives every block but one. A round takes the time of the
 * largest block: all rounds up to that of p - 1 times the data. For blocks of about the same size;
 * else the pipelined ring. */
#include "algorithms/plans/ring.h"

static void
build(struct cs_builder *builder)
{
	cs_ring_build(builder, &(struct cs_ring){ .block = SIZE_MAX, .window = 1 });
}

const struct cs_algorithm cs_algorithm_allgatherv_ring = {
	.colls = CS_SET(CS_ALLGATHERV),
	.name = "ring",
	.summary = "each rank passes whole blocks on to the next rank",
	.build = build,
	.cost = cs_ring_cost,
};
