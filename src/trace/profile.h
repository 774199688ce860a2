/* trace/profile.h — a profile (COLLSHIM_PROFILE): the MPI does everything, and each
 * rank's other MPI calls are timed beside its collectives.
 *
 *   app -> libcollshim.so -> collshim-profile.so -> the MPI
 *          collectives       other calls: timed, and told to a module's sink
 *
 * collshim-profile.so (intercept/profile.c) is preloaded behind libcollshim.so by collshim-run
 * --profile and by nobody else, so that no other job has its names. Without it only collectives are
 * in the report. */
#ifndef CS_TRACE_PROFILE_H
#define CS_TRACE_PROFILE_H

#include "trace/report.h"

#include <stdint.h>

/* Hears of calls that took so many nanoseconds together. Any thread. */
typedef void cs_profile_sink(enum cs_report_mpi_kind kind, uint64_t calls, uint64_t nanoseconds);

/* Names and types of the functions that collshim-profile.so exports beside the MPI's. */
#define CS_PROFILE_ATTACH "collshim_profile_attach"
#define CS_PROFILE_COST "collshim_profile_cost"
/* Calls are timed from now on; NULL: no more. request_bytes: of a request's handle in C. */
typedef void cs_profile_attach_fn(cs_profile_sink *sink, size_t request_bytes);
/* Nanoseconds that timing took on this rank so far. */
typedef uint64_t cs_profile_cost_fn(void);

/* Begins to sample collectives (trace/sampled.h), and to count other MPI calls in the report.
 * `lookup` finds a symbol of a preloaded library, or returns NULL. request_bytes: as above. */
void cs_profile_begin(void *(*lookup)(const char *name), size_t request_bytes);
/* Ends it, and puts into the report what it took. Does nothing if it was not begun. */
void cs_profile_end(void);

#endif
