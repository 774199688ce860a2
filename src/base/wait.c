/* base/wait.c — polls, yields and sleeps: the loop of everything that waits. */
#include "base/wait.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TURNS_PER_PROGRESS 16
#define TURNS_PER_CLOCK 64

void (*cs_wait_long)(const struct cs_wait *wait);
uint64_t cs_wait_long_ns;
_Thread_local const void *cs_wait_call;

/* The low half, which changes with every store of a count, is all that a futex looks at. */
static uint32_t *
futex_of(_Atomic uint64_t *word)
{
	return (uint32_t *)word + (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
}

void
cs_wait_wake(_Atomic uint64_t *word)
{
	syscall(SYS_futex, futex_of(word), FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Sleeps on a futex. A waker may miss the count of sleepers: then the sleep ends by its
 * time-out. */
static void
sleep_on_word(const struct cs_wait *wait, const struct timespec *limit)
{
	uint64_t seen = atomic_load_explicit(wait->word, memory_order_acquire);
	if (seen >= wait->target)
		return;
	if (wait->sleepers)
		atomic_fetch_add(wait->sleepers, 1);
	syscall(SYS_futex, futex_of(wait->word), FUTEX_WAIT, (uint32_t)seen, limit, NULL, 0);
	if (wait->sleepers)
		atomic_fetch_sub(wait->sleepers, 1);
}

static void
rest(const struct cs_wait *wait, bool is_long)
{
	const struct timespec limit = { .tv_nsec = wait->nap_ns };
	if (!is_long)
		sched_yield();
	else if (wait->word)
		sleep_on_word(wait, &limit);
	else
		nanosleep(&limit, NULL);
}

bool
cs_wait_turn_slow(struct cs_wait *wait)
{
	/* A sleep may end as ETIMEDOUT, and the program sees nothing of it. */
	int saved = errno;
	if (!wait->since_ns)
		wait->since_ns = cs_clock_ns();
	enum cs_drive driven = wait->drive ? wait->drive(wait) : CS_DRIVE_IDLE;
	if (driven == CS_DRIVE_BUSY)
		wait->turn = wait->polls;
	size_t turn = wait->turn++ - wait->polls;
	bool is_long = turn >= wait->yields;
	if (turn % TURNS_PER_CLOCK == TURNS_PER_CLOCK - 1 && cs_wait_long &&
	    cs_wait_ns(wait) >= cs_wait_long_ns)
		cs_wait_long(wait);
	if (driven != CS_DRIVE_GIVE_UP) {
		if (wait->progress &&
		    (is_long || turn % TURNS_PER_PROGRESS == TURNS_PER_PROGRESS - 1))
			wait->progress();
		rest(wait, is_long);
	}
	errno = saved;
	return driven != CS_DRIVE_GIVE_UP;
}

bool
cs_wait_word(struct cs_wait *wait)
{
	_Atomic uint64_t *word = wait->word;
	uint64_t target = wait->target;
	/* The polls' own loop, with nothing of it in memory: it is what a line's way to this core
	 * takes. */
	for (size_t turn = wait->turn; turn < wait->polls; turn++) {
		if (atomic_load_explicit(word, memory_order_acquire) >= target)
			return true;
		if (turn >= wait->eager)
			cs_cpu_pause();
	}
	wait->turn = wait->turn > wait->polls ? wait->turn : wait->polls;
	while (atomic_load_explicit(word, memory_order_acquire) < target)
		if (!cs_wait_turn_slow(wait))
			return false;
	return true;
}
