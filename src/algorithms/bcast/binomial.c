/* Broadcast, binomial tree (seed 000, 5.1): in each round a rank that has the data sends it to a
 * rank half as far away.
 *
 *   p = 6, root 0:   0 -> 4;   0 -> 2, 4 -> ..;   0 -> 1, 2 -> 3, 4 -> 5
 *
 * Cost: at most ceil(log2 p) rounds of the whole message; the root sends it ceil(log2 p) times. For
 * small messages. */
#include "algorithms/algorithm.h"
#include "plan/build.h"

static void
build(struct cs_builder *builder)
{
	const struct cs_problem *problem = builder->problem;
	int p = problem->ranks, relative = (problem->rank - problem->root + p) % p, mask = 1;
	struct cs_place data = relative ? cs_out(0) : cs_in(0);
	while (mask < p && !(relative & mask))
		mask *= 2;
	if (relative)
		cs_build_wait(builder, cs_build_recv(builder, (problem->rank - mask + p) % p, data,
						     problem->bytes));
	for (mask /= 2; mask; mask /= 2)
		if (relative + mask < p)
			cs_build_send(builder, (problem->rank + mask) % p, data, problem->bytes);
}

static void
cost(const struct cs_problem *problem, struct cs_cost *cost)
{
	uint64_t children = 0, rounds = 0;
	for (int mask = 1; mask < problem->ranks; mask *= 2)
		children++;
	/* The longest chain is the deepest rank's: as many messages as its number has ones. */
	for (int relative = 0; relative < problem->ranks; relative++)
		if ((uint64_t)__builtin_popcount((unsigned)relative) > rounds)
			rounds = (uint64_t)__builtin_popcount((unsigned)relative);
	cost->rounds = problem->bytes ? rounds : 0;
	cost->bytes = children * problem->bytes;
}

const struct cs_algorithm cs_algorithm_bcast_binomial = {
	.colls = CS_SET(CS_BCAST),
	.name = "binomial",
	.summary = "binomial tree of whole messages",
	.build = build,
	.cost = cost,
};
