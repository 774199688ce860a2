/* Broadcast, pipelined chain (seed 001, 2.4: its ring where one rank has all the data is a linear
 * pipeline): each rank hands the vector to the next, segment by segment.
 *
 *   p = 4, root 0, segments a b c; what has come:   a . . .     0 -> 1
 *                                                   b a . .     0 -> 1 -> 2
 *                                                   c b a .     0 -> 1 -> 2 -> 3
 *
 * Cost: each segment takes p - 1 rounds, and the last one starts when the others are on their way:
 * the time is that of p - 2 + segments messages. A rank sends and receives each byte once. For
 * vectors that are long against p segments. */
#include "algorithms/algorithm.h"
#include "algorithms/plans/pipe.h"

static void
build(struct cs_builder *builder)
{
	const struct cs_problem *problem = builder->problem;
	int p = problem->ranks, next = (problem->rank + 1) % p;
	struct cs_pipe pipe = { .parent = problem->rank == problem->root
				? -1 : (problem->rank + p - 1) % p, .count = next != problem->root,
				.children = { next } };
	cs_pipe_build(builder, &pipe);
}

static void
cost(const struct cs_problem *problem, struct cs_cost *cost)
{
	cost->rounds = problem->bytes ? (uint64_t)problem->ranks - 1 : 0;
	cost->bytes = problem->ranks > 1 ? problem->bytes : 0;
}

const struct cs_algorithm cs_algorithm_bcast_chain = {
	.colls = CS_SET(CS_BCAST),
	.name = "chain",
	.summary = "each rank passes the vector to the next in segments",
	.params = CS_PIPE_PARAMS(65536),
	.build = build,
	.has_ports = true,
	.cost = cost,
};
