#include "algorithms/hier/node_alltoall.h"
#include "algorithms/hier/between.h"

#include "algorithms/node/rounds.h"
#include "algorithms/hier/hier.h"
#include "algorithms/node/small.h"

/* --- one node: the slot of a round has a piece for each local rank ----------------------------- *
 *
 * Small blocks lie closer, in the small slot. Large ones may be read by single copy: the slot then
 * has their addresses. Each sender decides for itself, and its line has the way. */

static void
get(struct cs_op *op, const struct cs_rounds *exchange, uint64_t round, int local,
    const struct cs_line *line)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	int self = team->node.shape.local, rank = cs_team_local_rank(team, local);
	size_t bytes = cs_blocks_bytes(&call->recv, rank), most = cs_line_bytes(line);
	char *to = cs_blocks_at(&call->recv, rank);
	if (cs_post_is_single_copy(line)) {
		const struct cs_remote *remote = cs_post_remote(&op->node, local, line, self);
		bytes = cs_rounds_lesser(op, remote->bytes, bytes);
		if (round == 0)
			cs_node_read(&op->node, local, to, remote->address, bytes);
		return;
	}
	/* The line has the size of the sender's largest block: this one's, if all have one size. */
	if (call->coll == CS_ALLTOALL)
		bytes = cs_rounds_lesser(op, most, bytes);
	size_t chunk = exchange->post.chunk;
	if (round * chunk >= most)
		return;
	const char *from = cs_post_find(&op->node, local, line, round, chunk, 0);
	from += (size_t)self * cs_post_stride(chunk, line);
	cs_copy_result(op, to + round * chunk, from, cs_chunks_bytes(bytes, chunk, round));
}

static cs_phase *const alltoall_node[] = { cs_rounds_open, cs_rounds_post, cs_rounds_get,
					   cs_rounds_next, cs_rounds_be_read, NULL };

/* The largest block to or from another rank. */
static size_t
largest(const struct cs_op *op, const struct cs_blocks *blocks)
{
	return cs_blocks_largest(blocks, op->team->shape.ranks, op->team->shape.rank);
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

static bool
chooses_single_copy(struct cs_op *op, size_t from, size_t most)
{
	return !cs_call_is_in_place(&op->call) && cs_rounds_may_single_copy_blocks(op->team) &&
	       cs_single_copy_by_calls(op, from, most, 1) && cs_copies_offer(op, &op->call.send);
}

static void
one_node(struct cs_op *op, size_t single_copy_from)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	size_t locals = (size_t)team->node.shape.size, most = largest(op, &call->send);
	struct cs_rounds *exchange =
		cs_rounds_init(op, cs_chunks_per_part(team->node.shape.slot_bytes, locals), get);
	size_t chunk = exchange->post.chunk;
	bool is_single_copy = chooses_single_copy(op, single_copy_from, most);
	exchange->takes = cs_chunks_rounds(largest(op, &call->recv), chunk);
	cs_rounds_put_blocks(op, most, 0, is_single_copy);
	copy_own(op);
	cs_rounds_start(op, alltoall_node, 1);
}

/* Alltoall of blocks that all fit into the small slot, one behind the other. */
static void
one_node_small(struct cs_op *op, size_t most, size_t chunk)
{
	struct cs_call *call = &op->call;
	struct cs_node_at at = cs_op_at(op);
	const struct cs_rounds only = { .post.chunk = chunk };
	int locals = op->team->node.shape.size, self = op->team->node.shape.local;
	cs_at_begin(at);
	cs_small_post_blocks(op, at, most, 0, most);
	copy_own(op);
	for (int i = 1; i < locals; i++) {
		int local = self + i < locals ? self + i : self + i - locals;
		/* A rank without a block for this one may publish nothing. */
		if (cs_blocks_bytes(&call->recv, local))
			get(op, &only, 0, local, cs_at_await(at, local, 1));
	}
	cs_at_end(at);
}

bool
cs_node_alltoall_fast(struct cs_op *op, size_t single_copy_from)
{
	const struct cs_call *call = &op->call;
	size_t ranks = (size_t)op->team->shape.ranks;
	if (op->team->shape.nodes > 1)
		return false;
	size_t most = largest(op, &call->send), expected = largest(op, &call->recv);
	if (!most || most * ranks > CS_SMALL || (single_copy_from && most >= single_copy_from) ||
	    expected * ranks > CS_SMALL)
		return false;
	/* A rank with larger blocks goes by its script: the block for this one has to be in the
	 * first round. */
	size_t chunk = cs_chunks_per_part(op->team->node.shape.slot_bytes, ranks);
	if (expected > chunk)
		return false;
	one_node_small(op, most, chunk);
	return true;
}

/* --- several nodes: node-contiguous layout (seed 002, 2.3.1) ----------------------------------
 *
 *   send area   for each destination position d: pieces of ranks 0..m-1  (d major, source minor)
 *   recv area   from each node N: for each own local rank d: the pieces of N's ranks
 *
 * so each pair of nodes exchanges one message, or, if it is long and lanes outnumber nodes, several
 * parts of it. Each lane carries the messages that are dealt to it (algorithms/lanes.h). Unequal
 * sizes are first written to an area slot, by each rank its rows of send and receive sizes. */

struct state {
	struct cs_hier hier;
	size_t chunk, largest; /* bytes: of a block in a round, at most; of the largest block */
	const size_t *send_rows, *recv_rows; /* [local][position]; NULL: all are `largest` */
	size_t message; /* bytes of the longest between two nodes in any round; 0: not known */
	size_t room;    /* bytes of a round, at most */
	struct cs_lane_map map;
	size_t wanted_lanes; /* those that the call's beginning has found, if it may not wait */
	size_t *send_bytes, *send_at, *recv_bytes, *recv_at; /* by node */
	/* Agreement on sizes. */
	char *shared;
	uint64_t agreed, agreed_message;
};

static struct state *
state_of(struct cs_op *op)
{
	return CS_OP_STATE(struct state, op);
}

static size_t
row_piece(const struct cs_op *op, const struct state *state, const size_t *rows, int local,
	  int position, uint64_t round)
{
	size_t ranks = (size_t)op->team->shape.ranks;
	return cs_chunks_bytes(rows ? rows[(size_t)local * ranks + (size_t)position]
				   : state->largest, state->chunk, round);
}

/* Bytes of the local ranks' pieces for a position; *before: of those before the own one. */
static size_t
column(const struct cs_op *op, const struct state *state, int position, uint64_t round,
       size_t *before)
{
	const struct cs_shape *shape = &op->team->shape;
	const size_t *rows = state->send_rows;
	size_t bytes = 0, each = row_piece(op, state, NULL, 0, 0, round);
	*before = (size_t)shape->local * each;
	if (!rows)
		return (size_t)shape->locals * each;
	for (int local = 0; local < shape->locals; local++) {
		*before = local == shape->local ? bytes : *before;
		bytes += row_piece(op, state, rows, local, position, round);
	}
	return bytes;
}

static void
copy_in(struct cs_op *op, struct state *state, uint64_t round, char *area)
{
	const struct cs_shape *shape = &op->team->shape;
	size_t offset = 0, before;
	for (int n = 0; n < shape->nodes; n++) {
		state->send_at[n] = offset;
		for (int p = shape->first[n]; p < shape->first[n + 1]; p++) {
			size_t bytes = column(op, state, p, round, &before);
			cs_copy_in(op, area + offset + before,
				   cs_blocks_at(&op->call.send, shape->order[p]) +
				   round * state->chunk,
				   row_piece(op, state, state->send_rows, shape->local, p, round));
			offset += bytes;
		}
		state->send_bytes[n] = offset - state->send_at[n];
	}
}

/* Lays out each node's message as it arrives; with `area`, copies the own pieces to the result. */
static void
copy_out(struct cs_op *op, struct state *state, uint64_t round, const char *area)
{
	const struct cs_shape *shape = &op->team->shape;
	size_t offset = 0;
	for (int n = 0; n < shape->nodes; n++) {
		state->recv_at[n] = offset;
		for (int local = 0; local < shape->locals; local++) {
			bool is_own = area && local == shape->local;
			if (!is_own && !state->recv_rows) { /* all of one size */
				offset += (size_t)cs_team_node_size(op->team, n) *
					  row_piece(op, state, NULL, 0, 0, round);
				continue;
			}
			for (int p = shape->first[n]; p < shape->first[n + 1]; p++) {
				size_t piece = row_piece(op, state, state->recv_rows, local, p,
							 round);
				if (is_own)
					cs_copy_result(op,
						       cs_blocks_at(&op->call.recv,
								    shape->order[p]) + round *
						       state->chunk, area + offset, piece);
				offset += piece;
			}
		}
		state->recv_bytes[n] = offset - state->recv_at[n];
	}
}

static void
lay_out(struct cs_op *op, struct cs_hier_round *round)
{
	round->room = state_of(op)->room;
}

static enum cs_status
bring(struct cs_op *op)
{
	struct state *state = state_of(op);
	const struct cs_hier_round *round = cs_hier_now(&state->hier);
	copy_in(op, state, round->index, round->area[0]);
	cs_hier_is_here(op);
	return CS_OK;
}

/* Exchanges a lane's part of a round. */
static void
between(struct cs_op *op, struct cs_hier_round *round)
{
	struct cs_team *team = op->team;
	const struct cs_shape *shape = &team->shape;
	struct state *state = state_of(op);
	const struct cs_lane_map *map = &state->map;
	size_t first;
	copy_out(op, state, round->index, NULL);
	for (int n = 0; map->lanes > 1 && n < shape->nodes; n++) {
		state->send_bytes[n] = cs_lanes_share(map, team->lane, shape->node, n,
						      state->send_bytes[n], &first);
		state->send_at[n] += first;
		state->recv_bytes[n] = cs_lanes_share(map, team->lane, n, shape->node,
						      state->recv_bytes[n], &first);
		state->recv_at[n] += first;
	}
	/* Blocks of one size: the longest message is one between two of the fullest nodes; a lane
	 * carries a part of it. */
	size_t cells = (size_t)shape->ppn_max * (size_t)shape->ppn_max;
	size_t message = state->send_rows ? state->message
					  : cs_chunks_bytes(state->largest, state->chunk,
							   round->index) * cells;
	cs_between_alltoallv(op, round->area[0], state->send_bytes, state->send_at, round->area[1],
			     state->recv_bytes, state->recv_at, cs_lanes_most(map, message));
}

static void
take(struct cs_op *op, const struct cs_hier_round *round)
{
	copy_out(op, state_of(op), round->index, round->area[1]);
}

static const struct cs_hier_kind alltoall_hier = { .areas = 2, .lay_out = lay_out, .bring = bring,
						   .grow = cs_hier_grow, .between = between,
						   .take = take };

/* Deals messages to lanes, once the largest block is known on all ranks. */
static void
map_messages(struct cs_op *op, struct state *state)
{
	const struct cs_shape *shape = &op->team->shape;
	size_t cells = (size_t)shape->ppn_max * (size_t)shape->ranks,
	       first = cs_chunks_bytes(state->largest, state->chunk, 0);
	size_t message = first * (size_t)shape->ppn_max * (size_t)shape->ppn_max;
	bool has_senders = cs_hier_has_senders(op),
	     may_cut = message >= op->team->node.facts.of[CS_LANES_BYTES];
	int lanes = has_senders ? 1 : cs_team_lanes(op->team, state->wanted_lanes);
	state->map = cs_lanes_map(shape->nodes, lanes, may_cut);
	lanes = cs_hier_lanes(op, (size_t)state->map.lanes); /* only as many as have work */
	state->map = cs_lanes_map(shape->nodes, lanes, may_cut);
	state->room = first * cells;
	if (!has_senders)
		cs_hier_set_lanes(op, 0, state->map.lanes);
	state->hier.rounds = cs_chunks_rounds(state->largest, state->chunk);
	cs_node_expect(&op->node, state->hier.rounds, 2);
}

/* --- unequal sizes: each rank's rows into the area; the leaders agree on the largest block, and,
 * for plans that need it (needs.largest), on the longest message. */

static size_t
table_room(const struct cs_op *op)
{
	const struct cs_shape *shape = &op->team->shape;
	return 2 * (size_t)shape->ppn_max * (size_t)shape->ranks * sizeof(size_t);
}

/* Step 1: writes the own rows, and the largest block to the line. */
static enum cs_status
bring_sizes(struct cs_op *op)
{
	struct state *state = state_of(op);
	const struct cs_shape *shape = &op->team->shape;
	size_t ranks = (size_t)shape->ranks, most = 0;
	state->shared = cs_node_try_area(&op->node, table_room(op));
	if (!state->shared)
		return CS_AGAIN;
	size_t *send = (size_t *)(void *)state->shared + (size_t)shape->local * ranks;
	size_t *recv = send + (size_t)shape->locals * ranks;
	for (size_t p = 0; p < ranks; p++) {
		send[p] = cs_blocks_bytes(&op->call.send, shape->order[p]);
		recv[p] = cs_blocks_bytes(&op->call.recv, shape->order[p]);
		most = send[p] > most ? send[p] : most;
	}
	state->hier.line->word[1] = most;
	cs_node_publish(&op->node, state->hier.line, 1);
	return CS_OK;
}

static enum cs_status
agree_on_largest(struct cs_op *op)
{
	struct state *state = state_of(op);
	const struct cs_shape *shape = &op->team->shape;
	if (!cs_team_is_leader(op->team))
		return CS_OK;
	if (cs_hier_look_all(op, 1, NULL) == CS_AGAIN || !cs_between_is_turn(op))
		return CS_AGAIN;
	state->agreed = 0;
	for (int local = 0; local < shape->locals; local++) {
		uint64_t most = cs_node_look(&op->node, local, 1)->word[1];
		state->agreed = most > state->agreed ? most : state->agreed;
	}
	cs_between_max(op, &state->agreed);
	return CS_OK;
}

/* Bytes of this node's longest message to or from another one: in the first round. */
static uint64_t
longest_message(const struct cs_op *op, const struct state *state)
{
	const struct cs_shape *shape = &op->team->shape;
	const size_t *send = (const size_t *)(const void *)state->shared;
	const size_t *recv = send + (size_t)shape->locals * (size_t)shape->ranks;
	uint64_t most = 0;
	for (int n = 0; n < shape->nodes; n++) {
		uint64_t out = 0, in = 0;
		for (int p = shape->first[n]; n != shape->node && p < shape->first[n + 1]; p++)
			for (int local = 0; local < shape->locals; local++) {
				out += row_piece(op, state, send, local, p, 0);
				in += row_piece(op, state, recv, local, p, 0);
			}
		most = out > most ? out : most;
		most = in > most ? in : most;
	}
	return most;
}

static enum cs_status
agree_on_message(struct cs_op *op)
{
	struct state *state = state_of(op);
	state->agreed_message = 0;
	if (!cs_team_is_leader(op->team) || !op->between || !op->between->needs.largest)
		return CS_OK;
	state->agreed_message = longest_message(op, state);
	cs_between_max(op, &state->agreed_message);
	return CS_OK;
}

static enum cs_status
between_sizes(struct cs_op *op)
{
	return cs_team_is_leader(op->team) ? cs_between_go(op) : CS_OK;
}

/* Step 2: the leader publishes the maxima; rows are copied out of the area. */
static enum cs_status
take_sizes(struct cs_op *op)
{
	struct state *state = state_of(op);
	struct cs_node_op *node = &op->node;
	const struct cs_shape *shape = &op->team->shape;
	size_t rows = (size_t)shape->locals * (size_t)shape->ranks,
	       bytes = 2 * rows * sizeof(size_t);
	if (cs_team_is_leader(op->team)) {
		state->hier.line->word[0] = state->agreed;
		state->hier.line->word[2] = state->agreed_message;
		cs_node_publish(node, state->hier.line, 2);
	}
	const struct cs_line *line = cs_node_look(node, cs_team_leader(op->team), 2);
	if (!line)
		return CS_AGAIN;
	state->largest = line->word[0];
	state->message = line->word[2];
	state->send_rows = cs_op_keep(op, state->shared, bytes);
	state->recv_rows = state->send_rows + rows;
	cs_node_area_done(node, table_room(op), 1);
	state->hier.step = 2;
	map_messages(op, state);
	return CS_OK;
}

static cs_phase *const alltoallv_script[] = { cs_hier_open,     bring_sizes,   agree_on_largest,
					      between_sizes, agree_on_message, between_sizes,
					      take_sizes,       CS_HIER_ROUND_PHASES, NULL };
#define ALLTOALLV_ROUND 7

static void
several_nodes(struct cs_op *op, size_t wanted_lanes, size_t wanted_senders)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	const struct cs_shape *shape = &team->shape;
	size_t cells = (size_t)shape->ppn_max * (size_t)shape->ranks, nodes = (size_t)shape->nodes;
	struct state *state = state_of(op);
	state->chunk = cs_chunks_per_part(team->node.shape.area_bytes, cells);
	state->largest = call->send.each;
	state->send_rows = state->recv_rows = NULL;
	state->wanted_lanes = op->node.extras & CS_OP_NONBLOCKING
			      ? (size_t)cs_hier_lanes(op, wanted_lanes) : wanted_lanes;
	state->send_bytes = cs_op_nodes(op);
	state->send_at = state->send_bytes + nodes;
	state->recv_bytes = state->send_at + nodes;
	state->recv_at = state->recv_bytes + nodes;
	const struct cs_hier_senders senders = { .count = cs_hier_senders(op, wanted_senders, 0, 0),
						 .are_heard = true, .never_meet = true };
	if (call->send.bytes) {
		cs_hier_start_by_senders(op, &alltoall_hier, &senders, alltoallv_script,
					 ALLTOALLV_ROUND);
	} else {
		cs_hier_start_by_senders(op, &alltoall_hier, &senders, cs_hier_script,
					 CS_HIER_SCRIPT_ROUND);
		map_messages(op, state);
	}
}

void
cs_node_alltoall(struct cs_op *op, size_t single_copy_from, size_t lanes, size_t senders)
{
	struct cs_team *team = op->team;
	if (team->shape.nodes > 1)
		several_nodes(op, lanes, senders);
	else
		one_node(op, single_copy_from);
}
