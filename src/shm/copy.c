/* shm/copy.c — copies with cached or non-temporal stores, as measured. */
#include "shm/copy.h"

#include "base/clock.h"

#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define LINE 64
#define TRIAL ((size_t)64 << 10) /* bytes */
/* Bytes between trials, doubled with each that changes nothing */
#define LEAST_APART ((uint64_t)4 << 20)
#define OUTLIER 4 /* times the mean of the others */
#define ROW 16 /* streamed copies after which their trial's result is checked */
#define HOPELESS 6 /* times a streamed copy: ends a trial of cached ones */
/* One of so many copies below TRIAL is measured: reading the clock twice takes a tenth of the
 * shortest. Odd, to measure every slot of a ring. */
#define SHORT_MEASURED 7
/* Most bytes of one memcpy: above a core's own cache glibc (2.36, on AMD) no longer uses `rep
 * movsb`, which writes lines without reading them first (EPYC, into memory: 40 GB/s, else 30). */
#define MOST_AT_ONCE ((size_t)256 << 10)

static const struct {
	unsigned dear; /* as in struct cs_copy_policy */
	uint64_t most_apart;
} kinds[CS_COPY_KINDS] = {
	/* EPYC, cached copies between two cores that share a cache: up to 23 if short, which are
	 * best left there (an allreduce of 4K 0.6 us, streamed 1.1); else 40 and more. */
	[CS_COPY_SHORT_ONES] = { 40, (uint64_t)128 << 20 },
	[CS_COPY_LONG_ONES] = { 20, (uint64_t)128 << 20 },
	/* EPYC: 5 to 6 in the cache, 16 to 20 beyond it. A trial of cached copies is long and may
	 * take twice the time. */
	[CS_COPY_RESULTS] = { 14, (uint64_t)512 << 20 },
};

void
cs_copy_policy_init(struct cs_copy_policy *policy, enum cs_switch streams, enum cs_copy_kind kind,
		    size_t settle)
{
	memset(policy, 0, sizeof *policy);
	policy->streams = streams;
	policy->way = streams == CS_SWITCH_ON ? CS_COPY_STREAMED : CS_COPY_CACHED;
	policy->dear = kinds[kind].dear;
	policy->most_apart = kinds[kind].most_apart;
	policy->settle = settle;
	policy->try_at = settle;
	policy->judged_at = settle;
	policy->apart = LEAST_APART;
}

/* Schedules the next trial; each that changes nothing doubles the distance. */
static void
wait_for_trial(struct cs_copy_policy *policy)
{
	policy->try_at = policy->bytes + policy->apart;
	policy->apart = policy->apart < policy->most_apart ? 2 * policy->apart : policy->most_apart;
}

static void
judge(struct cs_copy_policy *policy)
{
	uint64_t cached = policy->ps_per_byte[CS_COPY_CACHED],
		 streamed = policy->ps_per_byte[CS_COPY_STREAMED];
	if (!cached || !streamed)
		return;
	if (policy->way == CS_COPY_STREAMED) {
		   /* Only if an eighth below the limit, so that the way does not alternate. */
		   if (policy->judged == ROW && 80 * cached <= 7 * policy->dear * streamed) {
			      policy->way = CS_COPY_CACHED;
			      policy->judged_at = 0;
			      wait_for_trial(policy);
		   }
		   return;
	}
	bool is_on_trial = policy->bytes < policy->judged_at;
	if (is_on_trial ? policy->judged >= 3 && cached > HOPELESS * streamed
			: 10 * cached > policy->dear * streamed) {
		   policy->way = CS_COPY_STREAMED;
		   policy->judged = 0;
		   wait_for_trial(policy);
	} else if (!is_on_trial && policy->judged_at) {
		   policy->judged_at = 0; /* cached copies stay */
		   policy->apart = LEAST_APART;
		   wait_for_trial(policy);
	}
}

void
cs_copy_policy_note(struct cs_copy_policy *policy, enum cs_copy_way way, size_t bytes,
		    uint64_t nanoseconds)
{
	uint64_t now = nanoseconds * 1000 / bytes + 1, *ps_per_byte = &policy->ps_per_byte[way];
	/* Outliers, of a rank that lost its core meanwhile, count little. */
	*ps_per_byte = !*ps_per_byte || *ps_per_byte > OUTLIER * now ? now : *ps_per_byte;
	now = now > OUTLIER * *ps_per_byte ? OUTLIER * *ps_per_byte : now;
	*ps_per_byte = (7 * *ps_per_byte + now) / 8;
	policy->judged += way == policy->way;
	if (policy->streams == CS_SWITCH_AUTO)
		   judge(policy);
}

static void
put_cached_on_trial(struct cs_copy_policy *policy)
{
	policy->way = CS_COPY_CACHED;
	policy->judged_at = policy->bytes + policy->settle + policy->settle / 2;
	policy->judged = 0;
	policy->ps_per_byte[CS_COPY_CACHED] = 0;
}

size_t
cs_copy_policy_trial(struct cs_copy_policy *policy, size_t bytes)
{
	policy->bytes += bytes;
	if (policy->streams != CS_SWITCH_AUTO || policy->bytes < policy->try_at)
		   return 0;
	if (policy->way == CS_COPY_STREAMED) {
		   put_cached_on_trial(policy);
		   policy->try_at = UINT64_MAX;
		   return 0;
	}
	wait_for_trial(policy);
	return bytes < TRIAL ? bytes : TRIAL;
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

static void
copy_measured(struct cs_copy_policy *policy, enum cs_copy_way way, char *to, const char *from,
	      size_t bytes)
{
	uint64_t start = cs_clock_ns();
	copy(way, to, from, bytes);
	cs_copy_policy_note(policy, way, bytes, cs_clock_ns() - start);
}

void
cs_copy_large(struct cs_copy_policy *policy, void *to, const void *from, size_t bytes)
{
	size_t trial = cs_copy_policy_trial(policy, bytes);
	if (trial)
		copy_measured(policy, CS_COPY_STREAMED, to, from, trial);
	char *rest = (char *)to + trial;
	from = (const char *)from + trial;
	bytes -= trial;
	if (!bytes)
		return;
	if (bytes >= TRIAL || ++policy->unmeasured == SHORT_MEASURED) {
		policy->unmeasured = 0;
		copy_measured(policy, policy->way, rest, from, bytes);
	} else {
		copy(policy->way, rest, from, bytes);
	}
}
