/* algorithms/epoch.h — a team's agreement while it is used: verdicts on measurements of the run, in
 * force on all ranks from the same call on.
 *
 *   calls   ...| cut              | exchange            | force                 |... next cut
 *              each rank writes     leaders begin the     all ranks read the
 *              its words            exchange of the       verdict
 *                                   maxima of words
 *
 * At a cut each rank writes words, and a sample's distance later the leaders begin to exchange the
 * maxima over their nodes by a non-blocking collective. Two samples after that, of which the first
 * one lets the leaders publish the result, the verdict is in force. So no call waits for a verdict
 * unless an exchange takes longer, or its rank is as far ahead of the slowest leader. If a rank of
 * a node has not come to the cut when the exchange begins, the words of that epoch are unknown
 * (CS_EPOCH_UNKNOWN). An epoch has CS_EPOCH_FIRST calls at first, then twice as many each time, up
 * to cs_epoch_limits.calls.
 *
 * The verdict is a vector: the lateness of ranks, which epoch.c makes of enum cs_exchanged and
 * classifies as enum cs_balance, and the words of the user (run/trial.h). */
#ifndef CS_ALGORITHMS_EPOCH_H
#define CS_ALGORITHMS_EPOCH_H

#include "coll/coll.h"
#include "shm/lateness.h"
#include "wire/request.h"

struct cs_team;

#define CS_EPOCH_FIRST 16
/* MPICH 4.0.2 compares MPI_UINT64_T by its sign. */
#define CS_EPOCH_UNKNOWN ((uint64_t)INT64_MAX)
/* Bit of a word whose mean over the ranks of a node is exchanged instead of the maximum. Ranks with
 * 0 do not count. */
#define CS_EPOCH_MEAN (UINT64_C(1) << 62)

/* Values exchanged between nodes: of each the maximum over nodes. */
enum cs_exchanged {
	CS_EXCHANGED_LATE,        /* ns, means: the lesser of apart_ns (shm/lateness.h) and
				   * waited */
	CS_EXCHANGED_WAITED,      /* ns that a rank of the node has waited in a call, in the mean */
	CS_EXCHANGED_WAITED_LESS, /* complement of it: of the node that has waited least */
	CS_EXCHANGED_SHARED,      /* 1: more ranks than cores they may use */
	CS_EXCHANGED_WORDS,       /* the first of the user's words */
	CS_EXCHANGED = CS_VERDICT_WORDS
};
#define CS_EPOCH_WORDS (CS_EXCHANGED - CS_EXCHANGED_WORDS)

struct cs_epoch_limits {
	uint64_t calls;                  /* most of an epoch: a multiple of CS_SAMPLE */
	uint64_t moderate_ns, strong_ns; /* lateness from which on imbalance is moderate or strong;
					  * if ranks of a node share cores, a rank is late by its
					  * time slice, and moderate counts as balanced */
};

/* Functions of an epoch's user, called as a call begins, on each rank at the same call. None may
 * change what that call uses. */
struct cs_epoch_user {
	/* Fills in this rank's words, which are zeroes: at a cut. NULL: none. */
	void (*say)(void *user, uint64_t *words);
	/* The maxima over all ranks of the words said at the last cut, or, of words with
	 * CS_EPOCH_MEAN, the maxima over nodes of the means. NULL: not called. */
	void (*hear)(void *user, const uint64_t *words);
	/* Another imbalance comes into force. NULL: it is not measured. */
	void (*told)(void *user, enum cs_balance imbalance);
	void *user;
};

struct cs_epoch {
	struct cs_epoch_limits limits;
	struct cs_epoch_user user;
	uint64_t length, apart; /* calls: of an epoch, from its begin to its cut; of samples */
	uint64_t cut, exchange, force; /* numbers of calls */
	uint64_t sample, sampled_at; /* number of the last sample, and of its call */
	uint64_t exchanges, published; /* begun; of which the verdict is published */
	uint64_t forces[CS_VERDICTS_KEPT]; /* calls that read the last verdicts */
	enum cs_balance imbalance; /* in force */
	/* Leaders: samples of the node since the last exchange, and the exchanged values. */
	uint64_t samples, apart_ns, waited_ns, waited_before, summed_at;
	uint64_t exchanged[CS_EXCHANGED];
	struct cs_request request;
	bool is_exchanging; /* the request is under way */
	uint64_t due; /* number of the call that is to begin an exchange; 0: none */
};

/* Start to measure, before the first call of a team; all ranks have the same limits, and functions
 * for the same words. The team's node is a new one, or a former team's between two calls. */
void cs_epoch_begin(struct cs_team *team, const struct cs_epoch_limits *limits,
		    const struct cs_epoch_user *user);

/* May the team's next call begin without a wait, whatever it agrees on? */
bool cs_epoch_may_begin_now(struct cs_team *team);

/* Leaders: begin the exchange that is due, if all older operations are over: all leaders have to
 * begin collectives of the host in the same order. */
void cs_epoch_exchange(struct cs_team *team);

/* Do not measure. */
void cs_epoch_none(struct cs_team *team);

/* Wait for the exchange under way, if any, and stop measuring, before the team's communicators are
 * freed. */
void cs_epoch_end(struct cs_team *team);

#endif
