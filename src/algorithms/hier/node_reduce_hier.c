/* hier/node_reduce_hier.c — reduce and allreduce over several nodes: each node's sum in its area,
 * then all nodes' among the leaders. Their result comes to the area, too; for a reduction to one
 * rank, to another slot of it. */
#include "algorithms/hier/between.h"
#include "algorithms/node/rounds.h"
#include "algorithms/hier/hier.h"
#include "algorithms/hier/node_reduce_hier.h"
#include "algorithms/hier/vector.h"

static char *
result_of(const struct cs_op *op, const struct cs_hier_round *round)
{
	return round->area[op->call.root < 0 ? 0 : 1];
}

static void
leaders_step(struct cs_op *op, const struct cs_hier_round *round, size_t offset, size_t count)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	char *sum = round->area[0] + offset;
	if (call->root < 0)
		cs_between_allreduce(op, sum, count, &call->reduction, call->is_commutative);
	else
		cs_between_reduce(op, sum, round->area[1] + offset, count, &call->reduction,
				  call->is_commutative, team->shape.node_of[call->root]);
}

static bool
hier_takes(struct cs_op *op)
{
	return cs_node_reduce_takes_result(op);
}

/* The lane whose ranks reduce their nodes' vectors: the root's own, so that no rank has to hand the
 * result on to the root and wait for its vector in each call. Lane 0 if lanes follow NUMA domains:
 * other nodes cannot compute the root's; or if the root's is not made. */
static int
driving_lane(struct cs_op *op)
{
	const struct cs_team *team = op->team;
	int root = op->call.root;
	if (root < 0 || team->shape.local_of[root] >= team->turn)
		return 0;
	int lane = cs_lanes_lane(team->shape.local_of[root], team->shape.node_of[root], team->turn);
	return lane < cs_hier_lanes(op, (size_t)lane + 1) ? lane : 0;
}

/* Small vectors travel along the tree: sums of integers, or all vectors, for the driver. */
static unsigned
grow_short(struct cs_op *op, struct cs_tree *tree)
{
	const struct cs_call *call = &op->call;
	bool folds = call->reduction.is_exact;
	if (folds ? call->bytes > CS_SMALL : !cs_tree_fits(tree->levels, call->bytes))
		return 0;
	tree->each = tree->stride = call->bytes;
	tree->own = call->send.base;
	tree->fold = folds ? &call->reduction : NULL;
	if (tree->parent < 0)
		tree->all = folds ? cs_hier_now(cs_hier_of(op))->area[0]
				  : cs_op_memory(op, CS_OP_COPY,
						 call->bytes * (size_t)tree->levels->size);
	return CS_HIER_MEET | (call->root < 0 ? CS_HIER_HEAR : 0);
}

/* Reduces the node's vectors, then all nodes' among the drivers: two waits for other ranks. */
static void
between_short(struct cs_op *op, struct cs_hier_round *round)
{
	const struct cs_hier *hier = cs_hier_of(op);
	if (!hier->by_tree)
		cs_vector_reduce(op, round->area[0], op->call.send.base);
	else if (!hier->tree->fold)
		cs_tree_reduce(op, hier->tree, round->area[0]);
	leaders_step(op, round, 0, op->call.count);
}

static void
take_short(struct cs_op *op, const struct cs_hier_round *round)
{
	const struct cs_hier *hier = cs_hier_of(op);
	bool is_told = hier->by_tree & CS_HIER_HEAR && hier->tree->told;
	cs_copy_result(op, op->call.recv.base, is_told ? hier->tree->told : result_of(op, round),
		       op->call.bytes);
}

static const struct cs_hier_kind short_kinds[] = {
	{ .areas = 1, .lay_out = cs_vector_lay_out, .bring = cs_vector_bring,
	  .grow = grow_short, .between = between_short, .take = take_short },
	{ .areas = 2, .lay_out = cs_vector_lay_out, .bring = cs_vector_bring,
	  .grow = grow_short, .between = between_short, .takes = hier_takes, .take = take_short },
};

void
cs_node_reduce_hier_short(struct cs_op *op)
{
	cs_vector_start_hier(op, &short_kinds[op->call.root >= 0], driving_lane(op),
			     op->call.send.base);
}

void
cs_node_reduce_ring_init(struct cs_op *op, struct cs_node_reduce_ring *ring)
{
	*ring = (struct cs_node_reduce_ring){ .post = { .way = CS_POST_RING,
							.rounds = CS_USES_UNKNOWN } };
	cs_post_reserve(&op->node, &ring->post, op->node.extras & CS_OP_NONBLOCKING);
}

char *
cs_node_reduce_room(struct cs_op *op, struct cs_node_reduce_ring *ring)
{
	if (!ring->post.line && !cs_post_open(&op->node, &ring->post))
		return NULL;
	return cs_post_room_until(&op->node, &ring->post, ring->step + 1);
}

void
cs_node_reduce_publish(struct cs_op *op, struct cs_node_reduce_ring *ring, const char *own)
{
	cs_post_publish_step(&op->node, &ring->post, ring->step + 1);
	ring->own = own;
}

enum cs_status
cs_node_reduce_slices(struct cs_op *op, struct cs_node_reduce_ring *ring, char *area, size_t count)
{
	struct cs_node_op *node = &op->node;
	const struct cs_reduction *reduction = &op->call.reduction;
	int locals = node->node->shape.size, self = node->node->shape.local;
	size_t first, mine = cs_slice(count, reduction->unit, locals, self, &first),
	       at = first * reduction->unit;
	const void *from[locals];
	for (; ring->next < locals; ring->next++)
		if (ring->next != self && !cs_node_look_alike(node, ring->next, ring->step + 1))
			return CS_AGAIN;
	for (int local = 0; local < locals; local++)
		from[local] = at + (local == self ? ring->own
						  : cs_post_find(node, local,
								 cs_node_look_alike(node, local,
										    ring->step + 1),
								 ring->post.posted - 1, 0, 0));
	cs_rank_order_reduce(op, reduction, area + at, from, locals, mine);
	ring->step++;
	ring->own = NULL;
	ring->next = 0;
	cs_node_done(node, ring->step);
	return CS_OK;
}

enum cs_status
cs_node_reduce_chunk(struct cs_op *op, struct cs_node_reduce_ring *ring, const char *send,
		     char *area, size_t count)
{
	size_t unit = op->call.reduction.unit, first;
	size_t behind = cs_slice(count, unit, op->team->node.shape.size, op->team->node.shape.local,
				 &first);
	if (!ring->own) {
		char *room = cs_node_reduce_room(op, ring);
		if (!room)
			return CS_AGAIN;
		behind += first;
		cs_copy_in(op, room, send, first * unit);
		cs_copy_in(op, room + behind * unit, send + behind * unit, (count - behind) * unit);
		cs_node_reduce_publish(op, ring, send);
	}
	return cs_node_reduce_slices(op, ring, area, count);
}

/* A round is reduced by the leaders at once: up to an area slot, made of pieces that fit the ring's
 * slots.
 *
 *   pieces   publish | reduce the own slice into the area    (a step each)
 *   + 1      all slices are there                       + 2   leaders' result in the area; copy out
 *
 * With several lanes each lane's rank exchanges its part of the round. An allreduce copies a round
 * out while the next one is exchanged (seed 004's overlap); a reduction to one rank has next to no
 * copy-out, and holds two areas. */
struct several_long {
	struct cs_hier hier;
	struct cs_node_reduce_ring ring;
	size_t per_piece, per_round; /* elements */
	uint64_t piece; /* of the round */
};

static void
lay_out_long(struct cs_op *op, struct cs_hier_round *round)
{
	struct several_long *state = CS_OP_STATE(struct several_long, op);
	size_t unit = op->call.reduction.unit;
	round->count = cs_chunks_bytes(op->call.count, state->per_round, round->index);
	round->at = round->index * state->per_round * unit;
	round->room = round->count * unit;
	round->here += cs_chunks_rounds(round->count, state->per_piece);
	round->arrived = round->here + 1;
	state->ring.step = state->hier.step;
}

static enum cs_status
bring_long(struct cs_op *op)
{
	struct several_long *state = CS_OP_STATE(struct several_long, op);
	const struct cs_hier_round *round = cs_hier_now(&state->hier);
	size_t unit = op->call.reduction.unit;
	const char *send = op->call.send.base + round->at;
	for (; state->piece < cs_chunks_rounds(round->count, state->per_piece); state->piece++) {
		size_t offset = state->piece * state->per_piece * unit;
		if (cs_node_reduce_chunk(op, &state->ring, send + offset, round->area[0] + offset,
					 cs_chunks_bytes(round->count, state->per_piece,
							state->piece)) == CS_AGAIN)
			return CS_AGAIN;
	}
	state->piece = 0;
	cs_hier_is_here(op);
	return CS_OK;
}

static void
between_long(struct cs_op *op, struct cs_hier_round *round)
{
	const struct several_long *state = CS_OP_STATE(struct several_long, op);
	size_t unit = op->call.reduction.unit, first;
	size_t part = cs_slice(round->count, unit, state->hier.lanes, op->team->lane, &first);
	if (part)
		leaders_step(op, round, first * unit, part);
}

static void
take_lane_long(struct cs_op *op, const struct cs_hier_round *round, int lane,
	       const struct cs_line *line)
{
	size_t unit = op->call.reduction.unit, first;
	size_t part = cs_slice(round->count, unit, cs_hier_of(op)->lanes, lane, &first);
	(void)line;
	cs_copy_result(op, op->call.recv.base + round->at + first * unit,
		       result_of(op, round) + first * unit, part * unit);
}

static const struct cs_hier_kind long_kinds[] = {
	{ .areas = 1, .lag = 1, .lay_out = lay_out_long, .bring = bring_long,
	  .between = between_long, .take_lane = take_lane_long },
	{ .areas = 2, .lay_out = lay_out_long, .bring = bring_long, .between = between_long,
	  .takes = hier_takes, .take_lane = take_lane_long },
};

void
cs_node_reduce_hier_long(struct cs_op *op, const struct cs_node_reduce_params *params, size_t chunk)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	struct several_long *state = CS_OP_STATE(struct several_long, op);
	size_t unit = call->reduction.unit, area = team->node.shape.area_bytes;
	size_t wire_chunk = params->wire_chunk < area ? params->wire_chunk : area;
	/* An element that fits into no area slot cannot be here: comm/ sends such types to the
	 * host. */
	if (wire_chunk < unit)
		wire_chunk = unit;
	state->per_piece = chunk < wire_chunk ? chunk / unit : wire_chunk / unit;
	state->per_round = wire_chunk / unit / state->per_piece * state->per_piece;
	state->piece = 0;
	state->hier.rounds = cs_chunks_rounds(call->count, state->per_round);
	cs_hier_start_by_lanes(op, &long_kinds[call->root >= 0], call->bytes, params->lanes);
	cs_node_reduce_ring_init(op, &state->ring);
}
