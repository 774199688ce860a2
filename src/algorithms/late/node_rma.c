/* late/node_rma.c — broadcast by a window. */
#include "algorithms/late/node_rma.h"

#include "algorithms/node/chunks.h"
#include "algorithms/plans/knomial.h"
#include "algorithms/node/bcast.h"
#include "algorithms/node/rounds.h"
#include "shm/arrive.h"
#include "wire/rma_window.h"

/* Head of a message: the bytes of all pieces, as the root has them. */
struct head {
	_Alignas(CS_CACHE_LINE) uint64_t bytes;
};

/* Pieces of a vector, at most: half of the slots, so that two calls may be under way. */
#define MOST_PIECES (CS_WINDOW_SLOTS / 2)
#define SENDS_EACH 2 /* pieces on their way to a node, at most */

/* Rounds of tickets (shm/arrive.h): of arrivals, and of ranks that have read. */
enum { COMING, READING };

/* Consecutive messages from a node or to one. */
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
	struct mail source; /* from the root on this node, or from another node */
	struct mail *out; /* to the child nodes, as many pieces as in `source` */
	struct sending *sends; /* SENDS_EACH for each of out */
	int outs;
	size_t bytes;     /* of all pieces */
	uint64_t piece;   /* at hand */
	uint64_t sent;    /* messages, by piece and then by node */
	uint64_t freed;   /* pieces that have been given back */
	bool is_own;            /* the root is on this node */
	bool passes_on;         /* this rank sends to the child nodes */
	bool has_come;          /* ticket of COMING drawn */
	bool has_read, is_last; /* ticket of READING drawn; it was the last one */
	int heard;              /* local rank whose line is looked at next */
};

static struct windows *
windows_of(struct cs_op *op)
{
	return CS_OP_STATE(struct windows, op);
}

/* Waits for a message. It may never come if a rank of the node makes another call, which on several
 * nodes ends the job: so lines are looked at, too. */
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

/* Number of pieces of a vector; an empty one has one. */
static uint64_t
pieces_of(const struct windows *windows, size_t bytes)
{
	uint64_t pieces = cs_chunks_rounds(bytes, windows->each);
	return pieces ? pieces : 1;
}

/* Memory of a piece on this node. */
static char *
slot_of(const struct windows *windows, uint64_t piece)
{
	struct cs_rma_window *window = windows->window;
	const struct mail *source = &windows->source;
	return window->memory + cs_rma_slot_at(window, source->node, source->number + piece);
}

static char *
data_of(const struct windows *windows, uint64_t piece)
{
	return slot_of(windows, piece) + sizeof(struct head);
}

static size_t
head_bytes(const struct windows *windows)
{
	return ((const struct head *)(const void *)slot_of(windows, 0))->bytes;
}

/* Adopts the number of pieces that the first one's head implies: not this rank's if the program's
 * ranks disagree about sizes. Later messages are numbered behind these. */
static void
adopt(struct windows *windows)
{
	struct mail *source = &windows->source;
	uint64_t pieces = pieces_of(windows, windows->bytes), before = source->pieces;
	source->pieces = pieces < MOST_PIECES ? pieces : MOST_PIECES;
	uint64_t *counted = windows->is_own ? windows->window->sent : windows->window->received;
	counted[source->node] += source->pieces - before;
	for (int i = 0; i < windows->outs; i++)
		windows->window->sent[windows->out[i].node] += source->pieces - before;
}

/* --- phases ----------------------------------------------------------------------------------- */

/* Publishes the own line, so that a rank in another call is noticed. */
static enum cs_status
come(struct cs_op *op)
{
	struct cs_line *line = cs_node_try_line(&op->node);
	if (!line || !cs_arrive_is_open(&op->node, 0))
		return CS_AGAIN;
	cs_node_publish(&op->node, line, 1);
	return CS_OK;
}

static bool
has_left(struct windows *windows, struct sending *sending)
{
	if (sending->is_under_way && !windows->window->test(windows->window, &sending->request))
		return false;
	sending->is_under_way = false;
	return true;
}

/* Sends the pieces so far to the child nodes. */
static enum cs_status
pass_on(struct cs_op *op)
{
	struct windows *windows = windows_of(op);
	struct cs_rma_window *window = windows->window;
	uint64_t outs = (uint64_t)windows->outs, all = windows->passes_on
			? (windows->piece + 1) * outs : 0;
	for (; windows->sent < all; windows->sent++) {
		const struct mail *mail = &windows->out[windows->sent % outs];
		struct sending *sending = &windows->sends[windows->sent % (SENDS_EACH * outs)];
		uint64_t piece = windows->sent / outs, number = mail->number + piece;
		size_t bytes = cs_chunks_bytes(windows->bytes, windows->each, piece);
		if (!has_left(windows, sending) || !cs_rma_may_put(window, mail->node, number))
			return await_message(op);
		sending->is_under_way = true;
		window->put(window, &sending->request, mail->node, number, NULL,
			    slot_of(windows, piece), sizeof(struct head) + bytes);
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

/* Gives all pieces back, if this rank is the node's last reader. */
static enum cs_status
give_back(struct cs_op *op)
{
	struct windows *windows = windows_of(op);
	struct cs_rma_window *window = windows->window;
	const struct mail *source = &windows->source;
	if (!windows->has_read)
		windows->is_last = is_last_ticket(op, READING);
	windows->has_read = true;
	for (; windows->is_last && windows->freed < source->pieces; windows->freed++) {
		uint64_t number = source->number + windows->freed;
		if (windows->is_own)
			cs_rma_count_here(window, CS_WINDOW_FREED, number);
		else if (!window->give_back(window, source->node, number))
			return await_message(op);
	}
	cs_node_end(&op->node);
	return CS_OK;
}

/* Copies the root's piece into the window; on other nodes draws the ticket of the sender. */
static enum cs_status
bring_piece(struct cs_op *op)
{
	struct windows *windows = windows_of(op);
	const struct cs_call *call = &op->call;
	uint64_t piece = windows->piece, number = windows->source.number + piece;
	bool is_root = op->team->shape.rank == call->root;
	if (!windows->has_come)
		windows->passes_on = windows->is_own
				     ? is_root : cs_arrive_ticket(&op->node, COMING) == 0;
	windows->has_come = true;
	if (!is_root)
		return CS_OK;
	if (!cs_rma_may_put(windows->window, windows->source.node, number))
		return await_message(op);
	cs_copy_in(op, data_of(windows, piece), (char *)call->recv.base + piece * windows->each,
		   cs_chunks_bytes(call->bytes, windows->each, piece));
	((struct head *)(void *)slot_of(windows, piece))->bytes = call->bytes;
	cs_rma_count_here(windows->window, CS_WINDOW_ARRIVED, number);
	return CS_OK;
}

/* Waits for a piece. */
static enum cs_status
find_piece(struct cs_op *op)
{
	struct windows *windows = windows_of(op);
	const struct mail *source = &windows->source;
	if (!cs_rma_has_come(windows->window, source->node, source->number + windows->piece))
		return await_message(op);
	if (!windows->piece) {
		windows->bytes = head_bytes(windows);
		adopt(windows);
	}
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
		cs_copy_result(op, (char *)call->recv.base + at, data_of(windows, windows->piece),
			       sent < expected ? sent : expected);
	return CS_OK;
}

static enum cs_status next_piece(struct cs_op *op);
static cs_phase *const script[] = { come, bring_piece, find_piece, pass_on, take_piece, next_piece,
				    have_left, give_back, NULL };

static enum cs_status
next_piece(struct cs_op *op)
{
	struct windows *windows = windows_of(op);
	if (++windows->piece < windows->source.pieces)
		op->phase = script + 1;
	return CS_OK;
}

static struct mail
number(uint64_t *counted, int node, uint64_t pieces)
{
	struct mail mail = { .node = node, .number = counted[node], .pieces = pieces };
	counted[node] += pieces;
	return mail;
}

/* Joins the tree of nodes, counted from the root's; numbers messages. */
static void
join_tree(struct cs_op *op, struct windows *windows, int radix)
{
	const struct cs_shape *shape = &op->team->shape;
	struct cs_rma_window *window = windows->window;
	int nodes = shape->nodes, root = shape->node_of[op->call.root],
	    place = (shape->node - root + nodes) % nodes;
	int64_t weight = cs_knomial_weight(place, nodes, radix);
	uint64_t pieces = pieces_of(windows, op->call.bytes);
	size_t sends = SENDS_EACH * (size_t)nodes;
	windows->sends = cs_op_memory(op, CS_OP_REQUESTS, sends * sizeof *windows->sends +
				      (size_t)nodes * sizeof *windows->out);
	windows->out = (struct mail *)(void *)(windows->sends + sends);
	for (size_t i = 0; i < sends; i++)
		windows->sends[i].is_under_way = false;
	windows->is_own = place == 0;
	int parent = (int)(place - place % (weight * radix) + root) % nodes;
	windows->source = number(windows->is_own ? window->sent : window->received,
				 windows->is_own ? shape->node : parent, pieces);
	for (weight /= radix; weight; weight /= radix)
		for (int64_t i = 1; i < radix && place + i * weight < nodes; i++)
			windows->out[windows->outs++] =
				number(window->sent, (int)(place + i * weight + root) % nodes,
				       pieces);
}

bool
cs_node_rma_bcast(struct cs_op *op, int radix)
{
	struct windows *windows = windows_of(op);
	const struct cs_host *host = op->team->host;
	struct cs_rma_window *window =
		op->team->shape.nodes > 1 && host->window ? host->window(op->team->everyone) : NULL;
	if (!window)
		return false;
	*windows = (struct windows){ .window = window, .each = window->room - sizeof(struct head) };
	if (pieces_of(windows, op->call.bytes) > MOST_PIECES)
		return false;
	join_tree(op, windows, radix);
	cs_op_start(op, script);
	return true;
}
