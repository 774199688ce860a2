/* base/float_guard.h — the program's floating-point traps and flags, held off while we compute
 * something of our own.
 *
 * A program may have traps on (feenableexcept, as debug builds do), and may look at the flags after
 * a call. So what is ours and not its own arithmetic counts in integers, or stands between these
 * two: reading numbers in files, the model, comparing our loops with the host's, and what we ask of
 * the host on our own account, as the making of a team. Some hundred cycles together: not for each
 * call. A function that computes in between is called there, not inlined: a compiler may move
 * arithmetic across the two. */
#ifndef CS_BASE_FLOAT_GUARD_H
#define CS_BASE_FLOAT_GUARD_H

#include <stdint.h>

#ifdef __x86_64__

/* feholdexcept and fesetenv, which are in a library (libm) that the program need not have. */
struct cs_float_state {
	uint32_t x87[7], sse;
};

static inline void
cs_float_hold(struct cs_float_state *state)
{
	enum { FLAGS = 0x3f, MASKS = 0x1f80 };
	/* fnstenv masks all traps of the x87 once it has stored. */
	__asm__ volatile("fnstenv %0\n\tstmxcsr %1" : "=m"(state->x87),
			 "=m"(state->sse) : : "memory");
	uint32_t held = (state->sse & ~(uint32_t)FLAGS) | MASKS;
	__asm__ volatile("ldmxcsr %0" : : "m"(held) : "memory");
}

static inline void
cs_float_release(const struct cs_float_state *state)
{
	__asm__ volatile("fldenv %0\n\tldmxcsr %1" : : "m"(state->x87), "m"(state->sse) : "memory");
}

#else

#include <fenv.h>

struct cs_float_state {
	fenv_t environment;
};

static inline void
cs_float_hold(struct cs_float_state *state)
{
	feholdexcept(&state->environment);
}

static inline void
cs_float_release(const struct cs_float_state *state)
{
	fesetenv(&state->environment);
}

#endif

#endif
