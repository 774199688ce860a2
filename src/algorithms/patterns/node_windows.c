/* patterns/node_windows.c — broadcast and allgather(v) by a window. */
#include "algorithms/patterns/node_windows.h"

#include "algorithms/patterns/knomial.h"
#include "algorithms/patterns/node_bcast.h"
#include "algorithms/patterns/node_rounds.h"
#include "shm/arrive.h"
#include "wire/window.h"

#include <string.h>

/* What a message begins with: the bytes behind it, as its node has them. */
struct head {
	_Alignas(CS_CACHE_LINE) uint64_t bytes;
};

/* Tickets (shm/arrive.h): of who comes, and of who has read. */
enum { COMING, READING };

/* A message from or to a node. */
struct mail {
	int node;
	uint64_t number;
	struct cs_request request;
	bool is_under_way;
};

struct windows {
	struct cs_rma_window *window;
	uint64_t own;     /* number of the own node's message, if it brings one */
	struct mail *in;  /* what comes from other nodes */
	struct mail *out; /* what this node passes on */
	int ins, outs;
	int sent, taken, freed; /* of out, of in and the own one */
	size_t bytes;           /* of the message to be passed on */
	const char *from;       /* where it lies */
	bool brings;            /* the node does */
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

static char *
own_slot(struct windows *windows)
{
	struct cs_rma_window *window = windows->window;
	return window->memory + cs_rma_slot_at(window, window->node, windows->own);
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

/* The slot that the own node's message is put into is free. */
static bool
is_own_free(const struct windows *windows)
{
	return cs_rma_may_put(windows->window, windows->window->node, windows->own);
}

/* Lets the ranks of the own node see its message. */
static void
say_own(struct windows *windows, size_t bytes)
{
	struct head *head = (struct head *)(void *)own_slot(windows);
	head->bytes = bytes;
	windows->from = own_slot(windows);
	windows->bytes = sizeof *head + bytes;
	cs_rma_count_here(windows->window, CS_WINDOW_ARRIVED, windows->own);
}

/* Sends what there is to pass on. */
static enum cs_status
pass_on(struct cs_op *op)
{
	struct windows *windows = windows_of(op);
	struct cs_rma_window *window = windows->window;
	for (; windows->passes_on && windows->sent < windows->outs; windows->sent++) {
		struct mail *mail = &windows->out[windows->sent];
		if (!cs_rma_may_put(window, mail->node, mail->number))
			return await_message(op);
		mail->is_under_way = true;
		window->put(window, &mail->request, mail->node, mail->number, windows->from,
			    windows->bytes);
	}
	return CS_OK;
}

static enum cs_status
have_left(struct cs_op *op)
{
	struct windows *windows = windows_of(op);
	for (int i = 0; i < windows->sent; i++) {
		struct mail *mail = &windows->out[i];
		if (mail->is_under_way && !windows->window->test(windows->window, &mail->request))
			return await_message(op);
		mail->is_under_way = false;
	}
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
	for (; windows->is_last && windows->freed < windows->ins; windows->freed++) {
		const struct mail *mail = &windows->in[windows->freed];
		if (!window->give_back(window, mail->node, mail->number))
			return await_message(op);
	}
	if (windows->is_last && windows->brings)
		cs_rma_count_here(window, CS_WINDOW_FREED, windows->own);
	cs_node_end(&op->node);
	return CS_OK;
}

/* Memory for so many messages; numbers follow. */
static void
make(struct cs_op *op, struct windows *windows, size_t most_in, size_t most_out)
{
	struct mail *mail = cs_op_memory(op, CS_OP_REQUESTS, (most_in + most_out) * sizeof *mail);
	windows->in = mail;
	windows->out = mail + most_in;
}

static void
expect(struct windows *windows, int node)
{
	windows->in[windows->ins++] =
		(struct mail){ .node = node, .number = windows->window->received[node]++ };
}

static void
promise(struct windows *windows, int node)
{
	windows->out[windows->outs++] =
		(struct mail){ .node = node, .number = windows->window->sent[node]++ };
}

static struct cs_rma_window *
window_of(const struct cs_op *op)
{
	const struct cs_host *host = op->team->host;
	return op->team->shape.nodes > 1 && host->window ? host->window(op->team->everyone) : NULL;
}

/* --- broadcast -------------------------------------------------------------------------------- */

/* The root brings the vector; the first arriver of another node passes it on. */
static enum cs_status
bring_vector(struct cs_op *op)
{
	struct windows *windows = windows_of(op);
	bool is_root = op->team->shape.rank == op->call.root;
	if (!windows->has_come)
		windows->passes_on = windows->brings ? is_root
						     : cs_arrive_ticket(&op->node, COMING) == 0;
	windows->has_come = true;
	if (!is_root)
		return CS_OK;
	if (!is_own_free(windows))
		return await_message(op);
	cs_copy_in(op, own_slot(windows) + sizeof(struct head), op->call.recv.base, op->call.bytes);
	say_own(windows, op->call.bytes);
	return CS_OK;
}

/* It is there, and may be passed on. */
static enum cs_status
find_vector(struct cs_op *op)
{
	struct windows *windows = windows_of(op);
	struct cs_rma_window *window = windows->window;
	int node = windows->brings ? window->node : windows->in->node;
	uint64_t number = windows->brings ? windows->own : windows->in->number;
	if (!cs_rma_has_come(window, node, number))
		return await_message(op);
	windows->from = cs_rma_message(window, node, number);
	const struct head *head = (const void *)windows->from;
	size_t room = window->room - sizeof *head;
	windows->bytes = sizeof *head + (head->bytes < room ? head->bytes : room);
	return CS_OK;
}

static enum cs_status
take_vector(struct cs_op *op)
{
	struct windows *windows = windows_of(op);
	struct cs_call *call = &op->call;
	const struct head *head = (const void *)windows->from;
	size_t sent = windows->bytes - sizeof *head;
	if (op->team->shape.rank == call->root)
		return CS_OK;
	if (head->bytes != call->bytes)
		cs_node_bcast_compare(&op->node, call, head->bytes);
	cs_copy_result(op, call->recv.base, windows->from + sizeof *head,
		       sent < call->bytes ? sent : call->bytes);
	return CS_OK;
}

static cs_phase *const bcast[] = { come, bring_vector, find_vector, pass_on, take_vector, have_left,
				   give_back, NULL };

/* The tree of nodes, counted from the root's. */
static void
join_tree(struct cs_op *op, struct windows *windows, int radix)
{
	const struct cs_shape *shape = &op->team->shape;
	int nodes = shape->nodes, root = shape->node_of[op->call.root],
	    place = (shape->node - root + nodes) % nodes;
	int64_t weight = cs_knomial_weight(place, nodes, radix);
	make(op, windows, 1, (size_t)nodes);
	windows->brings = place == 0;
	if (windows->brings)
		windows->own = windows->window->sent[shape->node]++;
	else
		expect(windows, (place - (int)(place % (weight * radix)) + root) % nodes);
	for (weight /= radix; weight; weight /= radix)
		for (int64_t i = 1; i < radix && place + i * weight < nodes; i++)
			promise(windows, (int)(place + i * weight + root) % nodes);
}

bool
cs_node_windows_bcast(struct cs_op *op, int radix)
{
	struct windows *windows = windows_of(op);
	struct cs_rma_window *window = window_of(op);
	if (!window || op->call.bytes > window->room - sizeof(struct head))
		return false;
	*windows = (struct windows){ .window = window };
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

/* Each rank brings its block; the last one has the node's, and sends it. */
static enum cs_status
bring_block(struct cs_op *op)
{
	struct windows *windows = windows_of(op);
	const struct cs_shape *shape = &op->team->shape;
	const struct cs_call *call = &op->call;
	if (!is_own_free(windows))
		return await_message(op);
	cs_copy_in(op, own_slot(windows) + sizeof(struct head) +
		   bytes_before(op, shape->node, shape->local), call->send.base
		   ? call->send.base : cs_blocks_at(&call->recv, shape->rank), call->bytes);
	windows->passes_on = is_last_ticket(op, COMING);
	if (windows->passes_on)
		say_own(windows, bytes_of(op, shape->node));
	return CS_OK;
}

/* Copies out what has come from a node. */
static void
take_blocks(struct cs_op *op, int node, const char *message)
{
	const struct cs_shape *shape = &op->team->shape;
	const struct cs_call *call = &op->call;
	const struct head *head = (const void *)message;
	const char *from = message + sizeof *head;
	size_t wanted = bytes_of(op, node);
	if (head->bytes != wanted)
		cs_op_note(op, head->bytes > wanted ? CS_TOLD_MORE : CS_TOLD_LESS);
	for (int p = shape->first[node]; p < shape->first[node + 1]; p++) {
		int rank = shape->order[p];
		size_t bytes = cs_blocks_bytes(&call->recv, rank);
		if (rank != shape->rank || call->send.base)
			cs_copy_result(op, cs_blocks_at(&call->recv, rank), from, bytes);
		from += bytes;
	}
}

/* What is there of what comes; the own node's is the last. */
static enum cs_status
take_nodes(struct cs_op *op)
{
	struct windows *windows = windows_of(op);
	struct cs_rma_window *window = windows->window;
	for (; windows->taken <= windows->ins; windows->taken++) {
		bool is_own = windows->taken == windows->ins;
		const struct mail *mail = &windows->in[windows->taken];
		int node = is_own ? window->node : mail->node;
		uint64_t number = is_own ? windows->own : mail->number;
		if (!cs_rma_has_come(window, node, number))
			return await_message(op);
		take_blocks(op, node, cs_rma_message(window, node, number));
	}
	return CS_OK;
}

static cs_phase *const allgather[] = { come, bring_block, pass_on, take_nodes, have_left, give_back,
				       NULL };

bool
cs_node_windows_allgather(struct cs_op *op)
{
	struct windows *windows = windows_of(op);
	struct cs_rma_window *window = window_of(op);
	int nodes = op->team->shape.nodes, self = op->team->shape.node;
	for (int node = 0; window && node < nodes; node++)
		if (bytes_of(op, node) > window->room - sizeof(struct head))
			window = NULL;
	if (!window)
		return false;
	*windows = (struct windows){ .window = window, .brings = true,
				     .own = window->sent[self]++ };
	make(op, windows, (size_t)nodes, (size_t)nodes);
	for (int i = 1; i < nodes; i++) {
		expect(windows, (self + nodes - i) % nodes);
		promise(windows, (self + i) % nodes);
	}
	cs_op_start(op, allgather);
	return true;
}
