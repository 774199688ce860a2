/* sim/play_parts.h — what the files of sim/play.h share: play.c (turns of ranks), play_team.c
 * (nodes and teams), play_call.c (calls, results), play_wire.c (messages), play_window.c,
 * play_host.c (the MPI's collectives). */
#ifndef CS_SIM_PLAY_PARTS_H
#define CS_SIM_PLAY_PARTS_H

#include "algorithms/op.h"
#include "sim/actor.h"
#include "sim/fiber.h"
#include "sim/play.h"
#include "wire/rma_window.h"
#include "wire/wire.h"

struct cs_play;
struct cs_play_rank;

/* A message of a rank, either side; its number is that of the actor's request. */
struct cs_play_message {
	int32_t next;     /* unused one; -1: the last */
	bool is_asked;    /* somebody will still ask for its end */
	bool is_on_way;   /* of a send: not delivered */
	char *to;         /* of a receive */
	size_t bytes;
	char *copy;       /* of a send; NULL: its bytes are all 0 */
	uint64_t number;  /* CS_STREAM_ANY, _PUT */
	_Atomic uint64_t *flag;
	uint64_t value;
	/* CS_STREAM_PUT */
	size_t at;
	enum cs_rma_row row;
	struct cs_rma_growth growth;
};

/* A rank's place in a group: all ranks, or a lane. */
struct cs_play_seat {
	struct cs_wire wire;
	struct cs_play_rank *rank;
	int lane; /* -1: all ranks */
	bool has_sizes; /* its messages may have sizes, which are read */
};

struct cs_play_window {
	struct cs_rma_window window;
	struct cs_play_rank *rank;
};

enum cs_play_state {
	CS_PLAY_RUNS,
	CS_PLAY_STEPS, /* until its step is over, or its time has come */
	CS_PLAY_WAITS, /* for what it awaits, or for anything */
	CS_PLAY_OVER,
};

struct cs_play_rank {
	struct cs_team team; /* first: where hooks find the rank */
	struct cs_op op;
	struct cs_op_memory *idle;
	struct cs_play *play;
	struct cs_fiber *fiber;
	struct cs_play_seat everyone, leaders;
	struct cs_play_window *window;
	enum cs_play_state state;
	uint32_t turn;    /* number of the event that gives it its next turn */
	int64_t turn_at;  /* its time; INT64_MAX: there is none */
	int64_t known_at; /* soonest end of a request that was asked for too early */
	bool waits_for_any; /* within a phase: for whatever changes on its node */
	const _Atomic uint64_t *word; /* or for this one alone, to be `target`; NULL: for none */
	uint64_t target;
	bool is_line;       /* `word` is a line's */
	uint32_t noise;   /* grows with all that may have changed its node's memory */
	bool is_active;   /* has done something in this turn that others may see */
	bool does;        /* anything, since it was stepped */
	bool has_stayed;  /* has looked again, and found nothing */
	bool is_behind;   /* something has come or changed since then */
	cs_phase *const *phase; /* after its last turn */
	size_t owed[2];   /* bytes copied and reduced whose time has not been taken */
	double owed_time; /* fs */
	bool owes_plan;   /* some of it is that of a plan between nodes */
	double row;       /* fs of work since something else took time */
	int reads_of;     /* local rank whose memory it reads by single copy, */
	int64_t reads_until;
	size_t paid;      /* bytes of reductions that are to be done, with `moves` */
	uint64_t *heard;  /* by local rank: call and step of its line that was found last */
	struct cs_play_message *messages;
	size_t message_count;
	int32_t unused;
	char *send, *recv;
};

struct cs_play {
	struct cs_sim *sim;
	struct cs_sim_call *call;
	const struct cs_algorithm *algorithm;
	struct cs_play_options options;
	const size_t *params; /* of the part on nodes */
	struct cs_play_rank *ranks;
	int played, played_nodes; /* the first ones, which stand for all */
	struct cs_shape shape; /* but for fields of one rank */
	int lanes;
	size_t *counts_of;       /* elements of each rank's block, where they are several */
	size_t *pairs;           /* of alltoallv: play_call.c */
	char **nodes, **windows; /* memory, by node; windows made at their first use */
	struct cs_play_kept {
		char *copy;
		size_t bytes;
		uint64_t run;
	} *kept; /* by node */
	char *stacks, *shared;   /* of all fibers; what all ranks send and receive, unmoved */
	uint64_t *heard;
	struct cs_match any;     /* messages from any source that were not received, and receives:
				  * also of earlier runs */
	const int64_t *starts;
	struct cs_play_counts counts;
	uint64_t runs;
};

static inline struct cs_play *
cs_play_of(const struct cs_sim *sim)
{
	return sim->play;
}

/* The rank whose twin, or itself, has that number. */
static inline struct cs_play_rank *
cs_play_twin(const struct cs_play *play, int number)
{
	return &play->ranks[number % play->played];
}

static inline int
cs_play_number(const struct cs_play_rank *rank)
{
	return rank->team.shape.rank;
}

static inline struct cs_sim_actor *
cs_play_actor(const struct cs_play_rank *rank)
{
	return &rank->play->sim->actors[cs_play_number(rank)];
}

/* --- play.c ----------------------------------------------------------------------------------- */

extern const struct cs_node_watch cs_play_watch;
/* The host's progress, within a phase that waits; and its abort. */
void cs_play_progress(void);
__attribute__((noreturn)) void cs_play_end(const char *why);
/* The rank whose turn it is. */
struct cs_play_rank *cs_play_current(void);
/* Lets the simulator do the steps that were added to the rank, and returns when they are over. */
void cs_play_do_steps(struct cs_play_rank *rank);
/* Steps that are over take no memory. To be called before one is added. */
void cs_play_drop_steps(struct cs_play_rank *rank);
/* Returns when the simulated time is the rank's own. */
void cs_play_catch_up(struct cs_play_rank *rank);
void cs_play_do_work(struct cs_play_rank *rank, bool reduces, size_t bytes);
/* The same of a plan, whose time is that of its messages (result.inter_time). */
void cs_play_do_plan_work(struct cs_play_rank *rank, bool reduces, size_t bytes);
/* Takes the time of all work that was put off. */
void cs_play_settle(struct cs_play_rank *rank);
/* Ends a run: an error of the program. The rank's fiber does not go on. */
_Noreturn void cs_play_give_up(struct cs_play_rank *rank, const char *why);
/* Gives a rank that waits its turn at that time, unless it has one before. */
void cs_play_wake(struct cs_play_rank *rank, int64_t at);
/* The node's memory may have changed; `is_active`: or what ranks wait for that has no word. */
void cs_play_wake_node(struct cs_play *play, int node, bool is_active);

/* --- play_team.c ------------------------------------------------------------------------------ */

/* At least `bytes` of zeros, of which only what is touched takes memory; NULL: no memory. */
void *cs_play_zeros(size_t bytes);
/* CS_UNSUPPORTED: blocks of so many ranks do not fit into a slot. */
CS_CHECKED enum cs_status cs_play_make_teams(struct cs_play *play);
/* A copy of memory of the rank's node, of which all its ranks ask for the same one in a run; all
 * but the first of them find it there. */
const void *cs_play_keep(struct cs_play_rank *rank, const void *from, size_t bytes);
void cs_play_drop_teams(struct cs_play *play);

/* --- play_call.c ------------------------------------------------------------------------------ */

CS_CHECKED enum cs_status cs_play_make_buffers(struct cs_play *play);
void cs_play_drop_buffers(struct cs_play *play);
/* Fills in the rank's operation, and with `moves` what it sends. */
void cs_play_make_call(struct cs_play_rank *rank);
bool cs_play_is_right(struct cs_play_rank *rank);

/* --- play_host.c ------------------------------------------------------------------------------ */

extern const struct cs_host cs_play_host;

/* --- play_wire.c ------------------------------------------------------------------------------ */

struct cs_wire *cs_play_wire_of(void *group);
void cs_play_open_wire(struct cs_play_seat *seat, struct cs_play_rank *rank, int lane);
/* A new message; its bytes are copied, if it has any to send. */
int32_t cs_play_new_message(struct cs_play_rank *rank, const void *from, size_t bytes);
/* Starts a message in a stream of the player's. */
void cs_play_post(struct cs_play_rank *rank, int32_t message, int to, size_t bytes,
		  enum cs_sim_step_stream stream);
/* Is the rank's message over? Takes the time of its end then, and forgets it. */
bool cs_play_test(struct cs_play_rank *rank, int32_t message);
/* Forgets a message when it has been asked for, and delivered. */
void cs_play_forget(struct cs_play_rank *rank, int32_t message);
/* Writes bytes that were sent: only where they differ, so that memory that nobody fills stays
 * untouched. `copy` NULL: all 0. */
void cs_play_write(char *to, const char *copy, size_t bytes);
void cs_play_deliver(struct cs_sim *sim, const struct cs_event *event, int64_t last);
void cs_play_met(struct cs_sim *sim, int to, int receive, int from, int message);
/* Messages that are left over from earlier runs have come long ago. */
void cs_play_keep_words(struct cs_play *play);

/* --- play_window.c ---------------------------------------------------------------------------- */

struct cs_rma_window *cs_play_window_of(void *everyone);
void cs_play_land(struct cs_sim *sim, const struct cs_event *event);
void cs_play_drop_window(struct cs_play_rank *rank);

#endif
