/* shm/copy.h — large copies into memory that ranks on other cores read next, and out of it into the
 * program's.
 *
 * A store to a line that another core has read last must first invalidate that core's copy. If the
 * two cores share a cache that is cheap; if not (other chiplets, other sockets; EPYC: 1 MiB in 420
 * us) it takes ten times as long as a non-temporal store (40 us), after which the reader loads a
 * line from memory instead of from a cache (50 us instead of 25).
 *
 *   cached    memcpy: the lines stay in the writer's cache
 *   streamed  non-temporal stores (SSE2's movntdq); cached if there are none
 *
 * The better way depends on the ranks' cores, which may change. So each rank measures its own
 * copies, and the two ways are on trial (base/trial.h). A streamed copy's time counts twice (four
 * times, if it is short: its readers wait for the first line): less does not pay for the readers'
 * time. No agreement is necessary: the bytes are the same.
 *
 * A use of the trial is as many bytes as are written in turn, since the time of a cached copy
 * depends on earlier readers of the line: the first of several uses is not timed.
 *
 * Results, which a rank copies into its program's memory, have the same choice for another reason.
 * The results of all ranks of a node may be larger than their last cache (1 MiB from each of eight
 * ranks to all: 64 MiB); then a cached store reads a line from memory that it overwrites, and
 * another one is written back for it. EPYC, 1 MiB in pieces of 128K: 21 us if it stays in the
 * cache, 65 to 75 if not, 38 streamed in either case. Data that does not fit is not in the cache
 * when the program reads it, so 1.4 times as long is enough. The size does not decide it (other
 * ranks or jobs may share the cache): it is measured, too. */
#ifndef CS_SHM_COPY_H
#define CS_SHM_COPY_H

#include "base/settings.h"
#include "base/trial.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CS_COPY_LEAST (2 << 10) /* bytes below which copies are cached and not measured */
#define CS_COPY_LONG (16 << 10) /* bytes from which on copies are long */
/* Kinds of calls (enum cs_coll), with access patterns of their own: each has its own choice */
#define CS_COPY_PATTERNS 17

/* Is the next copy measured? Reading the clock twice takes as long as copying 500 bytes: so one in
 * seven is of copies below 64 KiB (odd, to measure every slot of a ring), and none below
 * CS_COPY_LEAST. *left_out: copies since the last measured one. */
static inline bool
cs_copy_is_measured(size_t bytes, unsigned *left_out)
{
	if (bytes < CS_COPY_LEAST || (bytes < 4 * CS_COPY_LONG && ++*left_out < 7))
		return false;
	*left_out = 0;
	return true;
}

enum cs_copy_kind { CS_COPY_SHORT_ONES, CS_COPY_LONG_ONES, CS_COPY_RESULTS, CS_COPY_KINDS };

enum cs_copy_way { CS_COPY_CACHED, CS_COPY_STREAMED, CS_COPY_WAYS };

struct cs_copy_policy {
	enum cs_copy_way way; /* of all copies of the use under way */
	struct cs_trial trial;
	uint64_t bytes, use_ends; /* copied so far, and in uses begun */
	unsigned dear;        /* tenths of its own time that a streamed copy counts */
	size_t settle;        /* bytes of a use */
	unsigned unmeasured;  /* short copies since the last measured one */
	uint64_t ps_per_byte[CS_COPY_WAYS]; /* picoseconds per byte, about the mean of the last
					     * eight; 0: unknown */
};

/* Kind of a copy of `bytes` into shared memory. */
static inline enum cs_copy_kind
cs_copy_kind(size_t bytes)
{
	return bytes < CS_COPY_LONG ? CS_COPY_SHORT_ONES : CS_COPY_LONG_ONES;
}

/* Initialises the policy for copies of one kind. `settle` > 0: bytes of the memory that is written
 * in turn. The first so many bytes are written to new pages: they decide nothing. */
void cs_copy_policy_init(struct cs_copy_policy *policy, enum cs_switch streams,
			 enum cs_copy_kind kind, size_t settle);

/* Copies `bytes` >= CS_COPY_LEAST (results: CS_COPY_LONG), of the policy's kind, without overlap.
 * After it a release store publishes them. */
void cs_copy_large(struct cs_copy_policy *policy, void *to, const void *from, size_t bytes);

/* Parts of cs_copy_large without clock and copies: */
/* Returns the way of a copy of `bytes`. */
enum cs_copy_way cs_copy_policy_next(struct cs_copy_policy *policy, size_t bytes);
/* Notes the time of that copy. */
void cs_copy_policy_note(struct cs_copy_policy *policy, size_t bytes, uint64_t nanoseconds);

#endif
