#include "algorithms/plans/prefix_chain.h"

struct chain {
	struct cs_builder *builder;
	size_t each;              /* bytes of a segment: whole elements */
	size_t segments, window;
	struct cs_place spare;    /* a window of received segments, unless they come to the
				   * result */
	struct cs_place sums;     /* an exscan's, while they are sent, a window of them */
	bool comes_to_result;
	int recvs[CS_PREFIX_CHAIN_WINDOW], sends[CS_PREFIX_CHAIN_WINDOW];
};

static bool
is_exclusive(const struct cs_problem *problem)
{
	return problem->coll == CS_EXSCAN;
}

static size_t
bytes_of(const struct chain *chain, size_t index)
{
	size_t left = chain->builder->problem->bytes - index * chain->each;
	return left < chain->each ? left : chain->each;
}

static struct cs_place
come_place(const struct chain *chain, size_t index)
{
	return chain->comes_to_result ? cs_out(index * chain->each)
				      : cs_plus(chain->spare, index % chain->window * chain->each);
}

static void
ask(struct chain *chain, size_t index)
{
	const struct cs_problem *problem = chain->builder->problem;
	chain->recvs[index % chain->window] =
		cs_build_recv(chain->builder, problem->rank - 1, come_place(chain, index),
			      bytes_of(chain, index));
}

/* Add the own segment to the received one; returns the next rank's, CS_IN at the first rank. */
static struct cs_place
add(struct chain *chain, size_t index)
{
	struct cs_builder *builder = chain->builder;
	const struct cs_problem *problem = builder->problem;
	size_t at = index * chain->each, bytes = bytes_of(chain, index);
	struct cs_place come = come_place(chain, index), sum = cs_in(at);
	if (!problem->rank)
		return sum;
	if (!is_exclusive(problem)) {
		cs_build_reduce(builder, cs_out(at), come, sum, bytes);
		return cs_out(at);
	}
	if (problem->rank + 1 < problem->ranks) {
		sum = cs_plus(chain->sums, index % chain->window * chain->each);
		cs_build_reduce(builder, sum, come, cs_in(at), bytes);
	}
	if (!chain->comes_to_result)
		cs_build_copy(builder, cs_out(at), come, bytes);
	return sum;
}

/* Copy the first rank's result, while the segment is under way. */
static void
keep_own(const struct chain *chain, size_t index)
{
	const struct cs_problem *problem = chain->builder->problem;
	size_t at = index * chain->each;
	if (!problem->rank && !is_exclusive(problem) && !problem->is_in_place)
		cs_build_copy(chain->builder, cs_out(at), cs_in(at), bytes_of(chain, index));
}

/* Pass a segment on, in the place and the requests of the one a window before. */
static void
pass_on(void *context, size_t index)
{
	struct chain *chain = context;
	struct cs_builder *builder = chain->builder;
	const struct cs_problem *problem = builder->problem;
	bool sends = problem->rank + 1 < problem->ranks, receives = problem->rank;
	size_t slot = index % chain->window;
	if (receives)
		cs_build_wait(builder, chain->recvs[slot]);
	if (sends && index >= chain->window)
		cs_build_wait(builder, chain->sends[slot]);
	struct cs_place sum = add(chain, index);
	if (sends)
		chain->sends[slot] = cs_build_send(builder, problem->rank + 1, sum,
						   bytes_of(chain, index));
	keep_own(chain, index);
	if (receives && index + chain->window < chain->segments)
		ask(chain, index + chain->window);
}

static size_t
segment_of(const struct cs_problem *problem)
{
	size_t elements = problem->params[CS_PREFIX_CHAIN_SEGMENT] / problem->unit;
	return (elements ? elements : 1) * problem->unit;
}

void
cs_prefix_chain_build(struct cs_builder *builder)
{
	const struct cs_problem *problem = builder->problem;
	struct chain chain = { .builder = builder, .each = segment_of(problem),
			       .window = problem->params[CS_PREFIX_CHAIN_AHEAD] };
	bool is_inner = problem->rank && problem->rank + 1 < problem->ranks;
	chain.segments = problem->bytes / chain.each + (problem->bytes % chain.each > 0);
	/* A window that is never filled takes no memory. */
	if (chain.window > chain.segments)
		chain.window = chain.segments ? chain.segments : 1;
	size_t most = chain.each < problem->bytes ? chain.each : problem->bytes;
	/* A scan's result is a sum with the received segment; an exscan's is the received segment,
	 * but in place the own one is still needed. */
	chain.comes_to_result = is_exclusive(problem) && (!problem->is_in_place || !is_inner);
	if (problem->rank && !chain.comes_to_result)
		chain.spare = cs_build_tmp(builder, chain.window * most);
	if (is_inner && is_exclusive(problem))
		chain.sums = cs_build_tmp(builder, chain.window * most);
	for (size_t index = 0; problem->rank && index < chain.segments && index < chain.window;
	     index++)
		ask(&chain, index);
	cs_build_segments(builder,
			  &(struct cs_segments){ .total = problem->bytes, .each = chain.each,
							  .window = chain.window, .write = pass_on,
							  .context = &chain });
}

void
cs_prefix_chain_cost(const struct cs_problem *problem, struct cs_cost *cost)
{
	cost->rounds = problem->bytes ? (uint64_t)problem->ranks - 1 : 0;
	cost->bytes = problem->ranks > 1 ? problem->bytes : 0;
	/* Each rank but the first, and in an exscan the last, adds to the first segment before the
	 * next one gets it. */
	int adders = problem->ranks - 1 - is_exclusive(problem);
	size_t each = segment_of(problem);
	if (adders > 0)
		cost->reduced = problem->bytes + (uint64_t)(adders - 1) *
				(each < problem->bytes ? each : problem->bytes);
}
