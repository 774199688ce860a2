/* plan/execute.c — does a plan's steps on a wire, one after the other. */
#include "plan/execute.h"

#include "plan/senders.h"

#include <string.h>

size_t
cs_plan_spare(const struct cs_plan *plan)
{
	size_t most = 0;
	for (size_t i = 0; i < plan->count; i++)
		if (plan->steps[i].kind == CS_STEP_REDUCE && plan->steps[i].bytes > most)
			most = plan->steps[i].bytes;
	return most;
}

/* The host reduces inout = in op inout only. */
static void
reduce_by_host(const struct cs_run *run, char *to, const char *left, const char *right,
	       size_t bytes)
{
	const struct cs_reduction *reduction = run->reduction;
	size_t count = bytes / reduction->unit;
	char *inout = to == left ? run->spare : to;
	if (inout != right)
		memcpy(inout, right, bytes);
	run->host->reduce_local(reduction, left, inout, count);
	if (inout != to)
		memcpy(to, inout, bytes);
}

static void
reduce(const struct cs_run *run, const struct cs_step *step)
{
	const struct cs_reduction *reduction = run->reduction;
	char *to = run->memory[step->to] + step->to_at;
	const char *left = run->memory[step->from] + step->from_at,
		   *right = run->memory[step->with] + step->with_at;
	if (reduction->kernel)
		reduction->kernel(to, left, right, step->bytes / reduction->unit);
	else
		reduce_by_host(run, to, left, right, step->bytes);
}

/* Goes back to what a loop repeats, or on behind it. The result is the step before the next one. */
static const struct cs_step *
repeat(struct cs_run *run, const struct cs_step *step)
{
	bool is_over = ++run->turn == step->times;
	for (enum cs_memory memory = CS_IN; memory <= CS_OUT; memory++)
		if (run->memory[memory] && is_over)
			run->memory[memory] -= (step->times - 1) * step->bytes;
		else if (run->memory[memory])
			run->memory[memory] += step->bytes;
	if (!is_over)
		return step - step->length - 1;
	run->turn = 0;
	return step;
}

static inline bool
has_told(struct cs_run *run, const struct cs_step *step, bool may_wait)
{
	return run->senders->has_told(run->senders, step->peer, step->bytes, &run->told, may_wait);
}

/* All kinds but WAIT; HEAR waits. The result is the step before the next one. */
static inline const struct cs_step *
do_step(struct cs_run *run, const struct cs_step *step)
{
	struct cs_wire *wire = run->wire;
	switch ((enum cs_step_kind)step->kind) {
	case CS_STEP_SEND:
		wire->send(wire, &run->requests[step->request], step->peer, run->tag,
			   run->memory[step->from] + step->from_at, step->bytes);
		break;
	case CS_STEP_RECV:
		wire->recv(wire, &run->requests[step->request], step->peer, run->tag,
			   run->memory[step->to] + step->to_at, step->bytes);
		break;
	case CS_STEP_COPY:
		if (!wire || !wire->copies || wire->copies(wire, step->bytes))
			memcpy(run->memory[step->to] + step->to_at,
			       run->memory[step->from] + step->from_at, step->bytes);
		break;
	case CS_STEP_REDUCE:
		reduce(run, step);
		break;
	case CS_STEP_REPEAT:
		return repeat(run, step);
	case CS_STEP_TELL:
		run->senders->tell(run->senders, step->bytes, run->told);
		break;
	case CS_STEP_HEAR:
		has_told(run, step, true);
		break;
	case CS_STEP_WAIT:
	case CS_STEP_KINDS:
		break;
	}
	return step;
}

void
cs_run_finish(struct cs_run *run)
{
	const struct cs_step *end = run->plan->steps + run->plan->count;
	for (const struct cs_step *step = run->plan->steps + run->next; step < end; step++) {
		if (step->kind == CS_STEP_WAIT) {
			struct cs_request *request = &run->requests[step->request];
			run->wire->wait(run->wire, request);
			run->told |= request->told;
		} else {
			step = do_step(run, step);
		}
	}
	run->next = run->plan->count;
}

enum cs_status
cs_run_progress(struct cs_run *run)
{
	const struct cs_step *steps = run->plan->steps, *end = steps + run->plan->count;
	for (const struct cs_step *step = steps + run->next; step < end; step++) {
		run->next = (size_t)(step - steps);
		if (step->kind == CS_STEP_HEAR) {
			if (!has_told(run, step, false))
				return CS_AGAIN;
			continue;
		}
		if (step->kind != CS_STEP_WAIT) {
			step = do_step(run, step);
			continue;
		}
		struct cs_request *request = &run->requests[step->request];
		if (!run->wire->test(run->wire, request))
			return CS_AGAIN;
		run->told |= request->told;
	}
	run->next = run->plan->count;
	return CS_OK;
}
