/* operation_fiber.h — functions with stacks of their own, in one thread: each goes on until it lets
 * the others go on. So a call that blocks can be run as it is, and chance says who goes on. */
#ifndef CS_TESTS_OPERATION_FIBER_H
#define CS_TESTS_OPERATION_FIBER_H

#include <stdbool.h>

struct fiber;

struct fiber *fiber_make(void (*body)(void *context), void *context);
/* Goes on with it, until it yields or is over. False: it is over. */
bool fiber_resume(struct fiber *fiber);
/* Lets whoever has resumed this one go on. */
void fiber_yield(void);
bool fiber_is_inside(void);
/* Wherever it stands. */
void fiber_drop(struct fiber *fiber);

#endif
