/* Alltoall, Bruck (Bruck et al. 1997; seed 000, 5.3.2 has its allgather, seed 002, 3.7.3 its
 * place): a block for the rank i further on travels by the digits of i to the base k + 1: in the
 * round of weight w all blocks with digit v go on by v * w.
 *
 *   p = 6, k = 1, rank 0's blocks by distance i (of: to); a round moves those whose bit is set
 *
 *                 0    1    2    3    4    5
 *               0:0  0:1  0:2  0:3  0:4  0:5
 *   by 1 rank     .  5:0    .  5:2    .  5:4
 *   by 2 ranks    .    .  4:0  3:0    .    .    block i has arrived after its highest digit
 *   by 4 ranks    .    .    .    .  2:0  1:0
 *
 * Cost: ceil(log p to the base k + 1) rounds of up to k messages at once; each rank sends and
 * receives every block once for each digit of its distance that is not 0, about p/2 log2 p blocks
 * for k = 1, each packed and unpacked. For small blocks. A larger k takes fewer rounds and bytes
 * where the wire carries several messages at once.
 *
 * Blocks whose lower digits are all 0 are packed out of IN, and those whose higher digits are all 0
 * unpacked to OUT, so the rotations before and after cost no copy of their own. In place the blocks
 * are first copied to their places in CS_TMP. */
#include "algorithms/plans/bruck.h"

/* Parameters. */
enum { PORTS };

static void
build(struct cs_builder *builder)
{
	cs_bruck(builder, builder->problem->params[PORTS]);
}

static void
cost(const struct cs_problem *problem, struct cs_cost *cost)
{
	cs_bruck_cost(problem, problem->params[PORTS], cost);
}

const struct cs_algorithm cs_algorithm_alltoall_bruck = {
	.colls = CS_SET(CS_ALLTOALL),
	.name = "bruck",
	.summary = "blocks travel by the digits of their distance, log p rounds",
	.params = { [PORTS] = { "ports", "messages of a round that go at once", 1, 1, 64 } },
	.build = build,
	.is_turned = true,
	.cost = cost,
};
