#include "algorithms/patterns/deal.h"
#include "algorithms/between.h"

#include "algorithms/patterns/combine.h"
#include "algorithms/patterns/exchange.h"
#include "algorithms/patterns/fold.h"

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

/* How a call is dealt: the same on all ranks. */
struct deal {
	size_t room, most; /* elements of a round, all blocks together; of the largest block */
	struct cs_window first;
	uint64_t rounds;
};

static void
next(struct cs_op *op, const struct deal *deal, struct cs_window *window)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	window->at += window->most;
	if (call->counts && window->at < deal->most)
		window->most = cs_window_fair(call->counts, team->shape.ranks, window->at, deal->room);
}

static void
count_rounds(struct cs_op *op, struct deal *deal)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	size_t each = deal->room / (size_t)team->shape.ranks;
	if (each < deal->most)
		each = cs_window_fair(call->counts, team->shape.ranks, 0, deal->room);
	deal->first.most = each < deal->most ? each : deal->most;
	if (!call->counts)
		deal->rounds = cs_rounds(deal->most, each);
	else
		for (struct cs_window window = deal->first; window.at < deal->most; next(op, deal, &window))
			deal->rounds++;
}

/* The own one is read by this core only. */
static void
put_piece(struct cs_op *op, int rank, char *to, const char *from, size_t bytes)
{
	struct cs_team *team = op->team;
	if (rank == team->shape.rank)
		cs_copy(to, from, bytes);
	else
		cs_copy_in(op, to, from, bytes);
}

/* A round of everybody's block, position by position; returns the elements written. */
static size_t
pack_round(struct cs_op *op, const char *send, struct cs_window window, char *to)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	size_t unit = call->reduction.unit, done = 0, at = 0;
	const struct cs_shape *shape = &team->shape;
	if (shape->is_block_placed) {
		for (int rank = 0; rank < shape->ranks; rank++) {
			size_t count = count_of(op, rank);
			size_t piece = cs_window_piece(count, window);
			put_piece(op, rank, to + done * unit, send + (at + window.at) * unit, piece * unit);
			done += piece;
			at += count;
		}
		return done;
	}
	/* Positions are not ranks: find where each piece goes. */
	for (int rank = 0; rank < shape->ranks; rank++) {
		size_t count = count_of(op, rank), before = 0;
		for (int p = 0; p < shape->position[rank]; p++)
			before += cs_window_piece(count_of(op, shape->order[p]), window);
		size_t piece = cs_window_piece(count, window);
		put_piece(op, rank, to + before * unit, send + (at + window.at) * unit, piece * unit);
		done += piece;
		at += count;
	}
	return done;
}

/* What `local` has of this rank's block in round `round`: in its slot behind `before` elements, in its vector behind `ahead`. */
static struct cs_part
part_of(struct cs_op *op, int local, uint64_t round, size_t before, size_t ahead)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	const struct cs_line *line = cs_node_await_alike(&op->node, local, round + 1);
	size_t unit = call->reduction.unit;
	if (line->word[0] == CS_MARK_DIRECT && local == team->node.shape.local)
		return (struct cs_part){ .near = (const char *)(uintptr_t)line->word[1] + ahead * unit };
	if (line->word[0] == CS_MARK_DIRECT)
		return (struct cs_part){ .far = line->word[1] + ahead * unit };
	return (struct cs_part){ .near = cs_node_slot_of(&op->node, local, line->slot, round) + before * unit };
}

/* One node: everybody publishes round r of all blocks; each rank reduces the pieces of its own block from all slots, or from
 * where they are, straight into its result. */
static void
one_node(struct cs_op *op, const char *send, const struct deal *deal, bool is_direct)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	uint64_t rounds = deal->rounds;
	struct cs_node_op *node = &op->node;
	int locals = node->node->shape.size;
	size_t unit = call->reduction.unit;

	cs_node_begin(node);
	struct cs_line *line = cs_node_line(node);
	bool is_small = is_direct || (call->bytes <= CS_SMALL && rounds == 1);
	line->word[0] = is_direct ? CS_MARK_DIRECT : CS_MARK_STAGED;
	line->word[1] = (uint64_t)(uintptr_t)send;
	if (!is_small)
		cs_node_rewind(node, call->bytes);
	line->slot = is_small ? CS_SLOT_SMALL : cs_node_slot_number(node);
	uint64_t filled = is_direct ? rounds : 0;
	if (is_direct)
		cs_node_publish(node, line, rounds);
	struct cs_window window = deal->first, filling = deal->first;
	size_t ahead = 0; /* elements in a vector before this rank's block */
	for (int rank = 0; rank < team->shape.rank; rank++)
		ahead += count_of(op, rank);
	for (uint64_t round = 0; round < rounds; round++, next(op, deal, &window)) {
		/* The own slot is read here too, and nobody else knows when: it must not be filled again before. */
		while (filled < rounds && filled - round < node->node->shape.slots) {
			char *slot = is_small ? cs_node_small(node)
					      : cs_node_slot(node, filled + 1, filled <= round);
			if (!slot)
				break;
			pack_round(op, send, filling, slot);
			next(op, deal, &filling);
			cs_node_publish(node, line, ++filled);
		}
		size_t mine = cs_window_piece(count_of(op, team->shape.rank), window);
		size_t before = 0;
		for (int rank = 0; rank < team->shape.rank; rank++)
			before += cs_window_piece(count_of(op, rank), window);
		struct cs_part parts[locals];
		for (int local = 0; local < locals && mine; local++)
			parts[local] = part_of(op, local, round, before, ahead + window.at);
		if (mine)
			cs_fold_parts(op, &call->reduction, call->recv.base + window.at * unit, parts, mine);
		if (round + 1 < rounds)
			cs_node_done(node, round + 1);
	}
	cs_node_end(node);
	if (is_direct)
		cs_node_all_done(node);
}

/* What of a round goes to each node: the leaders' counts. */
static size_t *
counts_of_nodes(struct cs_op *op, struct cs_window window)
{
	struct cs_team *team = op->team;
	const struct cs_shape *shape = &team->shape;
	size_t *counts = cs_op_nodes(op);
	for (int node = 0; node < shape->nodes; node++) {
		counts[node] = 0;
		for (int p = shape->first[node]; p < shape->first[node + 1]; p++)
			counts[node] += cs_window_piece(count_of(op, shape->order[p]), window);
	}
	return counts;
}

/* This rank's part of what its node has got in a round. */
static void
take_block(struct cs_op *op, const char *area, struct cs_window window)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	const struct cs_shape *shape = &team->shape;
	size_t unit = call->reduction.unit, before = 0;
	for (int p = shape->first[shape->node]; shape->order[p] != shape->rank; p++)
		before += cs_window_piece(count_of(op, shape->order[p]), window);
	cs_copy_result(op, call->recv.base + window.at * unit, area + before * unit,
		       cs_window_piece(count_of(op, shape->rank), window) * unit);
}

/* Several nodes, a short vector: the leader alone reduces its node's vectors, so that the others wait once. */
static void
several_nodes_short(struct cs_op *op, struct cs_window all)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	struct cs_node_op *node = &op->node;
	const char *vector = call->send.base;
	if (!team->shape.is_block_placed) {
		char *packed = cs_op_memory(op, CS_OP_COPY, call->bytes);
		pack_round(op, vector, all, packed);
		vector = packed;
	}
	cs_node_begin(node);
	char *area = cs_node_area(node, call->bytes);
	if (cs_team_is_leader(team)) {
		cs_combine_fold(op, area, vector);
		size_t *counts = counts_of_nodes(op, all);
		cs_between_reduce_scatter(op, area, counts, &call->reduction, call->is_commutative);
		cs_between_reduced(op, area, counts[team->shape.node] * call->reduction.unit);
		cs_node_publish(node, cs_node_line(node), 2);
	} else {
		cs_combine_publish(op, vector);
		cs_node_await(node, cs_team_leader(team), 2);
	}
	take_block(op, area, all);
	cs_node_area_done(node, call->bytes, 1);
	cs_node_end(node);
}

/* Several nodes: publish (3r+1); each rank reduces its slice of the round into the area (3r+2); the leaders'
 * reduce_scatter gives each node its ranks' pieces (3r+3); everybody takes its own. */
static void
several_nodes(struct cs_op *op, const char *send, const struct deal *deal)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	struct cs_node_op *node = &op->node;
	const struct cs_shape *shape = &team->shape;
	int locals = node->node->shape.size, self = node->node->shape.local;
	size_t unit = call->reduction.unit;
	bool is_leader = cs_team_is_leader(team);

	cs_node_begin(node);
	struct cs_line *line = cs_node_line(node);
	cs_node_rewind(node, call->bytes);
	line->slot = cs_node_slot_number(node);
	struct cs_window window = deal->first;
	size_t room = deal->room; /* of a round, at most */
	if (deal->rounds == 1 && window.most < room / (size_t)shape->ranks)
		room = window.most * (size_t)shape->ranks;
	room *= unit;
	for (uint64_t round = 0; round < deal->rounds; round++, next(op, deal, &window)) {
		char *slot = cs_node_slot(node, 3 * round + 2, true);
		size_t count = pack_round(op, send, window, slot);
		cs_node_publish(node, line, 3 * round + 1);

		char *area = cs_node_area(node, room);
		size_t first, slice = cs_slice(count, unit, locals, self, &first);
		const void *from[locals];
		for (int local = 0; local < locals; local++) {
			const struct cs_line *other = cs_node_await_alike(node, local, 3 * round + 1);
			from[local] = cs_node_slot_of(node, local, other->slot, round) + first * unit;
		}
		cs_fold(op, &call->reduction, area + first * unit, from, locals, slice);
		cs_node_done(node, 3 * round + 2);
		cs_node_publish(node, line, 3 * round + 2);

		if (is_leader) {
			size_t *counts = counts_of_nodes(op, window);
			for (int local = 0; local < locals; local++)
				cs_node_await(node, local, 3 * round + 2);
			cs_between_reduce_scatter(op, area, counts, &call->reduction, call->is_commutative);
			cs_between_reduced(op, area, counts[shape->node] * unit);
			cs_node_publish(node, line, 3 * round + 3);
		} else {
			cs_node_await(node, cs_team_leader(team), 3 * round + 3);
		}
		take_block(op, area, window);
		cs_node_area_done(node, room, 1);
	}
	cs_node_end(node);
}

void
cs_deal(struct cs_op *op, size_t read_all, size_t direct_from)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	size_t unit = call->reduction.unit, room = team->node.shape.slot_bytes;
	bool is_wide = team->shape.nodes > 1;
	if (is_wide && team->node.shape.area_bytes < room)
		room = team->node.shape.area_bytes;
	/* comm/ has seen to it that an element of each block fits. */
	struct deal deal = { .room = room / unit, .most = most_of(op) };
	if (deal.most == 0)
		return; /* nothing to reduce anywhere */
	count_rounds(op, &deal);
	cs_node_expect(&op->node, deal.rounds, is_wide ? 3 : 1);
	/* In place a round's result lies where no block's later rounds do, so that these are still there to be packed. */
	const char *send = call->send.base;
	if (is_wide && deal.rounds == 1 && call->bytes <= read_all)
		several_nodes_short(op, deal.first);
	else if (is_wide)
		several_nodes(op, send, &deal);
	else
		one_node(op, send, &deal,
			 send != call->recv.base && cs_fold_reaches(op, direct_from) &&
				 cs_node_offer(&op->node, send, call->bytes));
}
