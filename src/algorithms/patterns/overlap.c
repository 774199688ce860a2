#include "algorithms/patterns/overlap.h"

#include "algorithms/patterns/exchange.h"

#include <string.h>

/* Rounds between nodes, as Bruck's: with the parts of `have` nodes each node gets those of the next ones from the node
 * `have` above, and gives its own first ones to the node `have` below. In the area a node's own part comes first, then the
 * next node's, and so on: what is sent and what comes is then one piece, for any number of nodes. */
struct spread {
	struct cs_op *op;
	struct cs_wire *wire;
	struct cs_stage stage;
	struct cs_request receives[CS_OVERLAP_MOST], sends[CS_OVERLAP_MOST]; /* by step */
	size_t chunk;   /* most bytes of a block in a round */
	uint64_t round; /* of chunks */
	size_t *before; /* by place: bytes of all parts in places before it; nodes + 1 */
};

static int
node_at(const struct spread *spread, int place)
{
	const struct cs_shape *shape = &spread->op->team->shape;
	return (shape->node + place) % shape->nodes;
}

static size_t
piece_of(const struct spread *spread, int rank)
{
	return cs_piece(cs_blocks_bytes(&spread->op->call.recv, rank), spread->chunk, spread->round);
}

static void
lay_out(struct spread *spread)
{
	const struct cs_shape *shape = &spread->op->team->shape;
	size_t at = 0;
	for (int place = 0; place < shape->nodes; place++) {
		int node = node_at(spread, place);
		spread->before[place] = at;
		for (int p = shape->first[node]; p < shape->first[node + 1]; p++)
			at += piece_of(spread, shape->order[p]);
	}
	spread->before[shape->nodes] = at;
}

static void
copy_in(struct spread *spread)
{
	const struct cs_shape *shape = &spread->op->team->shape;
	struct cs_call *call = &spread->op->call;
	const char *own = call->send.base ? call->send.base : cs_blocks_at(&call->recv, shape->rank);
	size_t at = 0;
	for (int p = shape->first[shape->node]; shape->order[p] != shape->rank; p++)
		at += piece_of(spread, shape->order[p]);
	cs_copy_in(spread->op, spread->stage.area + at, own + spread->round * spread->chunk,
		   piece_of(spread, shape->rank));
}

/* The blocks of so many nodes from that place on. */
static void
copy_out(struct spread *spread, int place, int count)
{
	const struct cs_shape *shape = &spread->op->team->shape;
	struct cs_call *call = &spread->op->call;
	const char *from = spread->stage.area + spread->before[place];
	for (int end = place + count; place < end; place++) {
		int node = node_at(spread, place);
		for (int p = shape->first[node]; p < shape->first[node + 1]; p++) {
			int rank = shape->order[p];
			size_t bytes = piece_of(spread, rank);
			if (rank != shape->rank || call->send.base)
				cs_copy_result(spread->op, cs_blocks_at(&call->recv, rank) + spread->round * spread->chunk,
					       from, bytes);
			from += bytes;
		}
	}
}

/* What comes from the node `have` above: so many parts. */
static int
coming(const struct spread *spread, int have)
{
	int rest = spread->op->team->shape.nodes - have;
	return have < rest ? have : rest;
}

static size_t
bytes_of(const struct spread *spread, int place, int count)
{
	return spread->before[place + count] - spread->before[place];
}

#define FOR_EACH_STEP(step, have, spread) \
	for (int step = 0, have = 1; have < (spread)->op->team->shape.nodes; step++, have *= 2)

/* All at once, so that no sender waits for a receiver that is still busy with an earlier step. */
static void
start_receives(struct spread *spread)
{
	FOR_EACH_STEP(step, have, spread) {
		size_t bytes = bytes_of(spread, have, coming(spread, have));
		if (bytes)
			spread->wire->recv_direct(spread->wire, &spread->receives[step], node_at(spread, have),
						  spread->op->tag, spread->stage.area + spread->before[have], bytes,
						  &spread->stage.flags[step], spread->stage.turn);
	}
}

static void
wait_for_node(struct spread *spread)
{
	struct cs_node_op *node = &spread->op->node;
	for (int local = 0; local < node->node->shape.size; local++)
		if (local != node->node->shape.local)
			cs_node_await(node, local, spread->round + 1);
}

static void
lead(struct spread *spread)
{
	struct cs_wire *wire = spread->wire;
	const struct cs_shape *shape = &spread->op->team->shape;
	int ready = 0, last = 1; /* place and number of the parts that wait to be copied out */
	wait_for_node(spread);
	FOR_EACH_STEP(step, have, spread) {
		int below = (shape->node - have + shape->nodes) % shape->nodes;
		size_t bytes = bytes_of(spread, 0, coming(spread, have));
		if (bytes)
			wire->send_direct(wire, &spread->sends[step], below, spread->op->tag, spread->stage.area, bytes);
		copy_out(spread, ready, last);
		ready = have;
		last = coming(spread, have);
		if (bytes_of(spread, ready, last))
			cs_stage_wait(spread->op, wire, &spread->receives[step]);
		cs_stage_raise(spread->op, &spread->stage, step);
	}
	copy_out(spread, ready, last);
	FOR_EACH_STEP(step, have, spread)
		if (bytes_of(spread, 0, coming(spread, have)))
			cs_stage_wait(spread->op, wire, &spread->sends[step]);
}

static void
follow(struct spread *spread)
{
	wait_for_node(spread);
	copy_out(spread, 0, 1);
	FOR_EACH_STEP(step, have, spread) {
		cs_stage_await(spread->op, &spread->stage, step);
		copy_out(spread, have, coming(spread, have));
	}
}

static size_t
largest(struct cs_op *op)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	size_t most = call->recv.bytes ? 0 : call->recv.each;
	for (int rank = 0; call->recv.bytes && rank < team->shape.ranks; rank++)
		most = call->recv.bytes[rank] > most ? call->recv.bytes[rank] : most;
	return most;
}

void
cs_overlap_spread(struct cs_op *op, size_t wire_chunk)
{
	struct cs_team *team = op->team;
	struct cs_node_op *node = &op->node;
	bool is_leader = cs_team_is_leader(team);
	size_t limit = wire_chunk < node->node->shape.area_bytes ? wire_chunk : node->node->shape.area_bytes;
	size_t most = largest(op);
	struct spread spread = { .op = op, .before = cs_op_nodes(op),
				 .wire = is_leader ? team->host->wire(team->leaders) : NULL,
				 .chunk = cs_share(limit, (size_t)team->shape.ranks) };
	if (!spread.chunk)
		spread.chunk = 1; /* the area has room for more than a byte of each rank */
	cs_node_begin(node);
	struct cs_line *line = cs_node_line(node);
	uint64_t rounds = cs_rounds(most, spread.chunk);
	cs_node_expect(node, rounds, 1);
	for (; spread.round < rounds; spread.round++) {
		spread.stage = cs_stage_take(op);
		lay_out(&spread);
		if (is_leader)
			start_receives(&spread);
		copy_in(&spread);
		cs_node_publish(node, line, spread.round + 1);
		if (is_leader)
			lead(&spread);
		else
			follow(&spread);
		cs_stage_done(op, 1);
	}
	cs_node_end(node);
}

int
cs_overlap_children(int place, int nodes, int children[CS_OVERLAP_MOST])
{
	int count = 0;
	for (unsigned bit = 1; !((unsigned)place & bit) && bit < (unsigned)(nodes - place); bit *= 2)
		children[count++] = place + (int)bit;
	return count;
}
