/* base/trial.h — trial of several ways to do a thing that is done again and again: which use takes
 * which way, when another way comes to serve, and how much all that may cost.
 *
 *   uses      0 1 2 3 | 4   | 5   | 6 ...            | n .. n+3  | n+4 .. n+8 | ...
 *   way       serving | a   | b   | serving          | serving   | a          | serving
 *             `------ window ----´  until judged      `----- window -------´
 *
 * A window has some uses of the way that serves and then some of others, whose times are judged
 * together. A way's first window has `least` uses of it: if those take more than CS_TRIAL_HOPELESS
 * times as long as the serving way's, the way is not tried again before CS_TRIAL_PAUSE times as
 * many uses are over as have been. A way that is faster by more than a tenth, and by more than the
 * serving way's own spread, serves from then on. Windows are CS_TRIAL_APART uses apart, and twice
 * as many after each that changes nothing, or of which a time is not known; if the serving way's
 * own time changes by more than a quarter, all are tried again.
 *
 * Regret is the time that tried uses took beyond the serving way's. It is at most a
 * CS_TRIAL_SHARE-th of all uses' time plus CS_TRIAL_FREE uses: a window that would exceed it has
 * fewer uses, or comes later. (A first use is not known before it is made.)
 *
 * Everything follows from the numbers of uses and from the times handed in, so that processes that
 * hand in the same times go the same ways. Times are of any unit, and may be weighted: a way that
 * costs others something is handed in with so much more. One thread at a time. */
#ifndef CS_BASE_TRIAL_H
#define CS_BASE_TRIAL_H

#include <stdbool.h>
#include <stdint.h>

#define CS_TRIAL_WAYS 4
#define CS_TRIAL_USES 5 /* most uses of one way in a window */
#define CS_TRIAL_HOPELESS 3
#define CS_TRIAL_PAUSE 16
#define CS_TRIAL_APART 64
#define CS_TRIAL_MOST_APART 16384
#define CS_TRIAL_SHARE 33
#define CS_TRIAL_FREE 3

enum { CS_TRIAL_UNTRIED, CS_TRIAL_PROMISING, CS_TRIAL_JUDGED };

struct cs_trial { /* a node has some two hundred */
	unsigned short changes; /* of the serving way */
	signed char ways, serving, least;
	signed char done;    /* uses of the window so far */
	signed char way, nth; /* the last use was the nth (from 0 on) of that way in the window */
	unsigned char plan[CS_TRIAL_WAYS]; /* uses of each way in the window */
	bool is_over;        /* the window is over, and to be judged */
	bool is_extra;       /* tried uses come in addition to those of the serving way */
	uint64_t at; /* number, from 0 on, of the first use that cs_trial_next has to be asked for;
		      * UINT64_MAX: none before the window is judged, or none any more */
	uint64_t apart;
	uint64_t accounted;  /* number of uses whose time is in `time` */
	uint64_t time, regret;
	struct cs_trial_way {
		uint64_t time;          /* last judged one; 0: unknown */
		uint64_t again_at : 62; /* no use of it before that number */
		uint64_t state : 2;     /* CS_TRIAL_UNTRIED, ... */
	} way_of[CS_TRIAL_WAYS];
};

/* Times of one use of each way in a window, 0: not tried, or not known; and the
 * distance from the serving way's shortest to its median (disturbances only make times longer). */
struct cs_trial_times {
	uint64_t way[CS_TRIAL_WAYS], spread;
};

/* Begin with `serving`; the first window begins with use `first`. `least`: 1 to CS_TRIAL_USES. */
void cs_trial_init(struct cs_trial *trial, int ways, int serving, uint64_t first, int least);

/* Return the way of use number `use` >= trial->at; uses before `at` take the serving way, and so
 * may later ones. */
int cs_trial_next(struct cs_trial *trial, uint64_t use);
/* End the window before all of its uses are made: ways without a time are not known. */
void cs_trial_stop(struct cs_trial *trial);

/* Does the time of the last use that cs_trial_next was asked for count? The first one of a way that
 * has several uses in the window does not: caches are in another way's state. */
bool cs_trial_is_timed(const struct cs_trial *trial);

/* Judge a window that is over, when `uses` have begun, and plan the next one. Returns true if
 * another way serves from now on. */
bool cs_trial_judge(struct cs_trial *trial, uint64_t uses, const struct cs_trial_times *times);

/* Is the serving way the fastest of all, as far as they were tried? */
bool cs_trial_is_settled(const struct cs_trial *trial);

/* Times of this process in a window. Zeroed: none. */
struct cs_trial_samples {
	unsigned char count[CS_TRIAL_WAYS];
	uint64_t of[CS_TRIAL_WAYS][CS_TRIAL_USES];
};

/* Note the time of one use of a way; more than CS_TRIAL_USES of one way are left out. */
void cs_trial_sample(struct cs_trial_samples *samples, int way, uint64_t time);
/* Fill in the median of each way, and the spread of the `serving` one. */
void cs_trial_sum_up(const struct cs_trial_samples *samples, int serving,
		     struct cs_trial_times *times);

#endif
