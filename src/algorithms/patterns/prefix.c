#include "algorithms/patterns/prefix.h"
#include "algorithms/between.h"

#include "algorithms/patterns/combine.h"
#include "algorithms/patterns/exchange.h"
#include "algorithms/patterns/fold.h"

#define WORTH_LANES (64 << 10) /* bytes from which several ranks of a node exchange their parts */
#define LEAST_PIECE (4 << 10)  /* bytes of a chain's piece: a hop takes as long as some 1 KiB */

static bool
is_exclusive(const struct cs_call *call)
{
	return call->coll == CS_EXSCAN;
}

/* out = left op right; it may be either. */
static void
add(struct cs_op *op, void *out, const void *left, const void *right, size_t count)
{
	struct cs_call *call = &op->call;
	const void *from[] = { left, right };
	cs_fold(op, &call->reduction, out, from, 2, count);
}

/* A scan of the first rank. */
static void
keep_own(const struct cs_call *call, char *to, const char *own, size_t bytes)
{
	if (!is_exclusive(call) && to != own)
		cs_copy(to, own, bytes);
}

/* --- short: all vectors are read ----------------------------------------------------------------------------------------- */

static const void *
vector_of(struct cs_op *op, int local, size_t bytes)
{
	const struct cs_line *line = cs_node_await_alike(&op->node, local, 1);
	if (bytes <= CS_INLINE)
		return line->data;
	return cs_node_slot_of(&op->node, local, line->slot, 0);
}

/* The sum of the first `others` local ranks' vectors, and of `own` behind them unless it is NULL. */
static void
sum_up(struct cs_op *op, void *out, int others, const char *own)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	const void *from[others + 1];
	for (int local = 0; local < others; local++)
		from[local] = local == team->node.shape.local ? call->send.base : vector_of(op, local, call->bytes);
	from[others] = own;
	cs_fold_left(op, &call->reduction, out, from, others + (own != NULL), call->count);
}

static void
take_prefix(struct cs_op *op)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	int self = team->node.shape.local;
	if (self)
		sum_up(op, call->recv.base, self, is_exclusive(call) ? NULL : call->send.base);
	else
		keep_own(call, call->recv.base, call->send.base, call->bytes);
}

static void
one_node_short(struct cs_op *op)
{
	struct cs_call *call = &op->call;
	struct cs_node_op *node = &op->node;
	int self = node->node->shape.local;
	cs_node_begin(node);
	if (!self)
		cs_node_end_reading(node);
	if (self + 1 < node->node->shape.size)
		cs_combine_publish(op, call->send.base);
	take_prefix(op);
	if (self)
		cs_node_end(node);
}

/* The leader has what all nodes before this one have summed up in the area. */
static void
add_nodes_before(struct cs_op *op, char *out, const char *area, size_t count)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	if (is_exclusive(call) && !team->node.shape.local)
		cs_copy_result(op, out, area, count * call->reduction.unit);
	else
		add(op, out, area, out, count);
}

static void
several_nodes_short(struct cs_op *op)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	struct cs_node_op *node = &op->node;
	int self = node->node->shape.local, leader = cs_team_leader(team);
	cs_node_begin(node);
	char *area = cs_node_area(node, call->bytes);
	/* The ranks behind this one read it, and the leader. */
	if (self + 1 < node->node->shape.size || self != leader)
		cs_combine_publish(op, call->send.base);
	if (self == leader) {
		sum_up(op, area, node->node->shape.size, NULL);
		cs_between_exscan(op, area, call->count, &call->reduction, call->is_commutative);
		if (team->shape.node)
			cs_node_publish(node, cs_node_line(node), 2);
	}
	take_prefix(op);
	if (team->shape.node) {
		if (self != leader)
			cs_node_await(node, leader, 2);
		add_nodes_before(op, call->recv.base, area, call->count);
	}
	cs_node_area_done(node, call->bytes, 1);
	cs_node_end(node);
}

/* --- doubling ------------------------------------------------------------------------------------------------------------ */

/* Steps in which a rank adds something: the first powers of two that are not above it. */
static int
steps_of(int local)
{
	int steps = 0;
	while (local >> steps)
		steps++;
	return steps;
}

/* Where a rank's sums are, one behind the other: in its line, in its small slot, in a part of a slot or in all of it. */
struct sums {
	size_t stride;
	bool is_inline, is_small;
};

static struct sums
sums_of(struct cs_op *op)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	size_t count = (size_t)steps_of(team->node.shape.size - 1);
	struct sums sums = { .stride = (call->bytes + 63) & ~(size_t)63 };
	sums.is_inline = count * call->bytes <= CS_INLINE;
	if (sums.is_inline)
		sums.stride = call->bytes;
	sums.is_small = sums.stride * count <= CS_SMALL;
	return sums;
}

static bool
may_double(struct cs_op *op)
{
	struct cs_team *team = op->team;
	struct sums sums = sums_of(op);
	return sums.stride * (size_t)steps_of(team->node.shape.size - 1) <= team->node.shape.slot_bytes;
}

static char *
take_room(struct cs_op *op, const struct sums *sums, struct cs_line *line)
{
	struct cs_node_op *node = &op->node;
	int count = steps_of(node->node->shape.size - 1);
	size_t span = (size_t)count * sums->stride;
	if (sums->is_inline)
		return (char *)line->data;
	if (sums->is_small) {
		line->slot = CS_SLOT_SMALL;
		return cs_node_small(node);
	}
	if (cs_node_is_cut(node, span))
		return cs_node_cut(node, (uint64_t)count, span, &line->slot);
	line->slot = cs_node_slot_number(node);
	return cs_node_slot(node, (uint64_t)count, true);
}

/* What the rank `distance` before this one has after so many steps; it has made no more of them than it adds in. */
static const char *
sum_of(struct cs_op *op, const struct sums *sums, int distance, int step)
{
	struct cs_team *team = op->team;
	int local = team->node.shape.local - distance, last = steps_of(local), which = step < last ? step : last;
	const struct cs_line *line = cs_node_await_alike(&op->node, local, (uint64_t)which + 1);
	const char *base = sums->is_inline ? (const char *)line->data : cs_node_slot_of(&op->node, local, line->slot, 0);
	return base + (size_t)which * sums->stride;
}

/*   before step k   a rank has the sum of the 2^k ranks up to itself, and who is read by the one 2^k behind it shows that
 *   an exscan       keeps the sum of those before itself besides
 */
static void
one_node_doubling(struct cs_op *op)
{
	struct cs_call *call = &op->call;
	struct cs_node_op *node = &op->node;
	int self = node->node->shape.local, locals = node->node->shape.size;
	struct sums sums = sums_of(op);
	const char *sum = call->send.base;
	char *room = NULL, *recv = call->recv.base;
	struct cs_line *line = NULL;
	cs_node_begin(node);
	if (!self)
		cs_node_end_reading(node);
	if (self + 1 < locals) {
		line = cs_node_line(node);
		room = take_room(op, &sums, line);
		cs_copy_in(op, room, sum, call->bytes);
		sum = room;
		cs_node_publish(node, line, 1);
	}
	for (int step = 0; self >> step; step++) {
		const char *before = sum_of(op, &sums, 1 << step, step);
		bool is_shown = self + (2 << step) < locals;
		char *next = is_shown ? room + (size_t)(step + 1) * sums.stride : recv;
		if (is_shown || !is_exclusive(call)) {
			add(op, next, before, sum, call->count);
			sum = next;
		}
		if (is_shown)
			cs_node_publish(node, line, (uint64_t)step + 2);
		if (is_exclusive(call) && !step)
			cs_copy(recv, before, call->bytes);
		else if (is_exclusive(call))
			add(op, recv, before, recv, call->count);
	}
	if (!is_exclusive(call) && sum != recv)
		cs_copy(recv, sum, call->bytes);
	if (self)
		cs_node_end(node);
}

/* --- long: a chain ------------------------------------------------------------------------------------------------------- */

struct chain {
	struct cs_op *op;
	struct cs_line *line;
	size_t each;     /* elements of a piece */
	size_t room;     /* bytes of it in a slot */
	uint64_t pieces; /* that there have been */
	uint64_t step;
	char *slot;
	bool reads; /* something, so that it is not done with the call from the start */
};

static size_t
piece_bytes(struct cs_op *op, size_t chunk)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	size_t piece = call->bytes / 4 / (size_t)(team->shape.ppn_max - 1); /* alike on all nodes */
	piece = piece < LEAST_PIECE ? LEAST_PIECE : piece;
	piece = piece < chunk ? piece : chunk;
	return piece < team->node.shape.slot_bytes ? piece : team->node.shape.slot_bytes;
}

static void
begin_chain(struct chain *chain, size_t piece)
{
	struct cs_node_op *node = &chain->op->node;
	size_t unit = chain->op->call.reduction.unit;
	/* An element that fits into no slot cannot be here: comm/ sends such types to the host. */
	chain->each = piece < unit ? 1 : piece / unit;
	chain->room = chain->each * unit;
	cs_node_begin(node);
	chain->line = cs_node_line(node);
	chain->line->slot = cs_node_slot_number(node);
}

/* Pieces lie side by side in slots, as in patterns/exchange. */
static char *
own_piece(struct chain *chain)
{
	struct cs_node_op *node = &chain->op->node;
	size_t at = chain->pieces % cs_pieces(chain->op->team, chain->room);
	if (!at)
		chain->slot = cs_node_slot(node, chain->step, true);
	else
		cs_node_slot_until(node, chain->step);
	return chain->slot + at * cs_piece_room(chain->room);
}

static const char *
piece_before(struct chain *chain)
{
	struct cs_op *op = chain->op;
	struct cs_team *team = op->team;
	size_t pieces = cs_pieces(team, chain->room);
	int local = team->node.shape.local - 1;
	const struct cs_line *line = cs_node_await_alike(&op->node, local, chain->step);
	const char *slot = cs_node_slot_of(&op->node, local, line->slot % CS_PIECE_UNIT, chain->pieces / pieces);
	return slot + chain->pieces % pieces * cs_piece_room(chain->room);
}

/* The next piece, `count` elements from byte `at` on. `total`: where the last rank's sum goes; NULL: nobody wants it. */
static void
chain_piece(struct chain *chain, size_t at, size_t count, char *total)
{
	struct cs_op *op = chain->op;
	struct cs_call *call = &op->call;
	struct cs_node_op *node = &op->node;
	bool is_last = node->node->shape.local + 1 == node->node->shape.size;
	size_t bytes = count * call->reduction.unit;
	const char *own = call->send.base + at;
	char *recv = call->recv.base ? call->recv.base + at : NULL;
	chain->step++;
	const char *before = node->node->shape.local ? piece_before(chain) : NULL;
	char *sum = is_last ? total : own_piece(chain);
	if (!before) {
		if (sum)
			cs_copy_in(op, sum, own, bytes);
		if (!is_exclusive(call) && recv != own)
			cs_copy_result(op, recv, own, bytes);
	} else if (!is_exclusive(call)) {
		add(op, recv, before, own, count);
		if (sum)
			cs_copy_in(op, sum, recv, bytes);
	} else {
		/* In place the own part is gone when the result is there. */
		if (sum)
			add(op, sum, before, own, count);
		cs_copy_result(op, recv, before, bytes);
	}
	if (!is_last)
		cs_node_publish(node, chain->line, chain->step);
	if (chain->reads)
		cs_node_done(node, chain->step);
	chain->pieces++;
}

static void
one_node_long(struct cs_op *op, size_t piece)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	struct chain chain = { .op = op, .reads = team->node.shape.local };
	begin_chain(&chain, piece);
	cs_node_expect(&op->node, cs_rounds(call->count, chain.each), 1);
	if (!chain.reads)
		cs_node_end_reading(&op->node);
	for (size_t done = 0; done < call->count; done += chain.each)
		chain_piece(&chain, done * call->reduction.unit, cs_piece(call->count, chain.each, chain.pieces), NULL);
	if (chain.reads)
		cs_node_end(&op->node);
}

/* A round is what the leaders scan at once, up to an area slot. */
struct round {
	char *area;
	size_t at, count; /* bytes before it in the vector; elements */
	uint64_t step;    /* of the lanes */
};

static void
finish_round(struct chain *chain, const struct round *round, int lanes)
{
	struct cs_op *op = chain->op;
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	size_t unit = call->reduction.unit;
	for (int lane = 0; team->shape.node && lane < lanes; lane++) {
		size_t first, part = cs_slice(round->count, unit, lanes, lane, &first);
		if (team->lane != lane)
			cs_node_await(&op->node, team->lane_local[lane], round->step);
		add_nodes_before(op, call->recv.base + round->at + first * unit, round->area + first * unit, part);
	}
	cs_node_area_done(&op->node, round->count * unit, 1);
}

static void
scan_round(struct chain *chain, const struct round *round, int lanes)
{
	struct cs_op *op = chain->op;
	struct cs_team *team = op->team;
	struct cs_node_op *node = &op->node;
	struct cs_call *call = &op->call;
	size_t unit = call->reduction.unit, first, part = cs_slice(round->count, unit, lanes, team->lane, &first);
	int last = node->node->shape.size - 1;
	if (last != node->node->shape.local)
		cs_node_await(node, last, round->step - 1);
	if (part)
		cs_between_exscan(op, round->area + first * unit, part, &call->reduction, call->is_commutative);
	cs_node_publish(node, chain->line, round->step);
}

/*   pieces   down the chain of the node's ranks; the last one's sums go into the area    (a step each)
 *   + 1      all of them are there
 *   + 2      what the nodes before have is there in their place; taken while the next round is under way
 *
 * With several lanes each lane's rank scans its part of the round. */
static void
several_nodes_long(struct cs_op *op, const struct cs_prefix_params *params, size_t piece)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	struct cs_node_op *node = &op->node;
	struct chain chain = { .op = op, .reads = true };
	size_t unit = call->reduction.unit;
	size_t wire_chunk = params->wire_chunk < node->node->shape.area_bytes ? params->wire_chunk : node->node->shape.area_bytes;
	piece = piece < wire_chunk ? piece : wire_chunk;
	begin_chain(&chain, piece);
	size_t per_round = wire_chunk / chain.room * chain.each;
	per_round = per_round ? per_round : chain.each; /* one element; it fits, as comm/ has seen to it */
	int lanes = call->bytes < WORTH_LANES ? 1 : cs_team_lanes(team, params->lanes);
	uint64_t rounds = cs_rounds(call->count, per_round), pieces = cs_rounds(call->count, chain.each);
	struct round last = { .area = NULL };
	cs_node_expect(node, pieces + 2 * rounds, 1);
	for (uint64_t index = 0; index < rounds; index++) {
		struct round round = { .at = index * per_round * unit, .count = cs_piece(call->count, per_round, index) };
		round.area = cs_node_area(node, round.count * unit);
		for (size_t done = 0; done < round.count; done += chain.each)
			chain_piece(&chain, round.at + done * unit,
				    round.count - done < chain.each ? round.count - done : chain.each, round.area + done * unit);
		chain.step++;
		if (node->node->shape.local + 1 == node->node->shape.size)
			cs_node_publish(node, chain.line, chain.step);
		round.step = ++chain.step;
		if (team->lane < lanes)
			scan_round(&chain, &round, lanes);
		if (index)
			finish_round(&chain, &last, lanes);
		last = round;
	}
	if (rounds)
		finish_round(&chain, &last, lanes);
	cs_node_end(node);
}

/* --- which of them ------------------------------------------------------------------------------------------------------- */

/* Several nodes take the same way, since their leaders meet in it; sizes of slots and areas are the same on all. */
void
cs_prefix(struct cs_op *op, const size_t *values)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	struct cs_prefix_params params = { values[0], values[1], values[2], values[3], values[4] };
	const struct cs_node_shape *shape = &team->node.shape;
	size_t others = (size_t)team->shape.ppn_max - 1, piece = piece_bytes(op, params.chunk);
	bool is_short = call->bytes <= params.read_all / others && call->bytes <= shape->slot_bytes;
	if (team->shape.nodes > 1 && is_short && call->bytes <= shape->area_bytes)
		several_nodes_short(op);
	else if (team->shape.nodes > 1)
		several_nodes_long(op, &params, piece);
	else if (is_short)
		one_node_short(op);
	else if (params.doubling && (size_t)shape->size >= params.doubling && !team->node.is_crowded && may_double(op))
		one_node_doubling(op);
	else
		one_node_long(op, piece);
}
