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
 * copies, tries the other way now and then, and streams if cached copies take more than twice as
 * long as streamed ones (four times, if they are short: their readers wait for the first line):
 * less does not pay for the readers' time. No agreement is necessary: the bytes are the same.
 *
 * The time of a streamed copy hardly varies, except for the first bytes, which are buffered: a
 * trial is one piece, and the first copies after it show whether its result holds. The time of a
 * cached copy depends on earlier readers of the line, so cached copies are on trial until they have
 * filled the ring one and a half times, or are hopelessly slow.
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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CS_COPY_LEAST (2 << 10) /* bytes below which copies are cached and not measured */
#define CS_COPY_LONG (16 << 10) /* bytes from which on copies are long */
/* Kinds of calls (enum cs_coll), with access patterns of their own: each has its own choice */
#define CS_COPY_PATTERNS 17

enum cs_copy_kind { CS_COPY_SHORT_ONES, CS_COPY_LONG_ONES, CS_COPY_RESULTS, CS_COPY_KINDS };

enum cs_copy_way { CS_COPY_CACHED, CS_COPY_STREAMED, CS_COPY_WAYS };

struct cs_copy_policy {
	enum cs_switch streams; /* on, off, or as measured */
	enum cs_copy_way way;   /* of all copies but trials */
	uint64_t bytes;         /* copied so far */
	uint64_t try_at, apart; /* bytes copied before the next trial; from it to the one after */
	uint64_t most_apart;    /* most bytes from one trial to the next */
	unsigned dear;          /* tenths of a streamed copy's time: slower cached ones are given
				 * up */
	size_t settle;          /* bytes after which a way's time is valid */
	uint64_t judged_at;     /* bytes copied at the end of a trial of cached copies */
	uint64_t ps_per_byte[CS_COPY_WAYS]; /* picoseconds per byte, about the mean of the last
					     * eight; 0: unknown */
	unsigned judged;        /* measured copies since the way was chosen, or a trial of cached
				 * ones began */
	unsigned unmeasured;    /* short copies since the last measured one */
};

/* Kind of a copy of `bytes` into shared memory. */
static inline enum cs_copy_kind
cs_copy_kind(size_t bytes)
{
	return bytes < CS_COPY_LONG ? CS_COPY_SHORT_ONES : CS_COPY_LONG_ONES;
}

/* Initialises the policy for copies of one kind. `settle`: bytes of the memory that is written in
 * turn. The first so many bytes are written to new pages: they decide nothing. */
void cs_copy_policy_init(struct cs_copy_policy *policy, enum cs_switch streams,
			 enum cs_copy_kind kind, size_t settle);

/* Copies `bytes` >= CS_COPY_LEAST (results: CS_COPY_LONG), of the policy's kind, without overlap.
 * After it a release store publishes them. */
void cs_copy_large(struct cs_copy_policy *policy, void *to, const void *from, size_t bytes);

/* Parts of cs_copy_large without clock and copies: */
/* Bytes of a copy of `bytes` that are to be streamed for a trial; the rest is copied by
 * policy->way. */
size_t cs_copy_policy_trial(struct cs_copy_policy *policy, size_t bytes);
/* Notes the time of a measured copy, and may change the way. */
void cs_copy_policy_note(struct cs_copy_policy *policy, enum cs_copy_way way, size_t bytes,
			 uint64_t nanoseconds);

#endif
