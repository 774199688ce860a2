/* base/wait.h — how a rank waits for what another one does.
 *
 *  struct cs_wait wait = { .polls = spin, .yields = 100, .nap_ns = 1000000, .progress =
 *  host->progress }; while (!is_there() && cs_wait_turn(&wait))
 * 		;
 *
 *   looks   | eager |   polls            |   yields                    |  for ever
 *   between | -     |   pause            |   yield the core            |  sleep
 *           |       |                    |   drive at each; progress   |  drive, progress
 *           |       |                    |   at each 16th              |
 *
 * A wait is a rank's own and lies on its stack; one that is never longer than its polls costs no
 * system call and no clock. */
#ifndef CS_BASE_WAIT_H
#define CS_BASE_WAIT_H

#include "base/clock.h"
#include "base/cpu.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Yields of a wait that never sleeps. */
#define CS_WAIT_AWAKE SIZE_MAX

/* Result of one turn of a drive. */
enum cs_drive {
	CS_DRIVE_IDLE,    /* there was nothing to do: the wait goes on towards its sleep */
	CS_DRIVE_BUSY,    /* something was done: the wait begins to yield anew */
	CS_DRIVE_GIVE_UP, /* what is waited for does not come: the wait ends */
};

struct cs_wait {
	/* Parameters, set by the owner, who may change them between turns. */
	size_t eager;    /* looks with nothing between them; of `polls` */
	size_t polls;    /* looks before the core is given up */
	size_t yields;   /* looks after that before it sleeps */
	uint32_t nap_ns; /* longest sleep; unused where yields is CS_WAIT_AWAKE */
	void (*progress)(void); /* progresses the host's traffic: what is waited for may need a
				 * message that the host still holds (seed 000, 6.6); or NULL */
	enum cs_drive (*drive)(struct cs_wait *wait); /* progresses other work of this rank; does
						       * not block; or NULL */
	void *context;   /* of the drive */
	/* A sleep ends early when somebody changes the word to `target` or more and calls
	 * cs_wait_wake. NULL: none. */
	_Atomic uint64_t *word;
	uint64_t target;
	_Atomic uint32_t *sleepers; /* counts those who sleep on a word, for who changes one; NULL:
				     * not wanted */
	/* For cs_wait_long: the operation that waits, by its part on its node (shm/node.h), and the
	 * local rank that it waits for, plus 1. NULL and 0: not known. */
	const void *call;
	int whom;
	/* State of the wait; 0 at first. */
	size_t turn;       /* looks that found nothing */
	uint64_t since_ns; /* when it stopped polling, by cs_clock_ns, unless its owner has set it
			    * to an earlier time; 0: not yet */
};

/* Called now and then by a wait that is cs_wait_long_ns old, from its own thread, with errno
 * kept; NULL: nothing is. Set before there is a wait. */
extern void (*cs_wait_long)(const struct cs_wait *wait);
extern uint64_t cs_wait_long_ns;
/* The `call` of waits for messages, in this thread: the operation that is being finished. */
extern _Thread_local const void *cs_wait_call;

/* Calls the drive, then yields or sleeps. False: the drive has given up. Keeps errno. */
bool cs_wait_turn_slow(struct cs_wait *wait);

/* Call after an unsuccessful check: pauses, yields or sleeps before the next one. False: the drive
 * has given up. */
static inline bool
cs_wait_turn(struct cs_wait *wait)
{
	if (__builtin_expect(wait->turn >= wait->polls, 0))
		return cs_wait_turn_slow(wait);
	if (wait->turn++ >= wait->eager)
		cs_cpu_pause();
	return true;
}

/* Restarts polling and the clock. Call if a part of the expected data has come. */
static inline void
cs_wait_anew(struct cs_wait *wait)
{
	wait->turn = 0;
	wait->since_ns = 0;
}

/* Waits until wait->word is wait->target or more; false: given up before. */
bool cs_wait_word(struct cs_wait *wait);

/* Time of the wait, ns; 0 while it polls. For callers that give up after some time, or report that
 * a rank hangs. */
static inline uint64_t
cs_wait_ns(const struct cs_wait *wait)
{
	return wait->since_ns ? cs_clock_ns() - wait->since_ns : 0;
}

/* Wakes all who sleep on the word, in any process. */
void cs_wait_wake(_Atomic uint64_t *word);

#endif
