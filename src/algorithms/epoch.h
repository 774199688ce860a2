/* algorithms/epoch.h — what the ranks of a team agree on while it is used: verdicts on what has
 * been measured in the run, in force from a call that all of them know.
 *
 * Every so many calls a team's epoch turns. The leaders then begin to exchange what their nodes
 * have measured, by a collective that does not block, and the verdict holds for all ranks from the
 * next turn on. So no call waits for it, unless a rank is a whole epoch ahead of the slowest
 * leader. A node alone has nothing to exchange, but its verdicts are one epoch late, too, since its
 * ranks turn at different times.
 *
 * There is one verdict so far: how late the last of the ranks is. One more is one more word in enum
 * cs_verdict, what it is made of in enum cs_exchanged, and what becomes of it in epoch.c. */
#ifndef CS_ALGORITHMS_EPOCH_H
#define CS_ALGORITHMS_EPOCH_H

#include "coll/coll.h"
#include "shm/lateness.h"
#include "wire/request.h"

struct cs_team;

/* What goes between nodes: of each the largest of all nodes'. */
enum cs_exchanged {
	CS_EXCHANGED_LATE,        /* ns that ranks wait for the last of their node, in the mean */
	CS_EXCHANGED_WAITED,      /* ns that ranks of the node have waited in a call, in the mean */
	CS_EXCHANGED_WAITED_LESS, /* the same's complement: of the node that has waited least */
	CS_EXCHANGED_SHARED,      /* 1: more ranks than cores they may use */
	CS_EXCHANGED
};

struct cs_epoch_limits {
	uint64_t calls;                  /* of an epoch: a multiple of CS_SAMPLE, 128 or more */
	uint64_t moderate_ns, strong_ns; /* lateness from which on imbalance is that; where ranks of
					  * a node share cores, a rank is late by its time slice,
					  * and what is not strong is balanced */
};

struct cs_epoch {
	struct cs_epoch_limits limits;
	uint64_t turn_at; /* number of the call at which it turns next */
	uint64_t turns;
	enum cs_balance imbalance; /* in force */
	void (*told)(void *user, enum cs_balance imbalance);
	void *user;
	/* Of leaders: what the node's samples since the last turn tell, and what is exchanged. */
	uint64_t samples, apart_ns, waited_ns, waited_before;
	uint64_t exchanged[CS_EXCHANGED];
	uint64_t published; /* turns whose verdicts are there */
	struct cs_request request;
};

/* Begins to measure, before the team's first call; all ranks have the same limits. told(user,
 * class) is called on each rank where another class is in force for the calls behind the one that
 * has just begun. The team's node is a new one, or a former team's between two calls. */
void cs_epoch_begin(struct cs_team *team, const struct cs_epoch_limits *limits,
		    void (*told)(void *user, enum cs_balance imbalance), void *user);

/* Measures nothing. */
void cs_epoch_none(struct cs_team *team);

/* Waits for the exchange that is under way, if any: before the team's communicators are freed. */
void cs_epoch_end(struct cs_team *team);

#endif
