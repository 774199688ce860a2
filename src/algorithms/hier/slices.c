/* hier/slices.c — slices of vectors in the slots of a node's ranks. */
#include "algorithms/hier/slices.h"

#include "algorithms/node/rounds.h"

#define LEAST ((size_t)8 << 10) /* bytes: claiming a slice takes little beside its work */
#define EACH_RANKS 4            /* slices for each rank: those that share them end together */

bool
cs_slices_fit(const struct cs_op *op)
{
	return op->node.extras & CS_OP_NONBLOCKING && op->team->shape.nodes == 1 &&
	       op->call.bytes > CS_INLINE && cs_vector_fits(op) &&
	       op->call.count <= CS_SLICES * cs_vector_per_slot(op);
}

void
cs_slices_init(struct cs_op *op, struct cs_slices *slices, bool is_posted)
{
	const struct cs_call *call = &op->call;
	size_t per_slot = cs_vector_per_slot(op), ranks = (size_t)op->team->node.shape.size,
	       slots = cs_chunks_rounds(call->count, per_slot), most = CS_SLICES / slots,
	       wanted = (EACH_RANKS * ranks + slots - 1) / slots,
	       each = per_slot * call->reduction.unit / LEAST;
	each = each < wanted ? each : wanted;
	each = each < most ? each : most;
	each = each ? each : 1;
	*slices = (struct cs_slices){ .per_slot = per_slot, .each = (int)each,
				      .count = (int)(each * slots) };
	if (is_posted)
		cs_vector_init(op, &slices->vector, call->send.base, false);
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
