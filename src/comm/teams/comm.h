/* comm/teams/comm.h — data of this process on a communicator (struct cs_comm): the value of our
 * attribute on it, and its team.
 *
 *   the first calls         counted; the host does them
 *   the team_after-th call  the team is made, by all ranks together
 *   from then on            seat->selection.team serves, or is NULL and the host does everything
 *
 * A call whose arguments the host refuses is not counted: this rank may be the only one that makes
 * it, and go on.
 *
 * A cs_comm is reused, but never freed: a stale pointer in the cache of recently used communicators
 * still points to a cs_comm, whose handle no longer matches. So a cs_comm is small, and data for a
 * team only is in its seat, which is allocated and freed with the team: programs keep thousands of
 * communicators, and most stay with the host. */
#ifndef CS_COMM_TEAMS_COMM_H
#define CS_COMM_TEAMS_COMM_H

#include "comm/host/host.h"
#include "comm/teams/ledger.h"
#include "comm/types/types.h"
#include "run/run.h"
#include "shm/stall.h"

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>

/* CS_COMM_QUEUED: a team of which non-blocking calls wait for their begin (comm/calls/icall.h). */
enum cs_comm_state { CS_COMM_COUNTING, CS_COMM_TEAM, CS_COMM_HOST, CS_COMM_QUEUED };

/* Words of a rank for the agreement on verbs (comm/teams/rdma.h). */
#define CS_RDMA_WORDS 4

struct cs_seat {
	struct cs_selection selection;
	struct cs_team team;
	struct cs_group leaders, everyone, locals;
	struct cs_ledger_page page; /* open for a team of all ranks */
	uint64_t looked_at; /* the node's calls when idle teams were last looked for */
	void *own_node; /* words of a node of one rank, if each has one; else NULL */
	void *pin; /* registration of the node's segment for verbs; NULL: none */
	/* Made at its first use (comm/teams/rma_window.h); NULL: none. */
	struct cs_rma_window *window;
	struct cs_segment window_segment;
	bool is_window_tried;
	struct cs_rdma_said {
		bool is_agreed;
		int least[CS_RDMA_WORDS]; /* comm/teams/rdma.h */
	} rdma;
};

struct cs_comm {
	MPI_Comm comm; /* MPI_COMM_NULL: not in use */
	enum cs_comm_state state;
	const char *reason; /* CS_COMM_HOST: why */
	uint64_t calls;
	uint64_t try_at; /* no team before that many calls, as all ranks have agreed */
	uint64_t first_call; /* the node's number of the team's first call */
	uint64_t number, numbered; /* numbers of the communicator, 0: none yet, and of its last
				    * recorded call (comm/teams/recording.h) */
	uint64_t left_calls; /* that the host did, for cs_recording_keep */
	bool is_inter;
	bool is_new; /* nodes were split or memory made for the team */
	bool is_within_world; /* two or more ranks, all of this job */
	bool is_alike;        /* the ranks have agreed on settings here, as MPI_Init was not seen */
	bool is_aside; /* the communicator is being freed, and our attribute is off it */
	bool is_apart; /* of a persistent request (cs_comm_apart) */
	bool is_barred; /* this rank does not want its team */
	size_t call_bytes; /* most bytes of a call, if is_apart */
	int rank, size;
	struct cs_seat *seat; /* never NULL: cs_no_seat, read-only, without a team */
	struct cs_icalls *icalls;  /* comm/calls/icall.h; NULL: none yet */
	struct cs_op_memory *idle; /* memory kept from finished calls (algorithms/op.h), and of
				    * v-calls: */
	size_t *sizes;             /* four arrays of `size`, a call's own while it is checked and
				    * served */
	/* Last answers: the predefined type used last, and the last reduction of a predefined type
	 * and operation. */
	const struct cs_type *known_type;
	struct cs_reduction known_pair;
	enum cs_order known_order; /* of its operands */
	struct cs_comm *next;     /* in the list of unused or of living ones */
};

/* The only memory kept for a communicator that stays with the host. */
_Static_assert(sizeof(struct cs_comm) <= 300, "a communicator's record is small");

/* Seat of all communicators without a team: its selection has no team and no cached choices. */
extern struct cs_seat cs_no_seat;

/* Finds or makes the cs_comm of a handle that may be a communicator's, in an open engine
 * (comm/enter.h). NULL: no communicator; or one that is being freed, on which a delete callback of
 * the program makes a collective: the host's. */
struct cs_comm *cs_comm_find(MPI_Comm comm);

/* Counts a call whose arguments are known to be right, and makes the team when it is time. Only in
 * the state CS_COMM_COUNTING. Is there a team now? */
bool cs_comm_count(struct cs_comm *communicator);

/* The report's row of calls of a collective that is never served. */
struct cs_report_row *cs_comm_left_row(enum cs_left coll, size_t bytes);

/* Called around the host's MPI_Comm_free or MPI_Comm_disconnect of `comm`, in one thread. Our
 * attribute is deleted before the host sees the call, so that the order, effects and errors of its
 * delete callbacks are as without us; the cs_comm is kept, in case the communicator is not freed
 * after all. Between the two the communicator's collectives are the host's. cs_comm_freed releases
 * the result of cs_comm_freeing; a callback may free other communicators meanwhile. */
struct cs_freeing;
struct cs_freeing *cs_comm_freeing(MPI_Comm comm);
void cs_comm_freed(struct cs_freeing *freeing, bool is_gone);

/* Called before the host's MPI_Comm_idup: if making a communicator may then hang, no more are
 * made. */
void cs_comm_duplicating(void);

/* Communicators used last, by handle. */
#define CS_COMM_CACHE 8
extern _Atomic(struct cs_comm *) cs_comm_cache[CS_COMM_CACHE];

static inline unsigned
cs_comm_index(MPI_Comm comm)
{
	uintptr_t handle = (uintptr_t)comm;
	return (unsigned)(handle ^ handle >> 4 ^ handle >> 8) % CS_COMM_CACHE;
}

/* cs_type_find, with the last answer tried first. */
static inline const struct cs_type *
cs_comm_known_type(struct cs_comm *communicator, MPI_Datatype handle)
{
	if (__builtin_expect(communicator->known_type->handle == handle, 1))
		return communicator->known_type;
	const struct cs_type *known = cs_type_find(handle);
	if (known)
		communicator->known_type = known;
	return known;
}

/* --- for comm/ itself ------------------------------------------------------------------------- */

/* Makes the team, collectively over the communicator. The state is then CS_COMM_TEAM, CS_COMM_HOST,
 * or, if the team was put off, CS_COMM_COUNTING still: the same on all ranks. */
void cs_comm_make_team(struct cs_comm *communicator);
/* The communicator for which this thread does so; else NULL. */
extern _Thread_local const struct cs_comm *cs_comm_in_making;
/* Ends the non-blocking calls of a communicator with icalls, before its team is dropped; not
 * `may_wait`: they are given up. Set by comm/calls/icall.c with the first of them. */
extern void (*cs_comm_end_calls)(struct cs_comm *communicator, bool may_wait);
void cs_comm_drop_team(struct cs_comm *communicator);
/* Frees touched pages (cs_node_give_back) of teams without a call since this was last asked, or of
 * all teams without one under way. Returns their bytes. */
size_t cs_comms_give_back(bool of_all);
/* Publishes in the nodes of all teams but `but`'s that this rank waits elsewhere (shm/stall.h);
 * `stall`: the wait, with number 0. Nothing if other threads may make calls meanwhile. */
void cs_comms_say_elsewhere(const struct cs_node *but, const struct cs_stall *stall);
/* Makes a cs_comm with a team of its own, for a persistent request on a communicator whose team is
 * on one node; collective over it. `call_bytes`: most bytes that a rank of a call moves, the same
 * on all ranks. The state is CS_COMM_TEAM or, if any rank `is_barred` or lacks memory,
 * CS_COMM_HOST, as on all ranks. The caller owns it; cs_comm_drop_apart is local. */
struct cs_comm *cs_comm_apart(const struct cs_comm *communicator, size_t call_bytes,
			      bool is_barred);
void cs_comm_drop_apart(struct cs_comm *apart);
/* Called before all teams are dropped at MPI_Finalize; NULL: nothing. */
extern void (*cs_comms_closing)(void);
/* Create and free the attribute's key value; cs_comms_close also drops all teams (at
 * MPI_Finalize). */
bool cs_comms_open(void);
void cs_comms_close(void);
/* Tells the report of the classes on trial of all communicators. */
void cs_comms_tell(void);

#endif
