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

struct flow {
	struct cs_op *op;
	struct cs_wire *wire;
	struct cs_line *line;
	size_t chunk;
	uint64_t rounds, taken;        /* pieces; area slots taken for them */
	struct cs_stage stages[AHEAD]; /* of piece k: k % AHEAD */
	struct cs_request receives[AHEAD], sends[CS_OVERLAP_MOST];
	int place;                     /* of the own node, counted from the root's */
};

static size_t
piece_of(const struct flow *flow, uint64_t round)
{
	return cs_piece(flow->op->call.bytes, flow->chunk, round);
}

static int
node_at(const struct flow *flow, int place)
{
	const struct cs_shape *shape = &flow->op->team->shape;
	return (place + shape->node_of[flow->op->call.root]) % shape->nodes;
}

/* Area slots for pieces up to this one; a leader says at once that it is ready for them. */
static void
take_stages(struct flow *flow, uint64_t until)
{
	for (; flow->taken < flow->rounds && flow->taken <= until; flow->taken++) {
		int index = (int)(flow->taken % AHEAD);
		struct cs_stage *stage = &flow->stages[index];
		*stage = cs_stage_take(flow->op);
		if (flow->wire && flow->place)
			flow->wire->recv_direct(flow->wire, &flow->receives[index],
						node_at(flow, cs_overlap_parent(flow->place)), flow->op->tag,
						stage->area, piece_of(flow, flow->taken), &stage->flags[0],
						stage->turn);
	}
}

/* To the children, the farthest first. Returns how many. */
static int
pass_on(struct flow *flow, uint64_t round)
{
	int children[CS_OVERLAP_MOST];
	int count = cs_overlap_children(flow->place, flow->op->team->shape.nodes, children);
	for (int i = 0; i < count; i++)
		flow->wire->send_direct(flow->wire, &flow->sends[i], node_at(flow, children[count - 1 - i]), flow->op->tag,
					flow->stages[round % AHEAD].area, piece_of(flow, round));
	return count;
}

static void
copy_out(struct flow *flow, uint64_t round)
{
	cs_copy_result(flow->op, flow->op->call.recv.base + round * flow->chunk, flow->stages[round % AHEAD].area,
		       piece_of(flow, round));
}

static void
root_node_piece(struct flow *flow, uint64_t round)
{
	struct cs_op *op = flow->op;
	struct cs_team *team = op->team;
	bool is_root = team->shape.rank == op->call.root;
	if (is_root) {
		cs_copy_in(op, flow->stages[round % AHEAD].area, op->call.recv.base + round * flow->chunk,
			   piece_of(flow, round));
		cs_node_publish(&op->node, flow->line, round + 1);
	} else {
		cs_node_await(&op->node, team->shape.local_of[op->call.root], round + 1);
	}
	int sends = flow->wire ? pass_on(flow, round) : 0;
	if (!is_root)
		copy_out(flow, round);
	for (int i = 0; i < sends; i++)
		cs_stage_wait(flow->op, flow->wire, &flow->sends[i]);
}

static void
other_node_piece(struct flow *flow, uint64_t round)
{
	struct cs_stage *stage = &flow->stages[round % AHEAD];
	int sends = 0;
	if (flow->wire) {
		cs_stage_wait(flow->op, flow->wire, &flow->receives[round % AHEAD]);
		cs_stage_raise(flow->op, stage, 0);
		sends = pass_on(flow, round);
	} else {
		cs_stage_await(flow->op, stage, 0);
	}
	copy_out(flow, round);
	for (int i = 0; i < sends; i++)
		cs_stage_wait(flow->op, flow->wire, &flow->sends[i]);
}

static void
run(struct cs_op *op, const size_t *params)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	struct cs_node_op *node = &op->node;
	const struct cs_shape *shape = &team->shape;
	struct flow flow = { .op = op,
			     .chunk = params[0] < node->node->shape.area_bytes ? params[0] : node->node->shape.area_bytes };
	flow.rounds = cs_rounds(call->bytes, flow.chunk);
	flow.place = (shape->node - shape->node_of[call->root] + shape->nodes) % shape->nodes;
	if (cs_team_is_leader(team))
		flow.wire = team->host->wire(team->leaders);
	cs_node_begin(node);
	if (shape->rank == call->root)
		flow.line = cs_node_line(node);
	for (uint64_t round = 0; round < flow.rounds; round++) {
		take_stages(&flow, round + AHEAD - 1);
		if (flow.place)
			other_node_piece(&flow, round);
		else
			root_node_piece(&flow, round);
		cs_stage_done(op, 1);
	}
	cs_node_end(node);
}

const struct cs_algorithm cs_algorithm_bcast_hier_overlap = {
	.colls = CS_SET(CS_BCAST),
	.name = "hier:overlap",
	.summary = "down a tree of nodes, from node memory into node memory, copy-out meanwhile",
	.needs = { .several_per_node = true, .several_nodes = true },
	.params = { { "wire_chunk", "bytes per piece", 256 << 10, 4 << 10, 64 << 20 } },
	.run = run,
};
