/* Alltoall between node memories: what goes from one node to another is one piece there, written straight into the other's;
 * ranks copy out what has come while the rest is on its way (seed 002's node-contiguous layout, by seed 004's scheme).
 *
 *   area of node 0   | to node 1: a->e a->f b->e b->f | to node 2 ...        a, b: its ranks; e, f: node 1's
 *   another area     | from node 1: e->a e->b f->a f->b | from node 2 ...
 *
 * Price: one write per pair of nodes and round, one copy-in, one copy-out. Wins over verbs where blocks are small. */
#include "algorithms/algorithm.h"
#include "algorithms/patterns/exchange.h"
#include "algorithms/patterns/overlap.h"

#include <string.h>

struct state {
	struct cs_wire *wire; /* NULL: not the leader */
	struct cs_line *line;
	struct cs_stage out, in;
	int taken; /* of these two */
	size_t chunk, piece; /* bytes of a block in a round: the most, in this one */
	uint64_t round, rounds;
	struct cs_request *receives, *sends; /* by distance */
	int next;     /* local rank that is looked at next */
	int distance; /* of the node whose part is waited for next, or whose part has to leave */
};

static struct state *
state_of(struct cs_op *op)
{
	return CS_OP_STATE(struct state, op);
}

static uint64_t
step_of(struct cs_op *op, int distance)
{
	return state_of(op)->round * (uint64_t)op->team->shape.nodes + (uint64_t)distance + 1;
}

/* Where in an area the pieces to or from a node begin, and how many bytes they are. */
static size_t
part_at(struct cs_op *op, int node)
{
	const struct cs_shape *shape = &op->team->shape;
	return (size_t)shape->locals * (size_t)shape->first[node] * state_of(op)->piece;
}

static size_t
part_bytes(struct cs_op *op, int node)
{
	return (size_t)op->team->shape.locals * (size_t)cs_team_node_size(op->team, node) * state_of(op)->piece;
}

static void
copy_in(struct cs_op *op)
{
	const struct state *state = state_of(op);
	const struct cs_shape *shape = &op->team->shape;
	for (int node = 0; node < shape->nodes; node++) {
		int size = cs_team_node_size(op->team, node);
		char *to = state->out.area + part_at(op, node) + (size_t)shape->local * (size_t)size * state->piece;
		for (int local = 0; local < size; local++, to += state->piece)
			cs_copy_in(op, to,
				   cs_blocks_at(&op->call.send, shape->order[shape->first[node] + local]) +
					   state->round * state->chunk,
				   state->piece);
	}
}

/* The pieces from a node's ranks, in the area `from` where they lie sender by sender. */
static void
copy_out(struct cs_op *op, int node, const char *area)
{
	const struct state *state = state_of(op);
	const struct cs_shape *shape = &op->team->shape;
	const char *from = area + part_at(op, node) + (size_t)shape->local * state->piece;
	for (int local = 0; local < cs_team_node_size(op->team, node); local++, from += (size_t)shape->locals * state->piece)
		cs_copy_result(op,
			       cs_blocks_at(&op->call.recv, shape->order[shape->first[node] + local]) +
				       state->round * state->chunk,
			       from, state->piece);
}

static void
start_receives(struct cs_op *op)
{
	struct state *state = state_of(op);
	const struct cs_shape *shape = &op->team->shape;
	for (int distance = 1; distance < shape->nodes; distance++) {
		int node = (shape->node + distance) % shape->nodes;
		state->wire->recv_direct(state->wire, &state->receives[distance], node, op->tag,
					 state->in.area + part_at(op, node), part_bytes(op, node), NULL, 0);
	}
}

static void
start_sends(struct cs_op *op)
{
	struct state *state = state_of(op);
	const struct cs_shape *shape = &op->team->shape;
	for (int distance = 1; distance < shape->nodes; distance++) {
		int node = (shape->node - distance + shape->nodes) % shape->nodes;
		state->wire->send_direct(state->wire, &state->sends[distance], node, op->tag,
					 state->out.area + part_at(op, node), part_bytes(op, node));
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
	for (; state->taken < 2; state->taken++)
		if (!cs_stage_take(op, state->taken ? &state->in : &state->out))
			return CS_AGAIN;
	state->taken = 0;
	state->piece = cs_piece(op->call.send.each, state->chunk, state->round);
	if (state->wire)
		start_receives(op);
	copy_in(op);
	cs_node_publish(&op->node, state->line, step_of(op, 0));
	return CS_OK;
}

static enum cs_status
meet(struct cs_op *op)
{
	struct state *state = state_of(op);
	if (cs_stage_meet(op, &state->next, step_of(op, 0)) == CS_AGAIN)
		return CS_AGAIN;
	if (state->wire)
		start_sends(op);
	copy_out(op, op->team->shape.node, state->out.area);
	state->distance = 1;
	return CS_OK;
}

/* What comes, the nearest node's first. */
static enum cs_status
take(struct cs_op *op)
{
	struct state *state = state_of(op);
	const struct cs_shape *shape = &op->team->shape;
	for (; state->distance < shape->nodes; state->distance++) {
		if (!state->wire) {
			if (!cs_node_look(&op->node, cs_team_leader(op->team), step_of(op, state->distance)))
				return CS_AGAIN;
		} else if (cs_message_is_over(op, state->wire, &state->receives[state->distance])) {
			cs_node_publish(&op->node, state->line, step_of(op, state->distance));
		} else {
			return CS_AGAIN;
		}
		copy_out(op, (shape->node + state->distance) % shape->nodes, state->in.area);
	}
	state->distance = 1;
	return CS_OK;
}

static enum cs_status next(struct cs_op *op);
static cs_phase *const script[] = { open_call, bring, meet, take, next, NULL };

static enum cs_status
next(struct cs_op *op)
{
	struct state *state = state_of(op);
	for (; state->wire && state->distance < op->team->shape.nodes; state->distance++)
		if (!cs_message_is_over(op, state->wire, &state->sends[state->distance]))
			return CS_AGAIN;
	cs_stage_done(op, 2);
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
	size_t limit = params[0] < team->node.shape.area_bytes ? params[0] : team->node.shape.area_bytes;
	size_t pairs = (size_t)team->shape.ppn_max * (size_t)team->shape.ranks;
	struct state *state = state_of(op);
	*state = (struct state){ .chunk = cs_share(limit, pairs) };
	if (!state->chunk)
		state->chunk = 1;
	state->rounds = cs_rounds(op->call.send.each, state->chunk);
	cs_node_expect(&op->node, state->rounds, (uint64_t)team->shape.nodes);
	if (cs_team_is_leader(team)) {
		state->wire = team->host->wire(team->leaders);
		state->receives =
			cs_op_memory(op, CS_OP_REQUESTS, 2 * (size_t)team->shape.nodes * sizeof *state->receives);
		state->sends = state->receives + team->shape.nodes;
	}
	cs_stage_start(op, 2, script);
}

const struct cs_algorithm cs_algorithm_alltoall_hier_overlap = {
	.colls = CS_SET(CS_ALLTOALL),
	.name = "hier:overlap",
	.summary = "node by node from node memory into node memory, copy-out as parts come",
	.needs = { .several_per_node = true, .several_nodes = true },
	.params = { { "wire_chunk", "bytes that a node sends per round", 4 << 20, 4 << 10, 64 << 20 } },
	.run = run,
};
