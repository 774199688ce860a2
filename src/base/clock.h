/* base/clock.h — monotonic clock. */
#ifndef CS_BASE_CLOCK_H
#define CS_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Nanoseconds of a clock that only goes forwards; 20 to 50 of them to read it. */
static inline uint64_t
cs_clock_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

#endif
