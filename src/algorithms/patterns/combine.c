#include "algorithms/patterns/combine.h"
#include "algorithms/between.h"

#include "algorithms/patterns/exchange.h"
#include "algorithms/patterns/fold.h"

#define WORTH_LANES (64 << 10) /* bytes from which several ranks of a node exchange their parts */
/* Bytes of the others' vectors that a rank reads at most instead of reducing a slice, beyond read_all: */
#define READ_BY_ALL (64 << 10)
#define READ_BY_ROOT (512 << 10)

/* Where local rank `local`'s vector of this call's single round lies. */
static const void *
vector_of(struct cs_team *team, int local, size_t bytes)
{
	const struct cs_line *line = cs_node_await(&team->node, local, 1);
	if (bytes <= CS_INLINE)
		return line->data;
	return cs_node_slot_of(&team->node, local, line->slot, 0);
}

/* Publishes the whole vector in step 1 of a call; returns the own line, for later steps. */
static struct cs_line *
publish_vector(struct cs_team *team, const struct cs_call *call)
{
	struct cs_node *node = &team->node;
	struct cs_line *line = cs_node_line(node);
	line->bytes = call->bytes;
	if (call->bytes <= CS_INLINE) {
		cs_copy(line->data, call->send.base, call->bytes);
	} else if (call->bytes <= CS_SMALL) {
		line->slot = CS_SLOT_SMALL;
		memcpy(cs_node_small(node), call->send.base, call->bytes);
	} else if (cs_node_is_cut(node, call->bytes)) {
		cs_copy_in(team, call, cs_node_cut(node, 1, call->bytes, &line->slot), call->send.base, call->bytes);
	} else {
		line->slot = cs_node_slot_number(node);
		cs_copy_in(team, call, cs_node_slot(node, 1, true), call->send.base, call->bytes);
	}
	cs_node_publish(node, line, 1);
	return line;
}

/* All local vectors into `out`, the own one from the user's memory unless that is where the result goes. */
static void
fold_vectors(struct cs_team *team, struct cs_call *call, void *out, const void *own)
{
	int locals = team->node.shape.size;
	const void *from[locals];
	for (int local = 0; local < locals; local++)
		from[local] = local == team->node.shape.local ? own : vector_of(team, local, call->bytes);
	cs_fold(team, &call->reduction, out, from, locals, call->count);
}

/* One hop: publish and read all. */
static void
one_node_short(struct cs_team *team, struct cs_call *call)
{
	struct cs_node *node = &team->node;
	bool takes = call->root < 0 || call->root == team->shape.rank;
	cs_node_begin(node);
	if (takes && call->root >= 0) {
		/* Nobody reads the root's vector: nothing to publish. */
		fold_vectors(team, call, call->recv.base, call->send.base);
	} else {
		/* With a vector in place cs_fold may meet its result among its sources: it knows how. */
		if (!takes)
			cs_node_end(node);
		publish_vector(team, call);
		if (takes)
			fold_vectors(team, call, call->recv.base, call->send.base);
	}
	if (takes)
		cs_node_end(node);
}

/* The own slice of a round into the own result, if there is one, and to the own slot, if others read it there. Where stores
 * to the slot are dear the sum is made elsewhere. */
static void
reduce_slice(struct cs_team *team, struct cs_call *call, char *slot, char *recv, const void *const *from, size_t count)
{
	size_t bytes = count * call->reduction.unit;
	bool is_read = call->root < 0 || !recv, is_dear = team->node.puts[call->coll].way == CS_PUT_STREAMED;
	char *sum = !is_read || (is_dear && recv) ? recv : is_dear ? cs_team_copy(team, bytes) : slot;
	cs_fold(team, &call->reduction, sum, from, team->node.shape.size, count);
	if (is_read && sum != slot)
		cs_copy_in(team, call, slot, sum, bytes);
	if (recv && sum != recv)
		cs_copy(recv, sum, bytes);
}

/* Rounds of `chunk` elements, each rank reduces one slice.
 *
 *   step 2r+1  everybody's chunk (but the own slice) is in its slot
 *   step 2r+2  slice i of the result is in rank i's slot, where its own input slice would have been
 */
static void
one_node_long(struct cs_team *team, struct cs_call *call, size_t chunk)
{
	struct cs_node *node = &team->node;
	int locals = node->shape.size, self = node->shape.local;
	bool takes = call->root < 0 || call->root == team->shape.rank;
	size_t unit = call->reduction.unit;
	size_t per_round = chunk / unit;
	uint64_t rounds = cs_rounds(call->count, per_round);

	cs_node_begin(node);
	struct cs_line *line = cs_node_line(node);
	line->slot = cs_node_slot_number(node);
	for (uint64_t round = 0; round < rounds; round++) {
		size_t count = cs_piece(call->count, per_round, round);
		size_t at = round * per_round * unit;
		const char *send = call->send.base + at;
		char *recv = takes ? call->recv.base + at : NULL;
		char *slot = cs_node_slot(node, 2 * round + 2, true);
		size_t first, mine = cs_slice(count, unit, locals, self, &first);
		size_t behind = first + mine;
		cs_copy_in(team, call, slot, send, first * unit);
		cs_copy_in(team, call, slot + behind * unit, send + behind * unit, (count - behind) * unit);
		cs_node_publish(node, line, 2 * round + 1);

		const void *from[locals];
		for (int local = 0; local < locals; local++) {
			if (local == self) {
				from[local] = send + first * unit;
				continue;
			}
			const struct cs_line *other = cs_node_await(node, local, 2 * round + 1);
			from[local] = cs_node_slot_of(node, local, other->slot, round) + first * unit;
		}
		reduce_slice(team, call, slot + first * unit, takes ? recv + first * unit : NULL, from, mine);
		cs_node_publish(node, line, 2 * round + 2);

		if (takes) {
			for (int i = 1; i < locals; i++) {
				int local = self + i < locals ? self + i : self + i - locals;
				size_t at_slice, part = cs_slice(count, unit, locals, local, &at_slice);
				if (!part)
					continue;
				const struct cs_line *other = cs_node_await(node, local, 2 * round + 2);
				memcpy(recv + at_slice * unit,
				       cs_node_slot_of(node, local, other->slot, round) + at_slice * unit,
				       part * unit);
			}
		}
		if (round + 1 < rounds)
			cs_node_done(node, 2 * round + 2);
	}
	cs_node_end(node);
}

/* Where the node's sum is collected, and where the result of the leaders' step appears: for a reduction to one rank apart
 * from it. */
struct areas {
	char *sum, *result;
	size_t bytes; /* room for so many in each */
};

static struct areas
take_areas(struct cs_team *team, const struct cs_call *call, size_t bytes)
{
	struct areas areas = { .sum = cs_node_area(&team->node, bytes), .bytes = bytes };
	areas.result = call->root < 0 ? areas.sum : cs_node_area(&team->node, bytes);
	return areas;
}

static void
give_areas(struct cs_team *team, const struct cs_call *call, const struct areas *areas)
{
	cs_node_area_done(&team->node, areas->bytes, call->root < 0 ? 1 : 2);
}

static void
leaders_step(struct cs_team *team, struct cs_call *call, const struct areas *areas, size_t offset, size_t count)
{
	if (call->root < 0)
		cs_between_allreduce(team, areas->sum + offset, count, &call->reduction, call->is_commutative);
	else
		cs_between_reduce(team, areas->sum + offset, areas->result + offset, count,
				   &call->reduction, call->is_commutative, team->shape.node_of[call->root]);
}

/* The lane whose ranks reduce their nodes' vectors: the root's own, so that nobody has to hand the result on to it and wait for
 * its vector in each call. Elsewhere than in lanes by local rank only the root's node knows that. */
static int
driving_lane(const struct cs_team *team, int root)
{
	if (root < 0 || team->domains > 1 || team->shape.local_of[root] >= team->lanes)
		return 0;
	return cs_lanes_lane(team->shape.local_of[root], team->shape.node_of[root], team->lanes);
}

/* One rank reduces the node's vectors, then those of all nodes among themselves: two waits for everybody else. */
static void
several_nodes_short(struct cs_team *team, struct cs_call *call)
{
	struct cs_node *node = &team->node;
	const struct cs_shape *shape = &team->shape;
	bool takes = call->root < 0 || call->root == shape->rank;
	int lane = driving_lane(team, call->root);
	bool is_driver = team->lane == lane;
	bool is_root_node = call->root < 0 || shape->node_of[call->root] == shape->node;

	cs_node_begin(node);
	/* Only the driver reads lines of step 1. */
	if (!is_driver && !takes)
		cs_node_end(node);
	struct areas areas = take_areas(team, call, call->bytes);
	if (is_driver) {
		fold_vectors(team, call, areas.sum, call->send.base);
		leaders_step(team, call, &areas, 0, call->count);
		if (is_root_node && call->root != shape->rank) {
			struct cs_line *line = cs_node_line(node);
			cs_node_publish(node, line, 2);
		}
	} else {
		publish_vector(team, call);
		if (takes)
			cs_node_await(node, team->lane_local[lane], 2);
	}
	if (takes)
		memcpy(call->recv.base, areas.result, call->bytes);
	give_areas(team, call, &areas);
	if (is_driver || takes)
		cs_node_end(node);
}

void
cs_combine_piece(struct cs_team *team, const struct cs_call *call, struct cs_line *line, uint64_t step, uint64_t piece_index,
		 const char *send, char *area, size_t count)
{
	struct cs_node *node = &team->node;
	int locals = node->shape.size, self = node->shape.local;
	size_t unit = call->reduction.unit;
	size_t first, mine = cs_slice(count, unit, locals, self, &first);
	size_t behind = first + mine;
	char *slot = cs_node_slot(node, step, true);
	cs_copy_in(team, call, slot, send, first * unit);
	cs_copy_in(team, call, slot + behind * unit, send + behind * unit, (count - behind) * unit);
	cs_node_publish(node, line, step);

	const void *from[locals];
	for (int local = 0; local < locals; local++) {
		if (local == self) {
			from[local] = send + first * unit;
			continue;
		}
		const struct cs_line *other = cs_node_await(node, local, step);
		from[local] = cs_node_slot_of(node, local, other->slot, piece_index) + first * unit;
	}
	cs_fold(team, &call->reduction, area + first * unit, from, locals, mine);
	cs_node_done(node, step);
}

/* What a round's leaders have found: in the area from step `step` of the lanes' on. */
struct outcome {
	struct areas areas;
	size_t at, count; /* bytes before it in the vector; elements */
	uint64_t step;
};

static void
take_outcome(struct cs_team *team, struct cs_call *call, int lanes, const struct outcome *outcome)
{
	bool takes = call->root < 0 || call->root == team->shape.rank;
	size_t unit = call->reduction.unit;
	for (int lane = 0; takes && lane < lanes; lane++) {
		size_t first, part = cs_slice(outcome->count, unit, lanes, lane, &first);
		cs_node_await(&team->node, team->lane_local[lane], outcome->step);
		memcpy(call->recv.base + outcome->at + first * unit, outcome->areas.result + first * unit, part * unit);
	}
	give_areas(team, call, &outcome->areas);
}

/* A round is what the leaders exchange at once: up to an area slot, made of pieces that fit the ring's slots.
 *
 *   pieces   publish | reduce the own slice into the area    (a step each)
 *   + 1      all slices are there                            + 2   leaders' result in the area; copy out
 *
 * With several lanes each lane's rank exchanges its part of the round. An allreduce copies a round out while the next one is
 * exchanged (seed 004's overlap). */
static void
several_nodes_long(struct cs_team *team, struct cs_call *call, const struct cs_combine_params *params, size_t chunk)
{
	struct cs_node *node = &team->node;
	int locals = node->shape.size;
	size_t unit = call->reduction.unit;
	size_t wire_chunk = params->wire_chunk < node->shape.area_bytes ? params->wire_chunk
									: node->shape.area_bytes;
	size_t per_piece = chunk < wire_chunk ? chunk / unit : wire_chunk / unit;
	size_t per_round = wire_chunk / unit / per_piece * per_piece;
	uint64_t rounds = cs_rounds(call->count, per_round), step = 0, piece_index = 0;
	int lanes = call->bytes < WORTH_LANES ? 1 : cs_team_lanes(team, params->lanes);
	/* A reduction to one rank has next to no copy-out, and holds two areas. */
	bool lags = call->root < 0;
	struct outcome last = { .step = 0 };

	cs_node_begin(node);
	struct cs_line *line = cs_node_line(node);
	line->slot = cs_node_slot_number(node);
	for (uint64_t round = 0; round < rounds; round++) {
		size_t count = cs_piece(call->count, per_round, round);
		size_t at = round * per_round * unit;
		const char *send = call->send.base + at;
		struct areas areas = take_areas(team, call, count * unit);
		uint64_t pieces = cs_rounds(count, per_piece);
		for (uint64_t piece = 0; piece < pieces; piece++) {
			size_t offset = piece * per_piece * unit;
			cs_combine_piece(team, call, line, ++step, piece_index++, send + offset, areas.sum + offset,
					 cs_piece(count, per_piece, piece));
		}
		cs_node_publish(node, line, ++step);
		if (team->lane < lanes) {
			size_t first, part = cs_slice(count, unit, lanes, team->lane, &first);
			for (int local = 0; local < locals; local++)
				cs_node_await(node, local, step);
			if (part)
				leaders_step(team, call, &areas, first * unit, part);
			cs_node_publish(node, line, step + 1);
		}
		struct outcome outcome = { .areas = areas, .at = at, .count = count, .step = ++step };
		if (!lags)
			take_outcome(team, call, lanes, &outcome);
		else if (round)
			take_outcome(team, call, lanes, &last);
		last = outcome;
	}
	if (lags && rounds)
		take_outcome(team, call, lanes, &last);
	cs_node_end(node);
}

/* Are whole vectors read? Two ranks of a node move no more by it than by slices, and wait once instead of twice; where ranks
 * share cores, a wait costs more than reading does. All ranks of a node know the same of it, those of other nodes do not. */
static bool
is_read_whole(const struct cs_team *team, const struct cs_call *call, size_t read_all)
{
	const struct cs_node *node = &team->node;
	size_t others = (size_t)node->shape.size - 1, most = call->root < 0 ? READ_BY_ALL : READ_BY_ROOT;
	if (call->bytes > node->shape.slot_bytes)
		return false;
	if (call->bytes <= read_all)
		return true;
	return read_all && team->shape.nodes == 1 && (others == 1 || node->is_crowded) && call->bytes <= most / others;
}

void
cs_combine(struct cs_team *team, struct cs_call *call, const struct cs_combine_params *params)
{
	size_t slot = team->node.shape.slot_bytes;
	size_t unit = call->reduction.unit;
	size_t chunk = params->chunk < slot ? params->chunk : slot;
	bool is_short = is_read_whole(team, call, params->read_all);
	/* An element that fits into no slot cannot be here: comm/ sends such types to the host. */
	if (chunk < unit)
		chunk = unit;
	if (team->shape.nodes > 1) {
		if (is_short && call->bytes <= team->node.shape.area_bytes)
			several_nodes_short(team, call);
		else
			several_nodes_long(team, call, params, chunk);
	} else if (is_short) {
		one_node_short(team, call);
	} else {
		one_node_long(team, call, chunk);
	}
}
