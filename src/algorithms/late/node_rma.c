/* late/node_rma.c — broadcast and allgather(v) by a window. */
#include "algorithms/late/node_rma.h"

#include "algorithms/node/chunks.h"
#include "algorithms/plans/knomial.h"
#include "algorithms/node/bcast.h"
#include "algorithms/node/rounds.h"
#include "shm/arrive.h"
#include "wire/rma_window.h"

#include <string.h>

/* What a message begins with: the bytes of all pieces, as its node has them. */
struct head {
	_Alignas(CS_CACHE_LINE) uint64_t bytes;
};

/* Of what a node sends at once; half of the slots, so that two calls may be under way. */
#define MOST_PIECES (CS_WINDOW_SLOTS / 2)
#define SENDS_EACH 2 /* pieces on their way to a node, at most */

/* Tickets (shm/arrive.h): of who comes, and of who has read. */
enum { COMING, READING };

/* What comes from a node or goes to one, in messages that follow each other. */
struct mail {
	int node;
	uint64_t number, pieces;
};

struct sending {
	struct cs_request request;
	bool is_under_way;
};

struct windows {
	struct cs_rma_window *window;
	size_t each;     /* bytes of a piece */
	struct mail own; /* what the own node brings; no pieces: nothing */
	struct mail *in; /* what comes from other nodes */
	struct mail *out; /* what this node passes on, of so many pieces as `source` has */
	struct sending *sends; /* SENDS_EACH for each of out */
	int ins, outs;
	const struct mail *source; /* of what is passed on */
	size_t bytes;     /* of all its pieces */
	uint64_t piece;   /* in a broadcast: at hand */
	uint64_t ready;   /* pieces that may be passed on */
	uint64_t sent;    /* messages, by piece and then by node */
	int taken, freed; /* of in, and behind them the own node's */
	uint64_t freed_pieces; /* of the one at hand */
	bool passes_on;         /* this rank does */
	bool has_come;          /* ticket of COMING drawn, in a broadcast */
	bool has_read, is_last; /* ticket of READING drawn; it was the last one */
	int heard;              /* local rank whose line is looked at next */
};

static struct windows *
windows_of(struct cs_op *op)
{
	return CS_OP_STATE(struct windows, op);
}

/* What is waited for may never come where a rank of the node makes another call: its line tells,
 * and on several nodes that ends the job. */
static enum cs_status
await_message(struct cs_op *op)
{
	struct windows *windows = windows_of(op);
	const struct cs_node_shape *shape = &op->team->node.shape;
	for (; windows->heard < shape->size; windows->heard++)
		if (windows->heard != shape->local &&
		    !cs_node_look_alike(&op->node, windows->heard, 1))
			break;
	op->node.awaited.local = CS_AWAITS_MESSAGE;
	return CS_AGAIN;
}

static bool
is_last_ticket(struct cs_op *op, uint64_t of)
{
	return cs_arrive_ticket(&op->node, of) == op->team->node.shape.size - 1;
}

/* --- pieces ----------------------------------------------------------------------------------- */

/* What has no bytes is a message, too. */
static uint64_t
pieces_of(const struct windows *windows, size_t bytes)
{
	uint64_t pieces = cs_chunks_rounds(bytes, windows->each);
	return pieces ? pieces : 1;
}

/* Where a piece lies here. */
static char *
slot_of(const struct windows *windows, const struct mail *mail, uint64_t piece)
{
	struct cs_rma_window *window = windows->window;
	return window->memory + cs_rma_slot_at(window, mail->node, mail->number + piece);
}

static size_t
head_bytes(const struct windows *windows, const struct mail *mail)
{
	return ((const struct head *)(const void *)slot_of(windows, mail, 0))->bytes;
}

/* So many bytes from there on, of which `bytes` are asked for, lie together; *bytes says how many
 * do. */
static char *
place_of(const struct windows *windows, const struct mail *mail, size_t at, size_t *bytes)
{
	size_t in_piece = at % windows->each, rest = windows->each - in_piece;
	*bytes = *bytes < rest ? *bytes : rest;
	return slot_of(windows, mail, at / windows->each) + sizeof(struct head) + in_piece;
}

static bool
has_come(const struct windows *windows, const struct mail *mail, uint64_t piece)
{
	return cs_rma_has_come(windows->window, mail->node, mail->number + piece);
}

/* The first piece says how many there are: another number than this rank counted where the
 * program's ranks disagree about sizes. Those that follow are numbered behind them. */
static void
adopt(struct windows *windows, struct mail *mail, size_t bytes)
{
	uint64_t pieces = pieces_of(windows, bytes), before = mail->pieces;
	mail->pieces = pieces < MOST_PIECES ? pieces : MOST_PIECES;
	uint64_t *counted = mail == &windows->own ? windows->window->sent
						  : windows->window->received;
	counted[mail->node] += mail->pieces - before;
	for (int i = 0; mail == windows->source && i < windows->outs; i++)
		windows->window->sent[windows->out[i].node] += mail->pieces - before;
}

/* --- phases ----------------------------------------------------------------------------------- */

/* Takes the own line, which tells others of the node which call this is. */
static enum cs_status
come(struct cs_op *op)
{
	struct cs_line *line = cs_node_try_line(&op->node);
	if (!line || !cs_arrive_is_open(&op->node, 0))
		return CS_AGAIN;
	cs_node_publish(&op->node, line, 1);
	return CS_OK;
}

/* The slot that a piece of the own node's is put into is free. */
static bool
is_own_free(const struct windows *windows, uint64_t piece)
{
	const struct mail *own = &windows->own;
	return cs_rma_may_put(windows->window, own->node, own->number + piece);
}

/* Lets the ranks of the own node see a piece. */
static void
say_own(struct windows *windows, uint64_t piece, size_t bytes)
{
	struct head *head = (struct head *)(void *)slot_of(windows, &windows->own, piece);
	head->bytes = bytes;
	cs_rma_count_here(windows->window, CS_WINDOW_ARRIVED, windows->own.number + piece);
}

static bool
has_left(struct windows *windows, struct sending *sending)
{
	if (sending->is_under_way && !windows->window->test(windows->window, &sending->request))
		return false;
	sending->is_under_way = false;
	return true;
}

/* Sends what there is to pass on. */
static enum cs_status
pass_on(struct cs_op *op)
{
	struct windows *windows = windows_of(op);
	struct cs_rma_window *window = windows->window;
	uint64_t outs = (uint64_t)windows->outs, all = windows->passes_on
			? windows->ready * outs : 0;
	for (; windows->sent < all; windows->sent++) {
		const struct mail *mail = &windows->out[windows->sent % outs];
		struct sending *sending = &windows->sends[windows->sent % (SENDS_EACH * outs)];
		uint64_t piece = windows->sent / outs, number = mail->number + piece;
		size_t bytes = cs_chunks_bytes(windows->bytes, windows->each, piece);
		if (!has_left(windows, sending) || !cs_rma_may_put(window, mail->node, number))
			return await_message(op);
		sending->is_under_way = true;
		window->put(window, &sending->request, mail->node, number, NULL,
			    slot_of(windows, windows->source, piece), sizeof(struct head) + bytes);
	}
	return CS_OK;
}

static enum cs_status
have_left(struct cs_op *op)
{
	struct windows *windows = windows_of(op);
	for (int i = 0; windows->passes_on && i < SENDS_EACH * windows->outs; i++)
		if (!has_left(windows, &windows->sends[i]))
			return await_message(op);
	return CS_OK;
}

/* The last of the node to have read gives all back. */
static enum cs_status
give_back(struct cs_op *op)
{
	struct windows *windows = windows_of(op);
	struct cs_rma_window *window = windows->window;
	if (!windows->has_read)
		windows->is_last = is_last_ticket(op, READING);
	windows->has_read = true;
	for (; windows->is_last && windows->freed < windows->ins;
	     windows->freed++, windows->freed_pieces = 0) {
		const struct mail *mail = &windows->in[windows->freed];
		for (; windows->freed_pieces < mail->pieces; windows->freed_pieces++)
			if (!window->give_back(window, mail->node,
					       mail->number + windows->freed_pieces))
				return await_message(op);
	}
	for (uint64_t piece = 0; windows->is_last && piece < windows->own.pieces; piece++)
		cs_rma_count_here(window, CS_WINDOW_FREED, windows->own.number + piece);
	cs_node_end(&op->node);
	return CS_OK;
}

/* Memory for so many nodes; numbers follow. */
static void
make(struct cs_op *op, struct windows *windows, size_t most_in, size_t most_out)
{
	size_t sends = SENDS_EACH * most_out * sizeof *windows->sends;
	char *memory = cs_op_memory(op, CS_OP_REQUESTS,
				    sends + (most_in + most_out) * sizeof(struct mail));
	windows->sends = (struct sending *)(void *)memory;
	windows->in = (struct mail *)(void *)(memory + sends);
	windows->out = windows->in + most_in;
	for (size_t i = 0; i < SENDS_EACH * most_out; i++)
		windows->sends[i].is_under_way = false;
}

static struct mail
number(uint64_t *counted, int node, uint64_t pieces)
{
	struct mail mail = { .node = node, .number = counted[node], .pieces = pieces };
	counted[node] += pieces;
	return mail;
}

static void
expect(struct windows *windows, int node, uint64_t pieces)
{
	windows->in[windows->ins++] = number(windows->window->received, node, pieces);
}

static void
promise(struct windows *windows, int node, uint64_t pieces)
{
	windows->out[windows->outs++] = number(windows->window->sent, node, pieces);
}

static struct cs_rma_window *
window_of(const struct cs_op *op)
{
	const struct cs_host *host = op->team->host;
	return op->team->shape.nodes > 1 && host->window ? host->window(op->team->everyone) : NULL;
}

/* False: there is none, or it is too small for so many bytes of a node. */
static bool
open_windows(const struct cs_op *op, struct windows *windows, size_t bytes)
{
	struct cs_rma_window *window = window_of(op);
	if (!window)
		return false;
	*windows = (struct windows){ .window = window,
				     .each = window->room - sizeof(struct head) };
	windows->own.node = window->node;
	return pieces_of(windows, bytes) <= MOST_PIECES;
}

/* --- broadcast -------------------------------------------------------------------------------- */

/* The root brings a piece; the first arriver of another node passes them on. */
static enum cs_status
bring_piece(struct cs_op *op)
{
	struct windows *windows = windows_of(op);
	const struct cs_call *call = &op->call;
	bool is_root = op->team->shape.rank == call->root;
	if (!windows->has_come)
		windows->passes_on = windows->own.pieces
				     ? is_root : cs_arrive_ticket(&op->node, COMING) == 0;
	windows->has_come = true;
	if (!is_root)
		return CS_OK;
	if (!is_own_free(windows, windows->piece))
		return await_message(op);
	cs_copy_in(op, slot_of(windows, &windows->own, windows->piece) + sizeof(struct head),
		   (char *)call->recv.base + windows->piece * windows->each,
		   cs_chunks_bytes(call->bytes, windows->each, windows->piece));
	say_own(windows, windows->piece, call->bytes);
	return CS_OK;
}

/* It is there, and may be passed on. */
static enum cs_status
find_piece(struct cs_op *op)
{
	struct windows *windows = windows_of(op);
	struct mail *source = windows->own.pieces ? &windows->own : windows->in;
	if (!has_come(windows, source, windows->piece))
		return await_message(op);
	windows->source = source;
	if (!windows->piece) {
		windows->bytes = head_bytes(windows, source);
		adopt(windows, source, windows->bytes);
	}
	windows->ready = windows->piece + 1;
	return CS_OK;
}

static enum cs_status
take_piece(struct cs_op *op)
{
	struct windows *windows = windows_of(op);
	struct cs_call *call = &op->call;
	size_t at = windows->piece * windows->each, expected = call->bytes,
	       sent = cs_chunks_bytes(windows->bytes, windows->each, windows->piece);
	if (op->team->shape.rank == call->root)
		return CS_OK;
	if (!windows->piece && windows->bytes != expected)
		cs_node_bcast_compare(&op->node, call, windows->bytes);
	expected = at < expected ? expected - at : 0;
	if (expected)
		cs_copy_result(op, (char *)call->recv.base + at,
			       slot_of(windows, windows->source, windows->piece) +
			       sizeof(struct head), sent < expected ? sent : expected);
	return CS_OK;
}

static enum cs_status next_piece(struct cs_op *op);
static cs_phase *const bcast[] = { come, bring_piece, find_piece, pass_on, take_piece, next_piece,
				   have_left, give_back, NULL };

static enum cs_status
next_piece(struct cs_op *op)
{
	struct windows *windows = windows_of(op);
	if (++windows->piece < windows->source->pieces)
		op->phase = bcast + 1;
	return CS_OK;
}

/* The tree of nodes, counted from the root's. */
static void
join_tree(struct cs_op *op, struct windows *windows, int radix)
{
	const struct cs_shape *shape = &op->team->shape;
	int nodes = shape->nodes, root = shape->node_of[op->call.root],
	    place = (shape->node - root + nodes) % nodes;
	int64_t weight = cs_knomial_weight(place, nodes, radix);
	uint64_t pieces = pieces_of(windows, op->call.bytes);
	make(op, windows, 1, (size_t)nodes);
	if (place == 0)
		windows->own = number(windows->window->sent, shape->node, pieces);
	else
		expect(windows, (place - (int)(place % (weight * radix)) + root) % nodes, pieces);
	for (weight /= radix; weight; weight /= radix)
		for (int64_t i = 1; i < radix && place + i * weight < nodes; i++)
			promise(windows, (int)(place + i * weight + root) % nodes, pieces);
}

bool
cs_node_rma_bcast(struct cs_op *op, int radix)
{
	struct windows *windows = windows_of(op);
	if (!open_windows(op, windows, op->call.bytes))
		return false;
	join_tree(op, windows, radix);
	cs_op_start(op, bcast);
	return true;
}

/* --- allgather(v) ----------------------------------------------------------------------------- */

/* Bytes of a node's blocks, as far as those before a local rank. */
static size_t
bytes_before(const struct cs_op *op, int node, int local)
{
	const struct cs_shape *shape = &op->team->shape;
	size_t bytes = 0;
	for (int i = 0; i < local; i++)
		bytes += cs_blocks_bytes(&op->call.recv, shape->order[shape->first[node] + i]);
	return bytes;
}

static size_t
bytes_of(const struct cs_op *op, int node)
{
	return bytes_before(op, node, cs_team_node_size(op->team, node));
}

static void
put_block(struct cs_op *op)
{
	struct windows *windows = windows_of(op);
	const struct cs_shape *shape = &op->team->shape;
	const struct cs_call *call = &op->call;
	const char *from = call->send.base ? call->send.base
					   : cs_blocks_at(&call->recv, shape->rank);
	size_t at = bytes_before(op, shape->node, shape->local), left = call->bytes;
	for (size_t bytes; left; left -= bytes, at += bytes, from += bytes) {
		bytes = left;
		char *to = place_of(windows, &windows->own, at, &bytes);
		cs_copy_in(op, to, from, bytes);
	}
}

/* Each rank brings its block; the last one has the node's, and sends them. */
static enum cs_status
bring_block(struct cs_op *op)
{
	struct windows *windows = windows_of(op);
	for (uint64_t piece = 0; piece < windows->own.pieces; piece++)
		if (!is_own_free(windows, piece))
			return await_message(op);
	put_block(op);
	windows->passes_on = is_last_ticket(op, COMING);
	windows->bytes = bytes_of(op, op->team->shape.node);
	windows->source = &windows->own;
	windows->ready = windows->own.pieces;
	for (uint64_t piece = 0; windows->passes_on && piece < windows->own.pieces; piece++)
		say_own(windows, piece, windows->bytes);
	return CS_OK;
}

/* Copies a rank's block out of its node's. */
static void
take_block(struct cs_op *op, const struct mail *mail, size_t at, int rank)
{
	const struct windows *windows = windows_of(op);
	char *to = cs_blocks_at(&op->call.recv, rank);
	size_t left = cs_blocks_bytes(&op->call.recv, rank);
	for (size_t bytes; left; left -= bytes, at += bytes, to += bytes) {
		bytes = left;
		const char *from = place_of(windows, mail, at, &bytes);
		cs_copy_result(op, to, from, bytes);
	}
}

/* Copies out what has come from a node. */
static void
take_blocks(struct cs_op *op, const struct mail *mail)
{
	const struct cs_shape *shape = &op->team->shape;
	size_t sent = head_bytes(windows_of(op), mail), at = 0;
	size_t wanted = bytes_of(op, mail->node);
	if (sent != wanted)
		cs_op_note(op, sent > wanted ? CS_TOLD_MORE : CS_TOLD_LESS);
	for (int p = shape->first[mail->node]; p < shape->first[mail->node + 1]; p++) {
		int rank = shape->order[p];
		if (rank != shape->rank || op->call.send.base)
			take_block(op, mail, at, rank);
		at += cs_blocks_bytes(&op->call.recv, rank);
	}
}

/* What there is of what comes; the own node's is the last. */
static enum cs_status
take_nodes(struct cs_op *op)
{
	struct windows *windows = windows_of(op);
	for (; windows->taken <= windows->ins; windows->taken++) {
		bool is_own = windows->taken == windows->ins;
		struct mail *mail = is_own ? &windows->own : &windows->in[windows->taken];
		if (!has_come(windows, mail, 0))
			return await_message(op);
		if (!is_own)
			adopt(windows, mail, head_bytes(windows, mail));
		for (uint64_t piece = 1; piece < mail->pieces; piece++)
			if (!has_come(windows, mail, piece))
				return await_message(op);
		take_blocks(op, mail);
	}
	return CS_OK;
}

static cs_phase *const allgather[] = { come, bring_block, pass_on, take_nodes, have_left, give_back,
				       NULL };

bool
cs_node_rma_allgather(struct cs_op *op)
{
	struct windows *windows = windows_of(op);
	int nodes = op->team->shape.nodes, self = op->team->shape.node;
	for (int node = 0; node < nodes; node++)
		if (!open_windows(op, windows, bytes_of(op, node)))
			return false;
	uint64_t pieces = pieces_of(windows, bytes_of(op, self));
	windows->own = number(windows->window->sent, self, pieces);
	make(op, windows, (size_t)nodes, (size_t)nodes);
	for (int i = 1; i < nodes; i++) {
		int from = (self + nodes - i) % nodes;
		expect(windows, from, pieces_of(windows, bytes_of(op, from)));
		promise(windows, (self + i) % nodes, pieces);
	}
	cs_op_start(op, allgather);
	return true;
}
