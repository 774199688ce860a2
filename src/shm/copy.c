/* shm/copy.c — copies with cached or non-temporal stores, as measured. */
#include "shm/copy.h"

#include "base/clock.h"

#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define LINE 64
#define OUTLIER 4 /* times the mean of the others */
/* Most bytes of one memcpy: above a core's own cache glibc (2.36, on AMD) no longer uses `rep
 * movsb`, which writes lines without reading them first (EPYC, into memory: 40 GB/s, else 30). */
#define MOST_AT_ONCE ((size_t)256 << 10)

/* As in struct cs_copy_policy. */
static const unsigned dear[CS_COPY_KINDS] = {
	/* EPYC, cached copies between two cores that share a cache: up to 23 if short, which are
	 * best left there (an allreduce of 4K 0.6 us, streamed 1.1); else 40 and more. */
	[CS_COPY_SHORT_ONES] = 40,
	[CS_COPY_LONG_ONES] = 20,
	/* EPYC: 5 to 6 in the cache, 16 to 20 beyond it. */
	[CS_COPY_RESULTS] = 14,
};

void
cs_copy_policy_init(struct cs_copy_policy *policy, enum cs_switch streams, enum cs_copy_kind kind,
		    size_t settle)
{
	memset(policy, 0, sizeof *policy);
	policy->way = streams == CS_SWITCH_ON ? CS_COPY_STREAMED : CS_COPY_CACHED;
	cs_trial_init(&policy->trial, streams == CS_SWITCH_AUTO ? CS_COPY_WAYS : 1,
		      (int)policy->way, 1, 1);
	policy->dear = dear[kind];
	policy->settle = policy->use_ends = settle;
}

static void
begin_use(struct cs_copy_policy *policy)
{
	struct cs_trial *trial = &policy->trial;
	uint64_t use = policy->bytes / policy->settle, *ps_per_byte = policy->ps_per_byte,
		 judged = trial->way_of[trial->serving].time;
	const struct cs_trial_times times = {
		.way = { [CS_COPY_CACHED] = ps_per_byte[CS_COPY_CACHED],
			 [CS_COPY_STREAMED] = ps_per_byte[CS_COPY_STREAMED] * policy->dear / 10 } };
	policy->use_ends = (use + 1) * policy->settle;
	if (trial->is_over)
		cs_trial_judge(trial, use, &times);
	else if (judged && times.way[trial->serving] > 2 * judged && use > trial->accounted + 2)
		trial->at = use; /* the cores have moved apart: not later */
	if (use >= trial->at && !trial->done)
		ps_per_byte[!trial->serving] = 0;
	policy->way = (enum cs_copy_way)(use < trial->at ? trial->serving
							 : cs_trial_next(trial, use));
}

enum cs_copy_way
cs_copy_policy_next(struct cs_copy_policy *policy, size_t bytes)
{
	policy->bytes += bytes;
	if (policy->bytes >= policy->use_ends)
		begin_use(policy);
	return policy->way;
}

void
cs_copy_policy_note(struct cs_copy_policy *policy, size_t bytes, uint64_t nanoseconds)
{
	uint64_t now = nanoseconds * 1000 / bytes + 1,
		 *ps_per_byte = &policy->ps_per_byte[policy->way];
	if (policy->trial.done && !cs_trial_is_timed(&policy->trial))
		return;
	/* Outliers, of a rank that lost its core meanwhile, count little. */
	*ps_per_byte = !*ps_per_byte || *ps_per_byte > OUTLIER * now ? now : *ps_per_byte;
	now = now > OUTLIER * *ps_per_byte ? OUTLIER * *ps_per_byte : now;
	*ps_per_byte = (7 * *ps_per_byte + now + (now > *ps_per_byte ? 7 : 0)) / 8;
}

static void
copy_cached(char *to, const char *from, size_t bytes)
{
	for (; bytes > MOST_AT_ONCE; bytes -= MOST_AT_ONCE, to += MOST_AT_ONCE,
	     from += MOST_AT_ONCE)
		memcpy(to, from, MOST_AT_ONCE);
	memcpy(to, from, bytes);
}

#if defined(__SSE2__)
static void
copy_streamed(char *to, const char *from, size_t bytes)
{
	size_t head = (LINE - (uintptr_t)to % LINE) % LINE;
	head = head < bytes ? head : bytes;
	memcpy(to, from, head);
	to += head;
	from += head;
	bytes -= head;
	for (; bytes >= LINE; bytes -= LINE, to += LINE, from += LINE) {
		__m128i word[4];
		for (int i = 0; i < 4; i++)
			word[i] = _mm_loadu_si128((const __m128i *)(const void *)from + i);
		for (int i = 0; i < 4; i++)
			_mm_stream_si128((__m128i *)(void *)to + i, word[i]);
	}
	memcpy(to, from, bytes);
	_mm_sfence(); /* orders them before the store that publishes them */
}
#else
#define copy_streamed copy_cached
#endif

static void
copy(enum cs_copy_way way, char *to, const char *from, size_t bytes)
{
	if (way == CS_COPY_STREAMED)
		copy_streamed(to, from, bytes);
	else
		copy_cached(to, from, bytes);
}

void
cs_copy_large(struct cs_copy_policy *policy, void *to, const void *from, size_t bytes)
{
	enum cs_copy_way way = cs_copy_policy_next(policy, bytes);
	if (!cs_copy_is_measured(bytes, &policy->unmeasured)) {
		copy(way, to, from, bytes);
		return;
	}
	uint64_t start = cs_clock_ns();
	copy(way, to, from, bytes);
	cs_copy_policy_note(policy, bytes, cs_clock_ns() - start);
}
