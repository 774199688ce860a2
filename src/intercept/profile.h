/* intercept/profile.h — collshim-profile.so, the library that times a rank's point-to-point and other
 * MPI calls in a profile (COLLSHIM_PROFILE), and the interface by which a module hears of them.
 *
 *   app -> libcollshim.so -> collshim-profile.so -> the MPI
 *          collectives       other calls: timed, and said to the module's sink
 *
 * It is a library of its own, preloaded behind libcollshim.so by collshim-run --profile and by
 * nobody else, so that no other job has its names. */
#ifndef CS_INTERCEPT_PROFILE_H
#define CS_INTERCEPT_PROFILE_H

#include <stdint.h>

enum cs_profile_kind { CS_PROFILE_POINT_TO_POINT, CS_PROFILE_OTHER_MPI };

/* Hears of `calls` calls that took so many nanoseconds together, the last of them ending at now_ns
 * (cs_clock_ns). Any thread. */
typedef void cs_profile_sink(enum cs_profile_kind kind, uint64_t calls, uint64_t nanoseconds,
			     uint64_t now_ns);

/* Names and types of the two functions that the library exports beside MPI's. */
#define CS_PROFILE_ATTACH "collshim_profile_attach"
#define CS_PROFILE_COST "collshim_profile_cost"
/* Calls are timed from now on; NULL: no more. */
typedef void cs_profile_attach_fn(cs_profile_sink *sink);
/* Nanoseconds that timing took on this rank so far; in *each those of one timed call, measured at
 * the start. */
typedef uint64_t cs_profile_cost_fn(uint64_t *each);

#endif
