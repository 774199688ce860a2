/* operation_fiber.c gives each fiber of sim/fiber.h a stack. */
#include "operation_fiber.h"

#include "unit.h"

#include "sim/fiber.h"

#include <stdlib.h>

#define STACK ((size_t)256 << 10)

struct fiber {
	struct cs_fiber *fiber;
	void *stack;
};

struct fiber *
fiber_make(void (*body)(void *context), void *context)
{
	struct fiber *fiber = malloc(sizeof *fiber);
	assert_non_null(fiber);
	fiber->stack = malloc(STACK);
	assert_non_null(fiber->stack);
	fiber->fiber = cs_fiber_make(body, context, fiber->stack, STACK);
	assert_non_null(fiber->fiber);
	return fiber;
}

bool
fiber_resume(struct fiber *fiber)
{
	return cs_fiber_resume(fiber->fiber);
}

void
fiber_yield(void)
{
	cs_fiber_yield();
}

bool
fiber_is_inside(void)
{
	return cs_fiber_is_inside();
}

void
fiber_drop(struct fiber *fiber)
{
	cs_fiber_drop(fiber->fiber);
	free(fiber->stack);
	free(fiber);
}
