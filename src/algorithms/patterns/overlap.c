/* patterns/overlap.c has the allgather between the memories of nodes. */
#include "algorithms/patterns/overlap.h"

#include "algorithms/patterns/exchange.h"

#include <string.h>

/* Rounds between nodes, as Bruck's: with the parts of `have` nodes each node gets those of the next ones from the node
 * `have` above, and gives its own first ones to the node `have` below. In the area a node's own part comes first, then the
 * next node's, and so on: what is sent and what comes is then one piece, for any number of nodes. */
struct state {
	struct cs_wire *wire; /* NULL: not the leader */
	struct cs_line *line;
	struct cs_stage stage;
	struct cs_request *receives, *sends; /* by step */
	size_t chunk;   /* most bytes of a block in a round */
	uint64_t round, rounds; /* of chunks */
	size_t *before; /* by place: bytes of all parts in places before it; nodes + 1 */
	int next;       /* local rank that is looked at next */
	int step, have; /* between nodes: the step at hand, and the nodes whose parts are there before it */
	bool is_sent;   /* in this step */
	int ready, last; /* place and number of the parts that wait to be copied out */
};

static struct state *
state_of(struct cs_op *op)
{
	return CS_OP_STATE(struct state, op);
}

static int
node_at(const struct cs_op *op, int place)
{
	const struct cs_shape *shape = &op->team->shape;
	return (shape->node + place) % shape->nodes;
}

static size_t
piece_of(struct cs_op *op, int rank)
{
	const struct state *state = state_of(op);
	return cs_piece(cs_blocks_bytes(&op->call.recv, rank), state->chunk, state->round);
}

static void
lay_out(struct cs_op *op)
{
	const struct cs_shape *shape = &op->team->shape;
	size_t *before = state_of(op)->before, at = 0;
	for (int place = 0; place < shape->nodes; place++) {
		int node = node_at(op, place);
		before[place] = at;
		for (int p = shape->first[node]; p < shape->first[node + 1]; p++)
			at += piece_of(op, shape->order[p]);
	}
	before[shape->nodes] = at;
}

static void
copy_in(struct cs_op *op)
{
	const struct state *state = state_of(op);
	const struct cs_shape *shape = &op->team->shape;
	struct cs_call *call = &op->call;
	const char *own = call->send.base ? call->send.base : cs_blocks_at(&call->recv, shape->rank);
	size_t at = 0;
	for (int p = shape->first[shape->node]; shape->order[p] != shape->rank; p++)
		at += piece_of(op, shape->order[p]);
	cs_copy_in(op, state->stage.area + at, own + state->round * state->chunk, piece_of(op, shape->rank));
}

/* The blocks of so many nodes from that place on. */
static void
copy_out(struct cs_op *op, int place, int count)
{
	const struct state *state = state_of(op);
	const struct cs_shape *shape = &op->team->shape;
	struct cs_call *call = &op->call;
	const char *from = state->stage.area + state->before[place];
	for (int end = place + count; place < end; place++) {
		int node = node_at(op, place);
		for (int p = shape->first[node]; p < shape->first[node + 1]; p++) {
			int rank = shape->order[p];
			size_t bytes = piece_of(op, rank);
			if (rank != shape->rank || call->send.base)
				cs_copy_result(op, cs_blocks_at(&call->recv, rank) + state->round * state->chunk, from, bytes);
			from += bytes;
		}
	}
}

/* What comes from the node `have` above: so many parts. */
static int
coming(const struct cs_op *op, int have)
{
	int rest = op->team->shape.nodes - have;
	return have < rest ? have : rest;
}

static size_t
bytes_of(const struct state *state, int place, int count)
{
	return state->before[place + count] - state->before[place];
}

/* All at once, so that no sender waits for a receiver that is still busy with an earlier step. */
static void
start_receives(struct cs_op *op)
{
	struct state *state = state_of(op);
	for (int step = 0, have = 1; have < op->team->shape.nodes; step++, have *= 2) {
		size_t bytes = bytes_of(state, have, coming(op, have));
		if (bytes)
			state->wire->recv_direct(state->wire, &state->receives[step], node_at(op, have), op->tag,
						 state->stage.area + state->before[have], bytes, &state->stage.flags[step],
						 state->stage.turn);
	}
}

static enum cs_status
open_call(struct cs_op *op)
{
	struct state *state = state_of(op);
	state->line = cs_node_try_line(&op->node);
	return state->line ? CS_OK : CS_AGAIN;
}

static enum cs_status
bring(struct cs_op *op)
{
	struct state *state = state_of(op);
	if (!cs_stage_take(op, &state->stage))
		return CS_AGAIN;
	lay_out(op);
	if (state->wire)
		start_receives(op);
	copy_in(op);
	cs_node_publish(&op->node, state->line, state->round + 1);
	state->step = 0;
	state->have = state->last = 1;
	state->ready = 0;
	state->is_sent = false;
	return CS_OK;
}

static enum cs_status
meet(struct cs_op *op)
{
	struct state *state = state_of(op);
	return cs_stage_meet(op, &state->next, state->round + 1);
}

/* One step; copies out what came before it while its own part is on its way. */
static enum cs_status
step_between(struct cs_op *op)
{
	struct state *state = state_of(op);
	const struct cs_shape *shape = &op->team->shape;
	struct cs_wire *wire = state->wire;
	int count = coming(op, state->have);
	if (!state->is_sent) {
		size_t bytes = bytes_of(state, 0, count);
		int below = (shape->node - state->have + shape->nodes) % shape->nodes;
		if (wire && bytes)
			wire->send_direct(wire, &state->sends[state->step], below, op->tag, state->stage.area, bytes);
		copy_out(op, state->ready, state->last);
		state->is_sent = true;
	}
	if (!wire && !cs_stage_is_up(op, &state->stage, state->step))
		return CS_AGAIN;
	if (wire && bytes_of(state, state->have, count) && !cs_message_is_over(op, wire, &state->receives[state->step]))
		return CS_AGAIN;
	if (wire)
		cs_stage_raise(op, &state->stage, state->step);
	state->ready = state->have;
	state->last = count;
	return CS_OK;
}

static enum cs_status
between(struct cs_op *op)
{
	struct state *state = state_of(op);
	for (; state->have < op->team->shape.nodes; state->step++, state->have *= 2) {
		if (step_between(op) == CS_AGAIN)
			return CS_AGAIN;
		state->is_sent = false;
	}
	copy_out(op, state->ready, state->last);
	state->step = 0;
	state->have = 1;
	return CS_OK;
}

static enum cs_status
next(struct cs_op *op);
static cs_phase *const script[] = { open_call, bring, meet, between, next, NULL };

/* The messages have left; and so on with the next round. */
static enum cs_status
next(struct cs_op *op)
{
	struct state *state = state_of(op);
	for (; state->wire && state->have < op->team->shape.nodes; state->step++, state->have *= 2)
		if (bytes_of(state, 0, coming(op, state->have)) &&
		    !cs_message_is_over(op, state->wire, &state->sends[state->step]))
			return CS_AGAIN;
	cs_stage_done(op, 1);
	if (++state->round < state->rounds)
		op->phase = script + 1;
	else
		cs_node_end(&op->node);
	return CS_OK;
}

static size_t
largest(struct cs_op *op)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	size_t most = call->recv.bytes ? 0 : call->recv.each;
	for (int rank = 0; call->recv.bytes && rank < team->shape.ranks; rank++)
		most = call->recv.bytes[rank] > most ? call->recv.bytes[rank] : most;
	return most;
}

void
cs_overlap_spread(struct cs_op *op, size_t wire_chunk)
{
	struct cs_team *team = op->team;
	size_t area = team->node.shape.area_bytes, limit = wire_chunk < area ? wire_chunk : area;
	struct state *state = state_of(op);
	*state = (struct state){ .before = cs_op_nodes(op), .chunk = cs_share(limit, (size_t)team->shape.ranks) };
	if (!state->chunk)
		state->chunk = 1; /* the area has room for more than a byte of each rank */
	state->rounds = cs_rounds(largest(op), state->chunk);
	cs_node_expect(&op->node, state->rounds, 1);
	if (cs_team_is_leader(team)) {
		state->wire = team->host->wire(team->leaders);
		state->receives =
			cs_op_memory(op, CS_OP_REQUESTS, 2 * CS_OVERLAP_MOST * sizeof *state->receives);
		state->sends = state->receives + CS_OVERLAP_MOST;
	}
	cs_stage_start(op, 1, script);
}

int
cs_overlap_children(int place, int nodes, int children[CS_OVERLAP_MOST])
{
	int count = 0;
	for (unsigned bit = 1; !((unsigned)place & bit) && bit < (unsigned)(nodes - place); bit *= 2)
		children[count++] = place + (int)bit;
	return count;
}
