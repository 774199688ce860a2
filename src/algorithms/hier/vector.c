/* hier/vector.c — posts of whole vectors within a node. */
#include "algorithms/hier/vector.h"

#include "algorithms/node/rounds.h"

void
cs_vector_init(struct cs_op *op, struct cs_vector *vector, const char *own, bool is_single_copy)
{
	size_t bytes = op->call.bytes;
	struct cs_post *post = &vector->post;
	*vector = (struct cs_vector){ .own = own };
	post->chunk = post->span = cs_vector_per_slot(op) * op->call.reduction.unit;
	post->rounds = post->chunk < bytes ? cs_chunks_rounds(bytes, post->chunk) : 1;
	post->address = is_single_copy ? (uint64_t)(uintptr_t)own : 0;
	post->way = cs_post_choose(&op->node, bytes, post->rounds, bytes <= CS_INLINE,
				   is_single_copy, cs_is_small(op, bytes));
	cs_post_reserve(&op->node, post, op->node.extras & CS_OP_NONBLOCKING);
}

enum cs_status
cs_vector_post(struct cs_op *op, struct cs_vector *vector)
{
	struct cs_post *post = &vector->post;
	if (post->posted == post->rounds)
		return CS_OK;
	if (!cs_post_open(&op->node, post))
		return CS_AGAIN;
	for (; post->posted < post->rounds; post->posted++) {
		char *room = cs_post_room(&op->node, post);
		if (!room)
			return CS_AGAIN;
		if (post->way != CS_POST_SINGLE_COPY)
			cs_copy_in(op, room, vector->own + post->posted * post->chunk,
				   cs_chunks_bytes(op->call.bytes, post->chunk, post->posted));
	}
	cs_node_publish(&op->node, post->line, 1);
	return CS_OK;
}

enum cs_status
cs_vector_await(struct cs_op *op, struct cs_vector *vector, int count)
{
	for (; vector->next < count; vector->next++)
		if (vector->next != op->team->node.shape.local &&
		    !cs_node_look_alike(&op->node, vector->next, 1))
			return CS_AGAIN;
	return CS_OK;
}

/* A local rank's part of the vector in its slot `slot`. */
static struct cs_operand
part_of(struct cs_op *op, int local, uint64_t slot)
{
	const struct cs_line *line = cs_node_look_alike(&op->node, local, 1);
	if (op->call.bytes <= CS_INLINE)
		return (struct cs_operand){ .mapped = (const char *)line->data };
	if (cs_post_is_single_copy(line))
		return (struct cs_operand){ .remote = line->word[1] };
	return (struct cs_operand){ .mapped = cs_post_find(&op->node, local, line, slot, 0, 0) };
}

struct cs_operand
cs_vector_part(struct cs_op *op, int local)
{
	return part_of(op, local, 0);
}

void
cs_vector_reduce(struct cs_op *op, char *out, const char *own)
{
	int locals = op->team->node.shape.size, self = op->team->node.shape.local;
	size_t each = cs_vector_per_slot(op), unit = op->call.reduction.unit;
	struct cs_operand parts[locals];
	for (size_t first = 0, slot = 0; first < op->call.count; first += each, slot++) {
		for (int local = 0; local < locals; local++)
			parts[local] = local == self
				       ? (struct cs_operand){ .mapped = own + first * unit }
				       : part_of(op, local, slot);
		cs_rank_order_operands(op, &op->call.reduction, out + first * unit, parts,
				       cs_chunks_bytes(op->call.count, each, slot));
	}
}

void
cs_vector_lay_out(struct cs_op *op, struct cs_hier_round *round)
{
	round->room = op->call.bytes;
}

enum cs_status
cs_vector_bring(struct cs_op *op)
{
	struct cs_vector_hier *state = CS_OP_STATE(struct cs_vector_hier, op);
	if (state->hier.drives || state->hier.by_tree)
		return CS_OK;
	return cs_vector_post(op, &state->vector);
}

void
cs_vector_start_hier(struct cs_op *op, const struct cs_hier_kind *kind, int lane, const char *own)
{
	struct cs_vector_hier *state = CS_OP_STATE(struct cs_vector_hier, op);
	state->hier.rounds = 1;
	cs_hier_start(op, kind, 1, cs_hier_script, CS_HIER_SCRIPT_ROUND);
	cs_hier_set_lanes(op, lane, 1);
	state->hier.needs_line = state->hier.drives;
	if (!state->hier.drives)
		cs_vector_init(op, &state->vector, own, false);
}
