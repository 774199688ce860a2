/* A profile samples short collectives: counts are exact, times those of a sample, by a clock that
 * goes on by 20 ns at each look and by what calls take. */
#include "unit.h"

#include "base/clock.h"
#include "trace/report_state.h"
#include "trace/sampled.h"

#define LOOK 20

static uint64_t now = 1000000000;

/* In the place of libc's. */
int
clock_gettime(clockid_t clock, struct timespec *time)
{
	(void)clock;
	now += LOOK;
	*time = (struct timespec){ .tv_sec = (time_t)(now / 1000000000),
				   .tv_nsec = (long)(now % 1000000000) };
	return 0;
}

static void
call(struct cs_report_row *row, const void *caller, size_t bytes, uint64_t nanoseconds)
{
	uint64_t start = cs_report_call(row, bytes, false);
	now += nanoseconds;
	if (start)
		cs_report_called(row, caller, start, cs_clock_ns());
}

static void
assert_about(uint64_t value, uint64_t expected)
{
	if (value < expected - expected / 50 || value > expected + expected / 50)
		fail_msg("%llu, and not about %llu", (unsigned long long)value,
			 (unsigned long long)expected);
}

static struct cs_report_site
site_at(const void *caller)
{
	struct cs_report_site sum = { 0 };
	const struct cs_report_site *sites = cs_report_spots.sites;
	for (size_t i = 0; i < 2 * CS_REPORT_SITES; i++)
		if (sites[i].row && sites[i].caller == caller) {
			sum.calls += sites[i].calls;
			sum.nanoseconds += sites[i].nanoseconds;
		}
	return sum;
}

static uint64_t
time_line(void)
{
	uint64_t sum = 0;
	for (int i = 0; i < CS_REPORT_BEATS; i++)
		sum += cs_report_spots.time.of[CS_BEAT_CALLS][i];
	return sum;
}

TEST(each_call_is_timed_without_a_profile)
{
	static const char site;
	cs_report_begin();
	struct cs_report_row *row = cs_report_host_row(CS_SCAN, 8, "not sampled");
	assert_ptr_equal(cs_report_host_row(CS_SCAN, 9, "not sampled"), row);
	assert_ptr_not_equal(cs_report_host_row(CS_SCAN, 16, "not sampled"), row);
	for (int i = 0; i < 100000; i++)
		call(row, &site, 8, 100);
	assert_int_equal(row->calls, 100000);
	assert_int_equal(row->bytes, 800000);
	assert_int_equal(row->nanoseconds, 100000 * (100 + LOOK));
	assert_int_equal(site_at(&site).calls, 100000);
	assert_int_equal(site_at(&site).nanoseconds, row->nanoseconds);
}

TEST(short_calls_are_sampled_and_long_ones_timed)
{
	enum { FLOOD = 1000000, EVERY = 1000 };
	static const char site, other_site, long_site;
	cs_report_begin();
	cs_sampled_begin();
	assert_int_equal(time_line(), 0);
	struct cs_report_row *row = cs_report_host_row(CS_ALLREDUCE, 8, "sampled");
	struct cs_report_row *large = cs_report_host_row(CS_ALLREDUCE, 4096, "sampled");
	uint64_t begun = now, short_ns = 0;
	for (int i = 0; i < FLOOD; i++) {
		/* Two sites in turn, calls of one take four times as long. */
		call(row, i % 2 ? &site : &other_site, 8, i % 2 ? 400 : 1600);
		short_ns += i % 2 ? 400 : 1600;
		if (i % EVERY == 0)
			call(large, &long_site, 4096, 50000);
	}
	uint64_t taken = now - begun, spent = cs_sampled_end();
	assert_int_equal(row->calls, FLOOD);
	assert_int_equal(row->bytes, 8 * FLOOD);
	assert_about(row->nanoseconds, short_ns + (uint64_t)FLOOD * LOOK);
	assert_about(site_at(&site).calls, FLOOD / 2);
	assert_about(site_at(&other_site).nanoseconds, FLOOD / 2 * (1600 + LOOK));
	assert_int_equal(site_at(&site).calls + site_at(&other_site).calls, FLOOD);
	uint64_t at_sites = site_at(&site).nanoseconds + site_at(&other_site).nanoseconds;
	assert_int_equal(at_sites, row->nanoseconds);
	assert_int_equal(large->nanoseconds, FLOOD / EVERY * (50000 + LOOK));
	assert_int_equal(time_line(), row->nanoseconds + large->nanoseconds);
	uint64_t binned = 0;
	for (int i = 0; i < CS_REPORT_TIMES; i++)
		binned += row->times[i];
	assert_int_equal(binned, FLOOD);
	/* By this clock a call that is only counted costs nothing. The first thousand timed calls
	 * are none of the share. */
	assert_in_range(spent, 1000 * 2 * LOOK, taken / 100);
}

RUN_TESTS(NULL, NULL)
