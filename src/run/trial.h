/* run/trial.h — live choice: the algorithms of a class of calls are tried against each other, the
 * host among them, in the program's own calls.
 *
 * A class is a cached choice: a communicator, a collective, an interval of sizes, and an order of
 * operands. Which call tries which algorithm follows from the number of the class's calls
 * (base/trial.h), which is the same on all ranks; calls that are compared have roots of one kind,
 * the first rank of its node or another one. Each rank measures its tried calls, from the arrival
 * of the last rank of its node that it depends on; the maxima of the ranks' medians are agreed on
 * in the team's epochs (algorithms/epoch.h), so that all ranks change to another algorithm at the
 * same call. While the host serves a class on trial its calls have numbers on the node, too; once
 * it has won, its calls go to it as without a trial.
 *
 * With imbalance (cs_facts.imbalance) algorithms differ in how long early ranks wait, and so in the
 * mean of the ranks' whole times in a call: then this is compared, of the node with the largest.
 * The algorithms of rules for that imbalance are among those that are tried.
 *
 * Sums whose result depends on the order of operands (CS_ORDER_FREE) change their order at most
 * once on a communicator. So another algorithm is tried in a dry call behind the program's own,
 * with zeros as data (comm/calls/dry.h), and the class's trial ends with its first change. */
#ifndef CS_RUN_TRIAL_H
#define CS_RUN_TRIAL_H

#include "algorithms/epoch.h"
#include "base/trial.h"
#include "run/run.h"

#define CS_TRIALS 16 /* classes of a communicator that may be on trial */
/* Classes whose windows an epoch can judge, by their words; others wait for the next one. */
#define CS_TRIAL_WORDS (CS_TRIAL_WAYS + 1)
#define CS_TRIAL_SLOTS (CS_EPOCH_WORDS / CS_TRIAL_WORDS)

#define CS_DRY_MOST ((size_t)1 << 20) /* bytes of a dry call: of a rank's input */

struct cs_class_trial {
	struct cs_cached_choice *cached; /* its class's; NULL: the trial has ended */
	enum cs_coll coll;
	enum cs_balance imbalance; /* with which its algorithms were chosen */
	struct cs_trial trial;
	struct cs_trial_samples samples;
	struct cs_cached_choice ways[CS_TRIAL_WAYS]; /* choices and rows of the report */
	int slot;        /* of the epoch's words, with is_said */
	int place;       /* in the report, or -1 */
	uint64_t changed_at; /* number of the class's call, 0: never */
	bool has_first;  /* the root of the window's calls is the first rank of its node */
	unsigned char others; /* calls with other roots since the window began */
	bool is_dry;     /* others are tried in dry calls */
	bool is_said;    /* its times are in the epoch that is under way */
	bool is_judged;  /* the next call takes what was judged */
	bool is_free;    /* forgotten: another class may have its place */
	char reason[96];
};

/* Sums of this process: classes that were on trial, windows judged, changes of the serving
 * algorithm, and the time that tried calls took beyond the serving way's, as agreed on. */
extern struct cs_trials_sum {
	_Atomic uint64_t classes, windows, changes, regret_ns;
} cs_trials_sum;

/* Returns memory for a communicator's trials, for selection->trials; NULL if there is none. Freed
 * by cs_selection_fini. */
struct cs_class_trial *cs_trials_new(void);

/* Begins the trial of a class whose choice was made for these facts. Does nothing if there is
 * nothing else to try. */
void cs_trials_begin(struct cs_selection *selection, struct cs_cached_choice *cached,
		     const struct cs_facts *facts);

/* Ends the trial of a class, if it has one: its choice stays, or another class takes its place. */
void cs_trials_end(struct cs_cached_choice *cached);

/* Forget all trials but those with dry calls: choices are made anew. *selection may be serving a
 * call. */
void cs_trials_forget(struct cs_selection *selection);

/* This rank's words for an epoch's verdict, and the verdict (struct cs_epoch_user). */
void cs_trials_say(struct cs_selection *selection, uint64_t *words);
void cs_trials_hear(struct cs_selection *selection, const uint64_t *words);

/* Is the call under way, one with CS_OP_ON_TRIAL, to be followed by a dry call? By that choice.
 * NULL: no. */
struct cs_cached_choice *cs_trials_dry(const struct cs_selection *selection);

/* Notes the time of a call with CS_OP_ON_TRIAL, or of its dry call. `is_valid`: it went well.
 * op->team, tag and call.root are set. */
void cs_trials_note(struct cs_selection *selection, const struct cs_op *op, uint64_t arrived_ns,
		    uint64_t left_ns, bool is_valid);

#endif
