/* shm/put.c — copies past the cache or into it, as it has measured what takes less. */
#include "shm/put.h"

#include "base/clock.h"

#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define LINE 64
#define TRIAL ((size_t)64 << 10) /* bytes */
#define LEAST_APART ((uint64_t)4 << 20) /* bytes between trials, doubled with each that changes nothing */
#define OUTLIER 4 /* times the others */
#define ROW 16 /* streamed puts after which the trial that led to them is seen to hold, or not */
#define HOPELESS 6 /* times what streamed puts take: no need to see more of cached ones */
/* One of so many puts below TRIAL is measured: two looks at the clock are a tenth of the shortest. Odd, to see every slot of
 * a ring. */
#define SHORT_MEASURED 7
/* Beyond a core's own cache glibc (2.36, on AMD) no longer uses `rep movsb`, which fills lines without reading them first:
 * EPYC, into memory: 40 GB/s, else 30. */
#define MOST_AT_ONCE ((size_t)256 << 10)

static const struct {
	unsigned dear; /* as in struct cs_put */
	uint64_t most_apart;
} kinds[CS_PUT_KINDS] = {
	/* EPYC, two cores with a cache in common: up to 23 in short puts, which are best left there (an allreduce of 4K 0.6 us,
	 * streamed 1.1); with none 40 and more. */
	[CS_PUT_SHORT_ONES] = { 40, (uint64_t)128 << 20 },
	[CS_PUT_LONG_ONES] = { 20, (uint64_t)128 << 20 },
	/* EPYC: 5 to 6 in the cache, 16 to 20 beyond it. A trial of cached ones is long and may take twice the time. */
	[CS_PUT_RESULTS] = { 14, (uint64_t)512 << 20 },
};

void
cs_put_init(struct cs_put *put, enum cs_switch streams, enum cs_put_kind kind, size_t settle)
{
	memset(put, 0, sizeof *put);
	put->streams = streams;
	put->way = streams == CS_SWITCH_ON ? CS_PUT_STREAMED : CS_PUT_CACHED;
	put->dear = kinds[kind].dear;
	put->most_apart = kinds[kind].most_apart;
	put->settle = settle;
	put->try_at = settle;
	put->judged_at = settle;
	put->apart = LEAST_APART;
}

/* The next trial; each that changes nothing makes them rarer. */
static void
wait_for_trial(struct cs_put *put)
{
	put->try_at = put->bytes + put->apart;
	put->apart = put->apart < put->most_apart ? 2 * put->apart : put->most_apart;
}

static void
judge(struct cs_put *put)
{
	uint64_t cached = put->pace[CS_PUT_CACHED], streamed = put->pace[CS_PUT_STREAMED];
	if (!cached || !streamed)
		return;
	if (put->way == CS_PUT_STREAMED) {
		/* An eighth less, so that the way does not go to and fro. */
		if (put->judged == ROW && 80 * cached <= 7 * put->dear * streamed) {
			put->way = CS_PUT_CACHED;
			put->judged_at = 0;
			wait_for_trial(put);
		}
		return;
	}
	bool is_on_trial = put->bytes < put->judged_at;
	if (is_on_trial ? put->judged >= 3 && cached > HOPELESS * streamed : 10 * cached > put->dear * streamed) {
		put->way = CS_PUT_STREAMED;
		put->judged = 0;
		wait_for_trial(put);
	} else if (!is_on_trial && put->judged_at) {
		put->judged_at = 0; /* they have stood it */
		put->apart = LEAST_APART;
		wait_for_trial(put);
	}
}

void
cs_put_note(struct cs_put *put, enum cs_put_way way, size_t bytes, uint64_t nanoseconds)
{
	uint64_t now = nanoseconds * 1000 / bytes + 1, *pace = &put->pace[way];
	/* A rank that lost its core meanwhile does not say much: neither as the first nor later. */
	*pace = !*pace || *pace > OUTLIER * now ? now : *pace;
	now = now > OUTLIER * *pace ? OUTLIER * *pace : now;
	*pace = (7 * *pace + now) / 8;
	put->judged += way == put->way;
	if (put->streams == CS_SWITCH_AUTO)
		judge(put);
}

static void
put_cached_on_trial(struct cs_put *put)
{
	put->way = CS_PUT_CACHED;
	put->judged_at = put->bytes + put->settle + put->settle / 2;
	put->judged = 0;
	put->pace[CS_PUT_CACHED] = 0;
}

size_t
cs_put_trial(struct cs_put *put, size_t bytes)
{
	put->bytes += bytes;
	if (put->streams != CS_SWITCH_AUTO || put->bytes < put->try_at)
		return 0;
	if (put->way == CS_PUT_STREAMED) {
		put_cached_on_trial(put);
		put->try_at = UINT64_MAX;
		return 0;
	}
	wait_for_trial(put);
	return bytes < TRIAL ? bytes : TRIAL;
}

static void
copy_cached(char *to, const char *from, size_t bytes)
{
	for (; bytes > MOST_AT_ONCE; bytes -= MOST_AT_ONCE, to += MOST_AT_ONCE, from += MOST_AT_ONCE)
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
	_mm_sfence(); /* they are not ordered with the store that publishes them */
}
#else
#define copy_streamed copy_cached
#endif

static void
copy(enum cs_put_way way, char *to, const char *from, size_t bytes)
{
	if (way == CS_PUT_STREAMED)
		copy_streamed(to, from, bytes);
	else
		copy_cached(to, from, bytes);
}

static void
copy_measured(struct cs_put *put, enum cs_put_way way, char *to, const char *from, size_t bytes)
{
	uint64_t start = cs_clock_ns();
	copy(way, to, from, bytes);
	cs_put_note(put, way, bytes, cs_clock_ns() - start);
}

void
cs_put_large(struct cs_put *put, void *to, const void *from, size_t bytes)
{
	size_t trial = cs_put_trial(put, bytes);
	if (trial)
		copy_measured(put, CS_PUT_STREAMED, to, from, trial);
	char *rest = (char *)to + trial;
	from = (const char *)from + trial;
	bytes -= trial;
	if (!bytes)
		return;
	if (bytes >= TRIAL || ++put->unmeasured == SHORT_MEASURED) {
		put->unmeasured = 0;
		copy_measured(put, put->way, rest, from, bytes);
	} else {
		copy(put->way, rest, from, bytes);
	}
}
