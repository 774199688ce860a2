/* comm/calls/serve_move.c — collectives that move blocks of one size (MPI 4.0, 6.3 to 6.8). */
#include "comm/calls/serve_flat.h"

bool
cs_serve_barrier(struct cs_serving *serving)
{
	if (!cs_serve_choose(serving, CS_BARRIER, 0))
		return false;
	struct cs_call *call = &serving->op.call;
	cs_call_init(call, CS_BARRIER, 0, 0);
	return cs_serve_run(serving, cs_call_signature(CS_BARRIER, 0));
}

bool
cs_serve_bcast(struct cs_serving *serving, const struct cs_side *data, int root)
{
	struct cs_comm *communicator = serving->communicator;
	struct cs_flat flat;
	if (!cs_serve_has_root(serving, root) || !cs_flat_look(serving, data, CS_INPUT, &flat))
		return cs_serve_not(serving, "arguments not served");
	if (!cs_serve_choose_rooted(serving, CS_BCAST, flat.bytes, root))
		return false;
	bool is_root = communicator->rank == root;
	struct cs_call *call = &serving->op.call;
	cs_call_init(call, CS_BCAST, root, flat.bytes);
	call->recv.base = cs_flat_open(serving, &flat, CS_INPUT, is_root ? CS_ALL : CS_NONE);
	if (!cs_serve_run(serving, cs_call_signature(CS_BCAST, (unsigned)root)))
		return false;
	if (!is_root)
		cs_flat_close(serving, &flat, call->recv.base);
	return true;
}

/* --- equal blocks by rank --------------------------------------------------------------------- */

/* Fills *flat for side->count elements of each rank, one block after another; *each: bytes of a
 * block. */
static inline bool
look_blocks(struct cs_serving *serving, const struct cs_side *side, int which, struct cs_flat *flat,
	    size_t *each)
{
	struct cs_comm *communicator = serving->communicator;
	MPI_Count whole;
	if (side->count < 0 ||
	    __builtin_mul_overflow(side->count, (MPI_Count)communicator->size, &whole) ||
	    !cs_flat_look_at(serving, side, whole, which, flat))
		return false;
	*each = (size_t)side->count * flat->type->size;
	return true;
}

/* Offset of this rank's block, in bytes. */
static inline size_t
own_at(const struct cs_serving *serving, size_t each)
{
	const struct cs_comm *communicator = serving->communicator;
	return (size_t)communicator->rank * each;
}

bool
cs_serve_allgather(struct cs_serving *serving, const struct cs_side *send,
		   const struct cs_side *recv)
{
	struct cs_flat out = { 0 }, in = { 0 };
	size_t each = 0;
	bool in_place = send->buffer == MPI_IN_PLACE;
	if (!look_blocks(serving, recv, CS_OUTPUT, &out, &each) ||
	    (!in_place && !cs_flat_look(serving, send, CS_INPUT, &in)) ||
	    (cs_side_is_among(send, recv, out.bytes) &&
	     cs_flat_is_refused(serving, send, recv, own_at(serving, each), &in, CS_INPUT)))
		return cs_serve_not(serving, "arguments not served");
	if (!cs_serve_choose(serving, CS_ALLGATHER, each))
		return false;
	if (!in_place && in.bytes != each)
		return cs_serve_not(serving, "arguments not served");
	struct cs_call *call = &serving->op.call;
	cs_call_init(call, CS_ALLGATHER, 0, each);
	call->recv = (struct cs_blocks){ .base = cs_flat_open(serving, &out, CS_OUTPUT,
							      in_place ? CS_OWN : CS_NONE),
					.each = each };
	call->send.base = in_place ? NULL : cs_flat_open(serving, &in, CS_INPUT, CS_ALL);
	if (!cs_serve_run(serving, cs_call_signature(CS_ALLGATHER, 0)))
		return false;
	cs_flat_close(serving, &out, call->recv.base);
	return true;
}

bool
cs_serve_gather(struct cs_serving *serving, const struct cs_side *send, const struct cs_side *recv,
		int root)
{
	struct cs_comm *communicator = serving->communicator;
	struct cs_flat out = { 0 }, in = { 0 };
	size_t each = 0;
	bool is_root = communicator->rank == root;
	bool in_place = is_root && send->buffer == MPI_IN_PLACE;
	if (!cs_serve_has_root(serving, root) ||
	    (is_root && !look_blocks(serving, recv, CS_OUTPUT, &out, &each)) ||
	    (!in_place && !cs_flat_look(serving, send, CS_INPUT, &in)) ||
	    (is_root && cs_side_is_among(send, recv, out.bytes) &&
	     cs_flat_is_refused(serving, send, recv, own_at(serving, each), &in, CS_INPUT)))
		return cs_serve_not(serving, "arguments not served");
	if (!is_root)
		each = in.bytes;
	if (!cs_serve_choose_rooted(serving, CS_GATHER, each, root))
		return false;
	if (!in_place && in.bytes != each)
		return cs_serve_not(serving, "arguments not served");
	struct cs_call *call = &serving->op.call;
	cs_call_init(call, CS_GATHER, root, each);
	if (is_root)
		call->recv = (struct cs_blocks){ .base = cs_flat_open(serving, &out, CS_OUTPUT,
								      in_place ? CS_OWN : CS_NONE),
						.each = each };
	call->send.base = in_place ? NULL : cs_flat_open(serving, &in, CS_INPUT, CS_ALL);
	if (!cs_serve_run(serving, cs_call_signature(CS_GATHER, (unsigned)root)))
		return false;
	if (is_root)
		cs_flat_close(serving, &out, call->recv.base);
	return true;
}

bool
cs_serve_scatter(struct cs_serving *serving, const struct cs_side *send, const struct cs_side *recv,
		 int root)
{
	struct cs_comm *communicator = serving->communicator;
	struct cs_flat out = { 0 }, in = { 0 };
	size_t each = 0;
	bool is_root = communicator->rank == root;
	bool in_place = is_root && recv->buffer == MPI_IN_PLACE;
	if (!cs_serve_has_root(serving, root) ||
	    (is_root && !look_blocks(serving, send, CS_INPUT, &in, &each)) ||
	    (!in_place && !cs_flat_look(serving, recv, CS_OUTPUT, &out)) ||
	    (is_root && cs_side_is_among(recv, send, in.bytes) &&
	     cs_flat_is_refused(serving, recv, send, own_at(serving, each), &out, CS_OUTPUT)))
		return cs_serve_not(serving, "arguments not served");
	if (!is_root)
		each = out.bytes;
	if (!cs_serve_choose_rooted(serving, CS_SCATTER, each, root))
		return false;
	if (!in_place && out.bytes != each)
		return cs_serve_not(serving, "arguments not served");
	struct cs_call *call = &serving->op.call;
	cs_call_init(call, CS_SCATTER, root, each);
	if (is_root)
		call->send =
			(struct cs_blocks){ .base = cs_flat_open(serving, &in, CS_INPUT, CS_ALL),
					    .each = each };
	call->recv.base = in_place ? NULL : cs_flat_open(serving, &out, CS_OUTPUT, CS_NONE);
	if (!cs_serve_run(serving, cs_call_signature(CS_SCATTER, (unsigned)root)))
		return false;
	if (!in_place)
		cs_flat_close(serving, &out, call->recv.base);
	return true;
}

/* Serves an alltoall. A rank must send itself as much as it receives from itself: Open MPI checks
 * this before an alltoall, alltoallv or alltoallw begins, and refuses it on that rank alone
 * (4.1.4); in MPICH it is a truncation like others. */
bool
cs_serve_alltoall(struct cs_serving *serving, const struct cs_side *send,
		  const struct cs_side *recv)
{
	struct cs_flat out = { 0 }, in = { 0 };
	size_t each = 0, send_each = 0;
	bool in_place = send->buffer == MPI_IN_PLACE;
	if (!look_blocks(serving, recv, CS_OUTPUT, &out, &each) ||
	    (!in_place && !look_blocks(serving, send, CS_INPUT, &in, &send_each)) ||
	    (__builtin_expect(send_each != each, 0) && !in_place &&
	     cs_flavour.compares_own_blocks) ||
	    (cs_side_is_at(send, recv, 0) &&
	     cs_flat_is_refused(serving, send, recv, 0, &in, CS_INPUT)))
		return cs_serve_not(serving, "arguments not served");
	if (!cs_serve_choose(serving, CS_ALLTOALL, each))
		return false;
	if (!in_place && send_each != each)
		return cs_serve_not(serving, "arguments not served");
	struct cs_call *call = &serving->op.call;
	cs_call_init(call, CS_ALLTOALL, 0, each);
	call->recv = (struct cs_blocks){ .base = cs_flat_open(serving, &out, CS_OUTPUT,
							      in_place ? CS_ALL : CS_NONE),
					.each = each };
	call->send = in_place ? call->recv
			     : (struct cs_blocks){ .base = cs_flat_open(serving, &in, CS_INPUT,
									CS_ALL), .each = each };
	if (!cs_serve_run(serving, cs_call_signature(CS_ALLTOALL, 0)))
		return false;
	cs_flat_close(serving, &out, call->recv.base);
	return true;
}
