/* sim/actor.h — what a simulator is made of: ranks with their steps, and what those of a node
 * share. Private to sim.
 *
 *   add.c gives each rank its steps, sim.c lets them pass the time */
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
	uint64_t bytes; /* AWAIT: how often the peer must have published */
	int32_t peer;
	uint32_t kind : 3, request : 29;
};

struct cs_sim_request {
	int64_t at; /* when it is finished, once that is known */
	uint32_t chain;
	bool is_done, is_receive;
	uint8_t level;
};

/* One direction of a rank's way out or in. */
struct cs_sim_port {
	int64_t free; /* the last byte has passed */
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
	struct cs_sim_flag *flags; /* each time that it published */
	uint32_t publishes; /* so often in all */
	int32_t published;
	int32_t first_waiter; /* for its flag */
	int32_t next_waiter;  /* of those that wait for the same flag as this one */
};

/* When each of the three is free again. */
struct cs_sim_node {
	int64_t card[CS_SIM_DIRECTIONS], bus;
};

struct cs_sim {
	int ranks, node_count;
	size_t left; /* of the budget */
	enum cs_status added;
	bool joins;
	uint64_t eager; /* messages up to this size are copied; 0: none */
	struct cs_sim_actor *actors;
	struct cs_sim_node *nodes;
	/* a run */
	const struct cs_model *model;
	struct cs_loggp cost[CS_LEVELS]; /* of messages, without what copies stand for */
	const struct cs_sim_watch *watch;
	struct cs_sim_result *result;
	enum cs_status status;
	struct cs_events events;
	struct cs_match match;
};

#endif
