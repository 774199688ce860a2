/* hier/slices.c — slices of vectors in the slots of a node's ranks. */
#include "algorithms/hier/slices.h"

#include "algorithms/node/rounds.h"

#define LEAST ((size_t)8 << 10) /* bytes: claiming a slice takes little beside its work */
#define EACH_RANKS 4            /* slices for each rank: those that share them end together */

static size_t
slots_of(const struct cs_op *op)
{
	size_t unit = op->call.reduction.unit, slot = op->team->node.shape.slot_bytes;
	return cs_chunks_rounds(op->call.count, slot / unit);
}

bool
cs_slices_fit(const struct cs_op *op)
{
	const struct cs_node_shape *shape = &op->team->node.shape;
	if (!(op->node.extras & CS_OP_NONBLOCKING) || op->team->shape.nodes > 1)
		return false;
	size_t slots = slots_of(op);
	return slots && slots <= shape->slots && slots <= CS_SLICES;
}

void
cs_slices_init(struct cs_op *op, struct cs_slices *slices, bool is_posted)
{
	const struct cs_node_shape *shape = &op->team->node.shape;
	const struct cs_call *call = &op->call;
	struct cs_post *post = &slices->vector.post;
	size_t unit = call->reduction.unit, slots = slots_of(op), least = shape->slot_bytes / unit;
	*slices = (struct cs_slices){ .vector.own = call->send.base };
	slices->per_slot = call->count < least ? call->count : least;
	post->chunk = post->span = slices->per_slot * unit;
	post->rounds = is_posted ? slots : 0;
	post->way = cs_post_choose(&op->node, post->span, slots, false, false,
				   cs_is_small(op, post->span));
	cs_post_reserve(&op->node, post, true);
	size_t most = CS_SLICES / slots, each = post->chunk / LEAST,
	       wanted = (EACH_RANKS * (size_t)shape->size + slots - 1) / slots;
	each = each < most ? each : most;
	each = each < wanted ? each : wanted;
	slices->each = each ? (int)each : 1;
	slices->count = slices->each * (int)slots;
}

struct cs_sliced
cs_slices_at(const struct cs_op *op, const struct cs_slices *slices, int slice)
{
	size_t unit = op->call.reduction.unit, first;
	struct cs_sliced sliced = { .slot = (uint64_t)(slice / slices->each) };
	size_t before = sliced.slot * slices->per_slot,
	       here = cs_chunks_bytes(op->call.count, slices->per_slot, sliced.slot);
	sliced.count = cs_slice(here, unit, slices->each, slice % slices->each, &first);
	sliced.at = (before + first) * unit;
	sliced.offset = first * unit;
	return sliced;
}

char *
cs_slices_of(struct cs_op *op, const struct cs_sliced *slice, int local)
{
	const struct cs_line *line = cs_node_look_alike(&op->node, local, 1);
	return cs_node_slot_of(&op->node, local, line->slot, slice->slot) + slice->offset;
}
