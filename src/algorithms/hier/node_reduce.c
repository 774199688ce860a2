/* hier/node_reduce.c — reduce and allreduce on one node and over several. */
#include "algorithms/hier/node_reduce.h"

#include "algorithms/node/rounds.h"
#include "algorithms/hier/hier.h"
#include "algorithms/hier/slices.h"
#include "algorithms/node/small.h"
#include "algorithms/hier/vector.h"

const struct cs_node_reduce_params cs_node_reduce_usual = { .read_all = 1 << 10,
							    .chunk = 128 << 10,
							    .wire_chunk = 4 << 20, .lanes = 2 };

/* Do the others read our vector, and our part of the result, by single copy? Not in a reduction to
 * one rank: its senders are back early. */
static bool
chooses_single_copy(struct cs_op *op, size_t single_copy_from, bool is_whole)
{
	struct cs_call *call = &op->call;
	/* A vector that is read whole must not change while the result is made. */
	return call->root < 0 && !(is_whole && call->send.base == call->recv.base) &&
	       cs_rank_order_is_single_copy(op, single_copy_from) &&
	       cs_node_offer(&op->node, call->send.base, call->bytes) &&
	       cs_node_offer(&op->node, call->recv.base, call->bytes);
}

/* --- one node, short: one hop, publish and read all ------------------------------------------- */

struct one_short {
	struct cs_vector vector;
	bool is_posted; /* or no rank reads it, since this one alone gets the result */
};

static enum cs_status
post_vector(struct cs_op *op)
{
	struct one_short *state = CS_OP_STATE(struct one_short, op);
	return state->is_posted ? CS_OK : cs_vector_post(op, &state->vector);
}

/* Reduces all vectors. In place, the result is one of the operands, which
 * cs_rank_order_operands allows. */
static enum cs_status
reduce_vectors(struct cs_op *op)
{
	struct one_short *state = CS_OP_STATE(struct one_short, op);
	if (!cs_node_reduce_takes_result(op))
		return CS_OK;
	if (cs_vector_await(op, &state->vector, op->team->node.shape.size) == CS_AGAIN)
		return CS_AGAIN;
	cs_vector_reduce(op, op->call.recv.base, op->call.send.base);
	cs_node_end(&op->node);
	return CS_OK;
}

static enum cs_status
be_read(struct cs_op *op)
{
	struct one_short *state = CS_OP_STATE(struct one_short, op);
	bool is_single_copy = !state->is_posted && state->vector.post.way == CS_POST_SINGLE_COPY;
	return !is_single_copy || cs_node_are_done(&op->node, cs_node_has_read(op->node.number))
	       ? CS_OK : CS_AGAIN;
}

static cs_phase *const one_node_short_script[] = { post_vector, reduce_vectors, be_read, NULL };

static void
one_node_short(struct cs_op *op, bool is_single_copy)
{
	struct one_short *state = CS_OP_STATE(struct one_short, op);
	cs_op_start(op, one_node_short_script);
	state->is_posted = op->call.root >= 0 && cs_node_reduce_takes_result(op);
	state->vector.next = 0;
	if (!state->is_posted)
		cs_vector_init(op, &state->vector, op->call.send.base, is_single_copy);
	if (!cs_node_reduce_takes_result(op))
		cs_node_end_reading(&op->node);
}

/* Reduces a small vector, straight on the flags. */
static void
one_node_small(struct cs_op *op)
{
	struct cs_call *call = &op->call;
	struct cs_node_at at = cs_op_at(op);
	int locals = op->team->node.shape.size, self = op->team->node.shape.local;
	bool takes = cs_node_reduce_takes_result(op);
	const void *from[locals];
	cs_at_begin(at);
	if (!takes)
		cs_at_end_reading(at);
	if (!takes || call->root < 0)
		cs_small_post(op, at, cs_at_line(at), call->send.base, call->bytes);
	if (!takes)
		return;
	for (int local = 0; local < locals; local++)
		from[local] = local == self ? call->send.base
					    : cs_small_find(op, local,
							    cs_node_await_alike(&op->node, local,
										1), call->bytes);
	cs_rank_order_reduce(op, &call->reduction, call->recv.base, from, locals, call->count);
	cs_at_end(at);
}

/* --- one node, long: rounds, in which each rank reduces one slice -----------------------------
 *
 *   step 2r+1  each rank's part of the round (but the own slice) is in its slot, or may be read by
 *              single copy
 *   step 2r+2  slice i of the result is in rank i's slot, where its own input slice would have been
 */

struct rounds {
	struct cs_post post; /* by single copy, of our slices of the result, too */
	size_t per_round; /* elements */
	uint64_t round;
	int next;        /* local rank to look at next, or its distance from the own one less 1 */
};

static struct rounds *
rounds_of(struct cs_op *op)
{
	return CS_OP_STATE(struct rounds, op);
}

/* A rank's slice of a round: bytes of the vector before the round, elements of the round, elements
 * of the round before the slice, elements of the slice. */
struct slice {
	size_t at, total, first, count;
};

static struct slice
slice_of(struct cs_op *op, int local)
{
	const struct rounds *state = rounds_of(op);
	size_t unit = op->call.reduction.unit;
	struct slice slice = { .at = state->round * state->per_round * unit,
			       .total = cs_chunks_bytes(op->call.count, state->per_round,
						       state->round) };
	slice.count = cs_slice(slice.total, unit, op->team->node.shape.size, local, &slice.first);
	return slice;
}

static bool
is_single_copy(struct cs_op *op)
{
	return rounds_of(op)->post.way == CS_POST_SINGLE_COPY;
}

static enum cs_status
open_rounds(struct cs_op *op)
{
	struct rounds *state = rounds_of(op);
	if (!cs_post_open(&op->node, &state->post))
		return CS_AGAIN;
	state->post.line->word[2] = (uint64_t)(uintptr_t)op->call.recv.base;
	return CS_OK;
}

/* Posts the own part of a round, all but the own slice. */
static enum cs_status
post_round(struct cs_op *op)
{
	struct rounds *state = rounds_of(op);
	size_t unit = op->call.reduction.unit;
	struct slice own = slice_of(op, op->team->node.shape.local);
	const char *send = op->call.send.base + own.at;
	size_t behind = own.first + own.count;
	char *slot = cs_post_room_until(&op->node, &state->post, 2 * state->round + 2);
	if (!slot)
		return CS_AGAIN;
	if (!is_single_copy(op)) {
		cs_copy_in(op, slot, send, own.first * unit);
		cs_copy_in(op, slot + behind * unit, send + behind * unit,
			   (own.total - behind) * unit);
	}
	cs_post_publish_step(&op->node, &state->post, 2 * state->round + 1);
	return CS_OK;
}

/* A local rank's vector in this round, from the own slice on. */
static struct cs_operand
part_of(struct cs_op *op, int local, const struct slice *own)
{
	const struct rounds *state = rounds_of(op);
	size_t unit = op->call.reduction.unit;
	const struct cs_line *line = cs_node_look_alike(&op->node, local, 2 * state->round + 1);
	if (cs_post_is_single_copy(line))
		return (struct cs_operand){ .remote = line->word[1] + own->at + own->first * unit };
	return (struct cs_operand){ .mapped = cs_node_slot_of(&op->node, local, line->slot,
							      state->round) + own->first * unit };
}

/* Reduces the own slice of a round into the own result, if there is one, and to the own slot, if
 * others read it there. If stores to the slot are dear the sum is made elsewhere. */
static void
reduce_slice(struct cs_op *op, char *slot, char *recv, const struct cs_operand *parts, size_t count)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	size_t bytes = count * call->reduction.unit;
	bool is_read = call->root < 0 || !recv,
	     is_dear = team->node.copies_in[cs_copy_kind(bytes)][call->coll].way ==
	     CS_COPY_STREAMED;
	char *sum = !is_read || (is_dear && recv) ? recv : is_dear
		    ? cs_op_memory(op, CS_OP_COPY, bytes) : slot;
	cs_rank_order_operands(op, &call->reduction, sum, parts, count);
	if (is_read && sum != slot)
		cs_copy_in(op, slot, sum, bytes);
	if (recv && sum != recv)
		cs_copy_result(op, recv, sum, bytes);
}

static enum cs_status
reduce_round(struct cs_op *op)
{
	struct rounds *state = rounds_of(op);
	struct cs_call *call = &op->call;
	int locals = op->team->node.shape.size, self = op->team->node.shape.local;
	size_t unit = call->reduction.unit;
	for (; state->next < locals; state->next++)
		if (state->next != self &&
		    !cs_node_look_alike(&op->node, state->next, 2 * state->round + 1))
			return CS_AGAIN;
	state->next = 0;
	struct slice own = slice_of(op, self);
	struct cs_operand parts[locals];
	for (int local = 0; local < locals; local++)
		parts[local] = local == self
			       ? (struct cs_operand){ .mapped = call->send.base + own.at +
						      own.first * unit }
			       : part_of(op, local, &own);
	size_t at = own.at + own.first * unit;
	char *recv = cs_node_reduce_takes_result(op) ? call->recv.base + at : NULL;
	if (is_single_copy(op))
		cs_rank_order_operands(op, &call->reduction, recv, parts, own.count);
	else
		reduce_slice(op, state->post.slot + own.first * unit, recv, parts, own.count);
	cs_node_publish(&op->node, state->post.line, 2 * state->round + 2);
	return CS_OK;
}

/* Copies the others' slices of the result to the own one. */
static enum cs_status
get_sums(struct cs_op *op)
{
	struct rounds *state = rounds_of(op);
	int locals = op->team->node.shape.size, self = op->team->node.shape.local;
	size_t unit = op->call.reduction.unit;
	for (; cs_node_reduce_takes_result(op) && state->next + 1 < locals; state->next++) {
		int local = (self + 1 + state->next) % locals;
		struct slice slice = slice_of(op, local);
		if (!slice.count)
			continue;
		const struct cs_line *line = cs_node_look(&op->node, local, 2 * state->round + 2);
		if (!line)
			return CS_AGAIN;
		size_t at = slice.at + slice.first * unit;
		if (cs_post_is_single_copy(line))
			cs_node_read(&op->node, local, op->call.recv.base + at, line->word[2] + at,
				     slice.count * unit);
		else
			cs_copy_result(op, op->call.recv.base + at,
				       cs_node_slot_of(&op->node, local, line->slot, state->round) +
				       slice.first * unit, slice.count * unit);
	}
	state->next = 0;
	return CS_OK;
}

static enum cs_status next_round(struct cs_op *op);

static enum cs_status
all_have_read(struct cs_op *op)
{
	return !is_single_copy(op) || cs_node_are_done(&op->node, cs_node_has_read(op->node.number))
	       ? CS_OK : CS_AGAIN;
}

static cs_phase *const one_node_long_script[] = { open_rounds, post_round, reduce_round, get_sums,
						  next_round,  all_have_read, NULL };

static enum cs_status
next_round(struct cs_op *op)
{
	struct rounds *state = rounds_of(op);
	if (++state->round == state->post.rounds) {
		cs_node_end(&op->node);
	} else {
		cs_node_done(&op->node, 2 * state->round);
		op->phase = one_node_long_script + 1;
	}
	return CS_OK;
}

static void
one_node_long(struct cs_op *op, size_t chunk, bool by_single_copy)
{
	struct cs_call *call = &op->call;
	struct rounds *state = rounds_of(op);
	*state = (struct rounds){ .per_round = chunk / call->reduction.unit,
				  .post = { .way = by_single_copy ? CS_POST_SINGLE_COPY
								  : CS_POST_RING,
					    .address = by_single_copy
					    ? (uint64_t)(uintptr_t)call->send.base : 0 } };
	state->post.rounds = cs_chunks_rounds(call->count, state->per_round);
	cs_node_expect(&op->node, state->post.rounds, 2);
	cs_op_start(op, one_node_long_script);
	cs_post_reserve(&op->node, &state->post, op->node.extras & CS_OP_NONBLOCKING);
}

/* --- one node, long, non-blocking: slices are reduced by the ranks that are there ------------- */

struct claimed {
	struct cs_slices slices;
	int taken;
};

static enum cs_status
post_slices(struct cs_op *op)
{
	return cs_vector_post(op, &CS_OP_STATE(struct claimed, op)->slices.vector);
}

static void
reduce_claimed(struct cs_op *op, const struct cs_sliced *slice)
{
	int locals = op->team->node.shape.size, self = op->team->node.shape.local;
	struct cs_operand parts[locals];
	for (int local = 0; local < locals; local++)
		parts[local].mapped = local == self ? op->call.send.base + slice->at
						    : cs_slices_of(op, slice, local);
	reduce_slice(op, cs_slices_of(op, slice, self),
		     cs_node_reduce_takes_result(op) ? op->call.recv.base + slice->at : NULL, parts,
		     slice->count);
}

static enum cs_status
claim_slices(struct cs_op *op)
{
	struct cs_slices *slices = &CS_OP_STATE(struct claimed, op)->slices;
	const struct cs_node_shape *shape = &op->team->node.shape;
	if (cs_vector_await(op, &slices->vector, shape->size) == CS_AGAIN)
		return CS_AGAIN;
	if (op->node.outcome.bits & CS_OUTCOME_STOPPED)
		return CS_OK;
	for (int slice; (slice = cs_arrive_ticket(&op->node, 0)) < slices->count;) {
		struct cs_sliced claimed = cs_slices_at(op, slices, slice);
		reduce_claimed(op, &claimed);
		cs_arrive_tell(&op->node, cs_slices_round(slice), cs_slices_part(slice),
			       shape->local);
	}
	return CS_OK;
}

/* Copies the slices of the result that others have made. */
static enum cs_status
take_slices(struct cs_op *op)
{
	struct claimed *state = CS_OP_STATE(struct claimed, op);
	int count = state->slices.count, locals = op->team->node.shape.size,
	    self = op->team->node.shape.local;
	bool takes = cs_node_reduce_takes_result(op) &&
		     !(op->node.outcome.bits & CS_OUTCOME_STOPPED);
	for (; takes && state->taken < count; state->taken++) {
		int slice = (state->taken + self * count / locals) % count,
		    holder = cs_arrive_holder(&op->node, cs_slices_round(slice),
					      cs_slices_part(slice));
		if (holder < 0)
			return CS_AGAIN;
		struct cs_sliced made = cs_slices_at(op, &state->slices, slice);
		if (holder != self)
			cs_copy_result(op, op->call.recv.base + made.at,
				       cs_slices_of(op, &made, holder),
				       made.count * op->call.reduction.unit);
	}
	cs_node_end(&op->node);
	return CS_OK;
}

static cs_phase *const claimed_script[] = { post_slices, claim_slices, take_slices, NULL };

static void
one_node_claimed(struct cs_op *op)
{
	struct claimed *state = CS_OP_STATE(struct claimed, op);
	cs_op_start(op, claimed_script);
	cs_slices_init(op, &state->slices, true);
	state->taken = 0;
}

/* Are whole vectors read? The sum has the same bits in any case. All ranks of a node agree on this,
 * but nodes may differ: over several only read_all counts. */
static bool
is_read_whole(struct cs_op *op, size_t read_all)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	const struct cs_node *node = &team->node;
	if (!cs_vector_fits(op))
		return false;
	return call->bytes <= read_all ||
	       (read_all && team->shape.nodes == 1 &&
		call->bytes <= cs_facts_read_whole(&node->facts, (size_t)node->shape.size,
						   call->root >= 0));
}

bool
cs_node_reduce_fast(struct cs_op *op, size_t read_all, size_t single_copy_from)
{
	if (op->team->shape.nodes > 1 || !cs_small_fits(op, op->call.bytes, single_copy_from) ||
	    !is_read_whole(op, read_all))
		return false;
	one_node_small(op);
	return true;
}

void
cs_node_reduce(struct cs_op *op, const struct cs_node_reduce_params *params)
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
			cs_node_reduce_hier_short(op);
		else
			cs_node_reduce_hier_long(op, params, chunk);
	} else if (is_short) {
		one_node_short(op, chooses_single_copy(op, params->cma_min, true));
	} else if (cs_slices_fit(op)) {
		one_node_claimed(op);
	} else {
		one_node_long(op, chunk, chooses_single_copy(op, params->cma_min, false));
	}
}
