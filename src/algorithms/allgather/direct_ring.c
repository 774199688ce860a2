/* Allgather, modified (direct) ring (seed 000, 5.3.2): in round i a rank sends its own block i
 * ranks on, and no round waits for another.
 *
 *   p = 4, rank 0:   0 -> 1, 3 -> 0  |  0 -> 2, 2 -> 0  |  0 -> 3, 1 -> 0
 *   its blocks:      0 . . 3         |  0 . 2 3         |  0 1 2 3
 *
 * All receives are started before the first send. Sends start at once, too, or `window` of them at
 * a time, so that a switch is not flooded: the next starts when the one `window` before it has
 * ended.
 *
 * Cost: 1 round (nothing sent was received before); a rank sends its own block p - 1 times and
 * receives all others. For few ranks: the start-ups overlap, where the ring pays the latency p - 1
 * times. */
#include "algorithms/algorithm.h"
#include "plan/build.h"

#define MOST_WINDOW 256

/* Parameters. */
enum { WINDOW };

static void
build(struct cs_builder *builder)
{
	const struct cs_problem *problem = builder->problem;
	int p = problem->ranks, self = problem->rank, sends[MOST_WINDOW];
	size_t own = cs_problem_size(problem, self), window = problem->params[WINDOW];
	for (int round = 1; round < p; round++) {
		int from = (self + p - round) % p;
		builder->note = (uint32_t)round - 1;
		cs_build_recv(builder, from, cs_build_block(builder, from),
			      cs_problem_size(problem, from));
	}
	for (int round = 1; round < p; round++) {
		size_t slot = window ? (size_t)(round - 1) % window : 0;
		builder->note = (uint32_t)round - 1;
		if (window && (size_t)round > window)
			cs_build_wait(builder, sends[slot]);
		sends[slot] = cs_build_send(builder, (self + round) % p, cs_build_own(builder),
					    own);
	}
	cs_build_keep_own(builder);
}

const struct cs_algorithm cs_algorithm_allgather_direct_ring = {
	.colls = CS_SET(CS_ALLGATHER),
	.name = "direct-ring",
	.summary = "each rank sends its own block to every other, all at once",
	.params = { [WINDOW] = { "window",
			    "sends under way at a time; 0: all", 0, 0, MOST_WINDOW } },
	.build = build,
};
