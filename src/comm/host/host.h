/* comm/host/host.h — the host MPI between the leaders of a team, and between all of its ranks. */
#ifndef CS_COMM_HOST_HOST_H
#define CS_COMM_HOST_HOST_H

#include "wire/host.h"
#include "wire/wire.h"

#include <mpi.h>
#include <stdbool.h>

/* What `leaders` and `group` point to in wire/host.h; owned by the communicator's cs_comm
 * (comm/teams/comm.h). */
struct cs_group {
	MPI_Comm comm;   /* errors return; MPI_COMM_NULL: not made yet */
	MPI_Comm parent; /* of which it is made when it is needed; MPI_COMM_NULL: it was made at
			  * once */
	const char *refused; /* why it is not to be made any more, or NULL */
	int nodes, node;
	int *ints; /* leaders: four arrays of one int per node */
	struct cs_wire wire; /* point-to-point */
	struct cs_words *words; /* that it has sent (comm/host/wire.c); NULL: none so far */
	struct cs_ib *ib;    /* plans send by verbs, for which there is: */
	struct cs_wire *verbs;
	const int *node_of;  /* by rank; ranks of one node talk by the host. NULL: each is on a node
			      * of its own */
};

struct cs_ib;

#define CS_GROUPS_ARE_MANY "the teams' share of the MPI's communicators is in use"
#define CS_GROUP_MIGHT_HANG \
	"a rank called MPI_Comm_idup, and Open MPI may hang in making a communicator meanwhile"
#define CS_GROUP_WAS_REFUSED "the MPI has no communicator left to give"

/* As wire/host.h's `open`. */
const char *cs_group_open(void *group);
/* Its communicator is there from now on; cs_group_close counts it off. */
void cs_group_count(struct cs_group *group);
/* Whether teams hold as many communicators in this process as they may. Ranks differ: to be agreed
 * on. */
bool cs_groups_are_many(void);

/* A group's wire, by verbs or by the host, as the team has agreed. */
struct cs_wire *cs_host_wire(void *group);
/* Its wire by the host's messages, whatever has been agreed. */
struct cs_wire *cs_host_messages(void *group);
/* Frees the communicator, which all of its ranks do together, and memory. */
void cs_group_close(struct cs_group *group);

extern const struct cs_host cs_host_mpi;

/* What progress needs, on cs_self (comm/types/types.h). */
bool cs_host_open(void);
void cs_host_close(void);

#endif
