/* sim/actor.h — the parts of a simulator: ranks with their steps, and resources that ranks of a
 * node share. Private to sim.
 *
 *   add.c makes each rank's steps, steps.c executes them in simulated time, progress.c says who
 *   drives them, and sim.c runs all of it; a player (play.h) makes its ranks' steps one by one */
#ifndef CS_SIM_ACTOR_H
#define CS_SIM_ACTOR_H

#include "sim/events.h"
#include "sim/match.h"
#include "sim/sim.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CS_SIM_OUT, CS_SIM_IN, CS_SIM_DIRECTIONS };

#define CS_SIM_NOBODY (-1)

struct cs_sim_step {
	uint64_t bytes; /* AWAIT: times that the peer must have published */
	int32_t peer;
	uint32_t kind : 4, stream : 2, request : 26;
};

#define CS_SIM_MOST_REQUESTS (1 << 26)

/* Streams of messages: those of one stream between two ranks match in order. Only a player's are
 * in others than the first, and those of the last two are its own alone. */
enum cs_sim_step_stream { CS_STREAM_FIRST, CS_STREAM_DIRECT, CS_STREAM_ANY, CS_STREAM_PUT };
#define CS_STREAM_SHIFT 28 /* above ranks, in keys of matches */

/* Values of actor.awaits; else it is a request. */
enum {
	CS_SIM_NOTHING = -1, CS_SIM_BUS = -2, CS_SIM_FLAG = -3,
	CS_SIM_LOOK = -4,      /* some time, and drives what is held */
	CS_SIM_COMPUTES = -5,  /* the next look */
	CS_SIM_CAUGHT_UP = -6, /* that all is known which has come by its own time */
};

/* Stage of an event: the resource that its first byte requests, or the work of an actor. */
enum cs_sim_stage {
	CS_STAGE_COPY,    /* the bus, for a rank's copy or reduction */
	CS_STAGE_BUS,     /* the bus, for a message inside a node */
	CS_STAGE_NIC,     /* the sender's card */
	CS_STAGE_UP,      /* the link out of the sender's group of nodes */
	CS_STAGE_DOWN,    /* the one into the receiver's */
	CS_STAGE_ARRIVAL, /* the receiver's card and port */
	CS_STAGE_GRANT,   /* what a request was held for has come */
	CS_STAGE_LOOK,    /* a rank looks at what is under way */
	CS_STAGE_PLAY,    /* a player's rank goes on */
	CS_STAGE_LAND,    /* a player's message is in a node's memory */
};

/* Values of event.request for messages that are no request of a plan. */
enum { CS_MESSAGE_READY = -4, CS_MESSAGE_RTS = -5 };

/* A rendezvous has words that requests are held for, and data, which smaller messages that began
 * later may overtake. */
enum cs_sim_meeting { CS_MEETING_READY, CS_MEETING_RTS, CS_MEETING_DATA, CS_MEETINGS };

struct cs_sim_request {
	int64_t at; /* time of its end, once known */
	uint32_t chain;
	bool is_done, is_receive;
	uint8_t level;
};

/* Port of a rank, in one direction. */
struct cs_sim_port {
	int64_t free; /* when the last byte has passed */
	int64_t turn; /* as if every message had kept its gap: may be ahead by f - 1 gaps */
};

struct cs_sim_flag {
	int64_t at;
	uint32_t chain;
};

struct cs_sim_actor {
	struct cs_sim_step *steps;
	size_t count, room, next;
	struct cs_sim_request *requests;
	size_t request_count;
	int64_t now;
	/* Ends of its last send and receive: one that begins then is of the same row. */
	int64_t sends_until, receives_until;
	int64_t waited; /* for what its step awaits */
	int32_t node, awaits;
	uint32_t chain, events;
	struct cs_sim_port ports[CS_LEVELS][CS_SIM_DIRECTIONS];
	struct cs_sim_flag *flags; /* for each time that it published */
	uint32_t publishes; /* number of flags in all */
	int32_t published;
	int32_t first_waiter; /* for its flag */
	int32_t next_waiter;  /* for the same flag as this one */
	/* Requests that are held, and the list of those that need not be any more. */
	uint32_t held;
	int32_t due_first, due_last;
	/* A rank that computes: its looks so far, the number of the event for the next one, and
	 * until when it stays in the call for what is held. */
	bool computes;
	uint32_t looks, look;
	int64_t polls_until;
};

/* Times at which a node's card, by direction, and bus are free, and of its messages to and from
 * others. */
struct cs_sim_node {
	int64_t card[CS_SIM_DIRECTIONS], bus;
	int64_t first, last; /* begin of the first one, end of the last */
	bool has_messages;
};

/* Times at which a group's link is free, by direction. */
struct cs_sim_group {
	int64_t link[CS_SIM_DIRECTIONS];
};

/* Functions of a player, whose ranks make their steps one by one in simulated time (sim/play.c).
 * `message`: of an event or a half, which is a request of its sender. */
struct cs_sim_player {
	void (*begin)(struct cs_sim *sim, const int64_t *starts);
	void (*resume)(struct cs_sim *sim, const struct cs_event *event);
	/* The actor has done the steps that it has. */
	void (*is_idle)(struct cs_sim *sim, struct cs_sim_actor *actor);
	/* A message in a stream of the player's has come, whole at `last`; it has landed. */
	void (*deliver)(struct cs_sim *sim, const struct cs_event *event, int64_t last);
	void (*land)(struct cs_sim *sim, const struct cs_event *event);
	/* A receive has met its message; a send has left, at `at`. */
	void (*met)(struct cs_sim *sim, int to, int receive, int from, int message);
	void (*left)(struct cs_sim *sim, struct cs_sim_actor *actor, int64_t at);
	void (*judge)(struct cs_sim *sim);
	void (*destroy)(struct cs_sim *sim);
};

struct cs_sim {
	const struct cs_sim_player *player; /* NULL: the ranks' steps are known */
	void *play;                         /* the player's */
	int ranks, node_count;
	size_t left; /* of the budget */
	enum cs_status added;
	bool joins;
	struct cs_sim_compute compute;
	uint64_t eager; /* messages up to so many bytes are copied; 0: none */
	struct cs_sim_actor *actors;
	struct cs_sim_node *nodes;
	struct cs_sim_group *groups;
	int group_nodes; /* 0: there are none */
	int group_skipped; /* nodes of the first group that are not there */
	int64_t taper;
	enum cs_sim_alike alike;
	int alike_ranks; /* that have steps */
	/* For one run: */
	const struct cs_model *model;
	struct cs_loggp cost[CS_LEVELS]; /* of messages, less the part of copies */
	const struct cs_sim_watch *watch;
	struct cs_sim_result *result;
	enum cs_status status;
	struct cs_events events;
	struct cs_match match, meetings[CS_MEETINGS];
	int64_t time; /* of the event that happens */
};

/* --- steps.c ---------------------------------------------------------------------------------- */

static inline int64_t
cs_sim_later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Ends the run: an error that has no text. */
void cs_sim_fail(struct cs_sim *sim, enum cs_status status);
void cs_sim_put(struct cs_sim *sim, const struct cs_event *event);
void cs_sim_put_half(struct cs_sim *sim, struct cs_match *match, int to, int from,
		     const struct cs_half *half);
/* Puts an event for the actor's next work, at its time `now`. */
void cs_sim_put_look(struct cs_sim *sim, struct cs_sim_actor *actor, enum cs_sim_stage stage);
/* Executes the actor's steps until it has to wait. */
void cs_sim_advance(struct cs_sim *sim, struct cs_sim_actor *actor);
/* Ends the step that began at `start`, and continues. */
void cs_sim_go_on(struct cs_sim *sim, struct cs_sim_actor *actor, int64_t start);
/* Grows the actor's requests; false: no memory. */
bool cs_sim_grow_requests(struct cs_sim *sim, struct cs_sim_actor *actor, size_t wanted);
/* A message of the actor's to or from another node begins, or ends. */
void cs_sim_note_inter(struct cs_sim *sim, const struct cs_sim_actor *actor, int64_t begin,
		       int64_t end);
/* Starts the message of a send step. */
void cs_sim_start(struct cs_sim *sim, struct cs_sim_actor *actor, const struct cs_sim_step *step);
/* Sends a message that is no request of a plan; `what`: one of CS_MESSAGE_*. */
void cs_sim_post(struct cs_sim *sim, struct cs_sim_actor *actor, int to, uint64_t bytes, int what);
/* Events: the end of a copy or a reduction; a message past the first queue of its node: it arrives
 * L later, and its sender may use the memory again; one past a link of a group; an arrival: returns
 * the time of the last byte; and its delivery to the receiver's request. */
void cs_sim_end_work(struct cs_sim *sim, const struct cs_event *event);
void cs_sim_leave(struct cs_sim *sim, struct cs_event *event);
void cs_sim_cross(struct cs_sim *sim, struct cs_event *event);
int64_t cs_sim_arrive(struct cs_sim *sim, const struct cs_event *event);
void cs_sim_deliver(struct cs_sim *sim, const struct cs_event *event, int64_t last);
/* Ends the run: the program's error. */
__attribute__((format(printf, 2, 3))) void cs_sim_complain(struct cs_sim *sim, const char *format,
							   ...);

/* --- progress.c: who drives a call ------------------------------------------------------------ */

/* Does a message of `bytes` leave only when its receiver is there? */
bool cs_progress_meets(const struct cs_sim *sim, uint64_t bytes);
/* Holds the request of a send or receive step until its peer's word is there. False: it is. */
bool cs_progress_hold(struct cs_sim *sim, struct cs_sim_actor *actor,
		      const struct cs_sim_step *step, enum cs_sim_meeting word);
/* Sends CS_MESSAGE_READY or CS_MESSAGE_RTS. */
void cs_progress_say(struct cs_sim *sim, struct cs_sim_actor *actor, int to, int what);
/* Such a word has come. */
void cs_progress_told(struct cs_sim *sim, const struct cs_event *event, int64_t last,
		      enum cs_sim_meeting word);
void cs_progress_granted(struct cs_sim *sim, const struct cs_event *event);
void cs_progress_look(struct cs_sim *sim, const struct cs_event *event);
/* True: the actor's time is not ahead of the simulation's. Else it continues when it is not. */
bool cs_progress_catch_up(struct cs_sim *sim, struct cs_sim_actor *actor);
/* Does what is due when an actor comes to wait; then whether it has to is to be looked at. */
void cs_progress_enter(struct cs_sim *sim, struct cs_sim_actor *actor);
/* May the actor pass what happens at `at`, as far as that is known? If not it has been seen to that
 * it continues; with actor->awaits == `awaits` whoever makes it known has to. */
bool cs_progress_may_pass(struct cs_sim *sim, struct cs_sim_actor *actor, bool is_known, int64_t at,
			  int32_t awaits);
/* The actor has done all of its steps. */
void cs_progress_end(struct cs_sim *sim, struct cs_sim_actor *actor);

#endif
