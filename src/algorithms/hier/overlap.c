/* hier/overlap.c — allgather between the memories of nodes. */
#include "algorithms/hier/overlap.h"

#include "algorithms/node/rounds.h"

#include <string.h>

/* State of Bruck's steps between nodes: with the parts of `have` nodes each node receives those of
 * the next ones from the node `have` above, and sends its own first ones to the node `have` below.
 * In the area a node's own part comes first, then the next node's, and so on: each message is then
 * contiguous, for any number of nodes. */
struct state {
	struct cs_hier hier;
	struct cs_wire *wire; /* NULL: not the leader */
	struct cs_request *receives, *sends; /* by step */
	size_t chunk;   /* bytes of a block in a round, at most */
	size_t *before; /* by place: bytes of all parts in places before it; nodes + 1 */
	int step, have; /* between nodes: the step at hand; nodes whose parts are there before it */
	bool is_sent;   /* in this step */
	int ready, last; /* place and number of the parts to be copied out next */
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
	return cs_chunks_bytes(cs_blocks_bytes(&op->call.recv, rank), state->chunk,
			      state->hier.round);
}

static void
lay_out(struct cs_op *op, struct cs_hier_round *round)
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
	round->room = CS_OVERLAP_ROOM;
}

static char *
area_of(struct cs_op *op)
{
	return cs_hier_now(&state_of(op)->hier)->area[0];
}

static void
copy_in(struct cs_op *op)
{
	const struct state *state = state_of(op);
	const struct cs_shape *shape = &op->team->shape;
	struct cs_call *call = &op->call;
	const char *own = call->send.base ? call->send.base
					  : cs_blocks_at(&call->recv, shape->rank);
	size_t at = 0;
	for (int p = shape->first[shape->node]; shape->order[p] != shape->rank; p++)
		at += piece_of(op, shape->order[p]);
	cs_copy_in(op, area_of(op) + at, own + state->hier.round * state->chunk,
		   piece_of(op, shape->rank));
}

/* Copies the blocks of `count` nodes out, from `place` on. */
static void
copy_out(struct cs_op *op, int place, int count)
{
	const struct state *state = state_of(op);
	const struct cs_shape *shape = &op->team->shape;
	struct cs_call *call = &op->call;
	const char *from = area_of(op) + state->before[place];
	for (int end = place + count; place < end; place++) {
		int node = node_at(op, place);
		for (int p = shape->first[node]; p < shape->first[node + 1]; p++) {
			int rank = shape->order[p];
			size_t bytes = piece_of(op, rank);
			if (rank != shape->rank || call->send.base)
				cs_copy_result(op, cs_blocks_at(&call->recv, rank) +
					       state->hier.round * state->chunk, from, bytes);
			from += bytes;
		}
	}
}

/* Number of parts that come from the node `have` above. */
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

/* Posts all receives, so that no sender waits for a receiver that is busy with an earlier step. */
static void
start_receives(struct cs_op *op)
{
	struct state *state = state_of(op);
	const struct cs_hier_round *round = cs_hier_now(&state->hier);
	for (int step = 0, have = 1; have < op->team->shape.nodes; step++, have *= 2) {
		size_t bytes = bytes_of(state, have, coming(op, have));
		if (bytes)
			state->wire->recv_direct(state->wire, &state->receives[step],
						 node_at(op, have), op->tag,
						 round->area[0] + state->before[have], bytes,
						 cs_overlap_flag(op, round, step), round->turn);
	}
}

static enum cs_status
bring(struct cs_op *op)
{
	struct state *state = state_of(op);
	if (state->wire)
		start_receives(op);
	copy_in(op);
	cs_node_publish(&op->node, state->hier.line, cs_hier_now(&state->hier)->here);
	state->step = 0;
	state->have = state->last = 1;
	state->ready = 0;
	state->is_sent = false;
	return CS_OK;
}

static const struct cs_hier_kind kind = { .areas = 1, .lay_out = lay_out, .bring = bring };

static enum cs_status
meet(struct cs_op *op)
{
	return cs_hier_look_all(op, cs_hier_now(&state_of(op)->hier)->here, NULL);
}

/* Makes one step; copies the parts of the last one out while its own are on their way. */
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
			wire->send_direct(wire, &state->sends[state->step], below, op->tag,
					  area_of(op), bytes);
		copy_out(op, state->ready, state->last);
		state->is_sent = true;
	}
	struct cs_request *request = bytes_of(state, state->have, count)
				     ? &state->receives[state->step] : NULL;
	if (!cs_overlap_has_come(op, wire, request, cs_hier_now(&state->hier), state->step))
		return CS_AGAIN;
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

/* Waits until the messages have left. */
static enum cs_status
leave(struct cs_op *op)
{
	struct state *state = state_of(op);
	for (; state->wire && state->have < op->team->shape.nodes; state->step++, state->have *= 2)
		if (bytes_of(state, 0, coming(op, state->have)) &&
		    !cs_message_is_over(op, state->wire, &state->sends[state->step]))
			return CS_AGAIN;
	return CS_OK;
}

static cs_phase *const script[] = { cs_hier_open, cs_hier_begin_round, cs_hier_bring, meet, between,
				    leave, cs_hier_next, NULL };

void
cs_overlap_allgather(struct cs_op *op, size_t wire_chunk)
{
	struct cs_team *team = op->team;
	size_t area = team->node.shape.area_bytes, limit = wire_chunk < area ? wire_chunk : area;
	struct state *state = state_of(op);
	*state = (struct state){ .before = cs_op_nodes(op),
				 .chunk = cs_chunks_per_part(limit, (size_t)team->shape.ranks) };
	if (!state->chunk)
		state->chunk = 1; /* the area has room for more than a byte of each rank */
	state->hier.rounds = cs_chunks_rounds(
		cs_blocks_largest(&op->call.recv, team->shape.ranks, -1), state->chunk);
	cs_node_expect(&op->node, state->hier.rounds, 2);
	if (cs_team_is_leader(team)) {
		state->wire = team->host->wire(team->leaders);
		state->receives =
			cs_op_memory(op, CS_OP_REQUESTS,
				     2 * CS_OVERLAP_MOST * sizeof *state->receives);
		state->sends = state->receives + CS_OVERLAP_MOST;
	}
	cs_hier_start(op, &kind, 1, script, 1);
}

int
cs_overlap_children(int place, int nodes, int children[CS_OVERLAP_MOST])
{
	int count = 0;
	for (unsigned bit = 1; !((unsigned)place & bit) && bit < (unsigned)(nodes - place);
	     bit *= 2)
		children[count++] = place + (int)bit;
	return count;
}
