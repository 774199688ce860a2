/* sim/actor.h — the parts of a simulator: ranks with their steps, and resources that ranks of a
 * node share. Private to sim.
 *
 *   add.c makes each rank's steps, steps.c executes them in simulated time, progress.c says who
 *   drives them, lead.c, serve.c and fragments.c decide by the order of arrival, and sim.c runs all
 *   of it */
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
	uint32_t kind : 4, request : 28;
};

#define CS_SIM_MOST_REQUESTS (1 << 28)

/* Values of actor.awaits; else it is a request. */
enum {
	CS_SIM_NOTHING = -1, CS_SIM_BUS = -2, CS_SIM_FLAG = -3, CS_SIM_TICKET = -4,
	CS_SIM_ROLE = -5,
	CS_SIM_CLIENTS = -6, CS_SIM_SERVED = -7, CS_SIM_LEFT = -8, CS_SIM_EXCHANGED = -9,
	CS_SIM_LOOK = -10,     /* some time, and drives what is held */
	CS_SIM_COMPUTES = -11, /* the next look */
	CS_SIM_CAUGHT_UP = -12, /* that all is known which has come by its own time */
};

/* Stage of an event: the resource that its first byte requests, or the work of an actor. */
enum cs_sim_stage {
	CS_STAGE_COPY,    /* the bus, for a rank's copy or reduction */
	CS_STAGE_BUS,     /* the bus, for a message inside a node */
	CS_STAGE_NIC,     /* the sender's card */
	CS_STAGE_UP,      /* the link out of the sender's group of nodes */
	CS_STAGE_DOWN,    /* the one into the receiver's */
	CS_STAGE_ARRIVAL, /* the receiver's card and port */
	CS_STAGE_TICKET,  /* a rank draws its ticket among those of its node */
	CS_STAGE_SERVE,   /* a server looks for clients that have asked */
	CS_STAGE_FORWARD, /* a client passes data on to its group */
	CS_STAGE_READY, CS_STAGE_PICK, CS_STAGE_EXCHANGED, /* of an exchange of fragments */
	CS_STAGE_GRANT,   /* what a request was held for has come */
	CS_STAGE_LOOK,    /* a rank looks at what is under way */
};

/* Values of event.request for messages that are no request of a plan. */
enum {
	CS_MESSAGE_ASKS = -1, CS_MESSAGE_SERVES = -2, CS_MESSAGE_FRAGMENT = -3,
	CS_MESSAGE_READY = -4, CS_MESSAGE_RTS = -5,
};

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
	int32_t node, awaits;
	uint32_t chain, events;
	struct cs_sim_port ports[CS_LEVELS][CS_SIM_DIRECTIONS];
	struct cs_sim_flag *flags; /* for each time that it published */
	uint32_t publishes; /* number of flags in all */
	int32_t published;
	int32_t first_waiter; /* for its flag */
	int32_t next_waiter;  /* for the same flag as this one */
	/* For a role: arrivals and the leader; for a sender without requests: messages that have
	 * not left yet, and the time at which the last one left. */
	bool is_role;
	uint32_t came, pending;
	int32_t leader;
	int64_t left_at;
	uint32_t group_at, group_count; /* of a client: the group to which it forwards */
	/* Requests that are held, and the list of those that need not be any more. */
	uint32_t held;
	int32_t due_first, due_last;
	/* A rank that computes: its looks so far, the number of the event for the next one, and
	 * until when it stays in the call for what is held. */
	bool computes;
	uint32_t looks, look;
	int64_t polls_until;
};

/* Times at which a node's card, by direction, and bus are free. */
struct cs_sim_node {
	int64_t card[CS_SIM_DIRECTIONS], bus;
};

/* Times at which a group's link is free, by direction. */
struct cs_sim_group {
	int64_t link[CS_SIM_DIRECTIONS];
};

/* Server, with the clients that have asked it, in order. */
struct cs_serve {
	int32_t server;
	uint32_t clients, group;
	uint64_t bytes;
	bool splits;
	/* For one run: */
	int32_t *asked;
	int64_t *asked_at;
	uint32_t asked_count, taken;
	bool is_idle;
};

struct cs_sim {
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
	/* For one run: */
	const struct cs_model *model;
	struct cs_loggp cost[CS_LEVELS]; /* of messages, less the part of copies */
	const struct cs_sim_watch *watch;
	struct cs_sim_result *result;
	enum cs_status status;
	struct cs_events events;
	struct cs_match match, meetings[CS_MEETINGS];
	int64_t time; /* of the event that happens */
	struct cs_serve *serve;
	struct cs_sketch_exchange *exchange;
};

/* --- steps.c ---------------------------------------------------------------------------------- */

static inline int64_t
cs_sim_later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

void cs_sim_put(struct cs_sim *sim, const struct cs_event *event);
void cs_sim_put_half(struct cs_sim *sim, struct cs_match *match, int to, int from,
		     const struct cs_half *half);
/* Puts an event for the actor's next work, at its time `now`. */
void cs_sim_put_look(struct cs_sim *sim, struct cs_sim_actor *actor, enum cs_sim_stage stage);
/* Executes the actor's steps until it has to wait. */
void cs_sim_advance(struct cs_sim *sim, struct cs_sim_actor *actor);
/* Ends the step that began at `start`, and continues. */
void cs_sim_go_on(struct cs_sim *sim, struct cs_sim_actor *actor, int64_t start);
/* Starts the message of a send step. */
void cs_sim_start(struct cs_sim *sim, struct cs_sim_actor *actor, const struct cs_sim_step *step);
/* Sends a message that is no request of a plan; `what`: one of CS_MESSAGE_*. */
void cs_sim_post(struct cs_sim *sim, struct cs_sim_actor *actor, int to, uint64_t bytes, int what);
/* Continues when all of these messages have left, perhaps at once. */
void cs_sim_go_on_left(struct cs_sim *sim, struct cs_sim_actor *actor);
/* Time that a message takes of the receiver's processor. */
int64_t cs_sim_receive_time(const struct cs_sim *sim, int from, int to);

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

/* Does a message of `bytes` to this actor leave only when that is there? */
bool cs_progress_meets(const struct cs_sim *sim, int to, uint64_t bytes);
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

/* --- lead.c: the first, or the last, of those that come leads --------------------------------- */

void cs_lead_come(struct cs_sim *sim, struct cs_sim_actor *actor);

/* --- serve.c: a server gives data to those that have asked for it ----------------------------- */

void cs_serve_rewind(struct cs_serve *serve);
void cs_serve_fini(struct cs_sim *sim);
void cs_serve_look(struct cs_sim *sim, struct cs_sim_actor *server);
void cs_serve_asked(struct cs_sim *sim, const struct cs_event *event, int64_t last);
void cs_serve_served(struct cs_sim *sim, const struct cs_event *event, int64_t last);
void cs_serve_forward(struct cs_sim *sim, struct cs_sim_actor *client);

/* --- fragments.c: senders of a node choose what is there -------------------------------------- */

void cs_exchange_rewind(struct cs_sim *sim);
void cs_exchange_fini(struct cs_sim *sim);
void cs_exchange_look(struct cs_sim *sim, const struct cs_event *event);
void cs_exchange_arrived(struct cs_sim *sim, const struct cs_event *event, int64_t last);

#endif
