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

struct trade {
	struct cs_op *op;
	struct cs_wire *wire;
	struct cs_line *line;
	struct cs_stage out, in;
	size_t chunk, piece; /* bytes of a block in a round: the most, in this one */
	uint64_t round;
	struct cs_request *receives, *sends; /* by distance */
};

static uint64_t
step_of(const struct trade *trade, int distance)
{
	return trade->round * (uint64_t)trade->op->team->shape.nodes + (uint64_t)distance + 1;
}

static int
size_of(const struct trade *trade, int node)
{
	return cs_team_node_size(trade->op->team, node);
}

/* Where in an area the pieces to or from a node begin, and how many bytes they are. */
static size_t
part_at(const struct trade *trade, int node)
{
	const struct cs_shape *shape = &trade->op->team->shape;
	return (size_t)shape->locals * (size_t)shape->first[node] * trade->piece;
}

static size_t
part_bytes(const struct trade *trade, int node)
{
	return (size_t)trade->op->team->shape.locals * (size_t)size_of(trade, node) * trade->piece;
}

static void
copy_in(struct trade *trade)
{
	const struct cs_shape *shape = &trade->op->team->shape;
	for (int node = 0; node < shape->nodes; node++) {
		int size = size_of(trade, node);
		char *to = trade->out.area + part_at(trade, node) + (size_t)shape->local * (size_t)size * trade->piece;
		for (int local = 0; local < size; local++, to += trade->piece)
			cs_copy_in(trade->op, to,
				   cs_blocks_at(&trade->op->call.send, shape->order[shape->first[node] + local]) +
					   trade->round * trade->chunk,
				   trade->piece);
	}
}

/* The pieces from a node's ranks, in the area `from` where they lie sender by sender. */
static void
copy_out(struct trade *trade, int node, const char *area)
{
	const struct cs_shape *shape = &trade->op->team->shape;
	const char *from = area + part_at(trade, node) + (size_t)shape->local * trade->piece;
	for (int local = 0; local < size_of(trade, node); local++, from += (size_t)shape->locals * trade->piece)
		cs_copy_result(trade->op,
			       cs_blocks_at(&trade->op->call.recv, shape->order[shape->first[node] + local]) +
				       trade->round * trade->chunk,
			       from, trade->piece);
}

static void
start_receives(struct trade *trade)
{
	const struct cs_shape *shape = &trade->op->team->shape;
	for (int distance = 1; distance < shape->nodes; distance++) {
		int node = (shape->node + distance) % shape->nodes;
		trade->wire->recv_direct(trade->wire, &trade->receives[distance], node, trade->op->tag,
					 trade->in.area + part_at(trade, node), part_bytes(trade, node), NULL, 0);
	}
}

static void
start_sends(struct trade *trade)
{
	const struct cs_shape *shape = &trade->op->team->shape;
	for (int distance = 1; distance < shape->nodes; distance++) {
		int node = (shape->node - distance + shape->nodes) % shape->nodes;
		trade->wire->send_direct(trade->wire, &trade->sends[distance], node, trade->op->tag,
					 trade->out.area + part_at(trade, node), part_bytes(trade, node));
	}
}

static void
wait_for_node(struct trade *trade)
{
	struct cs_node_op *node = &trade->op->node;
	for (int local = 0; local < node->node->shape.size; local++)
		if (local != node->node->shape.local)
			cs_node_await(node, local, step_of(trade, 0));
}

static void
run_round(struct trade *trade)
{
	struct cs_op *op = trade->op;
	struct cs_team *team = op->team;
	const struct cs_shape *shape = &team->shape;
	trade->out = cs_stage_take(op);
	trade->in = cs_stage_take(op);
	if (trade->wire)
		start_receives(trade);
	copy_in(trade);
	cs_node_publish(&op->node, trade->line, step_of(trade, 0));
	wait_for_node(trade);
	if (trade->wire)
		start_sends(trade);
	copy_out(trade, shape->node, trade->out.area);
	for (int distance = 1; distance < shape->nodes; distance++) {
		if (trade->wire) {
			cs_stage_wait(op, trade->wire, &trade->receives[distance]);
			cs_node_publish(&op->node, trade->line, step_of(trade, distance));
		} else {
			cs_node_await(&op->node, cs_team_leader(team), step_of(trade, distance));
		}
		copy_out(trade, (shape->node + distance) % shape->nodes, trade->in.area);
	}
	for (int distance = 1; trade->wire && distance < shape->nodes; distance++)
		cs_stage_wait(op, trade->wire, &trade->sends[distance]);
	cs_stage_done(op, 2);
}

static void
run(struct cs_op *op, const size_t *params)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	struct cs_node_op *node = &op->node;
	size_t limit = params[0] < node->node->shape.area_bytes ? params[0] : node->node->shape.area_bytes;
	size_t pairs = (size_t)team->shape.ppn_max * (size_t)team->shape.ranks;
	struct trade trade = { .op = op, .chunk = cs_share(limit, pairs) };
	if (!trade.chunk)
		trade.chunk = 1;
	if (cs_team_is_leader(team)) {
		trade.wire = team->host->wire(team->leaders);
		trade.receives = cs_op_memory(op, CS_OP_SCRATCH, 2 * (size_t)team->shape.nodes * sizeof *trade.receives);
		trade.sends = trade.receives + team->shape.nodes;
	}
	cs_node_begin(node);
	trade.line = cs_node_line(node);
	uint64_t rounds = cs_rounds(call->send.each, trade.chunk);
	cs_node_expect(node, rounds, (uint64_t)team->shape.nodes);
	for (; trade.round < rounds; trade.round++) {
		trade.piece = cs_piece(call->send.each, trade.chunk, trade.round);
		run_round(&trade);
	}
	cs_node_end(node);
}

const struct cs_algorithm cs_algorithm_alltoall_hier_overlap = {
	.colls = CS_SET(CS_ALLTOALL),
	.name = "hier:overlap",
	.summary = "node by node from node memory into node memory, copy-out as parts come",
	.needs = { .several_per_node = true, .several_nodes = true },
	.params = { { "wire_chunk", "bytes that a node sends per round", 4 << 20, 4 << 10, 64 << 20 } },
	.run = run,
};
