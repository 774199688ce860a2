/* shm/stall.h — calls that hang: each rank publishes its long waits in its part of a node's memory,
 * and one of them reports all ranks of the node.
 *
 *   a wait is long      cs_stall_publish: this call in the call's node, and, as number 0, in the
 *                       nodes of the process's other teams; again and again while it lasts
 *   it is longer still  cs_stall_is_mine: one rank of the node reports the call, once
 *   then                cs_stall_write: in words, from records, lines and done words
 *
 * Nothing here is called before a wait is a second old (base/wait.h, cs_wait_long). */
#ifndef CS_SHM_STALL_H
#define CS_SHM_STALL_H

#include "shm/node.h"

#include <stdio.h>

#define CS_STALL_NAME 56
#define CS_STALL_SITE 48
/* A record that is older is of a wait that is over. */
#define CS_STALL_FRESH_NS UINT64_C(2000000000)

/* A long wait. */
struct cs_stall {
	uint64_t number; /* of the call on this node; 0: in a call of another team */
	uint64_t seen_ns, since_ns; /* cs_clock_ns: when this was written, when the wait began */
	uint64_t call;   /* of those served on the communicator, from 1 on */
	uint64_t bytes;  /* cs_call.bytes */
	int32_t coll;    /* enum cs_coll, with CS_NONBLOCKING or CS_PERSISTENT; -1: the one in which
			  * the communicator's team is made */
	int32_t root;    /* in the communicator; -1: the collective has none */
	int32_t whom;    /* the local rank that is waited for; -1: another node's, or unknown */
	int32_t size;    /* of the communicator */
	char name[CS_STALL_NAME]; /* of the communicator; "": none */
	char site[CS_STALL_SITE]; /* object and offset of the return address; "": not known */
};
_Static_assert(sizeof(struct cs_stall) <= CS_STALL_WORDS * sizeof(uint64_t), "a record has room");

/* Writes this rank's record; from one thread at a time. */
void cs_stall_publish(struct cs_node *node, const struct cs_stall *stall);

/* Reads a local rank's record. False: there is none that is fresh at `now_ns`. */
bool cs_stall_look(struct cs_node *node, int local, uint64_t now_ns, struct cs_stall *stall);

/* Is the call to be reported, and by this rank? True once for each call and node. */
bool cs_stall_is_mine(struct cs_node *node, uint64_t number);

/* Number of the call on this node that no other call on this machine has, likely. */
uint64_t cs_stall_key(const struct cs_node *node, uint64_t number);

/* Writes lines: a headline on the call, then the node's ranks, if there is a node, by what they do.
 * `own`: this rank's
 * record of the call, with seen_ns as the present time. `detail`: type and operation, as
 * ", MPI_INT, MPI_SUM", or "". */
void cs_stall_write(FILE *out, struct cs_node *node, const struct cs_stall *own,
		    const char *detail);

#endif
