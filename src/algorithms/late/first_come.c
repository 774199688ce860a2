/* late/handout.c hands a vector out to who is there. */
#include "algorithms/late/handout.h"

#include "algorithms/node/node_rounds.h"
#include "algorithms/node/node_bcast.h"

#include <string.h>

struct cs_handout *
cs_handout_make(struct cs_op *op, uint64_t number, int members, int words)
{
	size_t most = (size_t)members,
	       note = sizeof(struct cs_handout_note) + CS_HANDOUT_INLINE + sizeof(uint64_t),
	       in = note + most * sizeof(uint32_t);
	/* Those of one split have no rank twice. */
	size_t out = CS_HANDOUT_AT_ONCE * note + most * sizeof(uint32_t);
	size_t list = in + out + sizeof(uint64_t);
	struct cs_handout *handout = cs_op_memory(op, CS_OP_SCRATCH, sizeof *handout);
	memset(handout, 0, offsetof(struct cs_handout, children));
	handout->wire = op->team->host->messages(op->team->everyone);
	handout->number = number;
	handout->tag = op->tag;
	handout->base = op->call.recv.base;
	handout->room = op->call.bytes;
	handout->members = members;
	handout->note_in = cs_op_memory(op, CS_OP_PENDING, list + most * sizeof *handout->list);
	handout->notes = handout->note_in + in;
	handout->list = (int *)(void *)(handout->note_in + list / sizeof(uint64_t) *
					sizeof(uint64_t));
	handout->note_bytes = in;
	handout->tells = cs_op_memory(op, CS_OP_REQUESTS, (size_t)(words ? words : 1) *
				      sizeof *handout->tells);
	handout->source = -1;
	return handout;
}

void
cs_handout_take_params(struct cs_handout *handout, const size_t *params)
{
	handout->chunk = params[CS_HANDOUT_CHUNK];
	handout->radix = params[CS_HANDOUT_SERIAL] ? 0 : 1 + (int)params[CS_HANDOUT_K];
	handout->group = (int)params[CS_HANDOUT_GROUP];
}

void
cs_handout_tell(struct cs_handout *handout, int rank)
{
	struct cs_wire *wire = handout->wire;
	handout->own_word = (uint32_t)wire->rank;
	wire->send_to(wire, &handout->tells[handout->telling++], rank, handout->number,
		      &handout->own_word, sizeof handout->own_word);
}

static void
hear(struct cs_handout *handout)
{
	handout->is_hearing = handout->heard < handout->expected;
	if (handout->is_hearing)
		handout->wire->recv_any(handout->wire, &handout->hears, handout->number,
					&handout->word, sizeof handout->word);
}

void
cs_handout_start(struct cs_handout *handout)
{
	hear(handout);
	if (handout->is_root) {
		handout->source = handout->wire->rank;
		handout->bytes = handout->room;
		handout->chunks = handout->have = cs_rounds(handout->bytes, handout->chunk);
	} else if (!handout->is_idle) {
		handout->is_awaiting = true;
		handout->wire->recv_any(handout->wire, &handout->note_request, handout->number + 1,
					handout->note_in, handout->note_bytes);
	}
}

/* --- what comes ------------------------------------------------------------------------------- */

static bool
is_over(struct cs_op *op, struct cs_handout *handout, struct cs_request *request)
{
	if (!handout->wire->test(handout->wire, request))
		return false;
	cs_op_note(op, request->told);
	return true;
}

static void
receive(struct cs_handout *handout)
{
	handout->is_receiving = handout->have < handout->chunks;
	if (handout->is_receiving)
		handout->wire->recv(handout->wire, &handout->data_request, handout->source,
				    handout->tag,
				    handout->base + handout->have * handout->chunk,
				    cs_chunk_bytes(handout->bytes, handout->chunk, handout->have));
}

static void
add(struct cs_handout *handout, uint32_t rank)
{
	if (handout->listed < handout->members && rank < (uint32_t)handout->wire->ranks)
		handout->list[handout->listed++] = (int)rank;
}

/* The root's size says how much comes. What this rank has no room for goes through other memory,
 * since those behind it may have room. */
static void
read_note(struct cs_op *op, struct cs_handout *handout)
{
	struct cs_handout_note note;
	const char *at = handout->note_in + sizeof note;
	memcpy(&note, handout->note_in, sizeof note);
	handout->source = (int)note.source;
	handout->bytes = note.bytes;
	handout->chunks = cs_rounds(handout->bytes, handout->chunk);
	if (handout->bytes > handout->room)
		handout->base = cs_op_memory(op, CS_OP_COPY, handout->bytes);
	/* Those of this list come before those who are heard of, for they are split. */
	for (uint32_t i = 0; i < note.count && i < (uint32_t)handout->members; i++, at +=
	     sizeof(uint32_t)) {
		uint32_t rank;
		memcpy(&rank, at, sizeof rank);
		add(handout, rank);
	}
	handout->is_serial = handout->is_split && !handout->radix;
	if (handout->bytes <= CS_HANDOUT_INLINE) {
		memcpy(handout->base, at, handout->bytes);
		handout->have = handout->chunks;
	}
	receive(handout);
}

/* --- what goes -------------------------------------------------------------------------------- */

static bool
is_any_served(const struct cs_handout *handout)
{
	for (int i = 0; i < handout->children_used; i++)
		if (handout->children[i].is_used)
			return true;
	return false;
}

/* The next one of the list, and how many behind it are its to serve. Of n that have the vector or
 * wait for it, with this one, each of radix - 1 next ones gets one in radix. */
static int
next_share(struct cs_handout *handout)
{
	if (!handout->is_split || handout->is_serial)
		return 1;
	if (!handout->radix)
		return handout->left;
	if (!handout->shares) {
		handout->share = (handout->left + 1) / handout->radix;
		handout->share += !handout->share;
		handout->shares = handout->radix - 1;
	}
	handout->shares--;
	return handout->share < handout->left ? handout->share : handout->left;
}

static struct cs_handout_child *
free_child(struct cs_handout *handout)
{
	for (int i = 0; i < handout->children_used; i++)
		if (!handout->children[i].is_used)
			return &handout->children[i];
	return handout->children_used < CS_HANDOUT_AT_ONCE
	       ? &handout->children[handout->children_used++] : NULL;
}

static void
begin_child(struct cs_handout *handout, struct cs_handout_child *child)
{
	int share = next_share(handout);
	const int *ranks = &handout->list[handout->at];
	bool is_inline = handout->bytes <= CS_HANDOUT_INLINE;
	struct cs_handout_note note = { .source = (uint32_t)handout->wire->rank,
					.count = (uint32_t)share - 1, .bytes = handout->bytes };
	char *start = handout->notes + handout->notes_used, *at = start;
	child->is_used = true;
	child->is_noted = child->is_sending = false;
	child->sent = is_inline ? handout->chunks : 0;
	child->rank = ranks[0];
	memcpy(at, &note, sizeof note);
	at += sizeof note;
	for (int i = 1; i < share; i++, at += sizeof(uint32_t)) {
		uint32_t rank = (uint32_t)ranks[i];
		memcpy(at, &rank, sizeof rank);
	}
	if (is_inline && handout->bytes) {
		memcpy(at, handout->base, handout->bytes);
		at += handout->bytes;
	}
	handout->notes_used += (size_t)(at - start);
	handout->at += share;
	handout->left -= share;
	handout->wire->send_to(handout->wire, &child->note_request, child->rank,
			       handout->number + 1, start, (size_t)(at - start));
}

/* Begins a new split when nothing of the last one is on its way any more: who has come meanwhile is
 * in it. Serially one is served at a time. */
static void
begin_children(struct cs_handout *handout)
{
	size_t note = sizeof(struct cs_handout_note) + CS_HANDOUT_INLINE;
	size_t out = CS_HANDOUT_AT_ONCE * note + (size_t)handout->members * sizeof(uint32_t);
	if (handout->source < 0)
		return;
	for (;;) {
		bool is_any = is_any_served(handout);
		int waiting = handout->listed - handout->at;
		bool waits = is_any && (handout->is_serial || (handout->is_split &&
							       !handout->left));
		if (!is_any)
			handout->notes_used = 0;
		if (!waiting || waits)
			return;
		if (!handout->left) {
			bool is_limited = handout->group && waiting > handout->group &&
					  handout->is_root;
			handout->left = is_limited ? handout->group : waiting;
			handout->shares = 0;
		}
		size_t most = note + (size_t)handout->left * sizeof(uint32_t);
		struct cs_handout_child *child = handout->notes_used + most > out
						 ? NULL : free_child(handout);
		if (!child)
			return;
		begin_child(handout, child);
	}
}

/* One chunk at a time, as they come. */
static void
serve(struct cs_op *op, struct cs_handout *handout, struct cs_handout_child *child)
{
	child->is_noted = child->is_noted || is_over(op, handout, &child->note_request);
	for (;;) {
		if (child->is_sending) {
			if (!is_over(op, handout, &child->data_request))
				return;
			child->is_sending = false;
			child->sent++;
		}
		if (child->sent >= handout->have)
			break;
		child->is_sending = true;
		handout->wire->send(handout->wire, &child->data_request, child->rank, handout->tag,
				    handout->base + child->sent * handout->chunk,
				    cs_chunk_bytes(handout->bytes, handout->chunk, child->sent));
	}
	child->is_used = !child->is_noted || child->sent < handout->chunks;
}

bool
cs_handout_go(struct cs_op *op, struct cs_handout *handout)
{
	while (handout->is_hearing && is_over(op, handout, &handout->hears)) {
		handout->heard++;
		if (!handout->is_idle)
			add(handout, handout->word);
		hear(handout);
	}
	if (handout->is_awaiting && is_over(op, handout, &handout->note_request)) {
		handout->is_awaiting = false;
		read_note(op, handout);
	}
	while (handout->is_receiving && is_over(op, handout, &handout->data_request)) {
		handout->have++;
		receive(handout);
	}
	bool is_any;
	int at;
	do {
		at = handout->at;
		begin_children(handout);
		for (int i = 0; i < handout->children_used; i++)
			if (handout->children[i].is_used)
				serve(op, handout, &handout->children[i]);
		is_any = is_any_served(handout);
	} while (handout->at > at && !is_any);
	while (handout->told < handout->telling &&
	       is_over(op, handout, &handout->tells[handout->told]))
		handout->told++;
	bool is_here = handout->is_idle ||
		       (handout->source >= 0 && handout->have == handout->chunks);
	return is_here && !is_any && handout->heard == handout->expected &&
	       handout->at == handout->listed && handout->told == handout->telling;
}

void
cs_handout_end(struct cs_op *op, struct cs_handout *handout)
{
	struct cs_call *call = &op->call;
	if (handout->base != call->recv.base)
		memcpy(call->recv.base, handout->base, call->bytes);
	if (!handout->is_idle && handout->bytes != call->bytes)
		cs_node_bcast_compare(&op->node, call, handout->bytes);
}
