/* Allgatherv, pipelined ring with the empty blocks spread evenly (seed 001, 2.3, figure 3).
 *
 *   ranks with data A B C, without . :   by number  A B C . . .      here  A . B . C .
 *
 * A rank that follows empty ones gets nothing to hand on at first and sends its own segments
 * meanwhile; where it has fewer of them than empty ranks before it, it is idle afterwards. So the
 * empty ones are shared out: rank number j of the n with data is at place floor(j p / n), the
 * others fill up the rest, both by number. Computed alike on all ranks from the sizes.
 *
 * Rounds of one message in and one out, n segments and z of p blocks empty: n - 1 + ceil(z / (p -
 * z)), if each rank with data has more segments than there are empty ranks before it: some rank
 * comes after so many empty ones. The paper has the floor, one round too few if p - z does not
 * divide z (p = 9, z = 4, n = 160: 160, not 159). With fewer segments it is a bound from below.
 * (tests/unit/test_sim.c)
 *
 * Cost: that of the pipelined ring. */
#include "algorithms/plans/ring.h"

#include <stdlib.h>

/* The next rank from `rank` on that has data, or has none. */
static int
find(const struct cs_problem *problem, int rank, bool has_data)
{
	while ((cs_problem_size(problem, rank) != 0) != has_data)
		rank++;
	return rank;
}

static void
spread_evenly(const struct cs_problem *problem, int *order)
{
	int64_t p = problem->ranks, n = 0, j = 0;
	int full = 0, empty = 0;
	for (int rank = 0; rank < p; rank++)
		n += cs_problem_size(problem, rank) != 0;
	for (int place = 0; place < p; place++) {
		bool has_data = j < n && place == j * p / n;
		int *from = has_data ? &full : &empty;
		order[place] = find(problem, *from, has_data);
		*from = order[place] + 1;
		j += has_data;
	}
}

static void
build(struct cs_builder *builder)
{
	const struct cs_problem *problem = builder->problem;
	int *order = malloc((size_t)problem->ranks * sizeof *order);
	if (!order) {
		cs_build_no_memory(builder);
		return;
	}
	spread_evenly(problem, order);
	cs_ring_build_by(builder, order);
	free(order);
}

const struct cs_algorithm cs_algorithm_allgatherv_equidistant_ring = {
	.colls = CS_SET(CS_ALLGATHERV),
	.name = "equidistant-ring",
	.summary = "pipelined ring, ranks with data spread evenly among the empty ones",
	.params = CS_RING_PARAMS,
	.build = build,
	.cost = cs_ring_cost,
};
