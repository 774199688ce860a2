/* shm/copy.h — large copies: into memory that ranks on other cores read next, and out of it into
 * the program's.
 *
 * Of a line that another core has read last, a store first has to take it back. Where the two cores
 * share a cache that is cheap; where they do not (other chiplets, other sockets; EPYC: 1 MiB in 420
 * us) it costs ten times what a store past the cache does (40 us), which then costs the reader a
 * line from memory instead of one from a cache (50 us instead of 25).
 *
 *   cached    memcpy: the lines stay in the writer's cache
 *   streamed  stores past the cache (SSE2's movntdq); where there are none, cached
 *
 * Which is better depends on where the ranks run, and they may be moved. So each rank measures for
 * itself what its copies take, tries the other way now and then, and streams where cached copies
 * take more than twice as long as streamed ones (four times, if they are short: their readers wait
 * for the first line): less would not pay for what it costs the readers. Nobody has to agree: the
 * bytes are the same.
 *
 * The time of a streamed copy hardly varies, except for the first bytes, which memory buffers: one
 * piece is trial enough, and the first row after it shows whether that holds. The time of a cached
 * copy depends on what readers did with the line before, so cached copies are on trial until they
 * have gone once round the ring, or until they are hopelessly slow.
 *
 * Results, which a rank copies into its program's memory, have the same choice for another reason.
 * What the ranks of a node get may be more than their last cache holds (1 MiB from each of eight
 * ranks to all: 64 MiB); then a cached store reads a line from memory that it overwrites, and
 * another one is written back for it. EPYC, 1 MiB in pieces of 128K: 21 us where it stays in the
 * cache, 65 to 75 where it does not, 38 past the cache either way. What does not fit will not be
 * there when the program reads it, so 1.4 times as long is enough. No size tells which it is (other
 * nodes' ranks, or other jobs, may share the cache): it is measured, too. */
#ifndef CS_SHM_COPY_H
#define CS_SHM_COPY_H

#include "base/settings.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CS_COPY_LEAST (2 << 10) /* bytes below which copies are cached and not measured */
#define CS_COPY_LONG (16 << 10) /* bytes from which on they are long */
/* Kinds of calls, which write and read in ways of their own: each has its own way */
#define CS_COPY_PATTERNS 17

enum cs_copy_kind { CS_COPY_SHORT_ONES, CS_COPY_LONG_ONES, CS_COPY_RESULTS, CS_COPY_KINDS };

enum cs_copy_way { CS_COPY_CACHED, CS_COPY_STREAMED, CS_COPY_WAYS };

struct cs_copy_policy {
	enum cs_switch streams; /* on, off, or as measured */
	enum cs_copy_way way;   /* of all copies but those tried */
	uint64_t bytes;         /* copied so far */
	uint64_t try_at, apart; /* the other way is tried when so many were copied, then after so
				 * many more */
	uint64_t most_apart;    /* trials are at most so many bytes apart */
	unsigned dear;          /* cached copies that take more than so many tenths of what streamed
				 * ones do are given up */
	size_t settle;          /* bytes after which a way shows what it takes */
	uint64_t judged_at;     /* cached copies are on trial until so many were copied */
	uint64_t ps_per_byte[CS_COPY_WAYS]; /* picoseconds a byte, about the mean of the last eight;
					     * 0: not yet */
	unsigned judged;        /* measured copies since the way was taken, or since the trial of
				 * cached ones began */
	unsigned unmeasured;    /* short copies since the last one that was measured */
};

/* Of a copy into shared memory. */
static inline enum cs_copy_kind
cs_copy_kind(size_t bytes)
{
	return bytes < CS_COPY_LONG ? CS_COPY_SHORT_ONES : CS_COPY_LONG_ONES;
}

/* For copies of one kind. `settle`: bytes of the memory that is written in turn. The first so many
 * are new to all: they decide nothing. */
void cs_copy_policy_init(struct cs_copy_policy *policy, enum cs_switch streams,
			 enum cs_copy_kind kind, size_t settle);

/* `bytes` >= CS_COPY_LEAST (results: CS_COPY_LONG), of the kind that `policy` is for, which do not
 * overlap. When it returns, a release store publishes them. */
void cs_copy_large(struct cs_copy_policy *policy, void *to, const void *from, size_t bytes);

/* The parts of cs_copy_large that a clock and a processor have no part in. */
/* Bytes of a copy of so many that are to be streamed for a trial; the rest goes the way that is set
 * then. */
size_t cs_copy_policy_trial(struct cs_copy_policy *policy, size_t bytes);
/* So many bytes took so long by `way`. */
void cs_copy_policy_note(struct cs_copy_policy *policy, enum cs_copy_way way, size_t bytes,
			 uint64_t nanoseconds);

#endif
