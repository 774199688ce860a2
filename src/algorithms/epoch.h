/* algorithms/epoch.h — a team's agreement while it is used: verdicts on measurements of the run, in
 * force on all ranks from the same call on.
 *
 * A team's epoch turns every cs_epoch_limits.calls calls. At a turn the leaders begin to exchange
 * the measurements of their nodes by a non-blocking collective, and the verdict is in force on all
 * ranks from the next turn on. So no call waits for a verdict unless its rank is an epoch ahead of
 * the slowest leader. A team on one node exchanges nothing, but its verdicts are one epoch late,
 * too, since its ranks turn at different times.
 *
 * There is one verdict, the lateness of ranks: a word in the node's head (shm/node_memory.h:
 * verdicts) that epoch.c makes of enum cs_exchanged and classifies as enum cs_balance. */
#ifndef CS_ALGORITHMS_EPOCH_H
#define CS_ALGORITHMS_EPOCH_H

#include "coll/coll.h"
#include "shm/lateness.h"
#include "wire/request.h"

struct cs_team;

/* Values exchanged between nodes: of each the maximum over nodes. */
enum cs_exchanged {
	CS_EXCHANGED_LATE,        /* ns, means: the lesser of apart_ns (shm/lateness.h) and
				   * waited */
	CS_EXCHANGED_WAITED,      /* ns that a rank of the node has waited in a call, in the mean */
	CS_EXCHANGED_WAITED_LESS, /* complement of it: of the node that has waited least */
	CS_EXCHANGED_SHARED,      /* 1: more ranks than cores they may use */
	CS_EXCHANGED
};

struct cs_epoch_limits {
	uint64_t calls;                  /* of an epoch: a multiple of CS_SAMPLE, 128 or more */
	uint64_t moderate_ns, strong_ns; /* lateness from which on imbalance is moderate or strong;
					  * if ranks of a node share cores, a rank is late by its
					  * time slice, and moderate counts as balanced */
};

struct cs_epoch {
	struct cs_epoch_limits limits;
	uint64_t turn_at; /* number of the call at which it turns next */
	uint64_t turns;
	enum cs_balance imbalance; /* in force */
	void (*told)(void *user, enum cs_balance imbalance);
	void *user;
	/* Leaders: samples of the node since the last turn, and the exchanged values. */
	uint64_t samples, apart_ns, waited_ns, waited_before;
	uint64_t exchanged[CS_EXCHANGED];
	uint64_t published; /* turns whose verdicts are published */
	struct cs_request request;
};

/* Start to measure, before the team's first call; all ranks have the same limits. told(user, class)
 * is called on each rank when another class comes into force, for the calls after the one that has
 * just begun. The team's node is a new one, or a former team's between two calls. */
void cs_epoch_begin(struct cs_team *team, const struct cs_epoch_limits *limits,
		    void (*told)(void *user, enum cs_balance imbalance), void *user);

/* Do not measure. */
void cs_epoch_none(struct cs_team *team);

/* Wait for the exchange under way, if any, and stop measuring, before the team's communicators are
 * freed. */
void cs_epoch_end(struct cs_team *team);

#endif
