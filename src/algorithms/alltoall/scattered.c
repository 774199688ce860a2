/* Alltoall(v,w), scattered (seed 002, 3.7.3: MPICH's Isend algorithm): all messages at once, peers
 * in the order rank + 1, rank + 2, ... so that no two ranks begin with the same.
 *
 *   p = 4, rank 1's blocks (of: to):   IN  1:0 1:1 1:2 1:3   ->  2: 1:2   3: 1:3   0: 1:0
 *                                      OUT 0:1 1:1 2:1 3:1   <-  0: 0:1   3: 3:1   2: 2:1
 *
 * Cost: 1 round, with a window ceil((p - 1) / window); each rank sends and receives p - 1 blocks.
 * In place one copy of them more. For medium and large blocks, and for matrices with many zeros: no
 * byte moves twice, and no rank waits for another's order. A window keeps the queues short where p
 * is large.
 *
 * In alltoallv and alltoallw a rank's own row and column of the matrix of sizes give all its
 * messages: an empty block is none, on both sides. Then there are fewer rounds if the last blocks
 * are empty, and the cost is the larger sum of a rank's row and column (plans/pairs.h says how far
 * it is exact). */
#include "algorithms/plans/pairs.h"

/* Parameters. */
enum { WINDOW };

static void
build(struct cs_builder *builder)
{
	cs_pairs_scattered(builder, builder->problem->params[WINDOW]);
}

static void
cost(const struct cs_problem *problem, struct cs_cost *cost)
{
	cs_pairs_scattered_cost(problem, problem->params[WINDOW], cost);
}

const struct cs_algorithm cs_algorithm_alltoall_scattered = {
	.colls = CS_SET(CS_ALLTOALL) | CS_SET(CS_ALLTOALLV) | CS_SET(CS_ALLTOALLW),
	.name = "scattered",
	.summary = "each rank sends to all others at once, from the next rank on",
	.params = { [WINDOW] = { "window",
			    "most sends, and most receives, under way (0: all)",
			    0, 0, CS_PAIRS_WINDOW } },
	.build = build,
	.has_ports = true,
	.cost = cost,
};
