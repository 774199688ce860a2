/* comm/host/host.h — communication by the host MPI between the leaders of a team, and between all
 * of its ranks. */
#ifndef CS_COMM_HOST_HOST_H
#define CS_COMM_HOST_HOST_H

#include "wire/host.h"
#include "wire/wire.h"

#include <mpi.h>
#include <stdbool.h>

/* Group of ranks: `leaders` and `group` of wire/host.h. Owned by the communicator's seat
 * (comm/teams/comm.h). */
struct cs_group {
	MPI_Comm comm;   /* errors return; MPI_COMM_NULL: not made yet */
	MPI_Comm parent; /* to be split when the group is opened; MPI_COMM_NULL: was made at once */
	int part; /* ranks of the parent with the same one are the group; 0: all are */
	const char *refused; /* why it cannot be made, or NULL */
	int nodes, node;
	int *ints; /* leaders: four arrays of one int per node */
	struct cs_wire wire; /* point-to-point */
	struct cs_words *words; /* sent words (comm/host/wire.c); NULL: none so far */
	struct cs_ib *ib;    /* plans send by verbs: NULL, or */
	struct cs_wire *verbs;
	const int *node_of;  /* by rank; ranks of one node send by the host. NULL: each is on a node
			      * of its own */
};

struct cs_ib;

#define CS_GROUPS_ARE_MANY "the teams' share of the MPI's communicators is in use"
#define CS_GROUP_MIGHT_HANG \
	"a rank called MPI_Comm_idup, and Open MPI may hang in making a communicator meanwhile"
#define CS_GROUP_WAS_REFUSED "the MPI has no communicator left to give"

/* wire/host.h's `open`: returns NULL, or why the group cannot be opened. */
const char *cs_group_open(void *group);
/* Counts the group's communicator, if it has one; cs_group_close subtracts it. */
void cs_group_count(struct cs_group *group);
/* Do teams hold as many communicators in this process as they may? Ranks differ: to be agreed
 * on. */
bool cs_groups_are_many(void);

/* A group's wire, by verbs or by the host, as the team has agreed. */
struct cs_wire *cs_host_wire(void *group);
/* A group's wire by the host's messages, even if verbs were agreed on. */
struct cs_wire *cs_host_messages(void *group);
/* Closes the wires, and frees memory and the communicator. Collective over the group. */
void cs_group_close(struct cs_group *group);

extern const struct cs_host cs_host_mpi;
/* wire/host.h's make_lanes (comm/teams/make_lanes.c). */
void cs_host_make_lanes(void *everyone, int lanes);
/* Called at each progress of the host, if set: other work of this rank. */
extern void (*_Atomic cs_host_drive)(void);

/* Are waits in the MPI for other nodes ours, so that long ones are noticed (COLLSHIM_STALL)?
 * Agreed: blocking collectives are then non-blocking ones that are waited for. */
extern bool cs_host_waits;
#define CS_HOST_POLLS 100 /* tests of such a wait before it gives the core up */
/* MPI_Wait, by tests; behind the first `polls` of them the core is given up. 0: no operation
 * waits. */
int cs_host_wait(MPI_Request *request, size_t polls);

/* Begin and cancel the receive that progress tests, on cs_self (comm/types/types.h). */
bool cs_host_open(void);
void cs_host_close(void);

#endif
