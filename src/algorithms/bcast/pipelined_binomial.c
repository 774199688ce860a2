/* Broadcast, pipelined binomial tree (seed 002, 2.3.2, the broadcast of several senders; the tree
 * of seed 000, 5.1.3): the vector goes down the tree in segments, each as soon as it is there. The
 * seed has a sender of the node for each segment; here a rank has up to `window` segments under way
 * to each child.
 *
 *   p = 6, root 0:   0 -> 4 -> 5     window 2, rank 0:   a to 4, 2, 1;  b to 4, 2, 1;
 *                    0 -> 2 -> 3                         c to 4, 2, 1, each when its a is over; ..
 *                    0 -> 1
 *
 * Cost: the rounds of the binomial tree for each segment, but a rank deep in the tree does not wait
 * for the whole vector at each level; the root sends the vector ceil(log2 p) times. Between the
 * binomial tree (short vectors) and the chain (long ones). */
#include "algorithms/plans/knomial.h"
#include "algorithms/plans/pipe.h"

static void
build(struct cs_builder *builder)
{
	const struct cs_problem *problem = builder->problem;
	int p = problem->ranks, relative = (problem->rank - problem->root + p) % p;
	int64_t weight = cs_knomial_weight(relative, p, 2);
	struct cs_pipe pipe = { .parent = relative ? (int)((relative - weight + problem->root) % p)
						   : -1 };
	for (weight /= 2; weight; weight /= 2)
		if (relative + weight < p)
			pipe.children[pipe.count++] =
				(int)((relative + weight + problem->root) % p);
	cs_pipe_build(builder, &pipe);
}

static void
cost(const struct cs_problem *problem, struct cs_cost *cost)
{
	cost->rounds = problem->bytes ? (uint64_t)cs_knomial_depth(problem->ranks, 2) : 0;
	cost->bytes = (uint64_t)cs_knomial_children(problem->ranks, 2) * problem->bytes;
}

const struct cs_algorithm cs_algorithm_bcast_pipelined_binomial = {
	.colls = CS_SET(CS_BCAST),
	.name = "pipelined-binomial",
	.summary = "binomial tree, the vector in segments",
	.params = CS_PIPE_PARAMS(32768),
	.build = build,
	.has_ports = true,
	.cost = cost,
};
