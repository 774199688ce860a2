/* Broadcast down a binomial tree of nodes, from node memory into node memory; a node copies a piece out while it is passed
 * on and the next one comes (seed 004's scheme, for broadcast).
 *
 *   root         area k = piece k | area k+1 = piece k+1 ...
 *   root's node  leader: area k ----> area k of the children
 *   other nodes  leader: receives k+1 | flag k up | area k ----> area k of its children | copies k out
 *                others:                flag k up: copy k out
 *
 * Price: one write per node and piece, one copy-in, one copy-out per rank. Wins over verbs with large messages. */
#include "algorithms/algorithm.h"
#include "algorithms/patterns/exchange.h"
#include "algorithms/patterns/overlap.h"

#include <string.h>

#define AHEAD 2 /* pieces that a node receives at once */

struct state {
	struct cs_wire *wire; /* NULL: not the leader */
	struct cs_line *line; /* the root's */
	size_t chunk;
	uint64_t round, rounds, taken; /* pieces; area slots taken for them */
	struct cs_stage stages[AHEAD]; /* of piece k: k % AHEAD */
	struct cs_request *receives, *sends;
	int place;  /* of the own node, counted from the root's */
	int sent;   /* messages to children that have been begun */
	int waited; /* those of them that are over */
};

static struct state *
state_of(struct cs_op *op)
{
	return CS_OP_STATE(struct state, op);
}

static size_t
piece_of(struct cs_op *op, uint64_t round)
{
	return cs_piece(op->call.bytes, state_of(op)->chunk, round);
}

static int
node_at(const struct cs_op *op, int place)
{
	const struct cs_shape *shape = &op->team->shape;
	return (place + shape->node_of[op->call.root]) % shape->nodes;
}

static bool
is_root(const struct cs_op *op)
{
	return op->team->shape.rank == op->call.root;
}

static enum cs_status
open_call(struct cs_op *op)
{
	struct state *state = state_of(op);
	if (is_root(op) && !(state->line = cs_node_try_line(&op->node)))
		return CS_AGAIN;
	return CS_OK;
}

/* Area slots for this piece and those that may be on their way behind it; a leader says at once that it is ready for them. */
static enum cs_status
take_stages(struct cs_op *op)
{
	struct state *state = state_of(op);
	struct cs_wire *wire = state->wire;
	for (; state->taken < state->rounds && state->taken < state->round + AHEAD; state->taken++) {
		int index = (int)(state->taken % AHEAD);
		struct cs_stage *stage = &state->stages[index];
		if (!cs_stage_take(op, stage))
			return CS_AGAIN;
		if (wire && state->place)
			wire->recv_direct(wire, &state->receives[index], node_at(op, cs_overlap_parent(state->place)),
					  op->tag, stage->area, piece_of(op, state->taken), &stage->flags[0], stage->turn);
	}
	return CS_OK;
}

/* The piece is in the area. */
static enum cs_status
meet(struct cs_op *op)
{
	struct state *state = state_of(op);
	struct cs_stage *stage = &state->stages[state->round % AHEAD];
	if (state->place && !state->wire)
		return cs_stage_is_up(op, stage, 0) ? CS_OK : CS_AGAIN;
	if (state->place) {
		if (!cs_message_is_over(op, state->wire, &state->receives[state->round % AHEAD]))
			return CS_AGAIN;
		cs_stage_raise(op, stage, 0);
	} else if (is_root(op)) {
		cs_copy_in(op, stage->area, op->call.recv.base + state->round * state->chunk, piece_of(op, state->round));
		cs_node_publish(&op->node, state->line, state->round + 1);
	} else if (!cs_node_look(&op->node, op->team->shape.local_of[op->call.root], state->round + 1)) {
		return CS_AGAIN;
	}
	return CS_OK;
}

/* To the children, the farthest first, and out. */
static enum cs_status
pass_on(struct cs_op *op)
{
	struct state *state = state_of(op);
	int children[CS_OVERLAP_MOST];
	int count = cs_overlap_children(state->place, op->team->shape.nodes, children);
	const char *area = state->stages[state->round % AHEAD].area;
	size_t bytes = piece_of(op, state->round);
	state->sent = state->wire ? count : 0;
	state->waited = 0;
	for (int i = 0; i < state->sent; i++)
		state->wire->send_direct(state->wire, &state->sends[i], node_at(op, children[count - 1 - i]), op->tag, area,
					 bytes);
	if (!is_root(op))
		cs_copy_result(op, op->call.recv.base + state->round * state->chunk, area, bytes);
	return CS_OK;
}

static enum cs_status next(struct cs_op *op);
static cs_phase *const script[] = { open_call, take_stages, meet, pass_on, next, NULL };

static enum cs_status
next(struct cs_op *op)
{
	struct state *state = state_of(op);
	for (; state->waited < state->sent; state->waited++)
		if (!cs_message_is_over(op, state->wire, &state->sends[state->waited]))
			return CS_AGAIN;
	cs_stage_done(op, 1);
	if (++state->round < state->rounds)
		op->phase = script + 1;
	else
		cs_node_end(&op->node);
	return CS_OK;
}

static void
run(struct cs_op *op, const size_t *params)
{
	struct cs_team *team = op->team;
	const struct cs_shape *shape = &team->shape;
	size_t area = team->node.shape.area_bytes;
	struct state *state = state_of(op);
	*state = (struct state){ .chunk = params[0] < area ? params[0] : area };
	state->rounds = cs_rounds(op->call.bytes, state->chunk);
	state->place = (shape->node - shape->node_of[op->call.root] + shape->nodes) % shape->nodes;
	if (cs_team_is_leader(team)) {
		state->wire = team->host->wire(team->leaders);
		state->receives = cs_op_memory(op, CS_OP_REQUESTS, (AHEAD + CS_OVERLAP_MOST) * sizeof *state->receives);
		state->sends = state->receives + AHEAD;
	}
	cs_stage_start(op, AHEAD, script);
}

const struct cs_algorithm cs_algorithm_bcast_hier_overlap = {
	.colls = CS_SET(CS_BCAST),
	.name = "hier:overlap",
	.summary = "down a tree of nodes, from node memory into node memory, copy-out meanwhile",
	.needs = { .several_per_node = true, .several_nodes = true },
	.params = { { "wire_chunk", "bytes per piece", 256 << 10, 4 << 10, 64 << 20 } },
	.run = run,
};
