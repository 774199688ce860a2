#include "algorithms/plans/prefix_doubling.h"

struct doubler {
	struct cs_builder *builder;
	struct cs_place sum;    /* of the ranks up to this one, as far as it goes: IN at first */
	struct cs_place result; /* of an exscan: of those before this one; nothing yet if
				 * !has_result */
	struct cs_place spare;  /* for received vectors */
	struct cs_place more;   /* an exscan's sums, while they are sent */
	bool has_result;
};

static bool
is_exclusive(const struct cs_problem *problem)
{
	return problem->coll == CS_EXSCAN;
}

/* Place of a received vector: of an exscan's first one the result, unless the own vector is still
 * needed there. */
static struct cs_place
place_of(const struct doubler *doubler)
{
	const struct cs_problem *problem = doubler->builder->problem;
	bool is_needed = problem->is_in_place && problem->rank + 1 < problem->ranks;
	return is_exclusive(problem) && !doubler->has_result &&
	       !is_needed ? cs_out(0) : doubler->spare;
}

/* Add `come`, the sum of the ranks before those of the own one. `sends`: the own one is sent
 * again. */
static void
add(struct doubler *doubler, struct cs_place come, bool sends)
{
	struct cs_builder *builder = doubler->builder;
	const struct cs_problem *problem = builder->problem;
	size_t bytes = problem->bytes;
	if (!is_exclusive(problem)) {
		cs_build_reduce(builder, cs_out(0), come, doubler->sum, bytes);
		doubler->sum = cs_out(0);
		return;
	}
	if (sends) {
		cs_build_reduce(builder, doubler->more, come, doubler->sum, bytes);
		doubler->sum = doubler->more;
	}
	if (doubler->has_result)
		cs_build_reduce(builder, cs_out(0), come, cs_out(0), bytes);
	else
		cs_build_copy(builder, cs_out(0), come, bytes);
	doubler->has_result = true;
}

/* Copy the first rank's result, while its vector is under way. */
static void
keep_own(struct cs_builder *builder)
{
	const struct cs_problem *problem = builder->problem;
	if (!problem->rank && !is_exclusive(problem) && !problem->is_in_place)
		cs_build_copy(builder, cs_out(0), cs_in(0), problem->bytes);
}

void
cs_prefix_doubling_build(struct cs_builder *builder)
{
	const struct cs_problem *problem = builder->problem;
	int p = problem->ranks, self = problem->rank;
	struct doubler doubler = { .builder = builder, .sum = cs_in(0) };
	if (self) {
		doubler.spare = cs_build_tmp(builder, problem->bytes);
		doubler.more = cs_build_tmp(builder, is_exclusive(problem) &&
					    self + 2 < p ? problem->bytes : 0);
	}
	if (p == 1)
		keep_own(builder);
	for (int distance = 1; distance < p; distance *= 2, builder->note++) {
		bool sends = self + distance < p, receives = self >= distance;
		struct cs_place come = place_of(&doubler);
		int recv = CS_NO_REQUEST, send = CS_NO_REQUEST;
		if (receives)
			recv = cs_build_recv(builder, self - distance, come, problem->bytes);
		if (sends)
			send = cs_build_send(builder, self + distance, doubler.sum, problem->bytes);
		if (distance == 1)
			keep_own(builder);
		cs_build_wait(builder, recv);
		cs_build_wait(builder, send);
		if (receives)
			add(&doubler, come, self + 2 * distance < p);
	}
}

void
cs_prefix_doubling_cost(const struct cs_problem *problem, struct cs_cost *cost)
{
	uint64_t rounds = 0, messages = 0;
	while ((2 << rounds) <= problem->ranks)
		rounds++;
	while ((1 << messages) < problem->ranks)
		messages++;
	cost->rounds = problem->bytes ? rounds : 0;
	cost->bytes = messages * problem->bytes;
	if (!is_exclusive(problem))
		cost->reduced = messages * problem->bytes;
}
