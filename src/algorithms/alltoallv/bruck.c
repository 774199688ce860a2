/* Alltoallv and alltoallw, Bruck with padded blocks (Fan et al., HPDC 2022; seed 002, 3.7.3 has
 * Bruck for alltoall): a block for the rank i further on travels by the digits of i to the base k
 * + 1, as in alltoall/bruck.c, in a place as long as the largest block, on which all ranks agree
 * first: 8 bytes each, by the host.
 *
 *   p = 4, k = 1, rank 0's blocks by distance (of: to), the largest has 3 bytes, _ is padding
 *
 *                  0        1        2        3
 *               0:0 aaa  0:1 b__  0:2 ___  0:3 dd_
 *   by 1 rank       .    3:0 e__     .     3:2 ff_
 *   by 2 ranks      .       .     2:0 ggg  1:0 h__
 *
 * A rank does not know the size of a block that it passes on. If all blocks, each as long as the
 * largest, take more than `room` bytes, they go as in alltoall/scattered.c with a window of 32
 * messages.
 *
 * Cost: ceil(log p to the base k + 1) rounds of up to k messages at once, and about p/2 log2 p
 * blocks for k = 1, each as long as the largest; beyond `room` that of scattered. For small blocks
 * of like size. */
#include "algorithms/plans/bruck.h"

/* Parameters. */
enum { PORTS, ROOM };

static void
build(struct cs_builder *builder)
{
	const size_t *params = builder->problem->params;
	cs_bruck_within(builder, params[PORTS], params[ROOM]);
}

static void
cost(const struct cs_problem *problem, struct cs_cost *cost)
{
	cs_bruck_within_cost(problem, problem->params[PORTS], problem->params[ROOM], cost);
}

const struct cs_algorithm cs_algorithm_alltoallv_bruck = {
	.colls = CS_SET(CS_ALLTOALLV) | CS_SET(CS_ALLTOALLW),
	.name = "bruck",
	.summary = "blocks, padded to the largest, travel by the digits of their distance, log p "
		   "rounds",
	.needs = { .largest = true },
	.params = { [PORTS] = { "ports", "messages of a round that go at once", 1, 1, 64 },
		    [ROOM] = { "room", "most bytes of a rank's blocks, each as long as the "
				       "largest; beyond it scattered", 1 << 20,
		      64 << 10, 1 << 30 } },
	.build = build,
	.is_turned = true,
	.cost = cost,
};
