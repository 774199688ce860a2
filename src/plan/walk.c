/* plan/walk.c goes through a plan's steps as they are done. */
#include "plan/walk.h"

#include <stdlib.h>

static void
move(uint8_t memory, size_t *at, size_t bytes)
{
	*at += memory == CS_TMP ? 0 : bytes;
}

bool
cs_walk_next(struct cs_walk *walk, struct cs_step *step)
{
	const struct cs_plan *plan = walk->plan;
	for (; walk->next < plan->count && plan->steps[walk->next].kind == CS_STEP_REPEAT;
	     walk->next++) {
		const struct cs_step *repeat = &plan->steps[walk->next];
		if (++walk->turn < repeat->times) {
			walk->next -= repeat->length;
			walk->repeat = repeat;
			break;
		}
		walk->turn = 0;
	}
	if (walk->next >= plan->count)
		return false;
	*step = plan->steps[walk->next++];
	if (walk->turn) {
		size_t bytes = walk->turn * walk->repeat->bytes;
		step->note += (uint32_t)walk->turn * walk->repeat->note;
		move(step->to, &step->to_at, bytes);
		move(step->from, &step->from_at, bytes);
		move(step->with, &step->with_at, bytes);
	}
	return true;
}

bool
cs_plan_is_sound(const struct cs_plan *plan)
{
	size_t first = 0; /* behind the last loop */
	for (size_t i = 0; i < plan->count; i++) {
		const struct cs_step *step = &plan->steps[i];
		if (step->kind != CS_STEP_REPEAT)
			continue;
		if (!step->times || !step->length || step->length > i - first)
			return false;
		first = i + 1;
	}
	return true;
}

size_t
cs_plan_length(const struct cs_plan *plan)
{
	size_t length = 0, more;
	for (size_t i = 0; i < plan->count; i++) {
		const struct cs_step *step = &plan->steps[i];
		bool is_repeat = step->kind == CS_STEP_REPEAT;
		if (__builtin_mul_overflow(is_repeat ? step->times - 1 : 1,
					   is_repeat ? step->length : 1, &more) ||
		    __builtin_add_overflow(length, more, &length))
			return SIZE_MAX;
	}
	return length;
}

enum cs_status
cs_plan_unroll(const struct cs_plan *plan, struct cs_plan *unrolled)
{
	if (!cs_plan_is_sound(plan))
		return CS_BAD_INPUT;
	size_t length = cs_plan_length(plan), bytes;
	struct cs_walk walk = { .plan = plan };
	*unrolled = *plan;
	unrolled->count = 0;
	if (__builtin_mul_overflow(length, sizeof *unrolled->steps, &bytes) ||
	    !(unrolled->steps = malloc(bytes + 1)))
		return CS_NO_MEMORY;
	while (unrolled->count < length && cs_walk_next(&walk, &unrolled->steps[unrolled->count]))
		unrolled->count++;
	return CS_OK;
}
