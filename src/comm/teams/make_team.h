/* comm/teams/make_team.h — the parts of team creation. Private to the files of which it is made:
 *
 *   team_say.c      the exchange of all ranks before anything is made
 *   shape.c         nodes and places of the ranks
 *   team_segment.c  a node's memory: a new one, or one of a former team
 *   make_lanes.c    lanes between nodes
 *   make_team.c     the team */
#ifndef CS_COMM_TEAMS_MAKE_TEAM_H
#define CS_COMM_TEAMS_MAKE_TEAM_H

#include "comm/teams/comm.h"
#include "shm/headroom.h"
#include "shm/pool.h"
#include "topo/topo.h"

/* Reasons why a rank cannot have a team; the largest of all ranks' troubles is the
 * communicator's. */
enum cs_trouble {
	CS_TROUBLE_NONE,
	CS_TROUBLE_NO_SEGMENT, /* also if the leader's offer could not be received */
	CS_TROUBLE_SHM_OFF,
	CS_TROUBLE_NO_BUDGET,
	CS_TROUBLE_NO_ROOM, /* and one for each limit: CS_TROUBLE_NO_ROOM + enum cs_limit */
	CS_TROUBLE_NO_COMMIT = CS_TROUBLE_NO_ROOM + CS_LIMITS,
	CS_TROUBLE_NO_ATTACH,
	CS_TROUBLE_NO_SHARE,
	CS_TROUBLE_NO_COMM,
	CS_TROUBLE_NO_WIRE,
	CS_TROUBLE_MIGHT_HANG,
	CS_TROUBLE_NO_MEMORY,
	CS_TROUBLE_DISABLED,
	CS_TROUBLE_BARRED,
	CS_TROUBLE_NOT_ALIKE,
	CS_TROUBLES,
	CS_TROUBLE_PUT_OFF = CS_TROUBLES, /* no trouble, and never sent to others */
};

/* --- team_say.c ------------------------------------------------------------------------------- */

/* Most ranks that exchange a whole cs_said at once. More ranks first agree, with a few words,
 * whether they are on one node, and exchange all only then. */
#define CS_TEAM_FEW 64

/* May a team split off communicators? The least of all ranks' counts. */
enum cs_split { CS_SPLIT_MIGHT_HANG, CS_SPLIT_NO_SHARE, CS_SPLIT_MAY };

struct cs_said {
	uint64_t node, host; /* cs_team_node_word */
	uint64_t digest;     /* of settings that must be equal */
	uint64_t until;      /* calls before which the team is not made */
	uint32_t trouble;
	uint16_t split;    /* enum cs_split */
	uint16_t has_idle; /* a node in its pool, of any processes */
	uint64_t idle[CS_POOL_IDLE]; /* names of idle nodes in this rank's pool for these ranks, if
				      * all are on one node */
};

struct cs_heard {
	bool is_one_node, is_alike;
	enum cs_split split;
	enum cs_trouble trouble;
	uint64_t until;
	uint64_t name; /* of a node that is idle in all pools, or 0 */
	/* Node words by rank; unknown for more than CS_TEAM_FEW ranks, if a rank has none, or if
	 * two have one host but not one node word: they may be in containers, and share memory by
	 * name. */
	bool are_nodes_known, has_idle;
	uint64_t nodes[CS_TEAM_FEW];
};

/* Exchanges the words of all ranks; *heard is the same on all of them. False: the host failed. */
bool cs_team_exchange(struct cs_comm *communicator, const struct cs_said *mine,
		      struct cs_heard *heard);

/* The first of rank 0's names that all ranks have, or 0. Rank r's names begin at names + r *
 * stride. */
uint64_t cs_team_common_name(const uint64_t *names, size_t stride, int ranks);

/* Finds the NUMA domains of the node's ranks, and the ranks for a lane per domain: the same on all
 * of them, by the same table and affinity masks, which must have been written. Ends the job if
 * memory is out. */
void cs_team_learn_domains(struct cs_team *team);

/* The node's table, in its memory (node.table): written by local rank 0. */
struct cs_team_table {
	struct cs_topo_machine machine;
	int kind; /* in cs_node_kinds */
};

/* Finds the levels of a node of many ranks: the same on all of them, by the same table and affinity
 * masks, and by the site's node model, or else a built-in one; a level is none if that site
 * measured about the same below it. The ranks of the node compare theirs: if they differ, all do
 * without, and one says so. Not where ranks share cores: one that has none for a while would hold
 * up its group. Collective on each node, as all ranks of the team must call it or none. Ends the
 * job if memory is out. */
void cs_team_learn_levels(struct cs_team *team);

/* Ends the job, since other ranks wait in a collective that this rank cannot join. */
__attribute__((noreturn)) void cs_team_out_of_memory(const char *what, int ranks);

/* --- shape.c ---------------------------------------------------------------------------------- */

/* Set and restore MPI_ERRORS_RETURN on `comm`, so that a host that is out of communicators returns
 * the error to us. Errors of other threads on `comm` are returned meanwhile, too; so it is done
 * around nothing else. An MPI error code. */
int cs_team_quiet(MPI_Comm comm, MPI_Errhandler *handler);
void cs_team_unquiet(MPI_Comm comm, MPI_Errhandler *handler);

/* Word that the processes of a node have in common (cs_topo_node; with COLLSHIM_FAKE_NODES, of a
 * pretended node); 0: not known. */
uint64_t cs_team_node_word(uint64_t *host);

/* Makes *node, the communicator of this node's ranks, if the node words are not known. */
enum cs_trouble cs_team_split_nodes(struct cs_comm *communicator, MPI_Comm *node);

/* Fills in the shape; false: the host failed. `node`: the cs_comm's own communicator if all ranks
 * are on one node. */
bool cs_team_learn_shape(struct cs_comm *communicator, MPI_Comm node, struct cs_shape *shape);

/* Fills in the shape from the node words of all ranks, without communication. */
bool cs_team_shape_by_words(const struct cs_comm *communicator, const uint64_t *words,
			    struct cs_shape *shape);

/* The node's memory layout for the communicator's team, whose shape is known: slots and areas, by
 * the tuning's limits. */
struct cs_node_shape cs_team_node_shape(const struct cs_comm *communicator);

/* --- team_segment.c --------------------------------------------------------------------------- */

/* Processes that make nodes together: those of `comm`, all on one node (`all` NULL), or on several
 * nodes, with one made on each. */
struct cs_meeting {
	MPI_Comm comm;
	const struct cs_shape *all;
};

/* The largest of all ranks' troubles; collective over `comm`. */
enum cs_trouble cs_team_agree_on(MPI_Comm comm, enum cs_trouble trouble);

/* Key of a node for reuse by a later team: a digest of its processes, in order, and shape; 0: not
 * known. */
uint64_t cs_team_key(const struct cs_meeting *meeting, const struct cs_node_shape *shape);

/* Makes new nodes; all processes of the meeting get theirs, or none does. */
enum cs_trouble cs_team_new_node(const struct cs_meeting *meeting, struct cs_seat *seat,
				 const struct cs_node_shape *shape);

/* Makes a segment of so many bytes on each of the meeting's nodes, shared by its processes: zeros,
 * behind CS_SEGMENT_HEADER. `all` must be set. All processes get theirs, or none does. */
enum cs_trouble cs_team_new_memory(const struct cs_meeting *meeting, size_t bytes,
				   struct cs_segment *segment);
void cs_team_free_memory(struct cs_segment *segment);

/* Takes the former team's node of that name, which all of its processes have idle, from the pool;
 * no communication. 0: none. */
void cs_team_take_idle(uint64_t name, struct cs_seat *seat);

/* Takes an idle node that all of its processes have, or makes a new one: the same choice on all
 * nodes of the meeting. `has_idle`: a process of the meeting has an idle node of any processes. */
enum cs_trouble cs_team_take_node(const struct cs_meeting *meeting, bool has_idle,
				  struct cs_seat *seat, const struct cs_node_shape *shape);

/* Puts the node into the pool, for a next team of the same processes, or closes it. Others may
 * still read our writes: memory is freed by the last process that unmaps it, and a next team begins
 * only after all have left this one. */
void cs_team_drop_node(struct cs_seat *seat);

/* --- make_lanes.c ----------------------------------------------------------------------------- */

/* Finds the ranks of the own node that are lanes, and this rank's lane. */
void cs_team_place_lanes(struct cs_team *team);

/* Makes the communicator of this rank's lane, if that is one of lanes `from` to `to`, which is not
 * included; else takes part only. Collective over `comm`, the team's communicator; ranks may have
 * different troubles. */
enum cs_trouble cs_team_split_lanes(MPI_Comm comm, const struct cs_team *team, int from, int to,
				    struct cs_group *group);

/* --- make_team.c ------------------------------------------------------------------------------ */

/* Does this rank log for the communicator? Rank 0 of MPI_COMM_WORLD does if it is a member, else
 * the communicator's rank 0. */
bool cs_team_is_spokesman(MPI_Comm comm, int rank);
const char *cs_team_words(enum cs_trouble trouble);

/* --- team_epochs.c ---------------------------------------------------------------------------- */

/* Begins to measure the imbalance if a rule asks for it and the user has not set it, and to try
 * algorithms, unless the user does not want that, or wants one order. */
void cs_team_begin_epochs(struct cs_comm *communicator);

#endif
