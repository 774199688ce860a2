/* hier/prefix.c — scan and exscan on one node and over several. */
#include "algorithms/hier/prefix.h"
#include "algorithms/hier/between.h"

#include "algorithms/node/rounds.h"
#include "algorithms/hier/hier.h"
#include "algorithms/hier/prefix_node.h"
#include "algorithms/hier/slices.h"
#include "algorithms/node/small.h"
#include "algorithms/hier/vector.h"

#define LEAST_PIECE 4 /* hops in whose time a chain's piece is copied */

/* The first rank's result, of a scan. */
static void
keep_own(struct cs_op *op)
{
	struct cs_call *call = &op->call;
	if (!cs_prefix_is_exclusive(call) && call->recv.base != call->send.base)
		cs_copy_own(op, call->recv.base, call->send.base, call->bytes);
}

/* --- short: all vectors are read -------------------------------------------------------------- */

/* Sums up the first `others` local ranks' vectors, and `own` behind them unless it is NULL. */
static void
sum_up(struct cs_op *op, void *out, int others, const char *own)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	const void *from[others + 1];
	for (int local = 0; local < others; local++)
		from[local] = local == team->node.shape.local
			      ? call->send.base : cs_vector_part(op, local).mapped;
	from[others] = own;
	cs_rank_order_scan(op, &call->reduction, out, from, others + (own != NULL), call->count);
}

static void
take_prefix(struct cs_op *op)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	int self = team->node.shape.local;
	if (self)
		sum_up(op, call->recv.base, self, cs_prefix_is_exclusive(call)
		       ? NULL : call->send.base);
	else
		keep_own(op);
}

struct one_short {
	struct cs_vector vector;
};

static enum cs_status
post_own(struct cs_op *op)
{
	bool is_read = op->team->node.shape.local + 1 < op->team->node.shape.size;
	return is_read ? cs_vector_post(op, &CS_OP_STATE(struct one_short, op)->vector) : CS_OK;
}

static enum cs_status
take_own(struct cs_op *op)
{
	int self = op->team->node.shape.local;
	if (cs_vector_await(op, &CS_OP_STATE(struct one_short, op)->vector, self) == CS_AGAIN)
		return CS_AGAIN;
	take_prefix(op);
	if (self)
		cs_node_end(&op->node);
	return CS_OK;
}

static cs_phase *const one_node_short_script[] = { post_own, take_own, NULL };

static void
one_node_short(struct cs_op *op)
{
	struct one_short *state = CS_OP_STATE(struct one_short, op);
	int self = op->team->node.shape.local;
	cs_op_start(op, one_node_short_script);
	state->vector.next = 0;
	if (self + 1 < op->team->node.shape.size)
		cs_vector_init(op, &state->vector, op->call.send.base, false);
	if (!self)
		cs_node_end_reading(&op->node);
}

/* Scan of small vectors on one node, straight on the flags. */
static void
one_node_small(struct cs_op *op)
{
	struct cs_call *call = &op->call;
	struct cs_node_at at = cs_op_at(op);
	int self = op->team->node.shape.local;
	const void *from[self + 1];
	cs_at_begin(at);
	if (!self)
		cs_at_end_reading(at);
	if (self + 1 < op->team->node.shape.size)
		cs_small_post(op, at, cs_at_line(at), call->send.base, call->bytes);
	if (!self) {
		keep_own(op);
		return;
	}
	for (int local = 0; local < self; local++)
		from[local] = cs_small_find(op, local, cs_node_await_alike(&op->node, local, 1),
					    call->bytes);
	from[self] = call->send.base;
	cs_rank_order_scan(op, &call->reduction, call->recv.base, from,
			    self + !cs_prefix_is_exclusive(call), call->count);
	cs_at_end(at);
}

/* Adds the sum of all nodes before this one, in the area, as the left operand. */
static void
add_nodes_before(struct cs_op *op, char *out, const char *area, size_t count)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	if (cs_prefix_is_exclusive(call) && !team->node.shape.local)
		cs_copy_result(op, out, area, count * call->reduction.unit);
	else
		cs_prefix_add(op, out, area, out, count);
}

/* Is this rank's vector read, by the ranks behind it or by the leader? */
static bool
is_read(const struct cs_op *op)
{
	int self = op->team->node.shape.local;
	return self + 1 < op->team->node.shape.size || self != cs_team_leader(op->team);
}

static enum cs_status
bring_short(struct cs_op *op)
{
	return is_read(op) ? cs_vector_post(op, &CS_OP_STATE(struct cs_vector_hier, op)->vector)
			   : CS_OK;
}

static void
between_short(struct cs_op *op, struct cs_hier_round *round)
{
	struct cs_call *call = &op->call;
	sum_up(op, round->area[0], op->team->node.shape.size, NULL);
	cs_between_exscan(op, round->area[0], call->count, &call->reduction, call->is_commutative);
}

/* The first node's ranks wait for no lane. */
static int
source(struct cs_op *op, const struct cs_hier_round *round, int lane, uint64_t *step)
{
	(void)round, (void)step;
	return op->team->shape.node ? op->team->lane_local[lane] : op->team->node.shape.local;
}

static enum cs_status
await_before(struct cs_op *op)
{
	return cs_vector_await(op, &CS_OP_STATE(struct cs_vector_hier, op)->vector,
			       op->team->node.shape.local);
}

static void
take_short(struct cs_op *op, const struct cs_hier_round *round)
{
	take_prefix(op);
	if (op->team->shape.node)
		add_nodes_before(op, op->call.recv.base, round->area[0], op->call.count);
}

static const struct cs_hier_kind short_kind = { .areas = 1, .lay_out = cs_vector_lay_out,
						.bring = bring_short, .between = between_short,
						.source = source, .take = take_short };

/* Opens the call: if the vector is posted, its post opens the line. */
static enum cs_status
open_short(struct cs_op *op)
{
	struct cs_vector_hier *state = CS_OP_STATE(struct cs_vector_hier, op);
	state->hier.needs_line = !is_read(op) && state->hier.drives;
	return cs_hier_open(op);
}

static enum cs_status
tell_short(struct cs_op *op)
{
	struct cs_vector_hier *state = CS_OP_STATE(struct cs_vector_hier, op);
	if (is_read(op))
		state->hier.line = state->vector.post.line;
	return cs_hier_tell(op);
}

static cs_phase *const several_short_script[] = { open_short, cs_hier_begin_round, cs_hier_bring,
						  cs_hier_meet, cs_hier_between, tell_short,
						  await_before, cs_hier_take, cs_hier_next, NULL };

/* Several nodes, short: the leader sums its node's vectors up; each rank those up to its own, and
 * the sum of the nodes before. */
static void
several_nodes_short(struct cs_op *op)
{
	struct cs_vector_hier *state = CS_OP_STATE(struct cs_vector_hier, op);
	state->hier.rounds = 1;
	cs_hier_start(op, &short_kind, 1, several_short_script, 1);
	state->vector.next = 0;
	if (is_read(op))
		cs_vector_init(op, &state->vector, op->call.send.base, false);
}

/* --- long: a chain ---------------------------------------------------------------------------- */

/* State of a chain, the first member of a script's. */
struct chain {
	struct cs_post post;
	size_t each;     /* elements of a piece; its bytes are post.chunk */
	uint64_t pieces; /* so far */
	uint64_t step;
	bool reads; /* others' memory, and so is not done with the call from the start */
};

static size_t
piece_bytes(struct cs_op *op, size_t chunk)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	size_t piece = call->bytes / 4 / (size_t)(team->shape.ppn_max - 1); /* alike on all nodes */
	size_t least = cs_facts_piece(&team->node.facts, LEAST_PIECE);
	piece = piece < least ? least : piece;
	piece = piece < chunk ? piece : chunk;
	return piece < team->node.shape.slot_bytes ? piece : team->node.shape.slot_bytes;
}

static void
init_chain(struct cs_op *op, struct chain *chain, size_t piece)
{
	size_t unit = op->call.reduction.unit;
	*chain = (struct chain){ .reads = true };
	/* An element that fits into no slot cannot be here: comm/ sends such types to the host. */
	chain->each = piece < unit ? 1 : piece / unit;
	size_t room = chain->each * unit;
	chain->post = (struct cs_post){ .way = CS_POST_RING, .rounds = CS_USES_UNKNOWN,
					.chunk = room,
					.pieces = cs_post_pieces(&op->team->node, room) };
}

/* Memory for the own next piece. NULL: none yet. */
static char *
own_piece(struct cs_op *op, struct chain *chain)
{
	if (!chain->post.line && !cs_post_open(&op->node, &chain->post))
		return NULL;
	return cs_post_room_until(&op->node, &chain->post, chain->step + 1);
}

/* The next piece of the rank before. NULL: not there yet. */
static const char *
piece_before(struct cs_op *op, const struct chain *chain)
{
	int local = op->team->node.shape.local - 1;
	const struct cs_line *line = cs_node_look_alike(&op->node, local, chain->step + 1);
	if (!line)
		return NULL;
	return cs_post_find(&op->node, local, line, chain->pieces, chain->post.chunk,
			    chain->post.pieces);
}

/* Makes the next piece, `count` elements from byte `at` on. `total`: memory for the last rank's
 * sum, or NULL. */
static enum cs_status
chain_piece(struct cs_op *op, struct chain *chain, size_t at, size_t count, char *total)
{
	struct cs_call *call = &op->call;
	struct cs_node_op *node = &op->node;
	bool is_last = node->node->shape.local + 1 == node->node->shape.size;
	size_t bytes = count * call->reduction.unit;
	const char *own = call->send.base + at;
	char *recv = call->recv.base ? call->recv.base + at : NULL, *sum = total;
	const char *before = NULL;
	if (node->node->shape.local && !(before = piece_before(op, chain)))
		return CS_AGAIN;
	if (!is_last && !(sum = own_piece(op, chain)))
		return CS_AGAIN;
	chain->step++;
	if (!before) {
		if (sum)
			cs_copy_in(op, sum, own, bytes);
		if (!cs_prefix_is_exclusive(call) && recv != own)
			cs_copy_result(op, recv, own, bytes);
	} else if (!cs_prefix_is_exclusive(call)) {
		cs_prefix_add(op, recv, before, own, count);
		if (sum)
			cs_copy_in(op, sum, recv, bytes);
	} else {
		/* In place the own part is gone when the result is there. */
		if (sum)
			cs_prefix_add(op, sum, before, own, count);
		cs_copy_result(op, recv, before, bytes);
	}
	if (!is_last)
		cs_post_publish_step(node, &chain->post, chain->step);
	if (chain->reads)
		cs_node_done(node, chain->step);
	chain->pieces++;
	return CS_OK;
}

static enum cs_status
run_chain(struct cs_op *op)
{
	struct chain *chain = CS_OP_STATE(struct chain, op);
	struct cs_call *call = &op->call;
	for (size_t done; (done = chain->pieces * chain->each) < call->count;)
		if (chain_piece(op, chain, done * call->reduction.unit,
				cs_chunks_bytes(call->count, chain->each, chain->pieces), NULL) ==
		    CS_AGAIN)
			return CS_AGAIN;
	if (chain->reads)
		cs_node_end(&op->node);
	return CS_OK;
}

static cs_phase *const chain_script[] = { run_chain, NULL };

static void
one_node_long(struct cs_op *op, size_t piece)
{
	struct chain *chain = CS_OP_STATE(struct chain, op);
	init_chain(op, chain, piece);
	chain->reads = op->team->node.shape.local;
	cs_node_expect(&op->node, cs_chunks_rounds(op->call.count, chain->each), 1);
	cs_op_start(op, chain_script);
	cs_post_reserve(&op->node, &chain->post, op->node.extras & CS_OP_NONBLOCKING);
	if (!chain->reads)
		cs_node_end_reading(&op->node);
}

/* Steps of a round, which the leaders scan at once, up to an area slot; with several lanes each
 * lane's rank scans its part:
 *
 *   pieces   down the chain of the node's ranks; the last one's sums go into the area (a step each)
 *   + 1      all sums are there
 *   + 2      the sums of the nodes before have replaced them; taken while the next round is under
 *            way */
struct several_long {
	struct cs_hier hier;
	struct chain chain;
	size_t per_round;  /* elements */
	size_t done;       /* of the round that is brought */
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
	size_t unit = op->call.reduction.unit;
	round->at = round->index * state->per_round * unit;
	round->count = cs_chunks_bytes(op->call.count, state->per_round, round->index);
	round->room = round->count * unit;
	round->here += cs_chunks_rounds(round->count, state->chain.each);
	round->arrived = round->here + 1;
	state->chain.step = state->hier.step;
}

static bool
is_last(struct cs_op *op, int local)
{
	return local + 1 == op->team->node.shape.size;
}

static enum cs_status
bring_long(struct cs_op *op)
{
	struct several_long *state = long_of(op);
	const struct cs_hier_round *round = cs_hier_now(&state->hier);
	size_t unit = op->call.reduction.unit, each = state->chain.each;
	for (; state->done < round->count; state->done += each) {
		size_t left = round->count - state->done, at = state->done * unit;
		if (chain_piece(op, &state->chain, round->at + at, left < each ? left : each,
				round->area[0] + at) == CS_AGAIN)
			return CS_AGAIN;
	}
	state->done = 0;
	if (is_last(op, op->team->node.shape.local))
		cs_node_publish(&op->node, state->hier.line, round->here);
	return CS_OK;
}

static void
between_long(struct cs_op *op, struct cs_hier_round *round)
{
	struct cs_call *call = &op->call;
	size_t unit = call->reduction.unit, first;
	size_t part = cs_slice(round->count, unit, long_of(op)->hier.lanes, op->team->lane, &first);
	if (part)
		cs_between_exscan(op, round->area[0] + first * unit, part, &call->reduction,
				  call->is_commutative);
}

static void
take_lane_long(struct cs_op *op, const struct cs_hier_round *round, int lane,
	       const struct cs_line *line)
{
	size_t unit = op->call.reduction.unit, first;
	size_t part = cs_slice(round->count, unit, long_of(op)->hier.lanes, lane, &first);
	(void)line;
	if (op->team->shape.node)
		add_nodes_before(op, op->call.recv.base + round->at + first * unit,
				 round->area[0] + first * unit, part);
}

static const struct cs_hier_kind long_kind = { .areas = 1, .lag = 1, .lay_out = lay_out_long,
					       .bring = bring_long, .waits_for = is_last,
					       .between = between_long, .source = source,
					       .take_lane = take_lane_long };

static void
several_nodes_long(struct cs_op *op, const size_t *params, size_t piece)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	struct several_long *state = long_of(op);
	size_t area = team->node.shape.area_bytes;
	size_t wire_chunk = params[CS_PREFIX_WIRE_CHUNK] < area
			    ? params[CS_PREFIX_WIRE_CHUNK] : area;
	init_chain(op, &state->chain, piece < wire_chunk ? piece : wire_chunk);
	state->per_round = wire_chunk / state->chain.post.chunk * state->chain.each;
	if (!state->per_round)
		state->per_round = state->chain.each; /* one element, which fits (comm/) */
	state->done = 0;
	state->hier.rounds = cs_chunks_rounds(call->count, state->per_round);
	cs_node_expect(&op->node, cs_chunks_rounds(call->count, state->chain.each) + 2 *
		       state->hier.rounds, 1);
	cs_hier_start_by_lanes(op, &long_kind, call->bytes, params[CS_PREFIX_LANES]);
	cs_post_reserve(&op->node, &state->chain.post, op->node.extras & CS_OP_NONBLOCKING);
}

/* --- choice ----------------------------------------------------------------------------------- */

static bool
is_short(const struct cs_op *op, size_t read_all)
{
	size_t bytes = op->call.bytes, others = (size_t)op->team->shape.ppn_max - 1;
	return bytes * others <= read_all && bytes <= op->team->node.shape.slot_bytes;
}

bool
cs_prefix_fast(struct cs_op *op, const size_t *params)
{
	if (op->team->shape.nodes > 1 || !cs_small_fits(op, op->call.bytes, 0) ||
	    !is_short(op, params[CS_PREFIX_READ_ALL]))
		return false;
	one_node_small(op);
	return true;
}

/* The way is the same on all nodes, as their leaders exchange data in it: sizes of slots and areas
 * are equal. */
void
cs_prefix(struct cs_op *op, const size_t *params)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	size_t doubling = params[CS_PREFIX_DOUBLING];
	const struct cs_node_shape *shape = &team->node.shape;
	size_t piece = piece_bytes(op, params[CS_PREFIX_CHUNK]);
	bool reads_all = is_short(op, params[CS_PREFIX_READ_ALL]);
	if (team->shape.nodes > 1 && reads_all && call->bytes <= shape->area_bytes)
		several_nodes_short(op);
	else if (team->shape.nodes > 1)
		several_nodes_long(op, params, piece);
	else if (reads_all)
		one_node_short(op);
	else if (cs_slices_fit(op))
		cs_prefix_link(op);
	else if (doubling && (size_t)shape->size >= doubling && cs_prefix_may_double(op))
		cs_prefix_double(op);
	else
		one_node_long(op, piece);
}
