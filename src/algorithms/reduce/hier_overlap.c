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

struct tide {
	struct cs_op *op;
	struct cs_wire *wire; /* NULL: not the leader */
	struct cs_line *line;
	size_t each;     /* elements of a piece */
	size_t part;     /* bytes of the area for each sum */
	uint64_t rounds; /* pieces */
	int place;       /* of the own node, counted from the root's */
	int children[CS_OVERLAP_MOST], child_count;
	struct cs_request receives[CS_OVERLAP_MOST], send; /* by child; to the parent */
};

static int
node_at(const struct tide *tide, int place)
{
	const struct cs_shape *shape = &tide->op->team->shape;
	return (place + shape->node_of[tide->op->call.root]) % shape->nodes;
}

static size_t
count_of(const struct tide *tide, uint64_t round)
{
	return cs_piece(tide->op->call.count, tide->each, round);
}

/* The piece's area slot; the leader says at once that the children's sums may come. */
static struct cs_stage
take_stage(struct tide *tide, uint64_t round)
{
	struct cs_stage stage;
	while (!cs_stage_take(tide->op, &stage))
		cs_node_wait_awaited(&tide->op->node);
	size_t bytes = count_of(tide, round) * tide->op->call.reduction.unit;
	for (int i = 0; tide->wire && i < tide->child_count; i++)
		tide->wire->recv_direct(tide->wire, &tide->receives[i], node_at(tide, tide->children[i]), tide->op->tag,
					stage.area + (size_t)(i + 1) * tide->part, bytes, &stage.flags[i], stage.turn);
	return stage;
}

/* The children's sums onto the node's, the own slice. */
static void
add_children(struct tide *tide, const struct cs_stage *stage, uint64_t round)
{
	struct cs_op *op = tide->op;
	struct cs_team *team = op->team;
	const struct cs_reduction *reduction = &op->call.reduction;
	const struct cs_node_shape *shape = &team->node.shape;
	size_t first, mine = cs_slice(count_of(tide, round), reduction->unit, shape->size, shape->local, &first);
	char *sum = stage->area + first * reduction->unit;
	for (int i = 0; i < tide->child_count; i++) {
		if (tide->wire) {
			cs_stage_is_over(tide->op, tide->wire, &tide->receives[i]);
			cs_stage_raise(op, stage, i);
		} else {
			while (!cs_stage_is_up(op, stage, i))
				cs_node_wait_awaited(&op->node);
		}
		const void *from[] = { sum, sum + (size_t)(i + 1) * tide->part };
		cs_fold(op, reduction, sum, from, 2, mine);
	}
}

static void
await_slices(const struct tide *tide, uint64_t step)
{
	struct cs_node_op *node = &tide->op->node;
	for (int local = 0; local < node->node->shape.size; local++)
		if (local != node->node->shape.local)
			cs_node_await(node, local, step);
}

/* The sum of this node and all below it is in the area. */
static void
hand_on(struct tide *tide, const struct cs_stage *stage, uint64_t round)
{
	size_t unit = tide->op->call.reduction.unit, bytes = count_of(tide, round) * unit;
	if (tide->place && tide->wire) {
		await_slices(tide, 2 * round + 2);
		tide->wire->send_direct(tide->wire, &tide->send, node_at(tide, cs_overlap_parent(tide->place)), tide->op->tag,
					stage->area, bytes);
	} else if (tide->op->team->shape.rank == tide->op->call.root) {
		await_slices(tide, 2 * round + 2);
		cs_copy_result(tide->op, tide->op->call.recv.base + round * tide->each * unit, stage->area, bytes);
	}
}

/* An area slot is given back a piece later, when the leader's message is complete; with two of them nobody waits in a circle. */
static void
reduce_pieces(struct tide *tide)
{
	struct cs_op *op = tide->op;
	size_t unit = op->call.reduction.unit;
	struct cs_stage stage = { .area = NULL }, next = { .area = NULL };
	if (tide->rounds)
		next = take_stage(tide, 0);
	for (uint64_t round = 0; round < tide->rounds; round++) {
		stage = next;
		cs_combine_piece(op, tide->line, 2 * round + 1, round,
				 op->call.send.base + round * tide->each * unit, stage.area, count_of(tide, round));
		add_children(tide, &stage, round);
		cs_node_publish(&op->node, tide->line, 2 * round + 2);
		if (round) {
			if (tide->place && tide->wire)
				cs_stage_is_over(tide->op, tide->wire, &tide->send);
			cs_stage_done(op, 1);
		}
		if (round + 1 < tide->rounds)
			next = take_stage(tide, round + 1);
		hand_on(tide, &stage, round);
	}
	if (tide->rounds && tide->place && tide->wire)
		cs_stage_is_over(tide->op, tide->wire, &tide->send);
	if (tide->rounds)
		cs_stage_done(op, 1);
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
	struct cs_node_op *node = &op->node;
	const struct cs_shape *shape = &team->shape;
	size_t unit = call->reduction.unit;
	struct tide tide = { .op = op, .part = part_of(op) };
	size_t chunk = params[0] < tide.part ? params[0] : tide.part;
	chunk = chunk < node->node->shape.slot_bytes ? chunk : node->node->shape.slot_bytes;
	if (tide.part < unit) { /* so large an element: one sum fits an area slot, as comm/ has seen to it */
		cs_combine(op, &(struct cs_combine_params){ .chunk = chunk, .wire_chunk = SIZE_MAX, .lanes = 1 });
		return;
	}
	tide.each = chunk < unit ? 1 : chunk / unit;
	tide.rounds = cs_rounds(call->count, tide.each);
	tide.place = (shape->node - shape->node_of[call->root] + shape->nodes) % shape->nodes;
	tide.child_count = cs_overlap_children(tide.place, shape->nodes, tide.children);
	if (cs_team_is_leader(team))
		tide.wire = team->host->wire(team->leaders);
	cs_node_begin(node);
	tide.line = cs_node_line(node);
	tide.line->slot = cs_node_slot_number(node);
	reduce_pieces(&tide);
	cs_node_end(node);
}

const struct cs_algorithm cs_algorithm_reduce_hier_overlap = {
	.colls = CS_SET(CS_REDUCE),
	.name = "hier:overlap",
	.summary = "up a tree of nodes, from node memory into node memory, the next piece meanwhile",
	.needs = { .several_per_node = true, .several_nodes = true, .commutative = true },
	.params = { { "wire_chunk", "bytes per piece", 256 << 10, 4 << 10, 64 << 20 } },
	.run = run,
};
