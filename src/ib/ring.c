/* ib/ring.c — small messages: slots, filled by RDMA write, given back by credits (seed 000, 6.5).
 *
 *   sender's copies             receiver's ring
 *   |  k  |k+1| ...             |  k  |k+1| ...          slot k % slots on both sides
 *      | one write of payload and trailer, right-aligned: the trailer's last word is the slot's last
 *      +----------------------->|
 *
 * What fits goes inline, straight from the program's memory. */
#include "ib/internal.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#define SLOT_WRITE 1 /* ib.c, operations */
#define MOST_EARLY 64

static inline uint32_t
slot_of(const struct cs_peer *peer, uint32_t count)
{
	return count & (peer->slot_count - 1);
}

static bool
has_slot(const struct cs_peer *peer)
{
	return peer->filled - peer->freed < peer->slot_count && peer->completed >= peer->staged[slot_of(peer, peer->filled)] &&
	       cs_peer_has_room(peer);
}

/* What says which message it is; the rest of a trailer is the connection's. */
struct label {
	uint64_t message;
	uint32_t channel;
	enum cs_kind kind;
};

static inline struct label
label_of(const struct cs_message *request)
{
	return (struct label){ .channel = request->channel->theirs, .message = request->message, .kind = request->kind };
}

static inline __attribute__((always_inline)) void
write_trailer(struct cs_peer *peer, struct cs_trailer *trailer, struct label label, size_t payload)
{
	*trailer = (struct cs_trailer){ .channel = label.channel, .message = label.message, .bytes = (uint32_t)payload,
					.kind = (uint16_t)label.kind, .credits = (uint16_t)peer->taken,
					.number = ++peer->filled };
	peer->told = peer->taken;
	peer->owes_credit = false;
}

void
cs_ring_open(struct cs_peer *peer)
{
	peer->slot_write = (struct ibv_send_wr){
		.wr_id = (uintptr_t)peer | SLOT_WRITE,
		.opcode = peer->ib->options.polls_flags ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_WRITE_WITH_IMM,
		.imm_data = htobe32((uint32_t)CS_WORD_SLOT << CS_WORD_BITS),
		.wr.rdma.rkey = peer->other.key,
	};
}

/* Head and payload one behind the other, then the trailer, into the peer's next slot. In line, as callers have but one of
 * both. */
static inline __attribute__((always_inline)) void
fill(struct cs_peer *peer, struct label label, const void *head, size_t head_bytes, const void *data, size_t bytes)
{
	struct cs_ib *ib = peer->ib;
	uint32_t slot = slot_of(peer, peer->filled);
	size_t payload = head_bytes + bytes, padded = cs_padded(payload), whole = padded + sizeof(struct cs_trailer);
	size_t end = (size_t)(slot + 1) * peer->slot_bytes;
	/* What goes inline: the payload straight from the program's memory, then the trailer, padding before it. */
	struct {
		char gap[8];
		struct cs_trailer trailer;
	} tail;
	struct ibv_sge parts[2];
	struct ibv_send_wr *wr = &peer->slot_write;
	wr->sg_list = parts;
	wr->num_sge = 1;
	wr->wr.rdma.remote_addr = peer->other.ring + end - whole;
	ib->counters.bytes += whole;
	if (whole <= peer->inline_bytes && !(head_bytes && bytes)) {
		size_t gap = padded - payload;
		struct ibv_sge *last = parts;
		memset(tail.gap, 0, sizeof tail.gap);
		write_trailer(peer, &tail.trailer, label, payload);
		wr->send_flags = IBV_SEND_INLINE;
		if (payload) {
			*last++ = (struct ibv_sge){ .addr = (uintptr_t)(head_bytes ? head : data), .length = (uint32_t)payload };
			wr->num_sge = 2;
		}
		*last = (struct ibv_sge){ .addr = (uintptr_t)&tail.trailer - gap, .length = (uint32_t)(gap + sizeof tail.trailer) };
	} else {
		char *copy = peer->staging + end - whole;
		if (head_bytes)
			memcpy(copy, head, head_bytes);
		if (bytes)
			memcpy(copy + head_bytes, data, bytes);
		write_trailer(peer, (struct cs_trailer *)(void *)(copy + padded), label, payload);
		ib->counters.copied += payload;
		wr->send_flags = 0;
		parts[0] = (struct ibv_sge){ .addr = (uintptr_t)copy, .length = (uint32_t)whole, .lkey = peer->staging_key };
		peer->staged[slot] = peer->posted + 1;
	}
	/* That it has arrived is waited for. */
	cs_peer_post(peer, wr, label.kind == CS_KIND_HELLO, NULL);
}

static inline __attribute__((always_inline)) void
send_small(struct cs_peer *peer, struct cs_message *request)
{
	peer->ib->counters.small++;
	fill(peer, label_of(request), NULL, 0, request->memory, request->bytes);
	cs_message_be(request, CS_DONE); /* a send has no flag */
}

/* One that had to wait for its slot. */
static __attribute__((noinline)) void
send_late(struct cs_peer *peer, struct cs_message *request)
{
	send_small(peer, request);
}

/* The flag is written with the data's key. */
static bool
covers(const struct cs_registration *registration, const _Atomic uint64_t *flag)
{
	uintptr_t at = (uintptr_t)flag, base = registration ? (uintptr_t)registration->base : 0;
	return registration && flag && at >= base && at - base <= registration->bytes - sizeof *flag;
}

static void
send_ready(struct cs_peer *peer, struct cs_message *request)
{
	const struct cs_registration *registration = request->registration;
	struct cs_ready ready = {
		.address = (uintptr_t)request->memory,
		.bytes = request->bytes,
		.key = registration ? registration->rkey : 0,
		.flag = covers(registration, request->flag) ? (uintptr_t)request->flag : 0,
		.value = request->value,
		.token = request->token,
	};
	peer->ib->counters.ready++;
	fill(peer, label_of(request), &ready, sizeof ready, NULL, 0);
}

/* Returns whether it was the last. */
static bool
send_fragment(struct cs_peer *peer, struct cs_message *request)
{
	struct cs_fragment fragment = { .token = request->ready.token, .at = request->moved };
	size_t room = cs_payload(peer) - sizeof fragment, bytes = request->bytes - request->moved;
	/* More than there is room for: a word of that first, so that they know before they have all. */
	bool is_too_large = request->bytes > request->ready.bytes;
	if (is_too_large) {
		fragment.at = request->bytes;
		request->bytes = request->ready.bytes;
		bytes = 0;
	}
	bytes = bytes < room ? bytes : room;
	fragment.is_last = !is_too_large && request->moved + bytes == request->bytes;
	peer->ib->counters.fragments++;
	fill(peer, label_of(request), &fragment, sizeof fragment, request->memory + request->moved, bytes);
	request->moved += bytes;
	return fragment.is_last;
}

bool
cs_ring_pump(struct cs_peer *peer)
{
	bool has_any = false;
	while (peer->slots.head && has_slot(peer)) {
		struct cs_message *request = peer->slots.head;
		has_any = true;
		if (request->kind == CS_KIND_FRAGMENT) {
			if (!send_fragment(peer, request))
				continue;
			cs_pop(&peer->slots);
			cs_message_finish(request);
			continue;
		}
		cs_pop(&peer->slots); /* first: what is finished may be used again at once */
		if (request->kind == CS_KIND_SMALL)
			send_late(peer, request);
		else if (request->kind == CS_KIND_READY)
			send_ready(peer, request);
	}
	return has_any;
}

void
cs_ring_send(struct cs_message *request)
{
	struct cs_peer *peer = request->channel->peer;
	if (__builtin_expect(request->kind == CS_KIND_SMALL && !peer->slots.head && has_slot(peer), 1)) {
		send_small(peer, request);
		return;
	}
	cs_push(&peer->slots, request);
	cs_ring_pump(peer);
}

void
cs_ring_hello(struct cs_peer *peer)
{
	unsigned char pattern[CS_HELLO_BYTES];
	for (int i = 0; i < CS_HELLO_BYTES; i++)
		pattern[i] = (unsigned char)(i * 7 + peer->ib->options.world_rank);
	fill(peer, (struct label){ .kind = CS_KIND_HELLO }, NULL, 0, pattern, sizeof pattern);
}

void
cs_ring_ask(struct cs_channel *channel)
{
	struct cs_peer *peer = channel->peer;
	const struct cs_message *request = channel->waiting.head;
	for (; request && !peer->slots.head && has_slot(peer); request = request->next) {
		struct label label = label_of(request);
		label.kind = CS_KIND_ASK;
		if (!request->is_direct)
			fill(peer, label, NULL, 0, NULL, 0);
	}
}

/* --- receiving --------------------------------------------------------------------------------------------------- */

static bool
is_hello(const struct cs_peer *peer, const char *data, size_t bytes)
{
	for (int i = 0; i < CS_HELLO_BYTES && bytes == CS_HELLO_BYTES; i++)
		if ((unsigned char)data[i] != (unsigned char)(i * 7 + peer->world))
			return false;
	return bytes == CS_HELLO_BYTES;
}

static inline struct cs_channel *
channel_of(struct cs_peer *peer, const struct cs_trailer *trailer)
{
	struct cs_ib *ib = peer->ib;
	uint32_t place = CS_PLACE(trailer->channel);
	struct cs_channel *channel = place < ib->channel_count ? ib->channels[place] : NULL;
	return channel && channel->peer == peer && channel->number == trailer->channel ? channel : NULL;
}

static void
take(struct cs_peer *peer, struct cs_channel *channel, const struct cs_trailer *trailer, const char *data)
{
	struct cs_ready ready;
	struct cs_fragment fragment;
	switch ((enum cs_kind)trailer->kind) {
	case CS_KIND_HELLO:
		if (is_hello(peer, data, trailer->bytes))
			peer->is_greeted = true;
		else
			cs_peer_fail(peer, "the first message came damaged");
		return;
	case CS_KIND_SMALL: /* of a group that is closed */
		return;
	case CS_KIND_READY:
		if (trailer->bytes != sizeof ready)
			break;
		memcpy(&ready, data, sizeof ready);
		if (channel)
			cs_large_ready(channel, trailer->message, &ready);
		return;
	case CS_KIND_FRAGMENT:
		if (trailer->bytes < sizeof fragment)
			break;
		memcpy(&fragment, data, sizeof fragment);
		cs_large_fragment(peer, &fragment, data + sizeof fragment, trailer->bytes - sizeof fragment);
		return;
	case CS_KIND_ASK:
		if (channel)
			cs_channel_ask(channel, trailer->message);
		return;
	case CS_KIND_NONE:
		break;
	}
	cs_ib_break(peer->ib, peer, "reading a message", "it is of no known kind or size");
}

static inline const struct cs_trailer *
trailer_of(const struct cs_peer *peer, uint32_t count)
{
	char *end = peer->ring + (size_t)(slot_of(peer, count) + 1) * peer->slot_bytes;
	return (const struct cs_trailer *)(const void *)end - 1;
}

/* Many messages that nobody has asked for stay in their slots, which stops their sender, unless somebody here waits for
 * what may be behind them: it may be another thread's. */
static bool
is_held_back(struct cs_peer *peer, const struct cs_trailer *trailer)
{
	struct cs_channel *channel = !peer->waits && trailer->kind == CS_KIND_SMALL ? channel_of(peer, trailer) : NULL;
	return channel && channel->early_count >= MOST_EARLY;
}

/* Slots are given back when half of them are taken. */
static void
look_for_half(struct cs_peer *peer)
{
	if (peer->taken - peer->told < cs_peer_half(peer))
		return;
	peer->owes_credit = true;
	cs_peer_is_busy(peer);
}

static void
take_next(struct cs_peer *peer, const struct cs_trailer *trailer)
{
	const char *data = (const char *)trailer - cs_padded(trailer->bytes);
	struct cs_channel *channel = channel_of(peer, trailer);
	peer->taken++;
	look_for_half(peer);
	if (trailer->kind == CS_KIND_SMALL && channel)
		cs_channel_small(channel, trailer->message, data, trailer->bytes);
	else
		take(peer, channel, trailer, data);
}

bool
cs_ring_take(struct cs_peer *peer)
{
	bool has_any = false;
	while (peer->taken != peer->arrived) {
		const struct cs_trailer *trailer = trailer_of(peer, peer->taken);
		if (is_held_back(peer, trailer))
			break;
		take_next(peer, trailer);
		has_any = true;
	}
	return has_any;
}

/* Not the one that is awaited, or something before it is held back. */
static __attribute__((noinline)) void
arrived_otherwise(struct cs_peer *peer, const struct cs_trailer *trailer)
{
	if (trailer->number != peer->arrived || trailer->bytes > cs_payload(peer))
		cs_ib_break(peer->ib, peer, "reading a message", "it is not what its completion says");
	cs_ring_take(peer);
}

/* Is it the small message that this request waits for, and no larger than there is room for? Then it is within its slot as well:
 * what is posted there has no more room than a slot has payload (wire.c, is_small). */
static inline bool
is_for(const struct cs_message *request, const struct cs_trailer *trailer)
{
	return request && trailer->kind == CS_KIND_SMALL && trailer->message == request->message &&
	       trailer->bytes <= request->bytes;
}

void
cs_ring_arrived(struct cs_peer *peer)
{
	const struct cs_trailer *trailer = trailer_of(peer, peer->arrived);
	struct cs_channel *channel = peer->awaited;
	cs_ring_freed(peer, trailer->credits);
	/* The completion came: then the number is there. */
	bool is_next = peer->taken == peer->arrived++ && trailer->number == peer->arrived;
	if (__builtin_expect(!is_next || !channel || channel->number != trailer->channel ||
				     !is_for(channel->posted.head, trailer), 0)) {
		arrived_otherwise(peer, trailer);
		return;
	}
	struct cs_message *request = channel->posted.head;
	size_t bytes = trailer->bytes;
	channel->posted.head = request->next;
	peer->taken++; /* half of the slots? At the end of the batch (ib.c) */
	peer->waits--;
	peer->ib->counters.copied += bytes;
	memcpy(request->memory, (const char *)trailer - cs_padded(bytes), bytes);
	cs_message_be(request, CS_DONE);
}

bool
cs_ring_look(struct cs_peer *peer)
{
	bool has_any = false;
	for (; peer->slot_count; has_any = true) {
		const _Atomic uint32_t *number = (const _Atomic uint32_t *)&trailer_of(peer, peer->arrived)->number;
		if (peer->arrived - peer->taken == peer->slot_count ||
		    atomic_load_explicit(number, memory_order_acquire) != peer->arrived + 1)
			break;
		cs_ring_arrived(peer);
		look_for_half(peer);
	}
	return has_any;
}
