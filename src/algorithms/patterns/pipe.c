#include "algorithms/patterns/pipe.h"

static size_t
segment_bytes(const struct cs_pipe *pipe, size_t total, size_t index)
{
	size_t left = total - index * pipe->segment;
	return left < pipe->segment ? left : pipe->segment;
}

void
cs_pipe_build(struct cs_builder *builder, const struct cs_pipe *pipe)
{
	size_t total = builder->problem->bytes, asked = 0;
	size_t segments = total / pipe->segment + (total % pipe->segment > 0);
	struct cs_place data = pipe->parent < 0 ? cs_in(0) : cs_out(0);
	int recvs[CS_PIPE_WINDOW], sends[CS_PIPE_WINDOW][CS_PIPE_CHILDREN];
	for (size_t index = 0; index < segments; index++) {
		size_t slot = index % pipe->window;
		builder->note = (uint32_t)index;
		for (; pipe->parent >= 0 && asked < segments && asked < index + pipe->window; asked++)
			recvs[asked % pipe->window] = cs_build_recv(builder, pipe->parent,
								    cs_plus(data, asked * pipe->segment),
								    segment_bytes(pipe, total, asked));
		if (pipe->parent >= 0)
			cs_build_wait(builder, recvs[slot]);
		for (int child = 0; child < pipe->count; child++) {
			if (index >= pipe->window)
				cs_build_wait(builder, sends[slot][child]);
			sends[slot][child] = cs_build_send(builder, pipe->children[child],
							   cs_plus(data, index * pipe->segment),
							   segment_bytes(pipe, total, index));
		}
	}
}

uint64_t
cs_pipe_steps(const struct cs_problem *problem, size_t segment, int neighbours)
{
	uint64_t segments = problem->bytes / segment + (problem->bytes % segment > 0), steps;
	return __builtin_mul_overflow(segments, 2 * (uint64_t)neighbours, &steps) ? UINT64_MAX : steps;
}
