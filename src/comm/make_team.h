/* comm/make_team.h — what the making of a team consists of. Private to make_team.c and the files
 * below it:
 *
 *   team_say.c      what all ranks say before anything is made
 *   shape.c         who is where
 *   team_segment.c  a node's memory: a new one, or one of a former team
 *   make_team.c     the team, of all this */
#ifndef CS_COMM_MAKE_TEAM_H
#define CS_COMM_MAKE_TEAM_H

#include "comm/comm.h"
#include "shm/headroom.h"
#include "shm/pool.h"

/* Why a rank cannot; the largest of all ranks' troubles is the communicator's. */
enum cs_trouble {
	CS_TROUBLE_NONE,
	CS_TROUBLE_NO_SEGMENT, /* first: it is also what the others know when their leader has
				* none */
	CS_TROUBLE_SHM_OFF,
	CS_TROUBLE_NO_BUDGET,
	CS_TROUBLE_NO_ROOM, /* and one for each limit: CS_TROUBLE_NO_ROOM + enum cs_limit */
	CS_TROUBLE_NO_COMMIT = CS_TROUBLE_NO_ROOM + CS_LIMITS,
	CS_TROUBLE_NO_ATTACH,
	CS_TROUBLE_NO_SHARE,
	CS_TROUBLE_NO_COMM,
	CS_TROUBLE_MIGHT_HANG,
	CS_TROUBLE_NO_MEMORY,
	CS_TROUBLE_DISABLED,
	CS_TROUBLE_NOT_ALIKE,
	CS_TROUBLES,
	CS_TROUBLE_PUT_OFF = CS_TROUBLES, /* none; and never said to others */
};

/* --- team_say.c ------------------------------------------------------------------------------- */

struct cs_said {
	uint64_t node;       /* cs_topo_node; 0: not one node with others */
	uint64_t digest;     /* of what must be equal */
	uint64_t until;      /* the team is not to be made before that many calls */
	uint32_t trouble;
	uint32_t may_split;
	uint64_t idle[CS_POOL_IDLE]; /* names of nodes in this rank's pool that all ranks had, if
				      * all are on one node */
};

struct cs_heard {
	bool is_one_node, is_alike, may_split;
	enum cs_trouble trouble;
	uint64_t until;
	uint64_t name; /* of a node that is idle in all pools, or 0 */
};

/* All hear the same of all; false: the host failed. */
bool cs_team_exchange(struct cs_comm *communicator, const struct cs_said *mine,
		      struct cs_heard *heard);

/* The first of rank 0's names that all have. Of rank r they begin at names + r * stride. */
uint64_t cs_team_common_name(const uint64_t *names, size_t stride, int ranks);

/* Ends the job: others wait for what this rank cannot say. */
__attribute__((noreturn)) void cs_team_out_of_memory(const char *what, int ranks);

/* --- shape.c ---------------------------------------------------------------------------------- */

/* A host that runs out of communicators must tell us and not the program. Other threads see it,
 * too, if errors of theirs on this communicator come just now; so it is done around nothing
 * else. */
int cs_team_quiet(MPI_Comm comm, MPI_Errhandler *handler);
void cs_team_unquiet(MPI_Comm comm, MPI_Errhandler *handler);

/* Which node COLLSHIM_FAKE_NODES has this process on; -1: it says nothing. */
int cs_team_fake_node(void);

/* The communicator of the node's ranks, where they are on several. */
enum cs_trouble cs_team_split_nodes(struct cs_comm *communicator, MPI_Comm *node);

/* Fills in the shape; false: the host failed. `node`: the cs_comm's own communicator, if all are on
 * one. */
bool cs_team_learn_shape(struct cs_comm *communicator, MPI_Comm node, struct cs_shape *shape);

/* Of the node of a team of this shape: slots and areas, as the limits have them. */
struct cs_node_shape cs_team_node_shape(const struct cs_shape *shape);

/* --- team_segment.c --------------------------------------------------------------------------- */

/* The worst of all ranks' troubles. */
enum cs_trouble cs_team_agree_on(MPI_Comm comm, enum cs_trouble trouble);

/* What a node of a former team must have in common with the next: processes, in their order, and
 * shape. */
uint64_t cs_team_key(MPI_Comm comm, const struct cs_node_shape *shape);

/* A new node for the processes of `comm`; all of them have it, or none has. */
enum cs_trouble cs_team_new_node(MPI_Comm comm, struct cs_seat *seat,
				 const struct cs_node_shape *shape);

/* A node of a former team, of that name, which all of its processes have idle; they need not meet.
 * 0: none. */
void cs_team_take_idle(uint64_t name, struct cs_seat *seat);

/* One of several nodes: a node that all of its processes have idle, or a new one. */
enum cs_trouble cs_team_take_node(MPI_Comm comm, struct cs_seat *seat,
				  const struct cs_node_shape *shape);

/* Others may still be reading what we wrote: the memory goes when the last of us unmaps it, or
 * waits in the pool for a next team of the same processes, which all of them join only after they
 * have left this one. */
void cs_team_drop_node(struct cs_seat *seat);

#endif
