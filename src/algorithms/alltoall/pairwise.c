/* Alltoall(v,w), pairwise exchange (seed 002, 3.7.3): in round i each rank sends to rank xor i and
 * receives from it if p is a power of two, else sends to rank + i and receives from rank - i; one
 * round after another.
 *
 *   p = 4:   0-1 2-3  |  0-2 1-3  |  0-3 1-2          p = 3:   0>1>2>0  |  0>2>1>0
 *
 * In place both ranks of an exchange name each other for every p: ranks whose sum is the round,
 * modulo p or p - 1, whichever is odd; the incoming block waits in CS_TMP until the outgoing one
 * has left its place.
 *
 *   p = 5:   1-4 2-3  |  0-1 2-4  |  0-2 3-4  |  0-3 1-2  |  0-4 1-3
 *
 * Cost: p - 1 rounds; each rank sends and receives p - 1 blocks. In place p rounds if p is odd,
 * and a copy of each block. For large blocks of like size: one message in and one out at a time, no
 * two to the same rank, and a round lasts as long as its largest block.
 *
 * In alltoallv and alltoallw a rank's own row and column of the matrix of sizes give all its
 * messages: an empty block is none, on both sides. Then there are fewer rounds if the last blocks
 * are empty, and the cost is the larger sum of a rank's row and column (plans/pairs.h says how far
 * it is exact). */
#include "algorithms/plans/pairs.h"

static void
build(struct cs_builder *builder)
{
	cs_pairs_pairwise(builder);
}

static void
cost(const struct cs_problem *problem, struct cs_cost *cost)
{
	cs_pairs_pairwise_cost(problem, cost);
}

const struct cs_algorithm cs_algorithm_alltoall_pairwise = {
	.colls = CS_SET(CS_ALLTOALL) | CS_SET(CS_ALLTOALLV) | CS_SET(CS_ALLTOALLW),
	.name = "pairwise",
	.summary = "p - 1 exchanges, one after another",
	.build = build,
	.has_ports = true,
	.cost = cost,
};
