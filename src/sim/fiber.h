/* sim/fiber.h — coroutines: functions with stacks of their own, in one thread. Each goes on until
 * it yields. So code that blocks can be run as it is, and its caller says who goes on. */
#ifndef CS_SIM_FIBER_H
#define CS_SIM_FIBER_H

#include <stdbool.h>
#include <stddef.h>

struct cs_fiber;

/* Makes a fiber that will run `body`, on `bytes` of memory at `stack`, which are the caller's and
 * stay until cs_fiber_drop. NULL: no memory. */
struct cs_fiber *cs_fiber_make(void (*body)(void *context), void *context, void *stack,
			       size_t bytes);
/* Continues the fiber until it yields or is over. False: it is over. */
bool cs_fiber_resume(struct cs_fiber *fiber);
/* Lets the caller of cs_fiber_resume go on. */
void cs_fiber_yield(void);
bool cs_fiber_is_inside(void);
/* Ends a fiber, wherever it stands. NULL is fine. */
void cs_fiber_drop(struct cs_fiber *fiber);

#endif
