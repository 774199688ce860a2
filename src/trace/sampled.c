/* trace/sampled.c — times of calls that the MPI does: of each call, or in a profile of a sample.
 *
 * As intercept/profile.c does for other calls: of a row's short calls one of `stride` is timed on
 * average, at random distances, and stands for all since the last one. The number of calls and
 * their bytes are exact. A stride grows while timing has taken more than a SHARE-th of the run, for
 * calls that are short beside what timing one costs. */
#include "trace/sampled.h"

#include "base/clock.h"
#include "base/hash.h"
#include "trace/report_state.h"

#include <string.h>

#define SHARE 200
#define SHORT 100 /* times the cost of timing it: a call that may be sampled */
#define MOST_STRIDE 256 /* so many at most does a rare long call stand for */
#define FREE 1000 /* timed calls that are none of the share */

/* Under the lock of cs_report_spots, but is_on. */
static struct {
	bool is_on;
	uint64_t timed_ns, counted_ns; /* costs of one call */
	uint64_t timed, counted;       /* calls; the latter in all */
	uint64_t random;
} sampled;

uint64_t
cs_report_call(struct cs_report_row *row, size_t bytes, bool always)
{
	if (!row)
		return cs_clock_ns();
	uint64_t number = 1 + atomic_fetch_add_explicit(&row->calls, 1, memory_order_relaxed);
	if (bytes != CS_BYTES_UNKNOWN && bytes)
		atomic_fetch_add_explicit(&row->bytes, bytes, memory_order_relaxed);
	if (!always && number < atomic_load_explicit(&row->sample.due, memory_order_relaxed))
		return 0;
	return cs_clock_ns();
}

/* The distance to the next timed call. */
static uint64_t
plan_next(struct cs_report_sample *sample, uint64_t took, uint64_t now)
{
	uint64_t allowed = (now - cs_report_spots.time.start) / SHARE + FREE * sampled.timed_ns;
	uint64_t spent = ++sampled.timed * sampled.timed_ns;
	uint32_t stride = sample->stride ? sample->stride : 1;
	if (spent > allowed && took < SHORT * sampled.timed_ns && stride < MOST_STRIDE)
		stride *= 2;
	else if (spent < allowed / 2 && stride > 1)
		stride /= 2;
	sample->stride = stride;
	sampled.random += CS_HASH_GOLDEN;
	return stride == 1 ? 1 : 1 + cs_hash_mix(sampled.random) % (2 * stride - 1);
}

/* Adds the row's calls since the last timed one, each as long as that one at the end. */
static void
add_calls(struct cs_report_row *row, uint64_t number, uint64_t end)
{
	struct cs_report_sample *sample = &row->sample;
	uint64_t calls = number - sample->number;
	sample->number = number;
	sampled.counted += calls;
	cs_report_add_time(row, calls, sample->nanoseconds);
	cs_report_site_add(sample->caller, row, calls, calls * sample->nanoseconds, end,
			   CS_REPORT_NOT_KNOWN);
}

void
cs_report_called(struct cs_report_row *row, const void *caller, uint64_t start, uint64_t end)
{
	if (!row)
		return;
	if (!sampled.is_on) {
		cs_report_add_time(row, 1, end - start);
		cs_report_site(caller, row, start, end, CS_REPORT_NOT_KNOWN);
		return;
	}
	pthread_mutex_lock(&cs_report_spots.lock);
	uint64_t number = atomic_load_explicit(&row->calls, memory_order_relaxed);
	row->sample.nanoseconds = end - start;
	row->sample.caller = caller;
	add_calls(row, number, end);
	atomic_store_explicit(&row->sample.due, number + plan_next(&row->sample, end - start, end),
			      memory_order_relaxed);
	pthread_mutex_unlock(&cs_report_spots.lock);
}

/* The shortest of a few rows of calls, undisturbed: ns of one that is timed, or only counted. */
static uint64_t
measure_cost(bool timed)
{
	enum { ROWS = 5, CALLS_OF_ROW = 100 };
	static struct cs_report_row scratch;
	uint64_t best = UINT64_MAX;
	for (int row = 0; row < ROWS; row++) {
		uint64_t begun = cs_clock_ns();
		for (int i = 0; i < CALLS_OF_ROW; i++) {
			atomic_store_explicit(&scratch.sample.due, timed ? 0 : UINT64_MAX,
					      memory_order_relaxed);
			uint64_t start = cs_report_call(&scratch, 1, false);
			if (start)
				cs_report_called(&scratch, NULL, start, cs_clock_ns());
		}
		uint64_t taken = (cs_clock_ns() - begun) / CALLS_OF_ROW;
		best = taken < best ? taken : best;
	}
	return best;
}

void
cs_sampled_begin(void)
{
	sampled.is_on = true;
	uint64_t timed_ns = measure_cost(true), counted_ns = measure_cost(false);
	pthread_mutex_lock(&cs_report_spots.lock);
	memset(cs_report_spots.sites, 0, sizeof cs_report_spots.sites);
	memset(cs_report_spots.time.of, 0, sizeof cs_report_spots.time.of);
	cs_report_spots.used = 0;
	sampled.timed = sampled.counted = 0;
	sampled.timed_ns = timed_ns;
	sampled.counted_ns = counted_ns;
	sampled.random = cs_report_spots.time.start;
	pthread_mutex_unlock(&cs_report_spots.lock);
}

uint64_t
cs_sampled_end(void)
{
	uint64_t now = cs_clock_ns();
	pthread_mutex_lock(&cs_report.lock);
	pthread_mutex_lock(&cs_report_spots.lock);
	for (size_t i = 0; sampled.is_on && i < CS_REPORT_HASH; i++) {
		struct cs_report_row *row = cs_report.rows[i];
		uint64_t calls = row ? atomic_load_explicit(&row->calls, memory_order_relaxed) : 0;
		if (row && row->sample.number && calls > row->sample.number)
			add_calls(row, calls, now);
	}
	uint64_t spent = sampled.timed * sampled.timed_ns +
			 (sampled.counted - sampled.timed) * sampled.counted_ns;
	pthread_mutex_unlock(&cs_report_spots.lock);
	pthread_mutex_unlock(&cs_report.lock);
	return spent;
}
