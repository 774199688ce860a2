/* late/first_come.c — broadcast in the order of arrival. */
#include "algorithms/late/first_come.h"

#include "algorithms/node/rounds.h"
#include "algorithms/node/bcast.h"

#include <string.h>

struct cs_first_come *
cs_first_come_make(struct cs_op *op, uint64_t number, int members, int words)
{
	size_t most = (size_t)members,
	       note = sizeof(struct cs_first_come_note) + CS_FIRST_COME_INLINE + sizeof(uint64_t),
	       in = note + most * sizeof(uint32_t);
	/* The notes of one split list no rank twice. */
	size_t out = CS_FIRST_COME_AT_ONCE * note + most * sizeof(uint32_t);
	size_t list = in + out + sizeof(uint64_t);
	struct cs_first_come *bcast = cs_op_memory(op, CS_OP_SCRATCH, sizeof *bcast);
	memset(bcast, 0, offsetof(struct cs_first_come, children));
	bcast->wire = op->team->host->messages(op->team->everyone);
	bcast->number = number;
	bcast->tag = op->tag;
	bcast->base = op->call.recv.base;
	bcast->room = op->call.bytes;
	bcast->members = members;
	bcast->note_in = cs_op_memory(op, CS_OP_PENDING, list + most * sizeof *bcast->list);
	bcast->notes = bcast->note_in + in;
	bcast->list = (int *)(void *)(bcast->note_in + list / sizeof(uint64_t) *
					sizeof(uint64_t));
	bcast->note_bytes = in;
	bcast->tells = cs_op_memory(op, CS_OP_REQUESTS, (size_t)(words ? words : 1) *
				      sizeof *bcast->tells);
	bcast->source = -1;
	return bcast;
}

void
cs_first_come_take_params(struct cs_first_come *bcast, const size_t *params)
{
	bcast->chunk = params[CS_FIRST_COME_CHUNK];
	bcast->radix = params[CS_FIRST_COME_SERIAL] ? 0 : 1 + (int)params[CS_FIRST_COME_K];
	bcast->group = (int)params[CS_FIRST_COME_GROUP];
}

void
cs_first_come_tell(struct cs_first_come *bcast, int rank)
{
	struct cs_wire *wire = bcast->wire;
	bcast->own_word = (uint32_t)wire->rank;
	wire->send_to(wire, &bcast->tells[bcast->telling++], rank, bcast->number,
		      &bcast->own_word, sizeof bcast->own_word);
}

static void
hear(struct cs_first_come *bcast)
{
	bcast->is_listening = bcast->heard < bcast->expected;
	if (bcast->is_listening)
		bcast->wire->recv_any(bcast->wire, &bcast->hears, bcast->number,
					&bcast->word, sizeof bcast->word);
}

void
cs_first_come_start(struct cs_first_come *bcast)
{
	hear(bcast);
	if (bcast->is_root) {
		bcast->source = bcast->wire->rank;
		bcast->bytes = bcast->room;
		bcast->chunks = bcast->have = cs_chunks_rounds(bcast->bytes, bcast->chunk);
	} else if (!bcast->is_idle) {
		bcast->is_awaiting = true;
		bcast->wire->recv_any(bcast->wire, &bcast->note_request, bcast->number + 1,
					bcast->note_in, bcast->note_bytes);
	}
}

/* --- receives --------------------------------------------------------------------------------- */

static bool
is_over(struct cs_op *op, struct cs_first_come *bcast, struct cs_request *request)
{
	if (!bcast->wire->test(bcast->wire, request))
		return false;
	cs_op_note(op, request->told);
	return true;
}

static void
receive(struct cs_first_come *bcast)
{
	bcast->is_receiving = bcast->have < bcast->chunks;
	if (bcast->is_receiving)
		bcast->wire->recv(bcast->wire, &bcast->data_request, bcast->source,
				    bcast->tag,
				    bcast->base + bcast->have * bcast->chunk,
				    cs_chunks_bytes(bcast->bytes, bcast->chunk, bcast->have));
}

static void
add(struct cs_first_come *bcast, uint32_t rank)
{
	if (bcast->listed < bcast->members && rank < (uint32_t)bcast->wire->ranks)
		bcast->list[bcast->listed++] = (int)rank;
}

/* Reads the own note: its sender, size and list. A vector that this rank has no room for goes
 * through other memory, since ranks behind it may have room. */
static void
read_note(struct cs_op *op, struct cs_first_come *bcast)
{
	struct cs_first_come_note note;
	const char *at = bcast->note_in + sizeof note;
	memcpy(&note, bcast->note_in, sizeof note);
	bcast->source = (int)note.source;
	bcast->bytes = note.bytes;
	bcast->chunks = cs_chunks_rounds(bcast->bytes, bcast->chunk);
	if (bcast->bytes > bcast->room)
		bcast->base = cs_op_memory(op, CS_OP_COPY, bcast->bytes);
	for (uint32_t i = 0; i < note.count && i < (uint32_t)bcast->members; i++, at +=
	     sizeof(uint32_t)) {
		uint32_t rank;
		memcpy(&rank, at, sizeof rank);
		add(bcast, rank);
	}
	bcast->is_serial = bcast->is_split && !bcast->radix;
	if (bcast->bytes <= CS_FIRST_COME_INLINE) {
		memcpy(bcast->base, at, bcast->bytes);
		bcast->have = bcast->chunks;
	}
	receive(bcast);
}

/* --- sends ------------------------------------------------------------------------------------ */

static bool
is_any_served(const struct cs_first_come *bcast)
{
	for (int i = 0; i < bcast->children_used; i++)
		if (bcast->children[i].is_used)
			return true;
	return false;
}

/* Number of ranks of the next child's share: itself, and those behind it that it serves. Each of
 * the next radix - 1 children gets a radix-th of the ranks left and this one. */
static int
next_share(struct cs_first_come *bcast)
{
	if (!bcast->is_split || bcast->is_serial)
		return 1;
	if (!bcast->radix)
		return bcast->left;
	if (!bcast->shares) {
		bcast->share = (bcast->left + 1) / bcast->radix;
		bcast->share += !bcast->share;
		bcast->shares = bcast->radix - 1;
	}
	bcast->shares--;
	return bcast->share < bcast->left ? bcast->share : bcast->left;
}

static struct cs_first_come_child *
free_child(struct cs_first_come *bcast)
{
	for (int i = 0; i < bcast->children_used; i++)
		if (!bcast->children[i].is_used)
			return &bcast->children[i];
	return bcast->children_used < CS_FIRST_COME_AT_ONCE
	       ? &bcast->children[bcast->children_used++] : NULL;
}

static void
begin_child(struct cs_first_come *bcast, struct cs_first_come_child *child)
{
	int share = next_share(bcast);
	const int *ranks = &bcast->list[bcast->at];
	bool is_inline = bcast->bytes <= CS_FIRST_COME_INLINE;
	struct cs_first_come_note note = { .source = (uint32_t)bcast->wire->rank,
					.count = (uint32_t)share - 1, .bytes = bcast->bytes };
	char *start = bcast->notes + bcast->notes_used, *at = start;
	child->is_used = true;
	child->is_noted = child->is_sending = false;
	child->sent = is_inline ? bcast->chunks : 0;
	child->rank = ranks[0];
	memcpy(at, &note, sizeof note);
	at += sizeof note;
	for (int i = 1; i < share; i++, at += sizeof(uint32_t)) {
		uint32_t rank = (uint32_t)ranks[i];
		memcpy(at, &rank, sizeof rank);
	}
	if (is_inline && bcast->bytes) {
		memcpy(at, bcast->base, bcast->bytes);
		at += bcast->bytes;
	}
	bcast->notes_used += (size_t)(at - start);
	bcast->at += share;
	bcast->left -= share;
	bcast->wire->send_to(bcast->wire, &child->note_request, child->rank,
			       bcast->number + 1, start, (size_t)(at - start));
}

/* Begins a new split, of all ranks that have come meanwhile, when no message of the last one is on
 * its way. Serially one is served at a time. */
static void
begin_children(struct cs_first_come *bcast)
{
	size_t note = sizeof(struct cs_first_come_note) + CS_FIRST_COME_INLINE;
	size_t out = CS_FIRST_COME_AT_ONCE * note + (size_t)bcast->members * sizeof(uint32_t);
	if (bcast->source < 0)
		return;
	for (;;) {
		bool is_any = is_any_served(bcast);
		int waiting = bcast->listed - bcast->at;
		bool waits = is_any && (bcast->is_serial || (bcast->is_split &&
							       !bcast->left));
		if (!is_any)
			bcast->notes_used = 0;
		if (!waiting || waits)
			return;
		if (!bcast->left) {
			bool is_limited = bcast->group && waiting > bcast->group &&
					  bcast->is_root;
			bcast->left = is_limited ? bcast->group : waiting;
			bcast->shares = 0;
		}
		size_t most = note + (size_t)bcast->left * sizeof(uint32_t);
		struct cs_first_come_child *child = bcast->notes_used + most > out
						 ? NULL : free_child(bcast);
		if (!child)
			return;
		begin_child(bcast, child);
	}
}

/* Sends a child the chunks that are here, one at a time. */
static void
serve(struct cs_op *op, struct cs_first_come *bcast, struct cs_first_come_child *child)
{
	child->is_noted = child->is_noted || is_over(op, bcast, &child->note_request);
	for (;;) {
		if (child->is_sending) {
			if (!is_over(op, bcast, &child->data_request))
				return;
			child->is_sending = false;
			child->sent++;
		}
		if (child->sent >= bcast->have)
			break;
		child->is_sending = true;
		bcast->wire->send(bcast->wire, &child->data_request, child->rank, bcast->tag,
				    bcast->base + child->sent * bcast->chunk,
				    cs_chunks_bytes(bcast->bytes, bcast->chunk, child->sent));
	}
	child->is_used = !child->is_noted || child->sent < bcast->chunks;
}

bool
cs_first_come_go(struct cs_op *op, struct cs_first_come *bcast)
{
	while (bcast->is_listening && is_over(op, bcast, &bcast->hears)) {
		bcast->heard++;
		if (!bcast->is_idle)
			add(bcast, bcast->word);
		hear(bcast);
	}
	if (bcast->is_awaiting && is_over(op, bcast, &bcast->note_request)) {
		bcast->is_awaiting = false;
		read_note(op, bcast);
	}
	while (bcast->is_receiving && is_over(op, bcast, &bcast->data_request)) {
		bcast->have++;
		receive(bcast);
	}
	bool is_any;
	int at;
	do {
		at = bcast->at;
		begin_children(bcast);
		for (int i = 0; i < bcast->children_used; i++)
			if (bcast->children[i].is_used)
				serve(op, bcast, &bcast->children[i]);
		is_any = is_any_served(bcast);
	} while (bcast->at > at && !is_any);
	while (bcast->told < bcast->telling &&
	       is_over(op, bcast, &bcast->tells[bcast->told]))
		bcast->told++;
	bool is_here = bcast->is_idle ||
		       (bcast->source >= 0 && bcast->have == bcast->chunks);
	return is_here && !is_any && bcast->heard == bcast->expected &&
	       bcast->at == bcast->listed && bcast->told == bcast->telling;
}

void
cs_first_come_end(struct cs_op *op, struct cs_first_come *bcast)
{
	struct cs_call *call = &op->call;
	if (bcast->base != call->recv.base)
		memcpy(call->recv.base, bcast->base, call->bytes);
	if (!bcast->is_idle && bcast->bytes != call->bytes)
		cs_node_bcast_compare(&op->node, call, bcast->bytes);
}
