/* operation_fiber.c changes stacks, and tells AddressSanitizer so. */
#include "operation_fiber.h"

#include "unit.h"

#include <stdlib.h>
#include <ucontext.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

#define STACK ((size_t)256 << 10)

struct fiber {
	ucontext_t context, caller;
	void (*body)(void *context);
	void *argument;
	char *stack;
	bool is_over;
	const void *caller_stack; /* as AddressSanitizer knows it */
	size_t caller_bytes;
};

static struct fiber *inside; /* NULL: the thread's own stack */

static void
enter(void)
{
	struct fiber *fiber = inside;
#ifdef __SANITIZE_ADDRESS__
	__sanitizer_finish_switch_fiber(NULL, &fiber->caller_stack, &fiber->caller_bytes);
#endif
	fiber->body(fiber->argument);
	fiber->is_over = true;
	fiber_yield();
}

struct fiber *
fiber_make(void (*body)(void *context), void *context)
{
	struct fiber *fiber = calloc(1, sizeof *fiber);
	assert_non_null(fiber);
	fiber->body = body;
	fiber->argument = context;
	fiber->stack = malloc(STACK);
	assert_non_null(fiber->stack);
	getcontext(&fiber->context);
	fiber->context.uc_stack.ss_sp = fiber->stack;
	fiber->context.uc_stack.ss_size = STACK;
	fiber->context.uc_link = NULL;
	makecontext(&fiber->context, enter, 0);
	return fiber;
}

bool
fiber_resume(struct fiber *fiber)
{
	if (fiber->is_over)
		return false;
	inside = fiber;
#ifdef __SANITIZE_ADDRESS__
	void *fake = NULL;
	__sanitizer_start_switch_fiber(&fake, fiber->stack, STACK);
#endif
	swapcontext(&fiber->caller, &fiber->context);
#ifdef __SANITIZE_ADDRESS__
	__sanitizer_finish_switch_fiber(fake, NULL, NULL);
#endif
	inside = NULL;
	return !fiber->is_over;
}

void
fiber_yield(void)
{
	struct fiber *fiber = inside;
#ifdef __SANITIZE_ADDRESS__
	void *fake = NULL;
	__sanitizer_start_switch_fiber(fiber->is_over ? NULL : &fake, fiber->caller_stack,
				       fiber->caller_bytes);
#endif
	swapcontext(&fiber->context, &fiber->caller);
#ifdef __SANITIZE_ADDRESS__
	__sanitizer_finish_switch_fiber(fake, &fiber->caller_stack, &fiber->caller_bytes);
#endif
}

bool
fiber_is_inside(void)
{
	return inside != NULL;
}

void
fiber_drop(struct fiber *fiber)
{
	free(fiber->stack);
	free(fiber);
}
