/* Allgather, ring (seed 000, 5.3.2): in each round every rank hands the block that it got last to
 * the next rank.
 *
 *   p = 4, rank 0's blocks:   0 . . .  |  0 . . 3  |  0 . 2 3  |  0 1 2 3
 *
 * Cost: p - 1 rounds; each rank sends and receives every block but one. No copy but the own
 * block's. For large blocks: each byte crosses each link once, and neighbours are near. */
#include "algorithms/algorithm.h"
#include "plan/build.h"

static void
build(struct cs_builder *builder)
{
	const struct cs_problem *problem = builder->problem;
	int p = problem->ranks, self = problem->rank;
	int right = (self + 1) % p, left = (self + p - 1) % p;
	if (p == 1)
		cs_build_keep_own(builder);
	for (int round = 0; round < p - 1; round++) {
		int give = (self + p - round) % p, take = (left + p - round) % p;
		struct cs_place from = round ? cs_build_block(builder, give)
					     : cs_build_own(builder);
		builder->note = (uint32_t)round;
		int recv = cs_build_recv(builder, left, cs_build_block(builder, take),
					 cs_problem_size(problem, take));
		int send = cs_build_send(builder, right, from, cs_problem_size(problem, give));
		if (round == 0) /* while the first messages are under way */
			cs_build_keep_own(builder);
		cs_build_wait(builder, recv);
		cs_build_wait(builder, send);
	}
}

/* A block takes p - 1 steps to its last rank, an empty one none. The rank before the owner of the
 * smallest block sends all the others. */
static void
cost(const struct cs_problem *problem, struct cs_cost *cost)
{
	size_t smallest = cs_problem_size(problem, 0);
	for (int rank = 0; rank < problem->ranks; rank++)
		if (cs_problem_size(problem, rank) < smallest)
			smallest = cs_problem_size(problem, rank);
	cost->rounds = cs_problem_total(problem) ? (uint64_t)problem->ranks - 1 : 0;
	cost->bytes = problem->ranks > 1 ? cs_problem_total(problem) - smallest : 0;
}

const struct cs_algorithm cs_algorithm_allgather_ring = {
	.colls = CS_SET(CS_ALLGATHER),
	.name = "ring",
	.summary = "each rank passes the block that came last to the next rank",
	.build = build,
	.cost = cost,
};
