#include "algorithms/patterns/transpose.h"
#include "algorithms/between.h"

#include "algorithms/patterns/exchange.h"

/* --- one node: the slot of a round has a piece for each local rank ------------------------------------------------ *
 *
 * Small blocks lie closer, in the small slot. Large ones may stay where they are: the slot then says where, and each
 * rank reads its own with one copy. Each sender decides for itself and says so in its line. */

static void
fill(struct cs_op *op, const struct cs_exchange *exchange, uint64_t round, char *slot)
{
	struct cs_team *team = op->team;
	const struct cs_call *call = &op->call;
	for (int local = 0; local < team->node.shape.size; local++) {
		int rank = cs_team_local_rank(team, local);
		const char *block = cs_blocks_at(&call->send, rank);
		if (local == team->node.shape.local)
			continue;
		if (exchange->is_direct)
			((struct cs_far *)(void *)slot)[local] =
				(struct cs_far){ (uint64_t)(uintptr_t)block, cs_blocks_bytes(&call->send, rank) };
		else
			cs_copy_in(op, slot + (size_t)local * exchange->stride, block + round * exchange->chunk,
				   cs_piece(cs_blocks_bytes(&call->send, rank), exchange->chunk, round));
	}
}

static void
get(struct cs_op *op, const struct cs_exchange *exchange, uint64_t round, int local, const struct cs_line *line)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	int self = team->node.shape.local, rank = cs_team_local_rank(team, local);
	size_t bytes = cs_blocks_bytes(&call->recv, rank), most = cs_line_bytes(line);
	char *to = cs_blocks_at(&call->recv, rank);
	if (line->word[0] == CS_MARK_DIRECT) {
		const struct cs_far *far = (const struct cs_far *)(const void *)cs_node_slot_of(&op->node, local, line->slot, 0);
		bytes = cs_exchange_lesser(call, far[self].bytes, bytes);
		if (round == 0)
			cs_exchange_read(op, local, to, far[self].address, bytes);
		return;
	}
	/* The line has the largest of the sender's blocks: of blocks of one size it is this one's. */
	if (call->coll == CS_ALLTOALL)
		bytes = cs_exchange_lesser(call, most, bytes);
	if (round * exchange->chunk >= most)
		return;
	const char *from = cs_exchange_peer(op, local, round, line);
	from += (size_t)self * cs_exchange_stride(exchange->chunk, line);
	to += round * exchange->chunk;
	cs_exchange_get_staged(op, bytes, to, from, cs_piece(bytes, exchange->chunk, round));
}

static cs_phase *const alltoall_node[] = { cs_exchange_open, cs_exchange_post, cs_exchange_get, cs_exchange_next,
					   cs_exchange_be_read, NULL };

/* The largest block to or from another rank. */
static size_t
largest(struct cs_op *op, const struct cs_blocks *blocks)
{
	struct cs_team *team = op->team;
	if (!blocks->bytes)
		return blocks->each;
	size_t most = 0;
	for (int rank = 0; rank < team->shape.ranks; rank++)
		if (rank != team->shape.rank && blocks->bytes[rank] > most)
			most = blocks->bytes[rank];
	return most;
}

static void
copy_own(struct cs_op *op)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	int rank = team->shape.rank;
	if (!cs_call_is_in_place(call))
		cs_copy_result(op, cs_blocks_at(&call->recv, rank), cs_blocks_at(&call->send, rank),
			       cs_blocks_bytes(&call->recv, rank));
}

static size_t
table_bytes(const struct cs_team *team)
{
	return (size_t)team->node.shape.size * sizeof(struct cs_far);
}

static bool
is_direct(struct cs_op *op, size_t from, size_t most, uint64_t fills)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	const struct cs_reach_cost cost = { .reader = -1, .puts = 1, .gets = 1 };
	if (cs_call_is_in_place(call) || table_bytes(team) > team->node.shape.slot_bytes)
		return false;
	/* Ranks that share cores need a turn more whenever the ring is full, and only one if blocks are read directly. */
	if (!from && team->node.is_crowded && fills > team->node.shape.slots)
		from = most;
	return cs_exchange_reaches(op, from, most, 0, &cost) && cs_exchange_offer(op, &call->send);
}

static void
one_node(struct cs_op *op, size_t direct_from)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	size_t locals = (size_t)team->node.shape.size, most = largest(op, &call->send);
	struct cs_exchange *exchange = CS_OP_STATE(struct cs_exchange, op);
	*exchange = (struct cs_exchange){ .fill = fill, .get = get, .bytes = most,
					  .chunk = cs_share(team->node.shape.slot_bytes, locals) };
	exchange->fills = cs_rounds(most, exchange->chunk);
	exchange->takes = cs_rounds(largest(op, &call->recv), exchange->chunk);
	if (is_direct(op, direct_from, most, exchange->fills)) {
		exchange->is_direct = true;
		exchange->is_small = table_bytes(team) <= CS_SMALL;
		exchange->fills = 1;
	} else {
		cs_exchange_lay(op, exchange, most, 0, locals);
		cs_node_rewind(&op->node, most * locals);
	}
	copy_own(op);
	cs_exchange_start(op, alltoall_node, 1);
}

/* --- several nodes: node-contiguous layout (seed 002, 2.3.1) -------------------------------------------------------
 *
 *   send area   for each destination position d: the pieces of local ranks 0..m-1    (d major, source minor)
 *   recv area   from each node N: for each own local rank d: the pieces of N's ranks
 *
 * so each pair of nodes exchanges one message, or, if it is long and lanes outnumber nodes, several parts of it. Each lane
 * carries those of the nodes that are dealt to it (algorithms/lanes.h). Sizes that are not equal are first written to an
 * area slot, each rank its row of what it sends and of what it receives. */

#define WORTH_CUTTING (64 << 10) /* bytes of a message between nodes from which several ranks send parts of it */

struct wide {
	struct cs_op *op;
	size_t chunk, largest;             /* largest: of all blocks; or all of them, unless: */
	const size_t *send_rows, *recv_rows; /* [local][position] */
};

static size_t
send_piece(const struct wide *wide, int local, int position, uint64_t round)
{
	size_t bytes = wide->send_rows ? wide->send_rows[(size_t)local * (size_t)wide->op->team->shape.ranks +
							 (size_t)position]
				       : wide->largest;
	return cs_piece(bytes, wide->chunk, round);
}

static size_t
recv_piece(const struct wide *wide, int local, int position, uint64_t round)
{
	size_t bytes = wide->recv_rows ? wide->recv_rows[(size_t)local * (size_t)wide->op->team->shape.ranks +
							 (size_t)position]
				       : wide->largest;
	return cs_piece(bytes, wide->chunk, round);
}

static void
copy_in(const struct wide *wide, uint64_t round, char *area, size_t *bytes, size_t *at)
{
	const struct cs_shape *shape = &wide->op->team->shape;
	size_t offset = 0;
	for (int n = 0; n < shape->nodes; n++) {
		at[n] = offset;
		for (int p = shape->first[n]; p < shape->first[n + 1]; p++)
			for (int local = 0; local < shape->locals; local++) {
				size_t piece = send_piece(wide, local, p, round);
				if (local == shape->local)
					cs_copy_in(wide->op, area + offset,
						   cs_blocks_at(&wide->op->call.send, shape->order[p]) +
							   round * wide->chunk,
						   piece);
				offset += piece;
			}
		bytes[n] = offset - at[n];
	}
}

/* Where each node's message arrives; with `area`, the own pieces go to the user as well. */
static void
copy_out(const struct wide *wide, uint64_t round, const char *area, size_t *bytes, size_t *at)
{
	const struct cs_shape *shape = &wide->op->team->shape;
	size_t offset = 0;
	for (int n = 0; n < shape->nodes; n++) {
		at[n] = offset;
		for (int local = 0; local < shape->locals; local++)
			for (int p = shape->first[n]; p < shape->first[n + 1]; p++) {
				size_t piece = recv_piece(wide, local, p, round);
				if (area && local == shape->local)
					cs_copy_result(wide->op,
						       cs_blocks_at(&wide->op->call.recv, shape->order[p]) + round * wide->chunk,
						       area + offset, piece);
				offset += piece;
			}
		bytes[n] = offset - at[n];
	}
}

/* Steps 1 and 2: rows into the area, the largest block agreed by the leaders. Rows are copied out of it. */
static void
share_sizes(struct wide *wide, struct cs_line *line)
{
	struct cs_op *op = wide->op;
	struct cs_team *team = op->team;
	struct cs_node_op *node = &op->node;
	const struct cs_shape *shape = &team->shape;
	size_t ranks = (size_t)shape->ranks, rows = (size_t)shape->locals * ranks;
	size_t table = 2 * (size_t)shape->ppn_max * ranks * sizeof(size_t);
	size_t *shared = (size_t *)cs_node_area(node, table);
	size_t *send = shared + (size_t)shape->local * ranks, *recv = send + rows;
	size_t most = 0;
	for (size_t p = 0; p < ranks; p++) {
		send[p] = cs_blocks_bytes(&op->call.send, shape->order[p]);
		recv[p] = cs_blocks_bytes(&op->call.recv, shape->order[p]);
		most = send[p] > most ? send[p] : most;
	}
	line->word[1] = most;
	cs_node_publish(node, line, 1);
	for (int local = 0; local < shape->locals; local++) {
		size_t other = cs_node_await(node, local, 1)->word[1];
		most = other > most ? other : most;
	}
	if (cs_team_is_leader(team)) {
		uint64_t largest = most;
		team->host->max(team->leaders, &largest, NULL);
		line->word[0] = largest;
		cs_node_publish(node, line, 2);
	}
	wide->largest = cs_node_await(node, cs_team_leader(team), 2)->word[0];
	wide->send_rows = memcpy(cs_op_memory(op, CS_OP_COPY, 2 * rows * sizeof(size_t)), shared,
				 2 * rows * sizeof(size_t));
	wide->recv_rows = wide->send_rows + rows;
	cs_node_area_done(node, table, 1);
}

static struct cs_deal
deal_messages(const struct wide *wide, size_t wanted_lanes)
{
	const struct cs_shape *shape = &wide->op->team->shape;
	size_t message = cs_piece(wide->largest, wide->chunk, 0) * (size_t)shape->ppn_max * (size_t)shape->ppn_max;
	return cs_lanes_deal(shape->nodes, cs_team_lanes(wide->op->team, wanted_lanes), message >= WORTH_CUTTING);
}

/* A lane's part of a round, when all local ranks have brought theirs (step `here`). */
static void
exchange_lane(const struct wide *wide, const struct cs_deal *deal, uint64_t here, uint64_t round, const char *out, char *in)
{
	struct cs_op *op = wide->op;
	struct cs_team *team = op->team;
	const struct cs_shape *shape = &team->shape;
	size_t *send_bytes = cs_op_nodes(op), *send_at = send_bytes + shape->nodes;
	size_t *recv_bytes = send_at + shape->nodes, *recv_at = recv_bytes + shape->nodes, first;
	for (int local = 0; local < shape->locals; local++)
		if (local != shape->local)
			cs_node_await(&op->node, local, here);
	copy_out(wide, round, NULL, recv_bytes, recv_at);
	for (int n = 0; deal->lanes > 1 && n < shape->nodes; n++) {
		send_bytes[n] = cs_lanes_share(deal, team->lane, shape->node, n, send_bytes[n], &first);
		send_at[n] += first;
		recv_bytes[n] = cs_lanes_share(deal, team->lane, n, shape->node, recv_bytes[n], &first);
		recv_at[n] += first;
	}
	/* Blocks of one size: no message is longer than that between two of the fullest nodes, of which a lane carries a part. */
	size_t cells = (size_t)shape->ppn_max * (size_t)shape->ppn_max;
	size_t largest = wide->send_rows ? 0 : cs_lanes_most(deal, cs_piece(wide->largest, wide->chunk, round) * cells);
	cs_between_alltoallv(op, out, send_bytes, send_at, in, recv_bytes, recv_at, largest);
}

/* Steps of a round: base + 2r + 1 own pieces are in the area, base + 2r + 2 (lanes) what the lane carries has come. */
static void
several_nodes(struct cs_op *op, size_t wanted_lanes)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	struct cs_node_op *node = &op->node;
	const struct cs_shape *shape = &team->shape;
	size_t cells = (size_t)shape->ppn_max * (size_t)shape->ranks;
	struct wide wide = { .op = op, .chunk = cs_share(node->node->shape.area_bytes, cells),
			     .largest = call->send.each };
	size_t *send_bytes = cs_op_nodes(op), *send_at = send_bytes + shape->nodes;
	size_t *recv_bytes = send_at + shape->nodes, *recv_at = recv_bytes + shape->nodes;

	cs_node_begin(node);
	struct cs_line *line = cs_node_line(node);
	uint64_t base = call->send.bytes ? 2 : 0;
	if (call->send.bytes)
		share_sizes(&wide, line);
	uint64_t rounds = cs_rounds(wide.largest, wide.chunk);
	cs_node_expect(node, rounds, 2);
	struct cs_deal deal = deal_messages(&wide, wanted_lanes);
	size_t room = cs_piece(wide.largest, wide.chunk, 0) * cells; /* of a round, at most */
	for (uint64_t round = 0; round < rounds; round++) {
		uint64_t here = base + 2 * round + 1, arrived = here + 1;
		char *out = cs_node_area(node, room), *in = cs_node_area(node, room);
		copy_in(&wide, round, out, send_bytes, send_at);
		if (deal.lanes > 1 || team->lane >= deal.lanes)
			cs_node_publish(node, line, here);
		if (team->lane < deal.lanes) {
			exchange_lane(&wide, &deal, here, round, out, in);
			cs_node_publish(node, line, arrived);
		}
		for (int lane = 0; lane < deal.lanes; lane++)
			cs_node_await(node, team->lane_local[lane], arrived);
		copy_out(&wide, round, in, recv_bytes, recv_at);
		cs_node_area_done(node, room, 2);
	}
	cs_node_end(node);
}

void
cs_transpose(struct cs_op *op, size_t direct_from, size_t lanes)
{
	struct cs_team *team = op->team;
	if (team->shape.nodes > 1)
		several_nodes(op, lanes);
	else
		one_node(op, direct_from);
}
