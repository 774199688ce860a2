/* Broadcast down a binomial tree of nodes, from node memory into node memory; a node copies a piece
 * out while it is passed on and the next one comes (seed 004's scheme, for broadcast).
 *
 *   root         area k = piece k | area k+1 = piece k+1 ...
 *   root's node  leader: area k ----> area k of the children
 *   other nodes  leader: receives k+1 | flag k up | area k ----> its children | copies k out
 *                others:                flag k up: copy k out
 *
 * Cost: one write per node and piece, one copy-in, one copy-out per rank. Wins over verbs with
 * large messages. With several senders they take the pieces in turn. */
#include "algorithms/algorithm.h"
#include "algorithms/node/rounds.h"
#include "algorithms/hier/overlap.h"

#include <string.h>

struct state {
	struct cs_hier hier;
	struct cs_wire *wire; /* NULL: no driver */
	size_t chunk;
	struct cs_request *receives, *sends; /* of piece k: k % 2; of the piece that is passed on */
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
	return cs_chunks_bytes(op->call.bytes, state_of(op)->chunk, round);
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

static void
lay_out(struct cs_op *op, struct cs_hier_round *round)
{
	(void)op;
	round->room = CS_OVERLAP_ROOM;
}

/* Copy in at the root; elsewhere a driver starts to receive the piece at once. */
static enum cs_status
bring(struct cs_op *op)
{
	struct state *state = state_of(op);
	const struct cs_hier_round *round = cs_hier_now(&state->hier);
	struct cs_wire *wire = cs_overlap_wire_in_turn(op, state->wire, round);
	size_t bytes = piece_of(op, round->index);
	if (is_root(op)) {
		cs_copy_in(op, round->area[0], op->call.recv.base + round->index * state->chunk,
			   bytes);
		cs_node_publish(&op->node, state->hier.line, round->here);
	} else if (state->place && wire) {
		wire->recv_direct(wire, &state->receives[round->index % 2],
				  cs_overlap_peer(op, node_at(op, cs_overlap_parent(state->place)),
						  cs_overlap_driver(op, round)), op->tag,
				  round->area[0], bytes, cs_overlap_flag(op, round, 0),
				  round->turn);
	}
	return CS_OK;
}

/* The root's node passes a piece on as soon as it is there, others while the next one comes. */
static const struct cs_hier_kind root_kind = { .areas = 1, .lay_out = lay_out, .bring = bring };
static const struct cs_hier_kind kind = { .areas = 1, .lag = 1, .lay_out = lay_out,
					  .bring = bring };

/* Wait until the piece is in the area. */
static enum cs_status
meet(struct cs_op *op)
{
	struct state *state = state_of(op);
	const struct cs_hier_round *round = cs_hier_taken(&state->hier);
	bool is_here = !round || is_root(op) ||
		       (state->place
			? cs_overlap_has_come(op, cs_overlap_driver(op, round),
					      cs_overlap_wire_in_turn(op, state->wire, round),
					      &state->receives[round->index % 2], round, 0)
			: cs_node_look(&op->node, op->team->shape.local_of[op->call.root],
				       round->here) != NULL);
	return is_here ? CS_OK : CS_AGAIN;
}

/* Send the piece to the children, the farthest first, and copy it out. */
static enum cs_status
pass_on(struct cs_op *op)
{
	struct state *state = state_of(op);
	const struct cs_hier_round *round = cs_hier_taken(&state->hier);
	if (!round)
		return CS_OK;
	int children[CS_OVERLAP_MOST];
	int count = cs_overlap_children(state->place, op->team->shape.nodes, children);
	const char *area = round->area[0];
	size_t bytes = piece_of(op, round->index);
	struct cs_wire *wire = cs_overlap_wire_in_turn(op, state->wire, round);
	state->sent = wire ? count : 0;
	state->waited = 0;
	for (int i = 0; i < state->sent; i++)
		wire->send_direct(wire, &state->sends[i],
				  cs_overlap_peer(op, node_at(op, children[count - 1 - i]),
						  cs_overlap_driver(op, round)),
				  op->tag, area, bytes);
	if (!is_root(op))
		cs_copy_result(op, op->call.recv.base + round->index * state->chunk, area, bytes);
	return CS_OK;
}

static enum cs_status
leave(struct cs_op *op)
{
	struct state *state = state_of(op);
	return cs_messages_are_over(op, state->wire, state->sends, state->sent, &state->waited);
}

/* Parameters. */
enum { WIRE_CHUNK, SENDERS };

static cs_phase *const script[] = { cs_hier_open, cs_hier_begin_round, cs_hier_bring, meet, pass_on,
				    leave, cs_hier_next, NULL };

static void
run(struct cs_op *op, const size_t *params)
{
	struct cs_team *team = op->team;
	const struct cs_shape *shape = &team->shape;
	size_t area = team->node.shape.area_bytes;
	struct state *state = state_of(op);
	*state = (struct state){ .chunk = params[WIRE_CHUNK] < area ? params[WIRE_CHUNK] : area };
	state->hier.rounds = cs_chunks_rounds(op->call.bytes, state->chunk);
	cs_node_expect(&op->node, state->hier.rounds, 2);
	state->place = (shape->node - shape->node_of[op->call.root] + shape->nodes) % shape->nodes;
	const struct cs_hier_senders senders =
		{ .count = cs_hier_most_senders(op, params[SENDERS]), .never_meet = true };
	cs_hier_start_by_senders(op, state->place ? &kind : &root_kind, &senders, script, 1);
	state->hier.needs_line = is_root(op);
	state->wire = cs_overlap_wire(op);
	if (state->wire) {
		state->receives = cs_op_memory(op, CS_OP_REQUESTS,
					       (2 + CS_OVERLAP_MOST) * sizeof *state->receives);
		state->sends = state->receives + 2;
	}
}

const struct cs_algorithm cs_algorithm_bcast_hier_overlap = {
	.colls = CS_SET(CS_BCAST),
	.name = "hier:overlap",
	.summary = "down a tree of nodes, from node memory into node memory, copy-out meanwhile",
	.needs = { .several_per_node = true, .several_nodes = true },
	.params = { [WIRE_CHUNK] = { "wire_chunk",
			    "bytes per piece", 256 << 10, 4 << 10, 64 << 20 },
		    [SENDERS] = CS_HIER_SENDERS },
	.run = run,
};
