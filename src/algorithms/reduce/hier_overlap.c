/* Reduce up a binomial tree of nodes, from node memory into node memory; a piece is reduced while the sums of the next one
 * are on their way (seed 004's scheme, for reduction).
 *
 *   area of a node's piece k   | sum k | child 0's sum k | child 1's sum k |
 *   every rank                 own slice of the node's vectors -> sum k | flag 0: += child 0's | flag 1: += child 1's
 *   leader                     sum k ----> parent's area, while piece k+1 is reduced and the children's k+1 arrives
 *
 * There is nothing to copy out but at the root: what comes is reduced from where it was written to, by all ranks of the
 * node, each its slice. Price: one write per node and piece. Wins over verbs with large vectors. */
#include "algorithms/algorithm.h"
#include "algorithms/patterns/combine.h"
#include "algorithms/patterns/exchange.h"
#include "algorithms/patterns/fold.h"
#include "algorithms/patterns/overlap.h"

#include <string.h>

struct state {
	struct cs_wire *wire; /* NULL: not the leader */
	struct cs_line *line;
	struct cs_combine_ring ring;
	size_t each;            /* elements of a piece */
	size_t part;            /* bytes of the area for each sum */
	uint64_t round, rounds; /* pieces */
	uint64_t taken;         /* slots of the area */
	struct cs_stage stages[2]; /* of piece k: k % 2 */
	int place;              /* of the own node, counted from the root's */
	int children[CS_OVERLAP_MOST], child_count;
	int child, next;        /* the child whose sum, and the local rank whose slice, is waited for next */
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
	return cs_piece(op->call.count, state_of(op)->each, round);
}

static enum cs_status
open_call(struct cs_op *op)
{
	state_of(op)->line = cs_node_try_line(&op->node);
	return state_of(op)->line ? CS_OK : CS_AGAIN;
}

/* The area slot of the piece that is numbered `taken`; the leader says at once that the children's sums may come. */
static bool
take_stage(struct cs_op *op)
{
	struct state *state = state_of(op);
	struct cs_stage *stage = &state->stages[state->taken % 2];
	size_t bytes = count_of(op, state->taken) * op->call.reduction.unit;
	if (!cs_stage_take(op, stage))
		return false;
	for (int i = 0; state->wire && i < state->child_count; i++)
		state->wire->recv_direct(state->wire, &state->receives[i], node_at(op, state->children[i]), op->tag,
					 stage->area + (size_t)(i + 1) * state->part, bytes, &stage->flags[i], stage->turn);
	state->taken++;
	return true;
}

static enum cs_status
take_first(struct cs_op *op)
{
	return take_stage(op) ? CS_OK : CS_AGAIN;
}

static enum cs_status
reduce_own(struct cs_op *op)
{
	struct state *state = state_of(op);
	const char *send = op->call.send.base + state->round * state->each * op->call.reduction.unit;
	state->ring.step = 2 * state->round;
	return cs_combine_piece(op, &state->ring, state->line, send, state->stages[state->round % 2].area,
				count_of(op, state->round));
}

/* The children's sums onto the node's, the own slice. */
static enum cs_status
add_children(struct cs_op *op)
{
	struct state *state = state_of(op);
	const struct cs_reduction *reduction = &op->call.reduction;
	const struct cs_node_shape *shape = &op->team->node.shape;
	const struct cs_stage *stage = &state->stages[state->round % 2];
	size_t first, mine = cs_slice(count_of(op, state->round), reduction->unit, shape->size, shape->local, &first);
	char *sum = stage->area + first * reduction->unit;
	for (; state->child < state->child_count; state->child++) {
		int i = state->child;
		if (!state->wire) {
			if (!cs_stage_is_up(op, stage, i))
				return CS_AGAIN;
		} else if (cs_message_is_over(op, state->wire, &state->receives[i])) {
			cs_stage_raise(op, stage, i);
		} else {
			return CS_AGAIN;
		}
		const void *from[] = { sum, sum + (size_t)(i + 1) * state->part };
		cs_fold(op, reduction, sum, from, 2, mine);
	}
	state->child = 0;
	cs_node_publish(&op->node, state->line, 2 * state->round + 2);
	return CS_OK;
}

static bool
sends(const struct state *state)
{
	return state->place && state->wire;
}

/* The last piece has left. */
static enum cs_status
give_back(struct cs_op *op)
{
	struct state *state = state_of(op);
	if (!state->round)
		return CS_OK;
	if (sends(state) && !cs_message_is_over(op, state->wire, state->send))
		return CS_AGAIN;
	cs_stage_done(op, 1);
	return CS_OK;
}

/* An area slot is given back a piece later, when the leader's message is complete; with two of them nobody waits in a circle. */
static enum cs_status
take_next(struct cs_op *op)
{
	struct state *state = state_of(op);
	return state->taken == state->rounds || take_stage(op) ? CS_OK : CS_AGAIN;
}

/* The sum of this node and all below it is in the area when all slices are. */
static enum cs_status
hand_on(struct cs_op *op)
{
	struct state *state = state_of(op);
	size_t unit = op->call.reduction.unit, bytes = count_of(op, state->round) * unit;
	const char *area = state->stages[state->round % 2].area;
	bool is_root = op->team->shape.rank == op->call.root;
	if (!is_root && !sends(state))
		return CS_OK;
	if (cs_stage_meet(op, &state->next, 2 * state->round + 2) == CS_AGAIN)
		return CS_AGAIN;
	if (is_root)
		cs_copy_result(op, op->call.recv.base + state->round * state->each * unit, area, bytes);
	else
		state->wire->send_direct(state->wire, state->send, node_at(op, cs_overlap_parent(state->place)), op->tag, area,
					 bytes);
	return CS_OK;
}

static enum cs_status next_piece(struct cs_op *op);

static enum cs_status
end_call(struct cs_op *op)
{
	struct state *state = state_of(op);
	if (sends(state) && !cs_message_is_over(op, state->wire, state->send))
		return CS_AGAIN;
	cs_stage_done(op, 1);
	cs_node_end(&op->node);
	return CS_OK;
}

static cs_phase *const script[] = { open_call, take_first, reduce_own, add_children, give_back, take_next, hand_on, next_piece,
				    end_call,  NULL };

static enum cs_status
next_piece(struct cs_op *op)
{
	struct state *state = state_of(op);
	if (++state->round < state->rounds)
		op->phase = script + 2;
	return CS_OK;
}

/* Bytes of the area for each sum: there is room for the node's and those of the most children that a node may have. */
static size_t
part_of(struct cs_op *op)
{
	struct cs_team *team = op->team;
	size_t sums = 1;
	for (size_t nodes = 1; nodes < (size_t)team->shape.nodes; nodes *= 2)
		sums++;
	return cs_share(team->node.shape.area_bytes, sums);
}

static void
run(struct cs_op *op, const size_t *params)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	const struct cs_shape *shape = &team->shape;
	size_t unit = call->reduction.unit, part = part_of(op), slot = team->node.shape.slot_bytes;
	size_t chunk = params[0] < part ? params[0] : part;
	chunk = chunk < slot ? chunk : slot;
	if (part < unit) { /* so large an element: one sum fits an area slot, as comm/ has seen to it */
		cs_combine(op, &(struct cs_combine_params){ .chunk = chunk, .wire_chunk = SIZE_MAX, .lanes = 1 });
		return;
	}
	struct state *state = state_of(op);
	*state = (struct state){ .part = part, .each = chunk < unit ? 1 : chunk / unit };
	state->rounds = cs_rounds(call->count, state->each);
	state->place = (shape->node - shape->node_of[call->root] + shape->nodes) % shape->nodes;
	state->child_count = cs_overlap_children(state->place, shape->nodes, state->children);
	if (cs_team_is_leader(team)) {
		state->wire = team->host->wire(team->leaders);
		state->receives = cs_op_memory(op, CS_OP_REQUESTS, (CS_OVERLAP_MOST + 1) * sizeof *state->receives);
		state->send = state->receives + CS_OVERLAP_MOST;
	}
	cs_stage_start(op, 2, script);
	cs_combine_ring_init(op, &state->ring);
}

const struct cs_algorithm cs_algorithm_reduce_hier_overlap = {
	.colls = CS_SET(CS_REDUCE),
	.name = "hier:overlap",
	.summary = "up a tree of nodes, from node memory into node memory, the next piece meanwhile",
	.needs = { .several_per_node = true, .several_nodes = true, .commutative = true },
	.params = { { "wire_chunk", "bytes per piece", 256 << 10, 4 << 10, 64 << 20 } },
	.run = run,
};
