/* Reduce up a binomial tree of nodes, from node memory into node memory; a piece is reduced while
 * the sums of the next one are on their way (seed 004's scheme, for reduction).
 *
 *   area of a node's piece k   | sum k | child 0's sum k | child 1's sum k |
 *   every rank                 own slice of all vectors -> sum k | flag 0: += child 0's | flag 1 ..
 *   leader                     sum k ----> parent's area, while piece k+1 is reduced and the
 *                              children's k+1 arrives
 *
 * Only the root copies out: received sums are reduced where they were written, by all ranks of the
 * node, each its slice. Cost: one write per node and piece. Wins over verbs with large vectors.
 * With several senders they take the pieces in turn. */
#include "algorithms/algorithm.h"
#include "algorithms/node/rounds.h"
#include "algorithms/hier/node_reduce.h"
#include "algorithms/hier/node_reduce_hier.h"
#include "algorithms/hier/overlap.h"
#include "algorithms/node/rank_order.h"

#include <string.h>

struct state {
	struct cs_hier hier;
	struct cs_wire *wire; /* NULL: no driver */
	struct cs_node_reduce_ring ring;
	size_t each;            /* elements of a piece */
	size_t part;            /* bytes of the area for each sum */
	int place;              /* of the own node, counted from the root's */
	int child_count, child; /* the one whose sum is waited for next */
	struct cs_request *receives, *send; /* by child; to the parent */
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
	return (place + shape->node_of[op->call.root]) % shape->nodes;
}

static size_t
count_of(struct cs_op *op, uint64_t round)
{
	return cs_chunks_bytes(op->call.count, state_of(op)->each, round);
}

static void
lay_out(struct cs_op *op, struct cs_hier_round *round)
{
	round->room = CS_OVERLAP_ROOM;
	state_of(op)->ring.step = round->here - 1;
}

/* Start the driver's receives of the children's sums of a piece at once. */
static enum cs_status
ask_children(struct cs_op *op)
{
	struct state *state = state_of(op);
	if (!cs_hier_is_brought(&state->hier))
		return CS_OK;
	const struct cs_hier_round *round = cs_hier_now(&state->hier);
	size_t bytes = count_of(op, round->index) * op->call.reduction.unit;
	int children[CS_OVERLAP_MOST],
	    count = cs_overlap_children(state->place, op->team->shape.nodes, children);
	struct cs_wire *wire = cs_overlap_wire_in_turn(op, state->wire, round);
	int driver = cs_overlap_driver(op, round);
	for (int i = 0; wire && i < count; i++)
		wire->recv_direct(wire, &state->receives[i],
				  cs_overlap_peer(op, node_at(op, children[i]), driver), op->tag,
				  round->area[0] + (size_t)(i + 1) * state->part, bytes,
				  cs_overlap_flag(op, round, i), round->turn);
	state->child_count = count;
	return CS_OK;
}

static enum cs_status
reduce_own(struct cs_op *op)
{
	struct state *state = state_of(op);
	const struct cs_hier_round *round = cs_hier_now(&state->hier);
	const char *send = op->call.send.base + round->index * state->each *
			   op->call.reduction.unit;
	return cs_node_reduce_chunk(op, &state->ring, send, round->area[0],
				    count_of(op, round->index));
}

/* No ranks wait in a circle with two areas: one is given back a piece later, when the driver's
 * message is complete. */
static const struct cs_hier_kind kind = { .areas = 1, .lag = 1, .lay_out = lay_out,
					  .bring = reduce_own };

/* Add the children's sums to the node's, in the own slice. */
static enum cs_status
add_children(struct cs_op *op)
{
	struct state *state = state_of(op);
	if (!cs_hier_is_brought(&state->hier))
		return CS_OK;
	const struct cs_reduction *reduction = &op->call.reduction;
	const struct cs_node_shape *shape = &op->team->node.shape;
	const struct cs_hier_round *round = cs_hier_now(&state->hier);
	size_t first, mine = cs_slice(count_of(op, round->index), reduction->unit, shape->size,
				      shape->local, &first);
	char *sum = round->area[0] + first * reduction->unit;
	for (; state->child < state->child_count; state->child++) {
		int i = state->child;
		if (!cs_overlap_has_come(op, cs_overlap_driver(op, round),
					 cs_overlap_wire_in_turn(op, state->wire, round),
					 &state->receives[i], round, i))
			return CS_AGAIN;
		const void *from[] = { sum, sum + (size_t)(i + 1) * state->part };
		cs_rank_order_reduce(op, reduction, sum, from, 2, mine);
	}
	state->child = 0;
	cs_node_publish(&op->node, state->hier.line, round->arrived);
	return CS_OK;
}

/* The wire by which this rank hands a piece to the parent; NULL: it does not. */
static struct cs_wire *
wire_up(struct cs_op *op, const struct cs_hier_round *round)
{
	const struct state *state = state_of(op);
	return state->place && round ? cs_overlap_wire_in_turn(op, state->wire, round) : NULL;
}

/* Send the sum of this node and all below it, or copy it out, once all slices are in the area. */
static enum cs_status
hand_on(struct cs_op *op)
{
	struct state *state = state_of(op);
	const struct cs_hier_round *round = cs_hier_taken(&state->hier);
	bool is_root = op->team->shape.rank == op->call.root;
	struct cs_wire *wire = wire_up(op, round);
	if (!round || (!is_root && !wire))
		return CS_OK;
	if (cs_hier_look_all(op, round->arrived, NULL) == CS_AGAIN)
		return CS_AGAIN;
	size_t unit = op->call.reduction.unit, bytes = count_of(op, round->index) * unit;
	if (is_root)
		cs_copy_result(op, op->call.recv.base + round->index * state->each * unit,
			       round->area[0], bytes);
	else
		wire->send_direct(wire, state->send,
				  cs_overlap_peer(op,
						  node_at(op, cs_overlap_parent(state->place)),
						  cs_overlap_driver(op, round)),
				  op->tag, round->area[0], bytes);
	return CS_OK;
}

static enum cs_status
leave(struct cs_op *op)
{
	struct state *state = state_of(op);
	struct cs_wire *wire = wire_up(op, cs_hier_taken(&state->hier));
	return !wire || cs_message_is_over(op, wire, state->send) ? CS_OK : CS_AGAIN;
}

static cs_phase *const script[] = { cs_hier_open, cs_hier_begin_round, ask_children, hand_on,
				    cs_hier_bring, add_children, leave, cs_hier_next, NULL };

/* Bytes of the area for each sum: there is room for the node's and those of the most children that
 * a node may have. */
static size_t
part_of(struct cs_op *op)
{
	struct cs_team *team = op->team;
	size_t sums = 1;
	for (size_t nodes = 1; nodes < (size_t)team->shape.nodes; nodes *= 2)
		sums++;
	return cs_chunks_per_part(team->node.shape.area_bytes, sums);
}

/* Parameters. */
enum { WIRE_CHUNK, SENDERS };

static void
run(struct cs_op *op, const size_t *params)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	const struct cs_shape *shape = &team->shape;
	size_t unit = call->reduction.unit, part = part_of(op), slot = team->node.shape.slot_bytes;
	size_t chunk = params[WIRE_CHUNK] < part ? params[WIRE_CHUNK] : part;
	chunk = chunk < slot ? chunk : slot;
	if (part < unit) { /* so large an element: one sum fits an area slot, as comm/ has seen to
			    * it */
		cs_node_reduce(op,
			       &(struct cs_node_reduce_params){ .chunk = chunk,
								.wire_chunk = SIZE_MAX,
								.lanes = 1 });
		return;
	}
	struct state *state = state_of(op);
	*state = (struct state){ .part = part, .each = chunk < unit ? 1 : chunk / unit };
	state->hier.rounds = cs_chunks_rounds(call->count, state->each);
	state->place = (shape->node - shape->node_of[call->root] + shape->nodes) % shape->nodes;
	const struct cs_hier_senders senders =
		{ .count = cs_hier_most_senders(op, params[SENDERS]), .never_meet = true };
	cs_hier_start_by_senders(op, &kind, &senders, script, 1);
	state->wire = cs_overlap_wire(op);
	if (state->wire) {
		state->receives = cs_op_memory(op, CS_OP_REQUESTS,
					       (CS_OVERLAP_MOST + 1) * sizeof *state->receives);
		state->send = state->receives + CS_OVERLAP_MOST;
	}
	cs_node_reduce_ring_init(op, &state->ring);
}

const struct cs_algorithm cs_algorithm_reduce_hier_overlap = {
	.colls = CS_SET(CS_REDUCE),
	.name = "hier:overlap",
	.summary = "up a tree of nodes, from node memory into node memory, the next piece "
		   "meanwhile",
	.needs = { .several_per_node = true, .several_nodes = true, .commutative = true },
	.params = { [WIRE_CHUNK] = { "wire_chunk",
			    "bytes per piece", 256 << 10, 4 << 10, 64 << 20 },
		    [SENDERS] = CS_HIER_SENDERS },
	.run = run,
};
