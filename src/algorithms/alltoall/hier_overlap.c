/* Alltoall between node memories: all blocks from one node to another are one piece, written
 * straight into the other's memory; ranks copy pieces out while others are on their way (seed 002's
 * node-contiguous layout, by seed 004's scheme).
 *
 *   area of node 0   | to node 1: a->e a->f b->e b->f | to node 2 ...  a, b: ranks; e, f: node 1's
 *   another area     | from node 1: e->a e->b f->a f->b | from node 2 ...
 *
 * Cost: one write per pair of nodes and round, one copy-in, one copy-out. Wins over verbs where
 * blocks are small. */
#include "algorithms/algorithm.h"
#include "algorithms/node/rounds.h"
#include "algorithms/hier/overlap.h"

#include <string.h>

struct state {
	struct cs_hier hier;
	struct cs_wire *wire; /* NULL: not the leader */
	size_t chunk, piece; /* bytes of a block in a round: the most, in this one */
	struct cs_request *receives, *sends; /* by distance */
	int distance; /* of the node whose part is waited for next, or whose part has to leave */
};

static struct state *
state_of(struct cs_op *op)
{
	return CS_OP_STATE(struct state, op);
}

/* Lay out a round, with an area for sent and one for received parts; the step of a distance is as
 * many after `here`. */
static void
lay_out(struct cs_op *op, struct cs_hier_round *round)
{
	struct state *state = state_of(op);
	round->room = CS_OVERLAP_ROOM;
	round->arrived = round->here + (uint64_t)op->team->shape.nodes - 1;
	state->piece = cs_chunks_bytes(op->call.send.each, state->chunk, round->index);
}

static uint64_t
step_of(struct cs_op *op, int distance)
{
	return cs_hier_now(&state_of(op)->hier)->here + (uint64_t)distance;
}

static char *
out_of(struct cs_op *op)
{
	return cs_hier_now(&state_of(op)->hier)->area[0];
}

static char *
in_of(struct cs_op *op)
{
	return cs_hier_now(&state_of(op)->hier)->area[1];
}

/* Offset in an area of the pieces to or from a node, and their bytes. */
static size_t
part_at(struct cs_op *op, int node)
{
	const struct cs_shape *shape = &op->team->shape;
	return (size_t)shape->locals * (size_t)shape->first[node] * state_of(op)->piece;
}

static size_t
part_bytes(struct cs_op *op, int node)
{
	return (size_t)op->team->shape.locals * (size_t)cs_team_node_size(op->team, node) *
	       state_of(op)->piece;
}

static void
copy_in(struct cs_op *op)
{
	const struct state *state = state_of(op);
	const struct cs_shape *shape = &op->team->shape;
	for (int node = 0; node < shape->nodes; node++) {
		int size = cs_team_node_size(op->team, node);
		char *to = out_of(op) + part_at(op, node) + (size_t)shape->local * (size_t)size *
			   state->piece;
		for (int local = 0; local < size; local++, to += state->piece)
			cs_copy_in(op, to,
				   cs_blocks_at(&op->call.send,
						shape->order[shape->first[node] + local]) +
					   state->hier.round * state->chunk,
				   state->piece);
	}
}

/* Copy out the pieces from a node's ranks, which lie in `area` sender by sender. */
static void
copy_out(struct cs_op *op, int node, const char *area)
{
	const struct state *state = state_of(op);
	const struct cs_shape *shape = &op->team->shape;
	const char *from = area + part_at(op, node) + (size_t)shape->local * state->piece;
	for (int local = 0; local < cs_team_node_size(op->team, node); local++,
	     from += (size_t)shape->locals * state->piece)
		cs_copy_result(op,
			       cs_blocks_at(&op->call.recv,
					    shape->order[shape->first[node] + local]) +
				       state->hier.round * state->chunk,
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
					 in_of(op) + part_at(op, node), part_bytes(op, node), NULL,
					 0);
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
					 out_of(op) + part_at(op, node), part_bytes(op, node));
	}
}

static enum cs_status
bring(struct cs_op *op)
{
	struct state *state = state_of(op);
	if (state->wire)
		start_receives(op);
	copy_in(op);
	cs_node_publish(&op->node, state->hier.line, step_of(op, 0));
	return CS_OK;
}

static const struct cs_hier_kind kind = { .areas = 2, .lay_out = lay_out, .bring = bring };

static enum cs_status
meet(struct cs_op *op)
{
	struct state *state = state_of(op);
	if (cs_hier_look_all(op, step_of(op, 0), NULL) == CS_AGAIN)
		return CS_AGAIN;
	if (state->wire)
		start_sends(op);
	copy_out(op, op->team->shape.node, out_of(op));
	state->distance = 1;
	return CS_OK;
}

/* Copy out the parts that have come, the nearest node's first. */
static enum cs_status
take(struct cs_op *op)
{
	struct state *state = state_of(op);
	const struct cs_shape *shape = &op->team->shape;
	for (; state->distance < shape->nodes; state->distance++) {
		if (!state->wire) {
			if (!cs_node_look(&op->node, cs_team_leader(op->team),
					  step_of(op, state->distance)))
				return CS_AGAIN;
		} else if (cs_message_is_over(op, state->wire, &state->receives[state->distance])) {
			cs_node_publish(&op->node, state->hier.line, step_of(op, state->distance));
		} else {
			return CS_AGAIN;
		}
		copy_out(op, (shape->node + state->distance) % shape->nodes, in_of(op));
	}
	state->distance = 1;
	return CS_OK;
}

static enum cs_status
leave(struct cs_op *op)
{
	struct state *state = state_of(op);
	return state->wire ? cs_messages_are_over(op, state->wire, state->sends,
						  op->team->shape.nodes, &state->distance) : CS_OK;
}

/* Parameters. */
enum { WIRE_CHUNK };

static cs_phase *const script[] = { cs_hier_open, cs_hier_begin_round, cs_hier_bring, meet, take,
				    leave, cs_hier_next, NULL };

static void
run(struct cs_op *op, const size_t *params)
{
	struct cs_team *team = op->team;
	size_t limit = params[WIRE_CHUNK] < team->node.shape.area_bytes
		       ? params[WIRE_CHUNK] : team->node.shape.area_bytes;
	size_t pairs = (size_t)team->shape.ppn_max * (size_t)team->shape.ranks;
	struct state *state = state_of(op);
	*state = (struct state){ .chunk = cs_chunks_per_part(limit, pairs) };
	if (!state->chunk)
		state->chunk = 1;
	state->hier.rounds = cs_chunks_rounds(op->call.send.each, state->chunk);
	cs_node_expect(&op->node, state->hier.rounds, (uint64_t)team->shape.nodes);
	if (cs_team_is_leader(team)) {
		state->wire = team->host->wire(team->leaders);
		state->receives =
			cs_op_memory(op, CS_OP_REQUESTS, 2 * (size_t)team->shape.nodes *
				     sizeof *state->receives);
		state->sends = state->receives + team->shape.nodes;
	}
	cs_hier_start(op, &kind, 1, script, 1);
}

const struct cs_algorithm cs_algorithm_alltoall_hier_overlap = {
	.colls = CS_SET(CS_ALLTOALL),
	.name = "hier:overlap",
	.summary = "node by node from node memory into node memory, copy-out as parts come",
	.needs = { .several_per_node = true, .several_nodes = true },
	.params = { [WIRE_CHUNK] = { "wire_chunk",
			    "bytes that a node sends per round", 4 << 20, 4 << 10, 64 << 20 } },
	.run = run,
};
