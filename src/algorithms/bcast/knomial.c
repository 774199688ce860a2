/* Broadcast, k-nomial tree (seed 000, 5.1.3): in each step every rank that has the data sends it to
 * k others.
 *
 *   p = 9, k = 2, root 0:   0 -> 3, 6;   0 -> 1, 2   3 -> 4, 5   6 -> 7, 8
 *
 * The tree is that of the digits in base k + 1 (plans/knomial.h). It is the one of the seed for
 * powers of k + 1; for another p the last subtrees are cut short.
 *
 * Cost: at most ceil(log p to base k + 1) rounds, of the whole vector; the root sends it up to k
 * times per round. For small messages: the network takes some messages at a time for little more
 * than the time of one (LogfP, 4.3.2). */
#include "algorithms/plans/knomial.h"

/* Parameters. */
enum { K };

static int
radix_of(const struct cs_problem *problem)
{
	return (int)problem->params[K] + 1;
}

static void
build(struct cs_builder *builder)
{
	const struct cs_problem *problem = builder->problem;
	int p = problem->ranks, relative = (problem->rank - problem->root + p) % p,
	    radix = radix_of(problem);
	int64_t weight = cs_knomial_weight(relative, p, radix);
	struct cs_place data = relative ? cs_out(0) : cs_in(0);
	if (relative) {
		int parent = relative - (int)(relative % (weight * radix));
		cs_build_wait(builder, cs_build_recv(builder, (parent + problem->root) % p, data,
						     problem->bytes));
	}
	for (weight /= radix; weight; weight /= radix) {
		int64_t end = relative + weight * radix < p ? relative + weight * radix : p;
		for (int64_t child = relative + weight; child < end; child += weight)
			cs_build_send(builder, (int)((child + problem->root) % p), data,
				      problem->bytes);
		builder->note++;
	}
}

static void
cost(const struct cs_problem *problem, struct cs_cost *cost)
{
	cost->rounds = problem->bytes
		       ? (uint64_t)cs_knomial_depth(problem->ranks, radix_of(problem)) : 0;
	cost->bytes = (uint64_t)cs_knomial_children(problem->ranks, radix_of(problem)) *
		      problem->bytes;
}

const struct cs_algorithm cs_algorithm_bcast_knomial = {
	.colls = CS_SET(CS_BCAST),
	.name = "knomial",
	.summary = "tree of whole messages, k of them from a rank in each step",
	.params = { [K] = { "k",
			    "ranks that a rank sends to in a step", 3, 1, CS_KNOMIAL_MOST - 1 } },
	.build = build,
	.cost = cost,
};
