/* ib/ring.c — small messages: slots, filled by RDMA write, given back by credits (seed 000, 6.5).
 *
 *   sender's copies             receiver's ring
 *   |  k  |k+1| ...             |  k  |k+1| ...          slot k % slots on both sides
 *      | one write of payload and trailer, right-aligned: the trailer's last word is the slot's
 *      last
 *      +----------------------->|
 *
 * What fits goes inline, straight from the program's memory. */
#include "ib/internal.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#define MOST_EARLY 64

static inline uint32_t
slot_of(const struct cs_peer *peer, uint32_t count)
{
	return count & (peer->slot_count - 1);
}

static bool
has_slot(const struct cs_peer *peer)
{
	return peer->filled - peer->freed < peer->slot_count &&
	       peer->completed >= peer->staged[slot_of(peer, peer->filled)] &&
	       cs_peer_has_room(peer);
}

bool
cs_ring_has_slot(const struct cs_peer *peer)
{
	return has_slot(peer);
}

static inline __attribute__((always_inline)) void
write_trailer(struct cs_peer *peer, struct cs_trailer *trailer, struct cs_label label,
	      size_t payload)
{
	*trailer = (struct cs_trailer){ .channel = label.channel, .message = label.message,
					.bytes = (uint32_t)payload, .kind = (uint16_t)label.kind,
					.credits = (uint16_t)peer->taken,
					.number = ++peer->filled };
	peer->told = peer->taken;
	peer->owes_credit = false;
}

void
cs_ring_open(struct cs_peer *peer)
{
	peer->slot_write = (struct ibv_send_wr){
		.wr_id = (uintptr_t)peer | CS_POSTED_SLOT,
		.opcode = peer->ib->options.polls_flags ? IBV_WR_RDMA_WRITE
							: IBV_WR_RDMA_WRITE_WITH_IMM,
		.imm_data = htobe32((uint32_t)CS_WORD_SLOT << CS_WORD_BITS),
		.wr.rdma.rkey = peer->other.key,
	};
}

/* Head and payload one behind the other, then the trailer, into the peer's next slot. In line, as
 * callers have but one of both. */
static inline __attribute__((always_inline)) void
fill(struct cs_peer *peer, struct cs_label label, const void *head, size_t head_bytes,
     const void *data, size_t bytes)
{
	struct cs_ib *ib = peer->ib;
	uint32_t slot = slot_of(peer, peer->filled);
	size_t payload = head_bytes + bytes, padded = cs_padded(payload),
	       whole = padded + sizeof(struct cs_trailer);
	size_t end = (size_t)(slot + 1) * peer->slot_bytes;
	/* Inline data: the payload straight from the program's memory, then the trailer, padding
	 * before it. */
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
			*last++ = (struct ibv_sge){ .addr = (uintptr_t)(head_bytes ? head : data),
						    .length = (uint32_t)payload };
			wr->num_sge = 2;
		}
		*last = (struct ibv_sge){ .addr = (uintptr_t)&tail.trailer - gap,
					  .length = (uint32_t)(gap + sizeof tail.trailer) };
	} else {
		char *copy = peer->staging + end - whole;
		if (head_bytes)
			memcpy(copy, head, head_bytes);
		if (bytes)
			memcpy(copy + head_bytes, data, bytes);
		write_trailer(peer, (struct cs_trailer *)(void *)(copy + padded), label, payload);
		ib->counters.copied += payload;
		wr->send_flags = 0;
		parts[0] = (struct ibv_sge){ .addr = (uintptr_t)copy, .length = (uint32_t)whole,
					     .lkey = peer->staging_key };
		peer->staged[slot] = peer->posted + 1;
	}
	/* That it has arrived is waited for. */
	cs_peer_post(peer, wr, label.kind == CS_KIND_HELLO, NULL);
}

void
cs_ring_fill(struct cs_peer *peer, struct cs_label label, const void *head, size_t head_bytes,
	     const void *data, size_t bytes)
{
	fill(peer, label, head, head_bytes, data, bytes);
}

static inline __attribute__((always_inline)) void
send_small(struct cs_peer *peer, struct cs_message *request)
{
	peer->ib->counters.small++;
	fill(peer, cs_label_of(request), NULL, 0, request->memory, request->bytes);
	cs_message_be(request, CS_DONE); /* a send has no flag */
}

/* One that had to wait for its slot. */
static __attribute__((noinline)) void
send_late(struct cs_peer *peer, struct cs_message *request)
{
	send_small(peer, request);
}

/* A request leaves the queue before it is over: then it may be used again at once. */
bool
cs_ring_pump(struct cs_peer *peer)
{
	bool has_any = false;
	for (; peer->slots.head && has_slot(peer); has_any = true) {
		struct cs_message *request = peer->slots.head;
		if (request->kind == CS_KIND_SMALL) {
			cs_pop(&peer->slots);
			send_late(peer, request);
			continue;
		}
		const struct cs_kind_ops *kind = peer->ib->kinds[request->kind];
		if (!kind->fill(peer, request))
			continue;
		cs_pop(&peer->slots);
		if (kind->is_over_when_filled)
			cs_message_finish(request);
	}
	return has_any;
}

void
cs_ring_send(struct cs_message *request)
{
	struct cs_peer *peer = request->channel->peer;
	if (__builtin_expect(request->kind == CS_KIND_SMALL && !peer->slots.head && has_slot(peer),
			     1)) {
		send_small(peer, request);
		return;
	}
	cs_push(&peer->slots, request);
	cs_ring_pump(peer);
}

/* --- receiving -------------------------------------------------------------------------------- */

static inline struct cs_channel *
channel_of(struct cs_peer *peer, const struct cs_trailer *trailer)
{
	struct cs_ib *ib = peer->ib;
	uint32_t place = CS_PLACE(trailer->channel);
	struct cs_channel *channel = place < ib->channel_count ? ib->channels[place] : NULL;
	return channel && channel->peer == peer && channel->number == trailer->channel
	       ? channel : NULL;
}

static inline const struct cs_trailer *
trailer_of(const struct cs_peer *peer, uint32_t count)
{
	char *end = peer->ring + (size_t)(slot_of(peer, count) + 1) * peer->slot_bytes;
	return (const struct cs_trailer *)(const void *)end - 1;
}

/* Many messages that nobody has asked for stay in their slots, which stops their sender, unless
 * somebody here waits for what may be behind them: it may be another thread's. */
static bool
is_held_back(struct cs_peer *peer, const struct cs_trailer *trailer)
{
	struct cs_channel *channel = !peer->waits && trailer->kind == CS_KIND_SMALL
				     ? channel_of(peer, trailer) : NULL;
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
	const struct cs_kind_ops *kind = trailer->kind < CS_KINDS ? peer->ib->kinds[trailer->kind]
								  : NULL;
	if (!kind || !kind->take(peer, channel, trailer->message, data, trailer->bytes))
		cs_ib_break(peer->ib, peer, "reading a message", "it is of no known kind or size");
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
		cs_ib_break(peer->ib, peer, "reading a message", "it is not what its completion "
								 "says");
	cs_ring_take(peer);
}

/* Is it the small message that this request waits for, and no larger than there is room for? Then
 * it is within its slot as well: what is posted there has no more room than a slot has payload
 * (wire.c, is_small). */
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
		const _Atomic uint32_t *number =
			(const _Atomic uint32_t *)&trailer_of(peer, peer->arrived)->number;
		if (peer->arrived - peer->taken == peer->slot_count ||
		    atomic_load_explicit(number, memory_order_acquire) != peer->arrived + 1)
			break;
		cs_ring_arrived(peer);
		look_for_half(peer);
	}
	return has_any;
}
