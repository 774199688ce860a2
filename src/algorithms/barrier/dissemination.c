/* Barrier, n-way dissemination (seed 000, 6.1 and 6.7): in each round every rank signals k others
 * that it, and all ranks that it knows of, have come; the distance grows by the factor k + 1.
 *
 *   p = 5, k = 1, ranks known to 0:       0  |  0 4  |  0 4 3 2  |  0 4 3 2 1
 *   p = 5, k = 2:                         0  |  0 4 3  |  0 4 3 2 1
 *
 * With several senders (plan/senders.h) each signal of a round has a port, and so a sender, of its
 * own; they meet between rounds.
 *
 * Cost: ceil(log_(k + 1) p) rounds of up to k messages from each rank, no bytes. The fewest rounds
 * there are if a rank hears k others in each. A larger k where several messages at once cost little
 * more than one. */
#include "algorithms/algorithm.h"
#include "plan/build.h"

/* Parameters. */
enum { K };

static void
build(struct cs_builder *builder)
{
	const struct cs_problem *problem = builder->problem;
	long long p = problem->ranks, self = problem->rank, k = (long long)problem->params[K];
	k = k < cs_build_senders(builder) ? cs_build_senders(builder) : k;
	for (long long step = 1; step < p; step *= k + 1, builder->note++) {
		if (step > 1)
			cs_build_meet(builder);
		builder->port = 0;
		for (long long away = step; away <= k * step && away < p; away += step) {
			cs_build_hear(builder, (int)((self + p - away) % p));
			cs_build_signal(builder, (int)((self + away) % p));
			builder->port++;
		}
		cs_build_wait_all(builder);
	}
}

static void
cost(const struct cs_problem *problem, struct cs_cost *cost)
{
	*cost = (struct cs_cost){ 0 };
	for (uint64_t step = 1; step < (uint64_t)problem->ranks; step *= problem->params[K] + 1)
		cost->rounds++;
}

const struct cs_algorithm cs_algorithm_barrier_dissemination = {
	.colls = CS_SET(CS_BARRIER),
	.name = "dissemination",
	.summary = "all tell k others in each round whom they have heard of",
	.params = { [K] = { "k", "ranks that a rank signals at once", 1, 1, 1024 } },
	.build = build,
	.has_ports = true,
	.cost = cost,
};
