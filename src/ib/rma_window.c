/* ib/rma_window.c — windows by verbs. */
#include "ib/rma_window.h"

#include "base/wait.h"
#include "ib/internal.h"

#include <stdlib.h>

#define CLOSING_YIELDS (1 << 16)
#define CLOSING_NAP_NS 100000

struct cs_ib_window {
	struct cs_rma_window window;
	struct cs_ib_wire *wire;
	struct cs_registration *registration;
	/* By node; of the own one nothing. */
	struct target {
		struct cs_channel *channel;
		uint64_t memory; /* address there */
		uint32_t key;
	} targets[];
};

/* Message of a rank to the ranks that write over its connections. */
struct words {
	uint64_t memory;
	uint32_t key, is_able;
};

/* Can this process let counters of others grow, by this connection; NULL: others' its? */
static bool
can_count(const struct cs_ib *ib, const struct cs_peer *peer)
{
	return ib->port.has_atomics ||
	       (ib->options.polls_flags && (!peer || peer->inline_bytes >= sizeof(uint64_t)));
}

static struct cs_ib_window *
window_of(struct cs_rma_window *window)
{
	return (struct cs_ib_window *)(void *)window;
}

/* --- messages --------------------------------------------------------------------------------- */

/* Address, in the other node's memory, of a counter between the own node and that one. */
static uint64_t
counter_there(const struct cs_ib_window *window, const struct target *target,
	      enum cs_rma_row row, uint64_t number)
{
	return target->memory +
	       cs_rma_counter_at(&window->window, window->window.node, row, number);
}

static void
put(struct cs_rma_window *base, struct cs_request *asked, int node, uint64_t number,
    const struct cs_rma_part *part, const void *from, size_t bytes)
{
	struct cs_ib_window *window = window_of(base);
	const struct target *target = &window->targets[node];
	struct cs_message *message = cs_message_of(asked);
	struct cs_ib *ib = window->wire->ib;
	struct cs_rma_growth growth = cs_rma_growth(number, part);
	asked->told = 0;
	cs_ib_enter(ib);
	cs_message_be(message, CS_SEND);
	message->is_recv = false;
	message->is_direct = true;
	message->is_put = true;
	message->channel = target->channel;
	message->message = number;
	message->memory = (char *)(uintptr_t)from;
	message->bytes = bytes;
	message->flag = NULL;
	message->ready = (struct cs_ready){
		.address = target->memory + cs_rma_slot_at(base, base->node, number) +
			   (part ? part->at : 0),
		.bytes = bytes,
		.flag = counter_there(window, target, CS_WINDOW_ARRIVED, number),
		.value = growth.to,
		.key = target->key,
	};
	message->grows_by = (uint32_t)growth.by;
	cs_large_put(message);
	cs_ib_leave(ib);
}

static bool
test(struct cs_rma_window *base, struct cs_request *request)
{
	struct cs_wire *wire = &window_of(base)->wire->wire;
	return wire->test(wire, request);
}

static bool
give_back(struct cs_rma_window *base, int node, uint64_t number)
{
	struct cs_ib_window *window = window_of(base);
	const struct target *target = &window->targets[node];
	struct cs_peer *peer = target->channel->peer;
	struct cs_ib *ib = window->wire->ib;
	cs_ib_enter(ib);
	bool has_room = cs_peer_has_room(peer);
	if (has_room) {
		const struct cs_counter counter = {
			.address = counter_there(window, target, CS_WINDOW_FREED, number),
			.growth = cs_rma_growth(number, NULL),
			.key = target->key,
		};
		cs_peer_count(peer, &counter, NULL);
	} else {
		cs_ib_turn(ib);
	}
	cs_ib_leave(ib);
	return has_room;
}

/* --- opening and closing ---------------------------------------------------------------------- */

/* The rank of a node by whose connection local rank `local` of another one writes there. */
static int
partner(const struct cs_ib_window_group *group, int node, int local)
{
	int first = group->first[node], count = group->first[node + 1] - first;
	return group->order[first + local % count];
}

/* All that a rank has to say and to hear. */
struct exchange {
	struct cs_wire *wire;
	uint64_t tag;
	struct cs_request *requests;
	int count;
	struct words mine, *theirs; /* by node */
};

/* Hears from the partners, and tells whoever has this rank for one. */
static void
start(struct exchange *exchange, const struct cs_ib_window_group *group)
{
	struct cs_wire *wire = exchange->wire;
	int own = group->first[group->node + 1] - group->first[group->node];
	for (int node = 0; node < group->nodes; node++)
		if (node != group->node)
			wire->recv(wire, &exchange->requests[exchange->count++],
				   partner(group, node, group->local), exchange->tag,
				   &exchange->theirs[node], sizeof exchange->theirs[node]);
	for (int node = 0; node < group->nodes; node++) {
		int count = group->first[node + 1] - group->first[node];
		for (int local = group->local; node != group->node && local < count; local += own)
			wire->send(wire, &exchange->requests[exchange->count++],
				   group->order[group->first[node] + local], exchange->tag,
				   &exchange->mine, sizeof exchange->mine);
	}
}

/* The words of all partners, by node, or NULL: no memory. */
static struct words *
exchange_words(struct cs_wire *wire, uint64_t tag, const struct cs_ib_window_group *group,
	       const struct words *mine)
{
	struct exchange exchange = { .wire = wire, .tag = tag, .mine = *mine };
	exchange.theirs = calloc((size_t)group->nodes, sizeof *exchange.theirs);
	exchange.requests = calloc((size_t)wire->ranks + (size_t)group->nodes,
				   sizeof *exchange.requests);
	if (exchange.theirs && exchange.requests) {
		start(&exchange, group);
		for (int i = 0; i < exchange.count; i++)
			wire->wait(wire, &exchange.requests[i]);
	}
	if (!exchange.requests) {
		free(exchange.theirs);
		exchange.theirs = NULL;
	}
	free(exchange.requests);
	return exchange.theirs;
}

/* NULL, or what is in the way of writing to those nodes. */
static const char *
aim(struct cs_ib_window *window, const struct cs_ib_window_group *group, const struct words *words)
{
	for (int node = 0; node < group->nodes; node++) {
		int rank = partner(group, node, group->local);
		struct target *target = &window->targets[node];
		if (node == group->node)
			continue;
		if (!words[node].is_able)
			return "another rank's memory for them was refused";
		if (cs_ib_wire_way(&window->wire->wire, rank) != CS_IB_BY_VERBS)
			return "not all nodes are connected by verbs";
		*target = (struct target){ .channel = window->wire->channels[rank],
					   .memory = words[node].memory, .key = words[node].key };
		if (!can_count(window->wire->ib, target->channel->peer))
			return "the device writes nothing inline";
	}
	return NULL;
}

static struct cs_ib_window *
make(struct cs_wire *wire, const struct cs_ib_window_group *group)
{
	size_t nodes = (size_t)group->nodes;
	struct cs_ib_window *window = calloc(1, sizeof *window + nodes * sizeof *window->targets);
	if (!window)
		return NULL;
	window->wire = (struct cs_ib_wire *)(void *)wire;
	window->window = (struct cs_rma_window){ .room = group->room, .nodes = group->nodes,
					     .node = group->node, .memory = group->memory,
					     .put = put, .test = test, .give_back = give_back };
	window->window.sent = calloc(2 * nodes, sizeof *window->window.sent);
	window->window.received = window->window.sent + nodes;
	if (!window->window.sent) {
		free(window);
		return NULL;
	}
	return window;
}

struct cs_rma_window *
cs_ib_window_open(struct cs_wire *wire, uint64_t tag, const struct cs_ib_window_group *group,
		  const char **why)
{
	struct cs_ib_window *window = make(wire, group);
	struct cs_ib *ib = ((struct cs_ib_wire *)(void *)wire)->ib;
	struct words mine = { .memory = (uintptr_t)group->memory };
	if (!window)
		cs_ib_no_memory(ib);
	size_t bytes = cs_rma_bytes(group->nodes, group->room);
	cs_ib_enter(ib);
	bool may_pin = ib->port.has_atomics ? cs_counted_take(ib) : can_count(ib, NULL);
	int access = ib->port.has_atomics ? IBV_ACCESS_REMOTE_ATOMIC : 0;
	if (may_pin)
		window->registration =
			cs_registrations_pin_for(ib->registrations, group->memory, bytes, access);
	cs_ib_leave(ib);
	if (window->registration) {
		mine.is_able = 1;
		mine.key = window->registration->rkey;
	}
	struct words *theirs = exchange_words(wire, tag, group, &mine);
	if (!theirs)
		cs_ib_no_memory(ib);
	*why = !can_count(ib, NULL)    ? "the device has no atomic operations"
	       : !window->registration ? "the device refused to register memory for them"
				       : aim(window, group, theirs);
	free(theirs);
	if (!*why)
		return &window->window;
	cs_ib_window_close(&window->window, false);
	return NULL;
}

void
cs_ib_window_close(struct cs_rma_window *base, bool is_used)
{
	if (!base)
		return;
	struct cs_ib_window *window = window_of(base);
	struct cs_ib *ib = window->wire->ib;
	struct cs_wait wait = { .yields = CLOSING_YIELDS, .nap_ns = CLOSING_NAP_NS,
				.progress = ib->options.host->progress };
	while (is_used && !cs_rma_is_quiet(base))
		cs_wait_turn(&wait);
	cs_ib_enter(ib);
	if (window->registration)
		cs_registrations_unpin(ib->registrations, window->registration);
	cs_ib_leave(ib);
	free(base->sent);
	free(window);
}
