/* hier/node_reduce_scatter.c — reduce_scatter on one node and over several. */
#include "algorithms/hier/node_reduce_scatter.h"
#include "algorithms/hier/between.h"

#include "algorithms/node/rounds.h"
#include "algorithms/hier/hier.h"
#include "algorithms/hier/node_reduce.h"
#include "algorithms/node/small.h"
#include "algorithms/hier/vector.h"

static size_t
count_of(struct cs_op *op, int rank)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	return call->counts ? call->counts[rank] : call->count / (size_t)team->shape.ranks;
}

static size_t
most_of(struct cs_op *op)
{
	struct cs_team *team = op->team;
	size_t most = 0;
	for (int rank = 0; rank < team->shape.ranks; rank++)
		if (count_of(op, rank) > most)
			most = count_of(op, rank);
	return most;
}

/* A call's split into rounds, the same on all ranks. */
struct split {
	size_t room, most; /* elements of a round, all blocks together; of the largest block */
	struct cs_chunks_part first;
	uint64_t rounds;
};

static void
next(struct cs_op *op, const struct split *split, struct cs_chunks_part *window)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	window->at += window->most;
	if (call->counts && window->at < split->most)
		window->most = cs_chunks_fair(call->counts, team->shape.ranks, window->at,
					      split->room);
}

static void
count_rounds(struct cs_op *op, struct split *split)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	size_t each = split->room / (size_t)team->shape.ranks;
	if (each < split->most)
		each = cs_chunks_fair(call->counts, team->shape.ranks, 0, split->room);
	split->first.most = each < split->most ? each : split->most;
	if (!call->counts)
		split->rounds = cs_chunks_rounds(split->most, each);
	else
		for (struct cs_chunks_part window = split->first; window.at < split->most;
		     next(op, split, &window))
			split->rounds++;
}

/* Copies a rank's piece in; the own one is read by this core only. */
static void
put_piece(struct cs_op *op, int rank, char *to, const char *from, size_t bytes)
{
	struct cs_team *team = op->team;
	if (rank == team->shape.rank)
		cs_copy_own(op, to, from, bytes);
	else
		cs_copy_in(op, to, from, bytes);
}

/* Packs a round of all blocks, position by position; returns the elements written. */
static size_t
pack_round(struct cs_op *op, const char *send, struct cs_chunks_part window, char *to)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	size_t unit = call->reduction.unit, done = 0, at = 0;
	const struct cs_shape *shape = &team->shape;
	if (shape->is_block_placed) {
		for (int rank = 0; rank < shape->ranks; rank++) {
			size_t count = count_of(op, rank);
			size_t piece = cs_chunks_part_bytes(count, window);
			put_piece(op, rank, to + done * unit, send + (at + window.at) * unit,
				  piece * unit);
			done += piece;
			at += count;
		}
		return done;
	}
	/* Positions are not ranks: find where each piece goes. */
	for (int rank = 0; rank < shape->ranks; rank++) {
		size_t count = count_of(op, rank), before = 0;
		for (int p = 0; p < shape->position[rank]; p++)
			before += cs_chunks_part_bytes(count_of(op, shape->order[p]), window);
		size_t piece = cs_chunks_part_bytes(count, window);
		put_piece(op, rank, to + before * unit, send + (at + window.at) * unit,
			  piece * unit);
		done += piece;
		at += count;
	}
	return done;
}

/* --- one node: each rank publishes round r of all blocks, and reduces the pieces of its own block
 * from all slots, or by single copy, straight into its result. */

struct one_node {
	struct split split;
	const char *send;
	struct cs_post post;
	struct cs_chunks_part window,
		filling; /* of the round to reduce; of the next one to post */
	uint64_t round;
	size_t ahead; /* elements in a vector before this rank's block */
	int next;     /* local rank that is looked at next */
};

static struct one_node *
one_node_of(struct cs_op *op)
{
	return CS_OP_STATE(struct one_node, op);
}

static enum cs_status
open_call(struct cs_op *op)
{
	struct one_node *state = one_node_of(op);
	if (!cs_post_open(&op->node, &state->post))
		return CS_AGAIN;
	if (state->post.way != CS_POST_SINGLE_COPY)
		return CS_OK;
	state->post.posted = state->split.rounds - 1;
	cs_post_publish(&op->node, &state->post);
	return CS_OK;
}

/* Posts rounds as far ahead as the ring allows: own slots are read here, too, which no other rank
 * knows of, and must not be filled again before. */
static enum cs_status
post_rounds(struct cs_op *op)
{
	struct one_node *state = one_node_of(op);
	struct cs_post *post = &state->post;
	while (post->posted < state->split.rounds &&
	       post->posted - state->round < op->team->node.shape.slots) {
		char *room = post->rounds == CS_USES_UNKNOWN
			     ? cs_post_room(&op->node, post)
			     : cs_post_room_until(&op->node, post, CS_LAST_STEP);
		if (!room)
			return post->posted <= state->round ? CS_AGAIN : CS_OK;
		pack_round(op, state->send, state->filling, room);
		next(op, &state->split, &state->filling);
		cs_post_publish(&op->node, post);
	}
	return CS_OK;
}

/* A local rank's part of this rank's block in the round: in its slot behind `before` elements, in
 * its vector behind `ahead`. */
static struct cs_operand
part_of(struct cs_op *op, int local, size_t before, size_t ahead)
{
	const struct one_node *state = one_node_of(op);
	const struct cs_line *line = cs_node_look_alike(&op->node, local, state->round + 1);
	size_t unit = op->call.reduction.unit;
	if (cs_post_is_single_copy(line) && local == op->team->node.shape.local)
		return (struct cs_operand){ .mapped = (const char *)(uintptr_t)line->word[1] +
					    ahead * unit };
	if (cs_post_is_single_copy(line))
		return (struct cs_operand){ .remote = line->word[1] + ahead * unit };
	return (struct cs_operand){ .mapped = cs_node_slot_of(&op->node, local, line->slot,
							      state->round) + before * unit };
}

static enum cs_status
reduce_round(struct cs_op *op)
{
	struct one_node *state = one_node_of(op);
	int locals = op->team->node.shape.size, self = op->team->shape.rank;
	size_t mine = cs_chunks_part_bytes(count_of(op, self), state->window), before = 0;
	for (; mine && state->next < locals; state->next++)
		if (!cs_node_look_alike(&op->node, state->next, state->round + 1))
			return CS_AGAIN;
	state->next = 0;
	for (int rank = 0; rank < self; rank++)
		before += cs_chunks_part_bytes(count_of(op, rank), state->window);
	struct cs_operand parts[locals];
	for (int local = 0; local < locals && mine; local++)
		parts[local] = part_of(op, local, before, state->ahead + state->window.at);
	if (mine)
		cs_rank_order_operands(op, &op->call.reduction,
				       op->call.recv.base +
					       state->window.at * op->call.reduction.unit,
				       parts, mine);
	return CS_OK;
}

static enum cs_status next_round(struct cs_op *op);

static enum cs_status
be_read(struct cs_op *op)
{
	bool is_single_copy = one_node_of(op)->post.way == CS_POST_SINGLE_COPY;
	return !is_single_copy || cs_node_are_done(&op->node, cs_node_has_read(op->node.number))
	       ? CS_OK : CS_AGAIN;
}

static cs_phase *const one_node_script[] = { open_call, post_rounds, reduce_round, next_round,
					     be_read, NULL };

static enum cs_status
next_round(struct cs_op *op)
{
	struct one_node *state = one_node_of(op);
	if (++state->round == state->split.rounds) {
		cs_node_end(&op->node);
		return CS_OK;
	}
	cs_node_done(&op->node, state->round);
	next(op, &state->split, &state->window);
	op->phase = one_node_script + 1;
	return CS_OK;
}

static void
one_node(struct cs_op *op, const char *send, const struct split *split, bool is_single_copy)
{
	struct one_node *state = one_node_of(op);
	bool is_small = op->call.bytes <= CS_SMALL && split->rounds == 1;
	bool has_slots = op->node.extras & CS_OP_NONBLOCKING &&
			 split->rounds <= op->team->node.shape.slots;
	*state = (struct one_node){ .split = *split, .send = send, .window = split->first,
				    .filling = split->first };
	state->post = (struct cs_post){ .way = cs_post_choose(&op->node, 0, CS_USES_UNKNOWN, false,
							      is_single_copy, is_small),
					/* Own slots are read here, too: they are in use until the
					 * call is over. */
					.rounds = has_slots ? split->rounds : CS_USES_UNKNOWN,
					.span = op->call.bytes,
					.address = is_single_copy
					? (uint64_t)(uintptr_t)send : 0 };
	for (int rank = 0; rank < op->team->shape.rank; rank++)
		state->ahead += count_of(op, rank);
	cs_op_start(op, one_node_script);
	cs_post_reserve(&op->node, &state->post, op->node.extras & CS_OP_NONBLOCKING);
}

/* One node, a single round, straight on the flags. The own vector is read in its slot, since the
 * result may lie over it. */
static void
one_node_small(struct cs_op *op)
{
	struct cs_call *call = &op->call;
	struct cs_node_at at = cs_op_at(op);
	int locals = op->team->node.shape.size, self = op->team->shape.rank;
	size_t mine = count_of(op, self), ahead = 0;
	const void *from[locals];
	cs_at_begin(at);
	struct cs_line *line = cs_at_line(at);
	cs_small_post_copied(op, line, call->send.base, call->bytes);
	for (int rank = 0; rank < self; rank++)
		ahead += count_of(op, rank);
	for (int local = 0; local < locals && mine; local++) {
		const struct cs_line *other = local == self
					      ? line : cs_node_await_alike(&op->node, local, 1);
		from[local] = cs_node_slot_of(at.op, local, other->slot, 0) +
			      ahead * call->reduction.unit;
	}
	if (mine)
		cs_rank_order_reduce(op, &call->reduction, call->recv.base, from, locals, mine);
	cs_at_end(at);
}

bool
cs_node_reduce_scatter_fast(struct cs_op *op, size_t single_copy_from)
{
	size_t bytes = op->call.bytes;
	if (op->team->shape.nodes > 1 || !bytes || bytes > op->team->node.shape.slot_bytes ||
	    !cs_small_fits(op, bytes, single_copy_from))
		return false;
	one_node_small(op);
	return true;
}

/* --- several nodes ---------------------------------------------------------------------------- */

/* Elements of a round for each node: the leaders' counts. */
static size_t *
counts_of_nodes(struct cs_op *op, struct cs_chunks_part window)
{
	struct cs_team *team = op->team;
	const struct cs_shape *shape = &team->shape;
	size_t *counts = cs_op_nodes(op);
	for (int node = 0; node < shape->nodes; node++) {
		counts[node] = 0;
		for (int p = shape->first[node]; p < shape->first[node + 1]; p++)
			counts[node] += cs_chunks_part_bytes(count_of(op, shape->order[p]), window);
	}
	return counts;
}

/* Takes this rank's part of its node's result of a round. */
static void
take_block(struct cs_op *op, const char *area, struct cs_chunks_part window)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	const struct cs_shape *shape = &team->shape;
	size_t unit = call->reduction.unit, before = 0;
	for (int p = shape->first[shape->node]; shape->order[p] != shape->rank; p++)
		before += cs_chunks_part_bytes(count_of(op, shape->order[p]), window);
	cs_copy_result(op, call->recv.base + window.at * unit, area + before * unit,
		       cs_chunks_part_bytes(count_of(op, shape->rank), window) * unit);
}

static void
between_nodes(struct cs_op *op, char *area, struct cs_chunks_part window)
{
	cs_between_reduce_scatter(op, area, counts_of_nodes(op, window), &op->call.reduction,
				  op->call.is_commutative);
}

/* Copies the node's part to the front of the area, at the leader. */
static void
keep_result(struct cs_op *op, char *area, struct cs_chunks_part window)
{
	size_t count = counts_of_nodes(op, window)[op->team->shape.node];
	if (cs_team_is_leader(op->team))
		cs_between_take_result(op, area, count * op->call.reduction.unit);
}

/* State for a short vector: the leader reduces its node's vectors alone; the others wait once. */
struct several_short {
	struct cs_vector_hier of;
	struct cs_chunks_part all;
	const char *own;
};

static struct several_short *
short_of(struct cs_op *op)
{
	return CS_OP_STATE(struct several_short, op);
}

static void
between_short(struct cs_op *op, struct cs_hier_round *round)
{
	cs_vector_reduce(op, round->area[0], short_of(op)->own);
	between_nodes(op, round->area[0], short_of(op)->all);
}

static void
tell_short(struct cs_op *op, struct cs_line *line)
{
	(void)line;
	keep_result(op, cs_hier_now(&short_of(op)->of.hier)->area[0], short_of(op)->all);
}

static void
take_short(struct cs_op *op, const struct cs_hier_round *round)
{
	take_block(op, round->area[0], short_of(op)->all);
}

static const struct cs_hier_kind short_kind =
	{ .areas = 1, .lay_out = cs_vector_lay_out, .bring = cs_vector_bring,
	  .between = between_short, .tell = tell_short, .take = take_short };

static void
several_nodes_short(struct cs_op *op, struct cs_chunks_part all)
{
	struct several_short *state = short_of(op);
	state->own = op->call.send.base;
	if (!op->team->shape.is_block_placed) {
		char *packed = cs_op_memory(op, CS_OP_COPY, op->call.bytes);
		pack_round(op, state->own, all, packed);
		state->own = packed;
	}
	state->all = all;
	cs_vector_start_hier(op, &short_kind, 0, state->own);
}

/* State for a long vector. Publish (3r+1); each rank reduces its slice of the round into the area
 * (3r+2); the leaders' reduce_scatter gives each node its ranks' pieces (3r+3); all take theirs. */
struct several_long {
	struct cs_hier hier;
	struct cs_node_reduce_ring ring;
	struct split split;
	const char *send;
	struct cs_chunks_part window; /* of the round at hand */
	size_t room;             /* bytes of a round, at most */
	size_t count;            /* elements of the round */
};

static struct several_long *
long_of(struct cs_op *op)
{
	return CS_OP_STATE(struct several_long, op);
}

static void
lay_out_long(struct cs_op *op, struct cs_hier_round *round)
{
	struct several_long *state = long_of(op);
	if (round->index)
		next(op, &state->split, &state->window);
	round->room = state->room;
	round->here++;
	round->arrived = round->here + 1;
	state->ring.step = state->hier.step;
}

static enum cs_status
bring_long(struct cs_op *op)
{
	struct several_long *state = long_of(op);
	const struct cs_hier_round *round = cs_hier_now(&state->hier);
	if (!state->ring.own) {
		char *room = cs_node_reduce_room(op, &state->ring);
		if (!room)
			return CS_AGAIN;
		state->count = pack_round(op, state->send, state->window, room);
		cs_node_reduce_publish(op, &state->ring, room);
	}
	if (cs_node_reduce_slices(op, &state->ring, round->area[0], state->count) == CS_AGAIN)
		return CS_AGAIN;
	cs_hier_is_here(op);
	return CS_OK;
}

static void
between_long(struct cs_op *op, struct cs_hier_round *round)
{
	between_nodes(op, round->area[0], long_of(op)->window);
}

static void
tell_long(struct cs_op *op, struct cs_line *line)
{
	(void)line;
	keep_result(op, cs_hier_now(&long_of(op)->hier)->area[0], long_of(op)->window);
}

static void
take_long(struct cs_op *op, const struct cs_hier_round *round)
{
	take_block(op, round->area[0], long_of(op)->window);
}

static const struct cs_hier_kind long_kind =
	{ .areas = 1, .lay_out = lay_out_long, .bring = bring_long,
					       .between = between_long, .tell = tell_long,
					       .take = take_long };

/* Bytes beside the data of so many senders: two blocks for each but one, and one. */
static size_t
memory_of(struct cs_op *op, const struct split *split, int senders)
{
	const size_t *counts = counts_of_nodes(op, (struct cs_chunks_part){ 0, SIZE_MAX });
	size_t most = 0;
	for (int node = 0; node < op->team->shape.nodes; node++)
		most = counts[node] > most ? counts[node] : most;
	most = most < split->room ? most : split->room;
	return (2 * (size_t)senders - 1) * (most * op->call.reduction.unit + 64);
}

/* As many as there is room for, of those that are wanted. */
static int
count_senders(struct cs_op *op, const struct split *split, size_t wanted)
{
	int senders = wanted > 1 ? cs_hier_senders(op, wanted, 0, split->rounds) : 1;
	while (senders > 1 && memory_of(op, split, senders) > op->team->node.shape.area_bytes)
		senders--;
	return senders;
}

static void
several_nodes(struct cs_op *op, const char *send, const struct split *split, int count)
{
	struct several_long *state = long_of(op);
	size_t ranks = (size_t)op->team->shape.ranks, room = split->room;
	if (split->rounds == 1 && split->first.most < room / ranks)
		room = split->first.most * ranks;
	state->split = *split;
	state->send = send;
	state->window = split->first;
	state->room = room * op->call.reduction.unit;
	state->hier.rounds = split->rounds;
	const struct cs_hier_senders senders = { .count = count,
						 .memory = count > 1
						 ? memory_of(op, split, count) : 0 };
	state->room = state->room > senders.memory ? state->room : senders.memory;
	cs_hier_start_by_senders(op, &long_kind, &senders, cs_hier_script, CS_HIER_SCRIPT_ROUND);
	cs_node_reduce_ring_init(op, &state->ring);
}

void
cs_node_reduce_scatter(struct cs_op *op, size_t read_all, size_t single_copy_from,
		       size_t wanted_senders)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	size_t unit = call->reduction.unit, room = team->node.shape.slot_bytes;
	bool is_wide = team->shape.nodes > 1;
	if (is_wide && team->node.shape.area_bytes < room)
		room = team->node.shape.area_bytes;
	/* An element of each block fits: comm/ sends other calls to the host. */
	struct split split = { .room = room / unit, .most = most_of(op) };
	if (split.most == 0)
		return; /* nothing to reduce anywhere */
	count_rounds(op, &split);
	cs_node_expect(&op->node, split.rounds, is_wide ? 3 : 1);
	/* In place a round's result does not overwrite later rounds of a block. */
	const char *send = call->send.base;
	int senders = is_wide ? count_senders(op, &split, wanted_senders) : 1;
	if (is_wide && split.rounds == 1 && call->bytes <= read_all && senders == 1)
		several_nodes_short(op, split.first);
	else if (is_wide)
		several_nodes(op, send, &split, senders);
	else
		one_node(op, send, &split,
			 send != call->recv.base &&
			 cs_rank_order_is_single_copy(op, single_copy_from) &&
				 cs_node_offer(&op->node, send, call->bytes));
}
