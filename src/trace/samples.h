/* trace/samples.h — some calls of several nodes, of which it is known only when the records of all
 * ranks are together how long each waited for others.
 *
 *   rank 0   call 16: came, left | call 32: came, left | ...      one process has all ranks' at the
 *   rank 1   call 16: came, left | call 32: came, left | ...      end, by one clock
 *
 * On one node ranks see each other's times (shm/arrived.h); between nodes nothing is said about
 * them in the run. */
#ifndef CS_TRACE_SAMPLES_H
#define CS_TRACE_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Is call number `call` of a communicator one of them? The first ones, and then every so many: a
 * prime, so that programs whose roots or late ranks turn are not always met at the same one. */
#define CS_SAMPLES_FIRST 64
#define CS_SAMPLES_EVERY 17
#define CS_SAMPLES_MOST 4096 /* of a process, the first ones */
#define CS_SAMPLES_BYTES ((size_t)64 << 20) /* of all processes */

static inline bool
cs_samples_want(uint64_t call)
{
	return call < CS_SAMPLES_FIRST || call % CS_SAMPLES_EVERY == 0;
}

struct cs_sampled_call {
	uint64_t comm, call; /* the same on all ranks */
	int64_t arrived_ns, left_ns; /* by one clock on all ranks, in the end */
	/* By it the one that is told knows the call; 0 in the lower half: it need not be told. */
	uint64_t row;
	int32_t rank, size;  /* of the communicator */
	int32_t root;        /* rank in it; of a collective without one anything */
	int32_t coll;        /* enum cs_coll */
	bool is_deferred;    /* the host did it */
};

/* Calls tell() for each sample with a row, if all ranks' samples of its call are there: took_ns is
 * its rank's time in the call, waited_ns the part before the arrival of the last rank that it
 * depends on. Reorders the samples. */
void cs_samples_tell(struct cs_sampled_call *samples, size_t count,
		     void (*tell)(void *user, uint64_t row, uint64_t took_ns, uint64_t waited_ns),
		     void *user);

#endif
