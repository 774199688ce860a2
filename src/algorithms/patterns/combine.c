#include "algorithms/patterns/combine.h"
#include "algorithms/between.h"

#include "algorithms/patterns/exchange.h"
#include "algorithms/patterns/fold.h"

#define WORTH_LANES (64 << 10) /* bytes from which several ranks of a node exchange their parts */
/* Bytes of the others' vectors that a rank reads at most instead of reducing a slice, beyond read_all: */
#define READ_BY_ALL (64 << 10)
#define READ_BY_TWO (256 << 10) /* by each of two ranks with cores of their own */
#define READ_BY_ROOT (512 << 10)

/* Do the others read our vector, and what we make of it, where they are? Not in a reduction to one rank: its senders are back
 * early. */
static bool
is_read_directly(struct cs_op *op, size_t direct_from, bool is_whole)
{
	struct cs_call *call = &op->call;
	/* What is read whole must stay as it is while the result is made. */
	return call->root < 0 && !(is_whole && call->send.base == call->recv.base) &&
	       cs_fold_reaches(op, direct_from) &&
	       cs_node_offer(&op->node, call->send.base, call->bytes) &&
	       cs_node_offer(&op->node, call->recv.base, call->bytes);
}

/* Where local rank `local`'s vector of this call's single round is. */
static struct cs_part
vector_of(struct cs_op *op, int local, size_t bytes)
{
	const struct cs_line *line = cs_node_await_alike(&op->node, local, 1);
	if (bytes <= CS_INLINE)
		return (struct cs_part){ .near = (const char *)line->data };
	if (line->word[0] == CS_MARK_DIRECT)
		return (struct cs_part){ .far = line->word[1] };
	return (struct cs_part){ .near = cs_node_slot_of(&op->node, local, line->slot, 0) };
}

/* In step 1 of a call. */
static void
publish_vector(struct cs_op *op, const char *vector, bool is_direct)
{
	struct cs_call *call = &op->call;
	struct cs_node_op *node = &op->node;
	struct cs_line *line = cs_node_line(node);
	if (call->bytes > CS_INLINE)
		line->word[0] = is_direct ? CS_MARK_DIRECT : CS_MARK_STAGED;
	if (call->bytes <= CS_INLINE) {
		cs_copy(line->data, vector, call->bytes);
	} else if (is_direct) {
		line->word[1] = (uint64_t)(uintptr_t)vector;
	} else if (cs_is_small(op, call->bytes)) {
		line->slot = CS_SLOT_SMALL;
		memcpy(cs_node_small(node), vector, call->bytes);
	} else if (cs_node_is_cut(node, call->bytes)) {
		cs_copy_in(op, cs_node_cut(node, 1, call->bytes, &line->slot), vector, call->bytes);
	} else {
		line->slot = cs_node_slot_number(node);
		cs_copy_in(op, cs_node_slot(node, 1, true), vector, call->bytes);
	}
	cs_node_publish(node, line, 1);
}

void
cs_combine_publish(struct cs_op *op, const char *vector)
{
	publish_vector(op, vector, false);
}

/* The own one from the user's memory unless that is where the result goes. */
void
cs_combine_fold(struct cs_op *op, void *out, const void *own)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	int locals = team->node.shape.size;
	struct cs_part parts[locals];
	for (int local = 0; local < locals; local++)
		parts[local] = local == team->node.shape.local ? (struct cs_part){ .near = own }
							       : vector_of(op, local, call->bytes);
	cs_fold_parts(op, &call->reduction, out, parts, call->count);
}

/* One hop: publish and read all. */
static void
one_node_short(struct cs_op *op, bool is_direct)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	struct cs_node_op *node = &op->node;
	bool takes = call->root < 0 || call->root == team->shape.rank;
	cs_node_begin(node);
	if (takes && call->root >= 0) {
		/* Nobody reads the root's vector: nothing to publish. */
		cs_combine_fold(op, call->recv.base, call->send.base);
	} else {
		/* With a vector in place cs_fold may meet its result among its sources: it knows how. */
		if (!takes)
			cs_node_end_reading(node);
		publish_vector(op, call->send.base, is_direct);
		if (takes)
			cs_combine_fold(op, call->recv.base, call->send.base);
	}
	if (takes)
		cs_node_end(node);
	if (is_direct)
		cs_node_all_done(node);
}

/* The own slice of a round into the own result, if there is one, and to the own slot, if others read it there. Where stores
 * to the slot are dear the sum is made elsewhere. */
static void
reduce_slice(struct cs_op *op, char *slot, char *recv, const struct cs_part *parts, size_t count)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	size_t bytes = count * call->reduction.unit;
	bool is_read = call->root < 0 || !recv, is_dear = team->node.puts[cs_put_kind(bytes)][call->coll].way == CS_PUT_STREAMED;
	char *sum = !is_read || (is_dear && recv) ? recv : is_dear ? cs_op_memory(op, CS_OP_COPY, bytes) : slot;
	cs_fold_parts(op, &call->reduction, sum, parts, count);
	if (is_read && sum != slot)
		cs_copy_in(op, slot, sum, bytes);
	if (recv && sum != recv)
		cs_copy_result(op, recv, sum, bytes);
}

/* A long vector's way: rounds of `per_round` elements, each rank reduces one slice. */
struct rounds {
	struct cs_op *op;
	struct cs_line *line;
	size_t per_round;
	bool takes;
	bool is_direct; /* the others read our vector and our slices of the result where they are */
};

/* `first` elements into round `round`: local rank `local`'s vector. */
static struct cs_part
part_of(const struct rounds *long_way, int local, uint64_t round, size_t first)
{
	struct cs_node_op *node = &long_way->op->node;
	size_t unit = long_way->op->call.reduction.unit;
	const struct cs_line *line = cs_node_await_alike(node, local, 2 * round + 1);
	if (line->word[0] == CS_MARK_DIRECT)
		return (struct cs_part){ .far = line->word[1] + (round * long_way->per_round + first) * unit };
	return (struct cs_part){ .near = cs_node_slot_of(node, local, line->slot, round) + first * unit };
}

/* What local rank `local` has made of its slice of round `round`, into the own result. */
static void
take_sum(const struct rounds *long_way, int local, uint64_t round, size_t first, size_t count)
{
	struct cs_node_op *node = &long_way->op->node;
	size_t unit = long_way->op->call.reduction.unit, at = (round * long_way->per_round + first) * unit;
	const struct cs_line *line = cs_node_await(node, local, 2 * round + 2);
	char *to = long_way->op->call.recv.base + at;
	if (line->word[0] == CS_MARK_DIRECT)
		cs_node_read(node, local, to, line->word[2] + at, count * unit);
	else
		cs_copy_result(long_way->op, to,
			       cs_node_slot_of(node, local, line->slot, round) + first * unit, count * unit);
}

/* Own data of a round for the others: all but the own slice, in its slot, which is returned; NULL: it is read where it is. */
static char *
put_round(const struct rounds *long_way, uint64_t round, const char *send, size_t count, size_t first, size_t mine)
{
	struct cs_op *op = long_way->op;
	size_t unit = op->call.reduction.unit, behind = first + mine;
	if (long_way->is_direct)
		return NULL;
	char *slot = cs_node_slot(&op->node, 2 * round + 2, true);
	cs_copy_in(op, slot, send, first * unit);
	cs_copy_in(op, slot + behind * unit, send + behind * unit, (count - behind) * unit);
	return slot;
}

/*   step 2r+1  everybody's part of the round (but the own slice) is in its slot, or where it is read directly
 *   step 2r+2  slice i of the result is in rank i's slot, where its own input slice would have been
 */
static void
long_round(const struct rounds *long_way, uint64_t round)
{
	struct cs_op *op = long_way->op;
	struct cs_call *call = &op->call;
	struct cs_node_op *node = &op->node;
	int locals = node->node->shape.size, self = node->node->shape.local;
	size_t unit = call->reduction.unit, at = round * long_way->per_round * unit;
	size_t count = cs_piece(call->count, long_way->per_round, round);
	const char *send = call->send.base + at;
	size_t first, mine = cs_slice(count, unit, locals, self, &first);
	char *slot = put_round(long_way, round, send, count, first, mine);
	cs_node_publish(node, long_way->line, 2 * round + 1);

	struct cs_part parts[locals];
	for (int local = 0; local < locals; local++)
		parts[local] = local == self ? (struct cs_part){ .near = send + first * unit }
					     : part_of(long_way, local, round, first);
	char *recv = long_way->takes ? call->recv.base + at + first * unit : NULL;
	if (slot)
		reduce_slice(op, slot + first * unit, recv, parts, mine);
	else
		cs_fold_parts(op, &call->reduction, recv, parts, mine);
	cs_node_publish(node, long_way->line, 2 * round + 2);

	for (int i = 1; long_way->takes && i < locals; i++) {
		int local = self + i < locals ? self + i : self + i - locals;
		size_t part = cs_slice(count, unit, locals, local, &first);
		if (part)
			take_sum(long_way, local, round, first, part);
	}
}

static void
one_node_long(struct cs_op *op, size_t chunk, bool is_direct)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	struct cs_node_op *node = &op->node;
	struct rounds long_way = { .op = op, .per_round = chunk / call->reduction.unit,
				   .takes = call->root < 0 || call->root == team->shape.rank, .is_direct = is_direct };
	uint64_t rounds = cs_rounds(call->count, long_way.per_round);
	cs_node_begin(node);
	struct cs_line *line = long_way.line = cs_node_line(node);
	if (call->root < 0)
		cs_node_rewind(node, call->bytes);
	line->slot = cs_node_slot_number(node);
	line->word[0] = is_direct ? CS_MARK_DIRECT : CS_MARK_STAGED;
	line->word[1] = (uint64_t)(uintptr_t)call->send.base;
	line->word[2] = (uint64_t)(uintptr_t)call->recv.base;
	for (uint64_t round = 0; round < rounds; round++) {
		long_round(&long_way, round);
		if (round + 1 < rounds)
			cs_node_done(node, 2 * round + 2);
	}
	cs_node_end(node);
	if (is_direct)
		cs_node_all_done(node);
}

/* Where the node's sum is collected, and where the result of the leaders' step appears: for a reduction to one rank apart
 * from it. */
struct areas {
	char *sum, *result;
	size_t bytes; /* room for so many in each */
};

static struct areas
take_areas(struct cs_op *op, size_t bytes)
{
	struct cs_call *call = &op->call;
	struct areas areas = { .sum = cs_node_area(&op->node, bytes), .bytes = bytes };
	areas.result = call->root < 0 ? areas.sum : cs_node_area(&op->node, bytes);
	return areas;
}

static void
give_areas(struct cs_op *op, const struct areas *areas)
{
	struct cs_call *call = &op->call;
	cs_node_area_done(&op->node, areas->bytes, call->root < 0 ? 1 : 2);
}

static void
leaders_step(struct cs_op *op, const struct areas *areas, size_t offset, size_t count)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	if (call->root < 0)
		cs_between_allreduce(op, areas->sum + offset, count, &call->reduction, call->is_commutative);
	else
		cs_between_reduce(op, areas->sum + offset, areas->result + offset, count,
				   &call->reduction, call->is_commutative, team->shape.node_of[call->root]);
}

/* The lane whose ranks reduce their nodes' vectors: the root's own, so that nobody has to hand the result on to it and wait for
 * its vector in each call. Other nodes cannot compute this lane when lanes follow NUMA domains. */
static int
driving_lane(const struct cs_team *team, int root)
{
	if (root < 0 || team->domains > 1 || team->shape.local_of[root] >= team->lanes)
		return 0;
	return cs_lanes_lane(team->shape.local_of[root], team->shape.node_of[root], team->lanes);
}

/* One rank reduces the node's vectors, then those of all nodes among themselves: two waits for everybody else. */
static void
several_nodes_short(struct cs_op *op)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	struct cs_node_op *node = &op->node;
	const struct cs_shape *shape = &team->shape;
	bool takes = call->root < 0 || call->root == shape->rank;
	int lane = driving_lane(team, call->root);
	bool is_driver = team->lane == lane;
	bool is_root_node = call->root < 0 || shape->node_of[call->root] == shape->node;

	cs_node_begin(node);
	/* Only the driver reads lines of step 1. */
	if (!is_driver && !takes)
		cs_node_end_reading(node);
	struct areas areas = take_areas(op, call->bytes);
	if (is_driver) {
		cs_combine_fold(op, areas.sum, call->send.base);
		leaders_step(op, &areas, 0, call->count);
		if (is_root_node && call->root != shape->rank) {
			struct cs_line *line = cs_node_line(node);
			cs_node_publish(node, line, 2);
		}
	} else {
		cs_combine_publish(op, call->send.base);
		if (takes)
			cs_node_await(node, team->lane_local[lane], 2);
	}
	if (takes)
		cs_copy_result(op, call->recv.base, areas.result, call->bytes);
	give_areas(op, &areas);
	if (is_driver || takes)
		cs_node_end(node);
}

void
cs_combine_piece(struct cs_op *op, struct cs_line *line, uint64_t step, uint64_t piece_index,
		 const char *send, char *area, size_t count)
{
	struct cs_call *call = &op->call;
	struct cs_node_op *node = &op->node;
	int locals = node->node->shape.size, self = node->node->shape.local;
	size_t unit = call->reduction.unit;
	size_t first, mine = cs_slice(count, unit, locals, self, &first);
	size_t behind = first + mine;
	char *slot = cs_node_slot(node, step, true);
	cs_copy_in(op, slot, send, first * unit);
	cs_copy_in(op, slot + behind * unit, send + behind * unit, (count - behind) * unit);
	cs_node_publish(node, line, step);

	const void *from[locals];
	for (int local = 0; local < locals; local++) {
		if (local == self) {
			from[local] = send + first * unit;
			continue;
		}
		const struct cs_line *other = cs_node_await_alike(node, local, step);
		from[local] = cs_node_slot_of(node, local, other->slot, piece_index) + first * unit;
	}
	cs_fold(op, &call->reduction, area + first * unit, from, locals, mine);
	cs_node_done(node, step);
}

/* What a round's leaders have found: in the area from step `step` of the lanes' on. */
struct outcome {
	struct areas areas;
	size_t at, count; /* bytes before it in the vector; elements */
	uint64_t step;
};

static void
take_outcome(struct cs_op *op, int lanes, const struct outcome *outcome)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	bool takes = call->root < 0 || call->root == team->shape.rank;
	size_t unit = call->reduction.unit;
	for (int lane = 0; takes && lane < lanes; lane++) {
		size_t first, part = cs_slice(outcome->count, unit, lanes, lane, &first);
		cs_node_await(&op->node, team->lane_local[lane], outcome->step);
		cs_copy_result(op, call->recv.base + outcome->at + first * unit, outcome->areas.result + first * unit,
			       part * unit);
	}
	give_areas(op, &outcome->areas);
}

/* A round is what the leaders exchange at once: up to an area slot, made of pieces that fit the ring's slots.
 *
 *   pieces   publish | reduce the own slice into the area    (a step each)
 *   + 1      all slices are there                            + 2   leaders' result in the area; copy out
 *
 * With several lanes each lane's rank exchanges its part of the round. An allreduce copies a round out while the next one is
 * exchanged (seed 004's overlap). */
static void
several_nodes_long(struct cs_op *op, const struct cs_combine_params *params, size_t chunk)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	struct cs_node_op *node = &op->node;
	int locals = node->node->shape.size;
	size_t unit = call->reduction.unit;
	size_t wire_chunk = params->wire_chunk < node->node->shape.area_bytes ? params->wire_chunk
									: node->node->shape.area_bytes;
	/* An element that fits into no area slot cannot be here: comm/ sends such types to the host. */
	if (wire_chunk < unit)
		wire_chunk = unit;
	size_t per_piece = chunk < wire_chunk ? chunk / unit : wire_chunk / unit;
	size_t per_round = wire_chunk / unit / per_piece * per_piece;
	uint64_t rounds = cs_rounds(call->count, per_round), step = 0, piece_index = 0;
	int lanes = call->bytes < WORTH_LANES ? 1 : cs_team_lanes(team, params->lanes);
	/* A reduction to one rank has next to no copy-out, and holds two areas. */
	bool lags = call->root < 0;
	struct outcome last = { .step = 0 };

	cs_node_begin(node);
	struct cs_line *line = cs_node_line(node);
	if (call->root < 0)
		cs_node_rewind(node, call->bytes);
	line->slot = cs_node_slot_number(node);
	for (uint64_t round = 0; round < rounds; round++) {
		size_t count = cs_piece(call->count, per_round, round);
		size_t at = round * per_round * unit;
		const char *send = call->send.base + at;
		struct areas areas = take_areas(op, count * unit);
		uint64_t pieces = cs_rounds(count, per_piece);
		for (uint64_t piece = 0; piece < pieces; piece++) {
			size_t offset = piece * per_piece * unit;
			cs_combine_piece(op, line, ++step, piece_index++, send + offset, areas.sum + offset,
					 cs_piece(count, per_piece, piece));
		}
		cs_node_publish(node, line, ++step);
		if (team->lane < lanes) {
			size_t first, part = cs_slice(count, unit, lanes, team->lane, &first);
			for (int local = 0; local < locals; local++)
				cs_node_await(node, local, step);
			if (part)
				leaders_step(op, &areas, first * unit, part);
			cs_node_publish(node, line, step + 1);
		}
		struct outcome outcome = { .areas = areas, .at = at, .count = count, .step = ++step };
		if (!lags)
			take_outcome(op, lanes, &outcome);
		else if (round)
			take_outcome(op, lanes, &last);
		last = outcome;
	}
	if (lags && rounds)
		take_outcome(op, lanes, &last);
	cs_node_end(node);
}

/* Are whole vectors read? Two ranks of a node move no more by it than by slices, and wait once instead of twice; where ranks
 * share cores, a wait costs more than reading does. All ranks of a node know the same of it, those of other nodes do not. */
static bool
is_read_whole(struct cs_op *op, size_t read_all)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	const struct cs_node_op *node = &op->node;
	size_t others = (size_t)node->node->shape.size - 1;
	size_t most = call->root >= 0 ? READ_BY_ROOT : node->node->is_crowded ? READ_BY_ALL : READ_BY_TWO;
	if (call->bytes > node->node->shape.slot_bytes)
		return false;
	if (call->bytes <= read_all)
		return true;
	return read_all && team->shape.nodes == 1 && (others == 1 || node->node->is_crowded) && call->bytes <= most / others;
}

void
cs_combine(struct cs_op *op, const struct cs_combine_params *params)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	size_t slot = team->node.shape.slot_bytes;
	size_t unit = call->reduction.unit;
	size_t chunk = params->chunk < slot ? params->chunk : slot;
	bool is_short = is_read_whole(op, params->read_all);
	/* An element that fits into no slot cannot be here: comm/ sends such types to the host. */
	if (chunk < unit)
		chunk = unit;
	if (team->shape.nodes > 1) {
		if (is_short && call->bytes <= team->node.shape.area_bytes)
			several_nodes_short(op);
		else
			several_nodes_long(op, params, chunk);
	} else if (is_short) {
		one_node_short(op, is_read_directly(op, params->cma_min, true));
	} else {
		one_node_long(op, chunk, is_read_directly(op, params->cma_min, false));
	}
}
