/* Broadcast, linear (the scatter of seed 000, 5.1.2, of one vector): the root sends the vector to
 * every other rank.
 *
 *   p = 4, root 0:   0 -> 1, 0 -> 2, 0 -> 3
 *
 * Cost: 1 round; the root sends the vector p - 1 times. For few ranks and small messages, where the
 * network takes as many at a time. */
#include "algorithms/algorithm.h"
#include "plan/build.h"

static void
build(struct cs_builder *builder)
{
	const struct cs_problem *problem = builder->problem;
	int p = problem->ranks;
	if (problem->rank != problem->root) {
		cs_build_recv(builder, problem->root, cs_out(0), problem->bytes);
		return;
	}
	for (int distance = 1; distance < p; distance++)
		cs_build_send(builder, (problem->root + distance) % p, cs_in(0), problem->bytes);
}

static void
cost(const struct cs_problem *problem, struct cs_cost *cost)
{
	cost->rounds = problem->bytes && problem->ranks > 1;
	cost->bytes = (uint64_t)(problem->ranks - 1) * problem->bytes;
}

const struct cs_algorithm cs_algorithm_bcast_linear = {
	.colls = CS_SET(CS_BCAST),
	.name = "linear",
	.summary = "the root sends to every rank",
	.build = build,
	.cost = cost,
};
