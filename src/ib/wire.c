/* ib/wire.c — a group's wire: requests, the order of messages, waiting. */
#include "ib/internal.h"
#include "ib/multicast.h"

#include "base/wait.h"

#include <stdlib.h>
#include <string.h>

#define TURNS_AWAKE (1 << 16) /* yields of a wait before it sleeps */
#define NAP_NS 100000

static struct cs_ib_wire *
wire_of(const struct cs_wire *wire)
{
	return (struct cs_ib_wire *)(void *)wire;
}

/* --- one message ------------------------------------------------------------------------------ */

static bool
is_small(const struct cs_message *request)
{
	return !request->is_direct && request->bytes <= cs_payload(request->channel->peer);
}

static void
take_bytes(struct cs_message *request, const char *data, size_t bytes)
{
	if (bytes > request->bytes) {
		cs_message_request(request)->told = CS_TOLD_MORE;
		bytes = request->bytes;
	}
	memcpy(request->memory, data, bytes);
	request->channel->peer->ib->counters.copied += bytes;
	cs_message_finish(request);
}

/* Did the message come before it was asked for? Messages of other tags may have come before it. */
static bool
is_early(struct cs_channel *channel, struct cs_message *request)
{
	struct cs_early_message **link = &channel->early;
	while (*link && (*link)->message != request->message)
		link = &(*link)->next;
	struct cs_early_message *early = *link;
	if (!early)
		return false;
	take_bytes(request, early->data, early->bytes);
	*link = early->next;
	if (!*link)
		channel->early_tail = link;
	channel->early_count--;
	free(early);
	if (channel->peer->taken != channel->peer->arrived)
		cs_peer_is_busy(channel->peer);
	return true;
}

static inline unsigned
place_of(struct cs_channel *channel, uint64_t tag)
{
	unsigned place = tag % CS_TAGS;
	if (__builtin_expect(channel->tags[place] != tag, 0)) {
		channel->tags[place] = tag;
		channel->sent[place] = channel->received[place] = CS_FIRST_MESSAGE(tag);
	}
	return place;
}

bool
cs_channel_is_past(const struct cs_channel *channel, uint64_t message)
{
	return (int64_t)(channel->sent[(message >> CS_NUMBER_BITS) % CS_TAGS] - message) > 0;
}

static __attribute__((noinline)) void
start_other_recv(struct cs_channel *channel, struct cs_message *request)
{
	struct cs_peer *peer = channel->peer;
	if (channel->early && is_early(channel, request))
		return;
	peer->waits++;
	if (peer->taken != peer->arrived)
		cs_peer_is_busy(peer);
	if (is_small(request))
		cs_push(&channel->posted, request);
	else
		cs_large_recv(request);
}

static inline __attribute__((always_inline)) void
start_recv(struct cs_channel *channel, struct cs_message *request, uint64_t tag)
{
	struct cs_peer *peer = channel->peer;
	request->message = channel->received[place_of(channel, tag)]++;
	if (__builtin_expect(!channel->early && peer->taken == peer->arrived && is_small(request),
			     1)) {
		peer->waits++;
		peer->awaited = channel;
		cs_push(&channel->posted, request);
	} else {
		start_other_recv(channel, request);
	}
}

static inline void
start_send(struct cs_channel *channel, struct cs_message *request, uint64_t tag)
{
	request->message = channel->sent[place_of(channel, tag)]++;
	if (is_small(request)) {
		request->kind = CS_KIND_SMALL;
		cs_ring_send(request);
	} else {
		cs_large_send(request);
	}
}

static void
start_by_host(struct cs_ib_wire *wire, struct cs_message *request, uint64_t tag)
{
	struct cs_wire *host = wire->host;
	int rank = request->channel->rank;
	cs_message_be(request, CS_HOST);
	if (request->is_recv)
		cs_ib_host_recv(host, cs_message_request(request), rank, tag, request->memory,
			   request->bytes);
	else
		cs_ib_host_send(host, cs_message_request(request), rank, tag, request->memory,
			   request->bytes);
}

/* Not by verbs, or not yet: until then the message is its tag alone. */
static __attribute__((noinline)) void
start_otherwise(struct cs_channel *channel, struct cs_message *request, uint64_t tag)
{
	if (channel->state == CS_BY_HOST) {
		start_by_host(channel->wire, request, tag);
	} else {
		request->message = CS_FIRST_MESSAGE(tag);
		cs_push(&channel->deferred, request);
		if (channel->state == CS_NEW)
			cs_channel_open(channel);
	}
}

static inline __attribute__((always_inline)) void
start(struct cs_channel *channel, struct cs_message *request, bool is_recv, uint64_t tag)
{
	if (__builtin_expect(channel->state != CS_VERBS, 0))
		start_otherwise(channel, request, tag);
	else if (is_recv)
		start_recv(channel, request, tag);
	else
		start_send(channel, request, tag);
}

void
cs_channel_release(struct cs_channel *channel)
{
	struct cs_queue deferred = channel->deferred;
	channel->deferred.head = NULL;
	while (deferred.head) {
		struct cs_message *request = cs_pop(&deferred);
		start(channel, request, request->is_recv, request->message >> CS_NUMBER_BITS);
	}
}

static bool
take_small(struct cs_peer *peer, struct cs_channel *channel, uint64_t message, const char *data,
	   size_t bytes)
{
	if (!channel)
		return true; /* of a group that is closed */
	struct cs_message *request = cs_take_message(&channel->posted, message);
	if (request)
		peer->waits--;
	else
		request = cs_large_withdraw(channel, message);
	if (request) {
		take_bytes(request, data, bytes);
		return true;
	}
	struct cs_early_message *early = malloc(sizeof *early + bytes);
	if (!early)
		cs_ib_no_memory(peer->ib);
	*early = (struct cs_early_message){ .message = message, .bytes = bytes };
	memcpy(early->data, data, bytes);
	*channel->early_tail = early;
	channel->early_tail = &early->next;
	channel->early_count++;
	return true;
}

/* Their message is a large one, and they wait. If ours for it is small, the program's ranks
 * disagree about its size. */
static bool
take_ask(struct cs_peer *peer, struct cs_channel *channel, uint64_t message, const char *data,
	 size_t bytes)
{
	(void)peer;
	(void)data;
	(void)bytes;
	for (struct cs_message *request = channel ? channel->posted.head : NULL; request;
	     request = request->next)
		if (request->message == message) {
			cs_message_request(request)->told = CS_TOLD_MORE;
			cs_take_message(&channel->posted, message);
			cs_large_recv(request);
			break;
		}
	return true;
}

const struct cs_kind_ops cs_kind_small = { .take = take_small };
const struct cs_kind_ops cs_kind_ask = { .take = take_ask };

/* --- channels --------------------------------------------------------------------------------- */

static uint32_t
new_place(struct cs_ib *ib, struct cs_channel *channel)
{
	ib->channel_live++;
	for (uint32_t tried = 0; ib->channel_live <= ib->channel_count && tried < ib->channel_count;
	     tried++) {
		uint32_t place = ib->channel_next++ % ib->channel_count;
		if (!ib->channels[place]) {
			ib->channels[place] = channel;
			return place;
		}
	}
	if (ib->channel_count == ib->channel_room) {
		uint32_t room = ib->channel_room ? 2 * ib->channel_room : 64;
		struct cs_channel **channels = realloc(ib->channels, room * sizeof *channels);
		if (!channels || CS_PLACE(room) != room)
			cs_ib_no_memory(ib);
		ib->channels = channels;
		ib->channel_room = room;
	}
	ib->channels[ib->channel_count] = channel;
	return ib->channel_count++;
}

static struct cs_peer *
peer_of(struct cs_ib *ib, int world)
{
	if (!ib->peers[world]) {
		/* Aligned, so that its address leaves bits for a completion's operation. */
		struct cs_peer *peer = aligned_alloc(64, (sizeof *peer + 63) & ~(size_t)63);
		if (!peer)
			cs_ib_no_memory(ib);
		*peer = (struct cs_peer){ .ib = ib, .world = world };
		ib->peers[world] = ib->known[ib->known_count++] = peer;
	}
	return ib->peers[world];
}

static __attribute__((noinline)) struct cs_channel *
new_channel(struct cs_ib_wire *wire, int rank, uint64_t tag)
{
	struct cs_channel *channel = calloc(1, sizeof *channel);
	if (!channel)
		cs_ib_no_memory(wire->ib);
	channel->wire = wire;
	channel->rank = rank;
	/* All are of tags before the first one. */
	for (uint64_t before = tag - 2 * CS_TAGS; before != tag - CS_TAGS; before++)
		place_of(channel, before);
	channel->early_tail = &channel->early;
	channel->ready_tail = &channel->ready;
	if (wire->is_same_node && wire->is_same_node[rank]) {
		channel->state = CS_BY_HOST;
	} else {
		channel->peer = peer_of(wire->ib, wire->world[rank]);
		channel->number = new_place(wire->ib, channel) | wire->ib->channel_ever++ <<
				  CS_PLACE_BITS;
	}
	wire->channels[rank] = channel;
	return channel;
}

static void
free_early(struct cs_early_message *early)
{
	while (early) {
		struct cs_early_message *next = early->next;
		free(early);
		early = next;
	}
}

/* --- the contract of wire/wire.h -------------------------------------------------------------- */

/* In line, as most of the arguments are constants. */
static inline __attribute__((always_inline)) void
begin(struct cs_wire *base, struct cs_request *asked, int rank, uint64_t tag, bool is_recv,
      bool is_direct, void *memory, size_t bytes, _Atomic uint64_t *flag, uint64_t value)
{
	struct cs_ib_wire *wire = wire_of(base);
	struct cs_message *request = cs_message_of(asked);
	cs_ib_enter(wire->ib);
	struct cs_channel *channel = wire->channels[rank];
	if (__builtin_expect(!channel, 0))
		channel = new_channel(wire, rank, tag);
	asked->told = 0;
	cs_message_be(request, is_recv ? CS_RECV : CS_SEND);
	request->is_recv = is_recv;
	request->is_direct = is_direct;
	request->channel = channel;
	request->memory = memory;
	request->bytes = bytes;
	request->flag = flag;
	if (flag)
		request->value = value;
	start(channel, request, is_recv, tag);
	cs_ib_leave(wire->ib);
}

static void
send_message(struct cs_wire *base, struct cs_request *request, int peer, uint64_t tag,
	     const void *from, size_t bytes)
{
	begin(base, request, peer, tag, false, false, (void *)from, bytes, NULL, 0);
}

static void
recv_message(struct cs_wire *base, struct cs_request *request, int peer, uint64_t tag, void *to,
	     size_t bytes)
{
	begin(base, request, peer, tag, true, false, to, bytes, NULL, 0);
}

static void
send_direct(struct cs_wire *base, struct cs_request *request, int peer, uint64_t tag,
	    const void *from, size_t bytes)
{
	begin(base, request, peer, tag, false, true, (void *)from, bytes, NULL, 0);
}

static void
recv_direct(struct cs_wire *base, struct cs_request *request, int peer, uint64_t tag, void *to,
	    size_t bytes, _Atomic uint64_t *flag, uint64_t value)
{
	begin(base, request, peer, tag, true, true, to, bytes, flag, value);
}

static __attribute__((noinline)) enum cs_stage
test_host(struct cs_ib_wire *wire, struct cs_message *request)
{
	if (cs_ib_host_test(wire->host, cs_message_request(request)))
		cs_message_finish(request);
	return cs_message_stage(request);
}

static __attribute__((noinline)) bool
test_anew(struct cs_ib_wire *wire, struct cs_message *request)
{
	cs_ib_enter(wire->ib);
	cs_ib_turn(wire->ib);
	enum cs_stage stage = cs_message_stage(request);
	if (__builtin_expect(stage == CS_HOST, 0))
		stage = test_host(wire, request);
	cs_ib_leave(wire->ib);
	return stage == CS_DONE;
}

static bool
test(struct cs_wire *base, struct cs_request *request)
{
	struct cs_message *message = cs_message_of(request);
	return cs_message_stage(message) == CS_DONE || test_anew(wire_of(base), message);
}

/* A test is itself a poll of the device, so nothing lies between the first ones. */
static __attribute__((noinline)) void
wait_longer(struct cs_wire *base, struct cs_request *request)
{
	const struct cs_ib_options *options = &wire_of(base)->ib->options;
	struct cs_wait wait = { .eager = options->spin, .polls = options->spin,
				.yields = TURNS_AWAKE, .nap_ns = NAP_NS,
				.progress = options->host->progress, .call = cs_wait_call };
	do
		cs_wait_turn(&wait);
	while (!test(base, request));
}

static void
wait_for(struct cs_wire *base, struct cs_request *request)
{
	if (!test(base, request))
		wait_longer(base, request);
}

struct cs_wire *
cs_ib_wire_open(struct cs_ib *ib, const struct cs_ib_group *group)
{
	size_t ranks = (size_t)group->ranks;
	struct cs_ib_wire *wire = calloc(1, sizeof *wire);
	if (!wire)
		return NULL;
	wire->wire = (struct cs_wire){ .rank = group->rank, .ranks = group->ranks,
				       .send = send_message, .recv = recv_message,
				       .send_direct = send_direct, .recv_direct = recv_direct,
				       .wait = wait_for, .test = test,
				       .multicast = cs_ib_multicast };
	wire->ib = ib;
	wire->host = group->host;
	wire->channels = calloc(ranks, sizeof *wire->channels);
	wire->world = malloc(ranks * sizeof *wire->world);
	wire->is_same_node = group->is_same_node ? malloc(ranks * sizeof *wire->is_same_node)
						 : NULL;
	if (!wire->channels || !wire->world || (group->is_same_node && !wire->is_same_node)) {
		cs_ib_wire_close(&wire->wire);
		return NULL;
	}
	memcpy(wire->world, group->world, ranks * sizeof *wire->world);
	if (group->is_same_node)
		memcpy(wire->is_same_node, group->is_same_node, ranks * sizeof *wire->is_same_node);
	return &wire->wire;
}

void
cs_ib_wire_close(struct cs_wire *base)
{
	struct cs_ib_wire *wire = wire_of(base);
	if (!wire)
		return;
	cs_ib_multicast_close(wire->multicast);
	cs_ib_enter(wire->ib);
	for (int rank = 0; wire->channels && rank < wire->wire.ranks; rank++) {
		struct cs_channel *channel = wire->channels[rank];
		if (!channel)
			continue;
		if (channel->peer) {
			wire->ib->channels[CS_PLACE(channel->number)] = NULL;
			wire->ib->channel_live--;
			if (channel->peer->awaited == channel)
				channel->peer->awaited = NULL;
		}
		free_early(channel->early);
		free_early(channel->ready);
		free(channel);
	}
	cs_ib_leave(wire->ib);
	free(wire->channels);
	free(wire->world);
	free(wire->is_same_node);
	free(wire);
}

enum cs_ib_way
cs_ib_wire_way(const struct cs_wire *base, int peer)
{
	const struct cs_ib_wire *wire = wire_of(base);
	cs_ib_enter(wire->ib);
	const struct cs_channel *channel = wire->channels[peer];
	enum cs_channel_state state = channel ? channel->state : CS_NEW;
	cs_ib_leave(wire->ib);
	return state == CS_VERBS ? CS_IB_BY_VERBS : state == CS_BY_HOST
	       ? CS_IB_BY_HOST : CS_IB_UNSETTLED;
}
