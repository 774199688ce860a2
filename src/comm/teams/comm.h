/* comm/teams/comm.h — this process's membership in one communicator: its attribute, its team.
 *
 *   first collectives: counted;  at the team_after-th: the team is made, in that call, by all ranks
 *                                together;
 *   from then on: seat->selection.team serves, or is NULL and the host does everything
 *
 * A call whose arguments the host refuses is not counted: the rank that makes it may be the only
 * one, and go on.
 *
 * Members come from a list that is never given back to malloc, so a stale pointer in the little
 * cache of recently used communicators still points to a cs_comm, whose handle then no longer fits.
 * So a cs_comm is small, and what only a team needs is its seat, which comes and goes with the
 * team: programs keep thousands of communicators, and most stay with the host. */
#ifndef CS_COMM_TEAMS_COMM_H
#define CS_COMM_TEAMS_COMM_H

#include "comm/host/host.h"
#include "comm/teams/ledger.h"
#include "comm/types/types.h"
#include "run/run.h"

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>

enum cs_comm_state { CS_COMM_COUNTING, CS_COMM_HOST, CS_COMM_TEAM };

/* What a rank says of verbs (comm/teams/rdma.h). */
#define CS_RDMA_WORDS 4

struct cs_seat {
	struct cs_selection selection;
	struct cs_team team;
	struct cs_group leaders, everyone;
	struct cs_ledger_page page; /* of a team of all ranks */
	void *pin; /* of the node's segment, for verbs; NULL: none */
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
	uint64_t try_at; /* no team before that many of them, as all ranks have agreed */
	uint64_t first_call; /* of the node's, that is the team's */
	uint64_t number, numbered; /* of the communicator, 0: none yet; of its last call that was
				    * recorded (comm/teams/recording.h) */
	bool is_inter;
	bool is_new; /* the team's memory was made for it */
	bool is_within_world; /* all ranks are this job's, and there are two or more of them */
	bool is_alike;        /* they have agreed on settings here, because they could not at
			       * MPI_Init */
	bool is_aside; /* its communicator is being freed, and has our attribute no more */
	int rank, size;
	struct cs_seat *seat; /* never NULL: without a team it is cs_no_seat, of which nothing may
			       * be written */
	struct cs_op_memory *idle; /* what calls that are over have left for the next
				    * (algorithms/op.h), and of v-calls: */
	size_t *sizes;             /* four arrays of `size`, a call's own while it is looked at and
				    * served */
	/* Programs repeat themselves: the predefined type that was looked at last, and the pair of
	 * one with an operation. */
	const struct cs_type *known_type;
	struct cs_reduction known_pair;
	struct cs_comm *next;     /* in the list of free or of living communicators */
};

/* A cs_comm is all that a communicator costs that stays with the host. */
_Static_assert(sizeof(struct cs_comm) <= 300, "a member is small");

/* The seat of all communicators without a team: its selection has none, and knows no answers. */
extern struct cs_seat cs_no_seat;

/* The cs_comm for a collective call that is being made on `comm`, or NULL if we have no say in it
 * (no communicator, MPI not initialised, library closed); seat->selection.team is what serves. */
static inline struct cs_comm *cs_comm_enter(MPI_Comm comm);

/* Of a communicator that is CS_COMM_COUNTING, when the call's arguments are known to be right:
 * counts the call, and makes the team when it is time. Is there one now? */
bool cs_comm_count(struct cs_comm *communicator);

/* Counts a call of that size that is never served. */
void cs_comm_count_left(enum cs_left coll, size_t bytes, uint64_t nanoseconds);

/* Around the host's MPI_Comm_free or MPI_Comm_disconnect of `comm`, in one thread. Our attribute is
 * gone before the host sees the call, so that what its delete callbacks do, in which order, and
 * what comes of their errors is as without us; the cs_comm is kept, for a communicator that is not
 * freed after all. Between the two the communicator's collectives are the host's. What
 * cs_comm_freeing returns is cs_comm_freed's; a callback may free other communicators meanwhile. */
struct cs_freeing;
struct cs_freeing *cs_comm_freeing(MPI_Comm comm);
void cs_comm_freed(struct cs_freeing *freeing, bool is_gone);

/* Before the host's MPI_Comm_idup: where a rank has called it, no communicator is made from now
 * on, if that may hang. */
void cs_comm_duplicating(void);

#define CS_COMM_CACHE 8
extern _Atomic(struct cs_comm *) cs_comm_cache[CS_COMM_CACHE];
struct cs_comm *cs_comm_enter_slow(MPI_Comm comm);

static inline unsigned
cs_comm_index(MPI_Comm comm)
{
	uintptr_t handle = (uintptr_t)comm;
	return (unsigned)(handle ^ handle >> 4 ^ handle >> 8) % CS_COMM_CACHE;
}

static inline struct cs_comm *
cs_comm_enter(MPI_Comm comm)
{
	struct cs_comm *communicator =
	      atomic_load_explicit(&cs_comm_cache[cs_comm_index(comm)], memory_order_acquire);
	if (__builtin_expect(communicator && communicator->comm == comm, 1))
	      return communicator;
	return cs_comm_enter_slow(comm);
}

/* cs_type_find and cs_type_look, the last answer first. */
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

/* Makes the team, collectively over the communicator; ends in CS_COMM_TEAM or CS_COMM_HOST on all
 * ranks alike. */
void cs_comm_make_team(struct cs_comm *communicator);
void cs_comm_drop_team(struct cs_comm *communicator);
/* Key values, and the list; cs_comms_close drops all teams (at finalize). */
bool cs_comms_open(void);
void cs_comms_close(void);

#endif
