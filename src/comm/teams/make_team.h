/* comm/teams/make_team.h — what the making of a team consists of. Private to make_team.c and the
 * files below it:
 *
 *   team_say.c      what all ranks say before anything is made
 *   shape.c         who is where
 *   team_segment.c  a node's memory: a new one, or one of a former team
 *   make_team.c     the team, of all this */
#ifndef CS_COMM_TEAMS_MAKE_TEAM_H
#define CS_COMM_TEAMS_MAKE_TEAM_H

#include "comm/teams/comm.h"
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

/* Up to so many ranks tell each other all of it. More find out first whether they are on one node;
 * only then it is worth the bytes. */
#define CS_TEAM_FEW 64

struct cs_said {
	uint64_t node, host; /* cs_team_node_word */
	uint64_t digest;     /* of what must be equal */
	uint64_t until;      /* the team is not to be made before that many calls */
	uint32_t trouble;
	uint16_t may_split, has_idle; /* a node in its pool, of whatever processes */
	uint64_t idle[CS_POOL_IDLE]; /* names of nodes in this rank's pool that all ranks had, if
				      * all are on one node */
};

struct cs_heard {
	bool is_one_node, is_alike, may_split;
	enum cs_trouble trouble;
	uint64_t until;
	uint64_t name; /* of a node that is idle in all pools, or 0 */
	/* By rank, what processes of one node have in common; unknown of more than CS_TEAM_FEW
	 * ranks, and where one cannot tell, or two have one host but not all that a node has: they
	 * may be in containers, and share memory by name. */
	bool are_nodes_known, has_idle;
	uint64_t nodes[CS_TEAM_FEW];
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

/* What the processes of a node have in common (cs_topo_node), as COLLSHIM_FAKE_NODES deals them
 * out; 0: it cannot be told. */
uint64_t cs_team_node_word(uint64_t *host);

/* The communicator of the node's ranks, where they are on several, and do not know each other's
 * words. */
enum cs_trouble cs_team_split_nodes(struct cs_comm *communicator, MPI_Comm *node);

/* Fills in the shape; false: the host failed. `node`: the cs_comm's own communicator, if all are on
 * one. */
bool cs_team_learn_shape(struct cs_comm *communicator, MPI_Comm node, struct cs_shape *shape);

/* The same by the words that all have told. */
bool cs_team_shape_by_words(const struct cs_comm *communicator, const uint64_t *words,
			    struct cs_shape *shape);

/* Of the node of a team of this shape: slots and areas, as the limits have them. */
struct cs_node_shape cs_team_node_shape(const struct cs_shape *shape);

/* --- team_segment.c --------------------------------------------------------------------------- */

/* Who make nodes together: the processes of a communicator, which are on one node (`all` NULL), or
 * make one on each of several nodes at the same time. */
struct cs_meeting {
	MPI_Comm comm;
	const struct cs_shape *all;
};

/* The worst of all ranks' troubles. */
enum cs_trouble cs_team_agree_on(MPI_Comm comm, enum cs_trouble trouble);

/* What a node of a former team must have in common with the next: processes, in their order, and
 * shape. */
uint64_t cs_team_key(const struct cs_meeting *meeting, const struct cs_node_shape *shape);

/* New nodes; all processes of the meeting have theirs, or none has. */
enum cs_trouble cs_team_new_node(const struct cs_meeting *meeting, struct cs_seat *seat,
				 const struct cs_node_shape *shape);

/* Memory of so many bytes for each of the meeting's nodes, `all` of it, shared by its processes;
 * zeros, behind CS_SEGMENT_HEADER. All of them have it, or none has. */
enum cs_trouble cs_team_new_memory(const struct cs_meeting *meeting, size_t bytes,
				   struct cs_segment *segment);
void cs_team_free_memory(struct cs_segment *segment);

/* A node of a former team, of that name, which all of its processes have idle; they need not meet.
 * 0: none. */
void cs_team_take_idle(uint64_t name, struct cs_seat *seat);

/* One of several nodes: a node that all of its processes have idle, or a new one; where several
 * are made together, it is the one or the other on all. `has_idle`: a process of the meeting has an
 * idle one of whatever processes. */
enum cs_trouble cs_team_take_node(const struct cs_meeting *meeting, bool has_idle,
				  struct cs_seat *seat, const struct cs_node_shape *shape);

/* Others may still be reading what we wrote: the memory goes when the last of us unmaps it, or
 * waits in the pool for a next team of the same processes, which all of them join only after they
 * have left this one. */
void cs_team_drop_node(struct cs_seat *seat);

#endif
