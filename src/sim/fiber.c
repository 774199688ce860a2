/* sim/fiber.c — changes stacks: by swapcontext, which makes a system call, only for the first time
 * and for AddressSanitizer, which is told. */
#undef _FORTIFY_SOURCE /* it takes a jump to another stack for an error */
#include "sim/fiber.h"

#include <setjmp.h>

#include <stdlib.h>
#include <ucontext.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

struct cs_fiber {
	ucontext_t context, caller;
	void (*body)(void *context);
	void *argument, *stack;
	size_t bytes;
	bool is_begun, is_over;
	jmp_buf here, callers;
	const void *caller_stack; /* as AddressSanitizer knows it */
	size_t caller_bytes;
};

static _Thread_local struct cs_fiber *inside; /* NULL: the thread's own stack */

static void
enter(void)
{
	struct cs_fiber *fiber = inside;
#ifdef __SANITIZE_ADDRESS__
	__sanitizer_finish_switch_fiber(NULL, &fiber->caller_stack, &fiber->caller_bytes);
#endif
	fiber->body(fiber->argument);
	fiber->is_over = true;
	cs_fiber_yield();
}

struct cs_fiber *
cs_fiber_make(void (*body)(void *context), void *context, void *stack, size_t bytes)
{
	struct cs_fiber *fiber = calloc(1, sizeof *fiber);
	if (!fiber)
		return NULL;
	*fiber = (struct cs_fiber){ .body = body, .argument = context, .stack = stack,
				    .bytes = bytes };
	getcontext(&fiber->context);
	fiber->context.uc_stack.ss_sp = stack;
	fiber->context.uc_stack.ss_size = bytes;
	fiber->context.uc_link = NULL;
	makecontext(&fiber->context, enter, 0);
	return fiber;
}

bool
cs_fiber_resume(struct cs_fiber *fiber)
{
	if (fiber->is_over)
		return false;
	inside = fiber;
#ifdef __SANITIZE_ADDRESS__
	void *fake = NULL;
	__sanitizer_start_switch_fiber(&fake, fiber->stack, fiber->bytes);
	swapcontext(&fiber->caller, &fiber->context);
	__sanitizer_finish_switch_fiber(fake, NULL, NULL);
#else
	if (!_setjmp(fiber->callers)) {
		if (fiber->is_begun)
			_longjmp(fiber->here, 1);
		fiber->is_begun = true;
		swapcontext(&fiber->caller, &fiber->context);
	}
#endif
	inside = NULL;
	return !fiber->is_over;
}

void
cs_fiber_yield(void)
{
	struct cs_fiber *fiber = inside;
#ifdef __SANITIZE_ADDRESS__
	void *fake = NULL;
	__sanitizer_start_switch_fiber(fiber->is_over ? NULL : &fake, fiber->caller_stack,
				       fiber->caller_bytes);
	swapcontext(&fiber->context, &fiber->caller);
	__sanitizer_finish_switch_fiber(fake, &fiber->caller_stack, &fiber->caller_bytes);
#else
	if (!_setjmp(fiber->here))
		_longjmp(fiber->callers, 1);
#endif
}

bool
cs_fiber_is_inside(void)
{
	return inside != NULL;
}

void
cs_fiber_drop(struct cs_fiber *fiber)
{
	free(fiber);
}
