/* Reduce, binomial tree (seed 002, 3.7.1 and 3.7.4): the broadcast's tree the other way; each rank
 * adds its children's vectors and sends the sum on.
 *
 *   p = 6, root 0:  1 -> 0, 3 -> 2, 5 -> 4;  2 -> 0;  4 -> 0  at 0: ((x0 x1) (x2 x3)) (x4 x5)
 *
 * A rank and those below it are consecutive, so the order of ranks is kept. With a commutative
 * operation the tree is turned so that the root is its top; with another one the top is rank 0,
 * which sends the result to the root.
 *
 * Cost: at most ceil(log2 p) rounds of the whole vector (and one from rank 0); the top receives it
 * ceil(log2 p) times. For small messages. */
#include "algorithms/plans/knomial.h"

static void
build(struct cs_builder *builder)
{
	cs_knomial_reduce_build(builder, 2);
}

static void
cost(const struct cs_problem *problem, struct cs_cost *cost)
{
	cs_knomial_reduce_cost(problem, 2, cost);
}

const struct cs_algorithm cs_algorithm_reduce_binomial = {
	.colls = CS_SET(CS_REDUCE),
	.name = "binomial",
	.summary = "binomial tree of whole vectors",
	.build = build,
	.cost = cost,
};
