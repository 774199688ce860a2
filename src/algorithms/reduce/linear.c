/* Reduce, linear: every rank sends its vector to the root, which combines them in the order of
 * ranks (the mirror of seed 000, 5.1.2; seed 002, 3.7.1, has it as the serial reduction, in which
 * no rank waits for another but the root).
 *
 *   p = 4, root 2:   0 -> 2, 1 -> 2, 3 -> 2;   at 2: ((x0 x1) x2) x3
 *
 * Non-commutative operations too, and the same result whatever the root.
 *
 * Cost: 1 round; the root receives p - 1 vectors, up to `window` of them at a time, and has CS_TMP
 * for as many. For few ranks, or for ranks that come late one by one. */
#include "algorithms/algorithm.h"
#include "plan/build.h"

#define MOST_WINDOW 16

struct inbox {
	struct cs_builder *builder;
	size_t window;
	int asked; /* receives from ranks before this one are started */
	int requests[MOST_WINDOW];
	struct cs_place spare[MOST_WINDOW];
	struct cs_place first; /* rank 0's vector, and the sum of those before the root's */
};

static struct cs_place
place_of(const struct inbox *inbox, int rank)
{
	return rank ? inbox->spare[(size_t)(rank - 1) % inbox->window] : inbox->first;
}

static void
ask_before(struct inbox *inbox, int64_t end)
{
	const struct cs_problem *problem = inbox->builder->problem;
	for (; inbox->asked < problem->ranks && inbox->asked < end; inbox->asked++) {
		int rank = inbox->asked;
		if (rank != problem->root)
			inbox->requests[(size_t)rank % inbox->window] =
				cs_build_recv(inbox->builder, rank, place_of(inbox, rank),
					      problem->bytes);
	}
}

/* Parameters. */
enum { WINDOW };

/* Combine all vectors in rank order. In place the own one is in OUT, so the sum of those before it
 * is in CS_TMP. */
static void
combine(struct cs_builder *builder)
{
	const struct cs_problem *problem = builder->problem;
	size_t bytes = problem->bytes;
	bool is_root_first = problem->root == 0;
	struct inbox inbox = { .builder = builder, .window = problem->params[WINDOW],
			       .first = cs_out(0) };
	for (size_t i = 0; i < inbox.window && i + 1 < (size_t)problem->ranks; i++)
		inbox.spare[i] = cs_build_tmp(builder, bytes);
	if (problem->is_in_place && !is_root_first)
		inbox.first = cs_build_tmp(builder, bytes);
	struct cs_place sum = is_root_first ? cs_in(0) : inbox.first;
	for (int rank = 0; rank < problem->ranks; rank++) {
		bool is_own = rank == problem->root;
		struct cs_place into = rank < problem->root ? inbox.first : cs_out(0);
		ask_before(&inbox, rank + (int64_t)inbox.window);
		if (!is_own)
			cs_build_wait(builder, inbox.requests[(size_t)rank % inbox.window]);
		if (!rank)
			continue;
		cs_build_reduce(builder, into, sum, is_own ? cs_in(0) : place_of(&inbox, rank),
				bytes);
		sum = into;
	}
	if (problem->ranks == 1 && !problem->is_in_place)
		cs_build_copy(builder, cs_out(0), cs_in(0), bytes);
}

static void
build(struct cs_builder *builder)
{
	const struct cs_problem *problem = builder->problem;
	if (problem->rank == problem->root)
		combine(builder);
	else
		cs_build_send(builder, problem->root, cs_in(0), problem->bytes);
}

static void
cost(const struct cs_problem *problem, struct cs_cost *cost)
{
	cost->rounds = problem->bytes && problem->ranks > 1;
	cost->bytes = (uint64_t)(problem->ranks - 1) * problem->bytes;
}

const struct cs_algorithm cs_algorithm_reduce_linear = {
	.colls = CS_SET(CS_REDUCE),
	.name = "linear",
	.summary = "the root combines all vectors in the order of ranks",
	.params = { [WINDOW] = { "window", "vectors under way to the root", 4, 1, MOST_WINDOW } },
	.build = build,
	.cost = cost,
};
