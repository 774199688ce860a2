/* operation_verdicts.h — live choice of virtual ranks: blocking calls of a few kinds, in teams with
 * the selection, the trials (run/trial.h) and the epochs (algorithms/epoch.h) of a job, and times
 * that are made up for each rank and algorithm.
 *
 * Checked at each call: all ranks have the same state of choice and trials, and run the same
 * algorithm, tried in the call or in a dry one; the result is right. At each verdict: the judged
 * times are the longest of all ranks, the regret counts what was tried and is within its bound, and
 * a sum that may change its order has done so once at most.
 *
 * As in comm/calls/serve_common.c and dry.c, which need an MPI, a call of the host that is on trial
 * has a number on the node. The host itself moves nothing; some of its calls wait for all ranks. */
#ifndef CS_TESTS_OPERATION_VERDICTS_H
#define CS_TESTS_OPERATION_VERDICTS_H

#include "unit.h"

#include <stdbool.h>

#define VERDICT_TEAMS 3
#define VERDICT_MOST_CALLS 1200

enum verdict_fault {
	VERDICTS_RIGHT,
	VERDICT_LATE,       /* one rank judges a window one call later */
	WORDS_IN_OTHER_SLOT, /* one rank's words are another class's */
	ENDED_BY_ONE,       /* a trial ends on one rank */
	NUMBER_BY_SOME,     /* one rank's call of the host has no number */
	SUM_TRIED_IN_CALLS, /* no dry calls */
	TRIED_TOO_OFTEN,    /* a window has many uses of a way */
	VERDICT_FAULTS
};

struct verdict_setting {
	uint64_t seed;
	int teams, calls;
	bool several_nodes;
	bool are_sums;      /* allreduce and reduce only */
	bool is_crowded;    /* allreduce only, of more classes than a communicator has choices */
	bool is_starving;
	bool is_recycled;   /* a new communicator on the same memory, at a call that chance wants */
	bool is_imbalanced; /* imbalance comes into force, and with it new choices */
	bool changes_speed;
	unsigned noise;     /* hundredths that a time is longer at most */
	uint64_t late_ns;   /* ranks arrive by so much apart */
	uint64_t epoch;     /* most calls of an epoch */
	enum verdict_fault fault;
};

/* Sums of all cases. */
extern struct verdicts_seen {
	unsigned windows, unknown, changes, dry_changes, to_host, from_host, imbalances, dry_calls,
		 host_calls, recycled;
} verdicts_seen;

struct verdict_setting verdict_setting_of(uint64_t seed);
/* Runs a case. Returns false, with the failure's text, if anything is wrong. */
bool verdicts_are_right(const struct verdict_setting *setting, char failure[1024]);

#endif
