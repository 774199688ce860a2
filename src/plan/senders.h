/* plan/senders.h — several ranks of a node that do the steps of one plan between nodes, from and
 * into memory that they share (seed 002, 2.3.2).
 *
 *   ports of the plan    0 1 2 3 4           a step belongs to a port (plan/build.h), and its
 *   sender               0 1 2 0 1           message goes between the same port of both nodes
 *
 * Each sender builds the whole plan and keeps its own steps. Steps of one are seen by another from
 * CS_STEP_TELL and CS_STEP_HEAR on: words in the node's memory. */
#ifndef CS_PLAN_SENDERS_H
#define CS_PLAN_SENDERS_H

#include <stdbool.h>
#include <stdint.h>

#define CS_SENDERS_MOST 64

struct cs_senders {
	int count; /* of each node: 2 to CS_SENDERS_MOST; the same on all */
	int self;  /* this process's number */
	/* The rank, in the group of the wire, of a node's sender. */
	int (*rank_of)(const struct cs_senders *senders, int node, int sender);
	/* Publishes that this process has told so many times, and errors found so far (enum
	 * cs_told). */
	void (*tell)(const struct cs_senders *senders, uint64_t times, unsigned errors);
	/* Has another sender told so many times? Adds its errors then. With `may_wait`, waits until
	 * it has. */
	bool (*has_told)(const struct cs_senders *senders, int sender, uint64_t times,
			 unsigned *errors, bool may_wait);
	void *op;      /* of these functions */
	void *memory;  /* CS_TMP, shared by the senders of the node: `room` bytes */
	uint64_t room;
	uint64_t most; /* times that one tells */
};

#endif
