/* ib/large.c — large messages: the receiver says where to, the sender writes there (seed 000, 6.4).
 *
 *   receiver: take the memory's registration; "ready" {number, address, key, token} into a slot of
 *   the sender's
 *   sender:   for whichever receiver is ready first: write, cut where the device must; the last
 *             piece with immediate: token
 *   receiver: its completion: all pieces of that queue pair are there
 *
 * Where one of both cannot register its memory the data goes in fragments through the slots. */
#include "ib/internal.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

/* --- receiving -------------------------------------------------------------------------------- */

/* A number by which the sender names the receive: an index into ib->tokens. */
static uint32_t
new_token(struct cs_ib *ib, struct cs_message *request)
{
	ib->token_live++;
	for (uint32_t tried = 0; ib->token_live <= ib->token_room && tried < ib->token_room;
	     tried++) {
		uint32_t token = ib->token_next++ % ib->token_room;
		if (!ib->tokens[token]) {
			ib->tokens[token] = request;
			return token;
		}
	}
	uint32_t room = ib->token_room ? 2 * ib->token_room : 64;
	struct cs_message **tokens = realloc(ib->tokens, room * sizeof *tokens);
	if (!tokens || room > CS_WORD_MASK)
		cs_ib_no_memory(ib);
	memset(tokens + ib->token_room, 0, (room - ib->token_room) * sizeof *tokens);
	uint32_t token = ib->token_room;
	ib->tokens = tokens;
	ib->token_next = token + 1;
	ib->token_room = room;
	tokens[token] = request;
	return token;
}

void
cs_large_recv(struct cs_message *request)
{
	struct cs_ib *ib = request->channel->peer->ib;
	request->token = new_token(ib, request);
	request->moved = 0;
	request->registration =
		request->bytes ? cs_registrations_take(ib->registrations, request->memory,
						       request->bytes, true) : NULL;
	request->kind = CS_KIND_READY;
	request->channel->larges++;
	cs_ring_send(request);
}

static struct cs_message *
by_token(struct cs_peer *peer, uint32_t token)
{
	struct cs_ib *ib = peer->ib;
	struct cs_message *request = token < ib->token_room ? ib->tokens[token] : NULL;
	if (!request || request->channel->peer != peer)
		cs_ib_break(ib, peer, "reading a message", "it is for nobody here");
	return request;
}

static void
forget(struct cs_message *request)
{
	struct cs_peer *peer = request->channel->peer;
	peer->ib->tokens[request->token] = NULL;
	peer->ib->token_live--;
	if (request->registration)
		cs_registrations_give(peer->ib->registrations, request->registration);
	request->registration = NULL;
	request->channel->larges--;
	peer->waits--;
}

static void
received(struct cs_message *request)
{
	forget(request);
	cs_message_finish(request);
}

struct cs_message *
cs_large_withdraw(struct cs_channel *channel, uint64_t message)
{
	struct cs_ib *ib = channel->peer->ib;
	for (uint32_t token = 0; channel->larges && token < ib->token_room; token++) {
		struct cs_message *request = ib->tokens[token];
		if (!request || request->channel != channel || request->message != message)
			continue;
		cs_remove(&channel->peer->slots, request);
		forget(request);
		return request;
	}
	return NULL;
}

void
cs_large_arrived(struct cs_peer *peer, uint32_t token)
{
	received(by_token(peer, token));
}

/* The flag is written with the data's key. */
static bool
covers(const struct cs_registration *registration, const _Atomic uint64_t *flag)
{
	uintptr_t at = (uintptr_t)flag, base = registration ? (uintptr_t)registration->base : 0;
	return registration && flag && at >= base &&
	       at - base <= registration->bytes - sizeof *flag;
}

static bool
fill_ready(struct cs_peer *peer, struct cs_message *request)
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
	cs_ring_fill(peer, cs_label_of(request), &ready, sizeof ready, NULL, 0);
	return true;
}

static void
keep_fragment(struct cs_peer *peer, const struct cs_ib_fragment *fragment, const char *data,
	      size_t bytes)
{
	struct cs_message *request = by_token(peer, fragment->token);
	if (fragment->at > request->bytes || bytes > request->bytes - fragment->at) {
		cs_message_request(request)->told = CS_TOLD_MORE;
		return;
	}
	memcpy(request->memory + fragment->at, data, bytes);
	peer->ib->counters.copied += bytes;
	request->moved += bytes;
	if (fragment->is_last)
		received(request);
}

static bool
take_fragment(struct cs_peer *peer, struct cs_channel *channel, uint64_t message, const char *data,
	      size_t bytes)
{
	struct cs_ib_fragment fragment;
	(void)channel;
	(void)message;
	if (bytes < sizeof fragment)
		return false;
	memcpy(&fragment, data, sizeof fragment);
	keep_fragment(peer, &fragment, data + sizeof fragment, bytes - sizeof fragment);
	return true;
}

/* --- sending ---------------------------------------------------------------------------------- */

static void
begin(struct cs_message *request)
{
	struct cs_peer *peer = request->channel->peer;
	struct cs_ib *ib = peer->ib;
	const struct cs_ready *ready = &request->ready;
	request->moved = 0;
	request->is_put = false;
	request->registration = NULL;
	bool fits = request->bytes <= ready->bytes;
	if (ready->key && fits && request->bytes)
		request->registration =
			cs_registrations_take(ib->registrations, request->memory, request->bytes,
					      false);
	if (ready->key && fits && (request->registration || !request->bytes)) {
		cs_push(&peer->writes, request);
		cs_large_pump(peer);
	} else {
		request->kind = CS_KIND_FRAGMENT;
		cs_ring_send(request);
	}
}

/* A node's segment is registered; should that be refused all the same, there is no other way to
 * where nobody receives. */
void
cs_large_put(struct cs_message *request)
{
	struct cs_peer *peer = request->channel->peer;
	request->moved = 0;
	request->registration = NULL;
	if (request->bytes)
		request->registration = cs_registrations_take(peer->ib->registrations,
							      request->memory, request->bytes,
							      false);
	if (request->bytes && !request->registration)
		cs_ib_break(peer->ib, peer, "writing data", "its memory cannot be registered");
	cs_push(&peer->writes, request);
	cs_large_pump(peer);
}

void
cs_large_send(struct cs_message *request)
{
	struct cs_channel *channel = request->channel;
	for (struct cs_early_message **link = &channel->ready; *link; link = &(*link)->next) {
		struct cs_early_message *found = *link;
		if (found->message != request->message)
			continue;
		memcpy(&request->ready, found->data, sizeof request->ready);
		*link = found->next;
		if (!*link)
			channel->ready_tail = link;
		free(found);
		begin(request);
		return;
	}
	channel->peer->waits++;
	cs_push(&channel->waiting, request);
	if (channel->peer->taken != channel->peer->arrived)
		cs_peer_is_busy(channel->peer);
}

/* Drops "ready" messages for a message that was then sent as a small one. */
static void
drop_needless(struct cs_channel *channel)
{
	struct cs_early_message **link = &channel->ready;
	while (*link) {
		struct cs_early_message *early = *link;
		if (cs_channel_is_past(channel, early->message)) {
			*link = early->next;
			free(early);
		} else {
			link = &early->next;
		}
	}
	channel->ready_tail = link;
}

static void
keep_ready(struct cs_channel *channel, uint64_t message, const struct cs_ready *ready)
{
	struct cs_message *request = cs_take_message(&channel->waiting, message);
	if (request) {
		channel->peer->waits--;
		request->ready = *ready;
		begin(request);
		return;
	}
	drop_needless(channel);
	/* The message was sent as a small one already: its receiver has room for more, or the
	 * program's ranks disagree. */
	if (cs_channel_is_past(channel, message))
		return;
	struct cs_early_message *early = malloc(sizeof *early + sizeof *ready);
	if (!early)
		cs_ib_no_memory(channel->peer->ib);
	*early = (struct cs_early_message){ .message = message, .bytes = sizeof *ready };
	memcpy(early->data, ready, sizeof *ready);
	*channel->ready_tail = early;
	channel->ready_tail = &early->next;
}

static bool
take_ready(struct cs_peer *peer, struct cs_channel *channel, uint64_t message, const char *data,
	   size_t bytes)
{
	struct cs_ready ready;
	(void)peer;
	if (bytes != sizeof ready)
		return false;
	memcpy(&ready, data, sizeof ready);
	if (channel)
		keep_ready(channel, message, &ready);
	return true;
}

/* One of them; returns whether it was the last. */
static bool
fill_fragment(struct cs_peer *peer, struct cs_message *request)
{
	struct cs_ib_fragment fragment = { .token = request->ready.token, .at = request->moved };
	size_t room = cs_payload(peer) - sizeof fragment, bytes = request->bytes - request->moved;
	/* More than there is room for: a word of that first, so that they know before they have
	 * all. */
	bool is_too_large = request->bytes > request->ready.bytes;
	if (is_too_large) {
		fragment.at = request->bytes;
		request->bytes = request->ready.bytes;
		bytes = 0;
	}
	bytes = bytes < room ? bytes : room;
	fragment.is_last = !is_too_large && request->moved + bytes == request->bytes;
	peer->ib->counters.fragments++;
	cs_ring_fill(peer, cs_label_of(request), &fragment, sizeof fragment,
		     request->memory + request->moved, bytes);
	request->moved += bytes;
	return fragment.is_last;
}

void
cs_large_ask(struct cs_channel *channel)
{
	struct cs_peer *peer = channel->peer;
	const struct cs_message *request = channel->waiting.head;
	for (; request && !peer->slots.head && cs_ring_has_slot(peer); request = request->next) {
		struct cs_label label = cs_label_of(request);
		label.kind = CS_KIND_ASK;
		if (!request->is_direct)
			cs_ring_fill(peer, label, NULL, 0, NULL, 0);
	}
}

const struct cs_kind_ops cs_kind_ready = { .fill = fill_ready, .take = take_ready };
const struct cs_kind_ops cs_kind_fragment = { .fill = fill_fragment, .is_over_when_filled = true,
					      .take = take_fragment };

/* By the device, which is what polls_flags is for. Else the receiver sets it. */
static bool
has_flag(const struct cs_peer *peer, const struct cs_message *request)
{
	return request->ready.flag && peer->ib->options.polls_flags &&
	       peer->inline_bytes >= sizeof request->ready.value;
}

/* Posts a write; the last one of a message tells the receiver, by its immediate, that all are
 * there. */
static void
post_write(struct cs_peer *peer, struct cs_message *request, struct ibv_send_wr *wr, bool is_last)
{
	wr->wr_id = (uintptr_t)peer | CS_POSTED_DATA;
	wr->wr.rdma.rkey = request->ready.key;
	wr->opcode = is_last ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE;
	wr->imm_data = htobe32((uint32_t)CS_WORD_DATA << CS_WORD_BITS | request->ready.token);
	cs_peer_post(peer, wr, is_last, is_last ? request : NULL);
}

/* The flag behind the data, and the receiver's completion behind both: nothing comes when it has
 * taken the flag back. */
static void
post_flag(struct cs_peer *peer, struct cs_message *request)
{
	struct ibv_sge part = { .addr = (uintptr_t)&request->ready.value,
				.length = sizeof request->ready.value };
	struct ibv_send_wr wr = { .sg_list = &part, .num_sge = 1, .send_flags = IBV_SEND_INLINE,
				  .wr.rdma.remote_addr = request->ready.flag };
	post_write(peer, request, &wr, true);
}

/* One piece; returns whether it was the last. */
static bool
post_piece(struct cs_peer *peer, struct cs_message *request)
{
	size_t rest = request->bytes - request->moved, most = peer->ib->port.max_message;
	size_t bytes = rest > most ? most : rest;
	bool is_last = bytes == rest;
	struct ibv_sge part = { .addr = (uintptr_t)request->memory + request->moved,
				.length = (uint32_t)bytes };
	struct ibv_send_wr wr = { .sg_list = &part, .num_sge = bytes ? 1 : 0,
				  .wr.rdma.remote_addr = request->ready.address + request->moved };
	if (bytes)
		part.lkey = request->registration->lkey;
	request->moved += bytes;
	peer->ib->counters.data++;
	peer->ib->counters.bytes += bytes;
	post_write(peer, request, &wr,
		   is_last && !request->is_put && !has_flag(peer, request));
	return is_last;
}

/* The counter of a put behind its data. */
static void
post_count(struct cs_peer *peer, struct cs_message *request)
{
	const struct cs_counter counter = { .address = request->ready.flag,
					    .growth = { request->grows_by,
							request->ready.value },
					    .key = request->ready.key };
	cs_peer_count(peer, &counter, request);
}

bool
cs_large_pump(struct cs_peer *peer)
{
	bool has_any = false;
	/* Room for a piece and a flag. */
	while (peer->writes.head && peer->posted + 1 - peer->completed < CS_SENDS) {
		struct cs_message *request = peer->writes.head;
		has_any = true;
		bool is_count_alone = request->is_put && !request->bytes;
		if (!is_count_alone && !post_piece(peer, request))
			continue;
		cs_pop(&peer->writes);
		if (request->is_put)
			post_count(peer, request);
		else if (has_flag(peer, request))
			post_flag(peer, request);
	}
	return has_any;
}

void
cs_large_sent(struct cs_message *request)
{
	if (request->registration)
		cs_registrations_give(request->channel->peer->ib->registrations,
				      request->registration);
	request->registration = NULL;
	cs_message_finish(request);
}
