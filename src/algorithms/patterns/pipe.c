/* patterns/pipe.c writes the steps of a rank in a tree through which a vector goes in segments. */
#include "algorithms/patterns/pipe.h"

struct work {
	struct cs_builder *builder;
	const struct cs_pipe *pipe;
	size_t segment, window;
	struct cs_place data;
	int recvs[CS_PIPE_WINDOW], sends[CS_PIPE_WINDOW][CS_PIPE_CHILDREN];
};

static struct cs_place
place_of(const struct work *work, size_t index)
{
	return cs_plus(work->data, index * work->segment);
}

/* None behind the last segment. */
static size_t
bytes_of(const struct work *work, size_t index)
{
	size_t total = work->builder->problem->bytes, at = index * work->segment;
	size_t left = at < total ? total - at : 0;
	return left < work->segment ? left : work->segment;
}

static void
ask(struct work *work, size_t index)
{
	if (work->pipe->parent >= 0)
		work->recvs[index % work->window] = cs_build_recv(work->builder, work->pipe->parent,
									 place_of(work, index), bytes_of(work, index));
}

static void
pass_on(void *context, size_t index)
{
	struct work *work = context;
	const struct cs_pipe *pipe = work->pipe;
	size_t slot = index % work->window;
	for (size_t ahead = index ? work->window - 1 : 0; ahead < work->window; ahead++)
		ask(work, index + ahead);
	if (pipe->parent >= 0)
		cs_build_wait(work->builder, work->recvs[slot]);
	for (int child = 0; child < pipe->count; child++) {
		if (index >= work->window)
			cs_build_wait(work->builder, work->sends[slot][child]);
		work->sends[slot][child] = cs_build_send(work->builder, pipe->children[child], place_of(work, index),
							 bytes_of(work, index));
	}
}

void
cs_pipe_build(struct cs_builder *builder, const struct cs_pipe *pipe)
{
	const struct cs_problem *problem = builder->problem;
	struct work work = { .builder = builder, .pipe = pipe, .segment = problem->params[CS_PIPE_PARAM_SEGMENT],
			     .window = problem->params[CS_PIPE_PARAM_WINDOW],
			     .data = pipe->parent < 0 ? cs_in(0) : cs_out(0) };
	cs_build_segments(builder, &(struct cs_segments){ .total = problem->bytes, .each = work.segment,
							  .window = work.window, .write = pass_on, .context = &work });
}
