/* plans/pipe.c — steps of a rank in a tree through which a vector goes in segments. */
#include "algorithms/plans/pipe.h"

struct state {
	struct cs_builder *builder;
	const struct cs_pipe *pipe;
	size_t segment, window, ports; /* window: of all ports together */
	struct cs_place data;
	int recvs[CS_PIPE_WINDOW], sends[CS_PIPE_WINDOW][CS_PIPE_CHILDREN];
};

static struct cs_place
place_of(const struct state *state, size_t index)
{
	return cs_plus(state->data, index * state->segment);
}

/* 0 after the last segment. */
static size_t
bytes_of(const struct state *state, size_t index)
{
	size_t total = state->builder->problem->bytes, at = index * state->segment;
	size_t left = at < total ? total - at : 0;
	return left < state->segment ? left : state->segment;
}

static void
ask(struct state *state, size_t index)
{
	state->builder->port = (int)(index % state->ports);
	if (state->pipe->parent >= 0)
		state->recvs[index % state->window] =
			cs_build_recv(state->builder, state->pipe->parent,
									 place_of(state, index),
									 bytes_of(state, index));
}

static void
pass_on(void *context, size_t index)
{
	struct state *state = context;
	const struct cs_pipe *pipe = state->pipe;
	size_t slot = index % state->window;
	for (size_t ahead = index ? state->window - 1 : 0; ahead < state->window; ahead++)
		ask(state, index + ahead);
	state->builder->port = (int)(index % state->ports);
	if (pipe->parent >= 0)
		cs_build_wait(state->builder, state->recvs[slot]);
	for (int child = 0; child < pipe->count; child++) {
		if (index >= state->window)
			cs_build_wait(state->builder, state->sends[slot][child]);
		state->sends[slot][child] = cs_build_send(state->builder, pipe->children[child],
							  place_of(state, index),
							  bytes_of(state, index));
	}
}

void
cs_pipe_build(struct cs_builder *builder, const struct cs_pipe *pipe)
{
	const struct cs_problem *problem = builder->problem;
	size_t senders = (size_t)cs_build_senders(builder),
	       ports = senders < CS_PIPE_WINDOW ? senders : CS_PIPE_WINDOW,
	       each = CS_PIPE_WINDOW / ports, wanted = problem->params[CS_PIPE_PARAM_WINDOW];
	struct state state = { .builder = builder, .pipe = pipe,
			       .segment = problem->params[CS_PIPE_PARAM_SEGMENT],
			       .window = (wanted < each ? wanted : each) * ports, .ports = ports,
			       .data = pipe->parent < 0 ? cs_in(0) : cs_out(0) };
	cs_build_segments(builder,
			  &(struct cs_segments){ .total = problem->bytes, .each = state.segment,
							  .window = state.window, .write = pass_on,
							  .context = &state });
	builder->port = 0;
}
