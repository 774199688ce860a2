/* test_wait.c — what lies between two looks of a wait, with the system calls counted instead of
 * made. */
#include "base/wait.h"

#include "unit.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>

static struct {
	int yields, naps, futexes, wakes, progresses, drives, longs;
	long nap_ns;
	uint32_t sleepers;
} seen;
static _Atomic uint32_t sleepers;
static enum cs_drive driven;

int __wrap_sched_yield(void);
int __wrap_nanosleep(const struct timespec *time, struct timespec *left);
long __wrap_syscall(long number, ...);

int
__wrap_sched_yield(void)
{
	seen.yields++;
	errno = EAGAIN;
	return 0;
}

int
__wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
	(void)left;
	seen.naps++;
	seen.nap_ns = time->tv_nsec;
	errno = EINTR;
	return -1;
}

long
__wrap_syscall(long number, ...)
{
	va_list arguments;
	va_start(arguments, number);
	(void)va_arg(arguments, uint32_t *);
	int operation = va_arg(arguments, int);
	va_end(arguments);
	if (number == SYS_futex && operation == FUTEX_WAIT)
		seen.futexes++;
	else if (number == SYS_futex && operation == FUTEX_WAKE)
		seen.wakes++;
	seen.sleepers = atomic_load(&sleepers);
	errno = ETIMEDOUT;
	return -1;
}

static void
progress(void)
{
	seen.progresses++;
}

static enum cs_drive
drive(struct cs_wait *wait)
{
	(void)wait;
	seen.drives++;
	return driven;
}

static void
turn(struct cs_wait *wait, int turns)
{
	while (turns--)
		assert_true(cs_wait_turn(wait));
}

static int
begin(void **state)
{
	(void)state;
	memset(&seen, 0, sizeof seen);
	driven = CS_DRIVE_IDLE;
	return 0;
}

TEST(it_polls_then_yields_then_sleeps)
{
	(void)state;
	struct cs_wait wait = { .eager = 3, .polls = 10, .yields = 20, .nap_ns = 100000 };
	turn(&wait, 10);
	assert_int_equal(seen.yields, 0);
	turn(&wait, 20);
	assert_int_equal(seen.yields, 20);
	assert_int_equal(seen.naps, 0);
	turn(&wait, 5);
	assert_int_equal(seen.yields, 20);
	assert_int_equal(seen.naps, 5);
	assert_int_equal(seen.nap_ns, 100000);
}

TEST(one_that_is_to_stay_awake_never_sleeps)
{
	(void)state;
	struct cs_wait wait = { .polls = 2, .yields = CS_WAIT_AWAKE };
	turn(&wait, 100000);
	assert_int_equal(seen.yields, 99998);
	assert_int_equal(seen.naps, 0);
}

TEST(it_progresses_the_host_at_each_16th_yield_and_before_each_sleep)
{
	(void)state;
	struct cs_wait wait = { .polls = 5, .yields = 40, .nap_ns = 1, .progress = progress };
	turn(&wait, 5 + 15);
	assert_int_equal(seen.progresses, 0);
	turn(&wait, 1);
	assert_int_equal(seen.progresses, 1);
	turn(&wait, 40 - 16);
	assert_int_equal(seen.progresses, 2);
	turn(&wait, 7);
	assert_int_equal(seen.progresses, 9);
}

TEST(it_drives_from_the_first_yield_on_and_begins_anew_when_something_was_done)
{
	(void)state;
	struct cs_wait wait = { .polls = 4, .yields = 8, .nap_ns = 1, .drive = drive };
	turn(&wait, 4);
	assert_int_equal(seen.drives, 0);
	turn(&wait, 8);
	assert_int_equal(seen.drives, 8);
	driven = CS_DRIVE_BUSY;
	turn(&wait, 100);
	assert_int_equal(seen.yields, 108);
	assert_int_equal(seen.naps, 0);
	driven = CS_DRIVE_IDLE;
	turn(&wait, 8);
	assert_int_equal(seen.naps, 1); /* the last one that was busy was the first of eight */
}

TEST(a_drive_ends_it)
{
	(void)state;
	_Atomic uint64_t word = 1;
	struct cs_wait wait = { .polls = 4, .yields = 8, .drive = drive, .progress = progress,
				.word = &word, .target = 2 };
	driven = CS_DRIVE_GIVE_UP;
	assert_false(cs_wait_word(&wait));
	assert_int_equal(seen.drives, 1);
	assert_int_equal(seen.yields + seen.futexes + seen.progresses, 0);
}

TEST(it_sleeps_on_a_word_that_is_not_there_yet_and_is_counted)
{
	(void)state;
	_Atomic uint64_t word = 5;
	struct cs_wait wait = { .yields = 0, .nap_ns = 1000, .word = &word, .target = 6,
				.sleepers = &sleepers };
	turn(&wait, 1);
	assert_int_equal(seen.futexes, 1);
	assert_int_equal(seen.sleepers, 1);
	assert_int_equal(atomic_load(&sleepers), 0);
	atomic_store(&word, 6);
	turn(&wait, 1);
	assert_int_equal(seen.futexes, 1);
	assert_int_equal(seen.naps, 0);
	cs_wait_wake(&word);
	assert_int_equal(seen.wakes, 1);
}

static enum cs_drive
come(struct cs_wait *wait)
{
	if (++seen.drives == 30)
		atomic_store(wait->word, wait->target + 3);
	return CS_DRIVE_IDLE;
}

TEST(a_word_is_waited_for_until_it_is_the_target_or_more)
{
	(void)state;
	_Atomic uint64_t word = 0;
	struct cs_wait wait = { .eager = 2, .polls = 7, .yields = 10, .nap_ns = 1000, .word = &word,
				.target = 9, .drive = come };
	assert_true(cs_wait_word(&wait));
	assert_int_equal(seen.yields, 10);
	assert_int_equal(seen.futexes, 19); /* at the last turn it was there before the sleep */
	struct cs_wait next = { .polls = 0, .word = &word, .target = 12, .drive = come };
	assert_true(cs_wait_word(&next));
	assert_int_equal(seen.drives, 30);
}

TEST(its_clock_begins_with_the_first_yield_or_where_its_owner_says)
{
	(void)state;
	struct cs_wait wait = { .polls = 3, .yields = 10 };
	turn(&wait, 3);
	assert_int_equal(cs_wait_ns(&wait), 0);
	uint64_t before = cs_clock_ns();
	turn(&wait, 1);
	assert_true(wait.since_ns >= before && wait.since_ns <= cs_clock_ns());
	turn(&wait, 1);
	uint64_t since = wait.since_ns, now = cs_clock_ns();
	assert_true(cs_wait_ns(&wait) >= now - since);
	cs_wait_anew(&wait);
	assert_int_equal(cs_wait_ns(&wait), 0);
	assert_int_equal(wait.turn, 0);
	struct cs_wait earlier = { .yields = 10, .since_ns = 77 };
	turn(&earlier, 3);
	assert_int_equal(earlier.since_ns, 77);
}

TEST(errno_is_kept)
{
	(void)state;
	_Atomic uint64_t word = 0;
	struct cs_wait wait = { .polls = 1, .yields = 1, .nap_ns = 1 };
	errno = 4711;
	turn(&wait, 4);
	wait.word = &word;
	wait.target = 1;
	turn(&wait, 1);
	assert_int_equal(seen.yields, 1);
	assert_int_equal(seen.naps, 2);
	assert_int_equal(seen.futexes, 1);
	assert_int_equal(errno, 4711);
}

static void
count_long(const struct cs_wait *wait)
{
	seen.longs += wait->call == &seen;
	errno = EBUSY;
}

TEST(one_that_is_old_is_shown_at_each_64th_yield)
{
	(void)state;
	struct cs_wait young = { .yields = CS_WAIT_AWAKE, .call = &seen },
		       old = { .yields = CS_WAIT_AWAKE, .call = &seen, .since_ns = 1 };
	cs_wait_long = count_long;
	cs_wait_long_ns = UINT64_C(3600000000000);
	turn(&young, 1000);
	assert_int_equal(seen.longs, 0);
	cs_wait_long_ns = 1;
	turn(&old, 63);
	assert_int_equal(seen.longs, 0);
	errno = 4711;
	turn(&old, 1);
	assert_int_equal(errno, 4711);
	turn(&old, 64);
	cs_wait_long = NULL;
	turn(&old, 64);
	assert_int_equal(seen.longs, 2);
}

RUN_EACH_TEST(begin, NULL)
