/* Reduce, k-nomial tree (the n-way binomial tree of seed 000, 5.1.3, and the k-ary one of seed 002,
 * 2.3.2, from the leaves to the root): each rank receives the vectors of k - 1 children at a time.
 *
 *   p = 9, k = 3, root 0:   1, 2 -> 0   4, 5 -> 3   7, 8 -> 6;   3, 6 -> 0
 *
 * The order of ranks is kept as in the binomial tree (k = 2): with a non-commutative operation the
 * top is rank 0, which sends the result to the root.
 *
 * Cost: at most ceil(log p to base k) rounds (and one from rank 0); the top receives up to k - 1
 * vectors per round, and has CS_TMP for as many. For small messages on networks that take several
 * at a time. */
#include "algorithms/plans/knomial.h"

/* Parameters. */
enum { RADIX };

static void
build(struct cs_builder *builder)
{
	cs_knomial_reduce_build(builder, (int)builder->problem->params[RADIX]);
}

static void
cost(const struct cs_problem *problem, struct cs_cost *cost)
{
	cs_knomial_reduce_cost(problem, (int)problem->params[RADIX], cost);
}

const struct cs_algorithm cs_algorithm_reduce_knomial = {
	.colls = CS_SET(CS_REDUCE),
	.name = "knomial",
	.summary = "tree of degree k of whole vectors",
	.params = { [RADIX] = { "radix",
			    "base of the tree: k - 1 children at a time", 4, 2, CS_KNOMIAL_MOST } },
	.build = build,
	.cost = cost,
};
