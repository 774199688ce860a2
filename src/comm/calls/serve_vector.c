/* comm/calls/serve_vector.c — collectives of blocks with counts and displacements (MPI 4.0, 6.5 to
 * 6.8). */
#include "comm/calls/serve_flat.h"

#include "base/log.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Blocks of a v-call. Displacements are in extents with one type for all, in bytes with a type per
 * rank. */
struct scattered {
	char *user;
	const struct cs_vector_args *vector;
	const struct cs_type *type;    /* of all ranks, or */
	struct cs_type *types;         /* by rank (alltoallw); owned */
	size_t total;
	MPI_Aint lowest; /* displacement, in bytes, if below 0 */
	bool is_contiguous;
	size_t *bytes, *at; /* by rank, in bytes; from communicator->sizes */
	char *base;
};

static const struct cs_type *
type_at(const struct scattered *blocks, int rank)
{
	return blocks->types ? &blocks->types[rank] : blocks->type;
}

static MPI_Count
count_at(const struct scattered *blocks, int rank)
{
	return cs_serve_count_at(blocks->vector, rank);
}

static MPI_Aint
displacement_at(const struct scattered *blocks, int rank)
{
	const struct cs_vector_args *vector = blocks->vector;
	MPI_Aint displacement = vector->is_large ? ((const MPI_Aint *)vector->displs)[rank]
						 : ((const int *)vector->displs)[rank];
	return blocks->types ? displacement : displacement * blocks->type->extent;
}

/* Address of the program's block. Computed as a number: MPI_BOTTOM is null, and displacements from
 * it may be negative. */
static void *
block_at(const struct scattered *blocks, int rank)
{
	return (void *)((uintptr_t)blocks->user + (uintptr_t)displacement_at(blocks, rank));
}

/* The usual case: int counts of one contiguous type. False: for the host (a negative count, or the
 * buffer). */
static bool
look_simple(struct scattered *blocks, int size)
{
	const int *counts = blocks->vector->counts, *displs = blocks->vector->displs;
	size_t unit = blocks->type->size, total = 0, *bytes = blocks->bytes, *starts = blocks->at;
	MPI_Aint lowest = 0;
	for (int rank = 0; rank < size; rank++) {
		if (counts[rank] < 0)
			return false;
		bytes[rank] = (size_t)counts[rank] * unit;
		MPI_Aint at = bytes[rank] ? displs[rank] * (MPI_Aint)unit : 0;
		starts[rank] = (size_t)at;
		total += bytes[rank];
		lowest = at < lowest ? at : lowest;
	}
	blocks->total = total;
	blocks->lowest = lowest;
	return cs_serve_is_memory(blocks->user) ||
	       cs_flat_look_special(blocks->user, total, blocks->type);
}

/* Any types and counts; blocks->type or blocks->types is set. False: for the host. */
static __attribute__((noinline)) bool
look_each(const struct cs_serving *serving, struct scattered *blocks)
{
	const struct cs_comm *communicator = serving->communicator;
	for (int rank = 0; rank < communicator->size; rank++) {
		const struct cs_type *own_type = type_at(blocks, rank);
		MPI_Count count = count_at(blocks, rank);
		if (!cs_serve_bytes(own_type, count, &blocks->bytes[rank]) ||
		    __builtin_add_overflow(blocks->total, blocks->bytes[rank], &blocks->total))
			return false;
		blocks->at[rank] = 0;
		if (blocks->bytes[rank] == 0)
			continue;
		MPI_Aint at = displacement_at(blocks, rank);
		blocks->at[rank] = (size_t)at;
		blocks->lowest = at < blocks->lowest ? at : blocks->lowest;
		blocks->is_contiguous = blocks->is_contiguous && own_type->is_contiguous;
		if (cs_serve_is_memory(blocks->user))
			continue;
		/* Displacements from MPI_BOTTOM that are addresses: MPICH refuses them for
		 * predefined types only. */
		bool is_absolute = !blocks->user && at != 0 && !own_type->is_predefined;
		if (!is_absolute &&
		    !cs_flat_look_special(blocks->user, blocks->bytes[rank], own_type))
			return false;
		blocks->is_contiguous = false;
	}
	return true;
}

/* Fills *blocks for one type, or with blocks->types set. `which` (CS_INPUT, CS_OUTPUT) also chooses
 * two of the communicator's four size arrays. False: for the host. */
static bool
look_scattered(struct cs_serving *serving, void *user, MPI_Datatype type,
	       const struct cs_vector_args *vector, int which, struct scattered *blocks)
{
	struct cs_comm *communicator = serving->communicator;
	blocks->user = user;
	blocks->vector = vector;
	blocks->bytes = cs_serve_sizes(serving) + 2 * (size_t)which *
			(size_t)communicator->size;
	blocks->at = blocks->bytes + communicator->size;
	blocks->total = 0;
	blocks->lowest = 0;
	blocks->is_contiguous = true;
	if (!vector->counts || !vector->displs)
		return false;
	if (!blocks->types) {
		blocks->type = cs_serving_type(serving, type, which);
		if (!blocks->type)
			return false;
		/* With size <= INT_MAX, no count times size can overflow. */
		if (blocks->type->is_contiguous && blocks->type->size <= INT_MAX &&
		    !vector->is_large)
			return look_simple(blocks, communicator->size);
	}
	return look_each(serving, blocks);
}

/* Packs the blocks one after another. */
static void
pack_scattered(struct cs_serving *serving, struct scattered *blocks, int which,
	       enum cs_filled filled)
{
	struct cs_comm *communicator = serving->communicator;
	size_t offset = 0;
	blocks->base = cs_serve_packed(serving, which, blocks->total);
	for (int rank = 0; rank < communicator->size; rank++) {
		blocks->at[rank] = offset;
		if (blocks->bytes[rank] &&
		    (filled == CS_ALL || (filled == CS_OWN && rank == communicator->rank)))
			cs_serve_pack(serving, type_at(blocks, rank), block_at(blocks, rank),
				      count_at(blocks, rank), blocks->base + offset);
		offset += blocks->bytes[rank];
	}
}

/* Makes displacements, some of them negative, relative to the lowest block. */
static void
rebase_scattered(const struct cs_comm *communicator, struct scattered *blocks)
{
	for (int rank = 0; rank < communicator->size; rank++)
		if (blocks->bytes[rank])
			blocks->at[rank] -= (size_t)blocks->lowest;
	blocks->base = blocks->user + blocks->lowest;
}

static __attribute__((noinline)) void
open_scattered_slow(struct cs_serving *serving, struct scattered *blocks, int which,
		    enum cs_filled filled)
{
	if (blocks->is_contiguous)
		rebase_scattered(serving->communicator, blocks);
	else
		pack_scattered(serving, blocks, which, filled);
}

/* The blocks as bytes: in the program's memory, or packed. */
static inline struct cs_blocks
open_scattered(struct cs_serving *serving, struct scattered *blocks, int which,
	       enum cs_filled filled)
{
	blocks->base = blocks->user;
	if (__builtin_expect(!blocks->is_contiguous || blocks->lowest, 0))
		open_scattered_slow(serving, blocks, which, filled);
	return (struct cs_blocks){ .base = blocks->base, .bytes = blocks->bytes, .at = blocks->at };
}

/* Unpacks the blocks; also the own one of a call in place, which holds the same bytes. */
static void
unpack_scattered(struct cs_serving *serving, const struct scattered *blocks)
{
	struct cs_comm *communicator = serving->communicator;
	for (int rank = 0; rank < communicator->size; rank++)
		if (blocks->bytes[rank])
			cs_serve_unpack(serving, type_at(blocks, rank), block_at(blocks, rank),
					count_at(blocks, rank), blocks->base + blocks->at[rank]);
}

struct later {
	struct scattered blocks;
	struct cs_vector_args vector;
	struct cs_type type; /* if there is one for all */
};

static void
unpack_later(struct cs_serving *serving, void *results)
{
	struct later *later = results;
	struct scattered *blocks = &later->blocks;
	blocks->vector = &later->vector;
	blocks->type = &later->type;
	unpack_scattered(serving, blocks);
	if (!blocks->types)
		cs_serve_drop_type(&later->type);
	for (int rank = 0; blocks->types && rank < serving->communicator->size; rank++)
		if (blocks->bytes[rank])
			cs_serve_drop_type(&blocks->types[rank]);
	free(blocks->types);
}

/* Keeps types until a non-blocking call is over. The arrays of counts stay as they are till then
 * (MPI 4.0, 6.12). */
static void
close_later(struct cs_serving *serving, struct scattered *blocks)
{
	struct later later = { .blocks = *blocks, .vector = *blocks->vector };
	if (!blocks->types) {
		memcpy(&later.type, blocks->type, sizeof later.type);
		cs_serve_keep_type(&later.type);
	}
	for (int rank = 0; blocks->types && rank < serving->communicator->size; rank++)
		if (blocks->bytes[rank])
			cs_serve_keep_type(&blocks->types[rank]);
	blocks->types = NULL;
	cs_serve_postpone(serving, unpack_later, &later, sizeof later);
}

static void
close_scattered(struct cs_serving *serving, struct scattered *blocks)
{
	if (blocks->is_contiguous)
		return;
	if (cs_serving_goes_on(serving))
		close_later(serving, blocks);
	else
		unpack_scattered(serving, blocks);
}

bool
cs_serve_allgatherv(struct cs_serving *serving, const struct cs_side *send,
		    const struct cs_side *recv, const struct cs_vector_args *vector)
{
	struct cs_comm *communicator = serving->communicator;
	struct scattered out;
	struct cs_flat in = { 0 };
	bool in_place = send->buffer == MPI_IN_PLACE;
	out.types = NULL;
	if (!look_scattered(serving, recv->buffer, recv->type, vector, CS_OUTPUT, &out) ||
	    (!in_place && !cs_flat_look(serving, send, CS_INPUT, &in)) ||
	    (cs_side_is_at(send, recv, out.at[communicator->rank]) &&
	     cs_flat_is_refused(serving, send, recv, out.at[communicator->rank], &in, CS_INPUT)))
		return cs_serve_not(serving, "arguments not served");
	/* Every rank has all counts (MPI 4.0, 6.7), so the choice may depend on their sum and the
	 * largest. */
	size_t mean = (out.total + (size_t)communicator->size - 1) / (size_t)communicator->size;
	if (!cs_serve_choose_as(serving, CS_ALLGATHERV, mean,
				cs_skew(out.bytes, communicator->size, mean), CS_ORDER_NONE, -1))
		return false;
	if (!in_place && in.bytes != out.bytes[communicator->rank])
		return cs_serve_not(serving, "arguments not served");
	struct cs_call *call = &serving->op.call;
	cs_call_init(call, CS_ALLGATHERV, 0, out.bytes[communicator->rank]);
	call->recv = open_scattered(serving, &out, CS_OUTPUT, in_place ? CS_OWN : CS_NONE);
	/* An empty block may have a null buffer, which would mean "in place". */
	call->send.base = in_place ? NULL : cs_flat_open(serving, &in, CS_INPUT, CS_ALL);
	if (!in_place && !call->send.base)
		call->send.base = (char *)call->recv.base;
	if (!cs_serve_run(serving, cs_call_signature(CS_ALLGATHERV, 0)))
		return false;
	close_scattered(serving, &out);
	return true;
}

bool
cs_serve_gatherv(struct cs_serving *serving, const struct cs_side *send, const struct cs_side *recv,
		 const struct cs_vector_args *vector, int root)
{
	struct cs_comm *communicator = serving->communicator;
	struct scattered out;
	struct cs_flat in = { 0 };
	bool is_root = communicator->rank == root;
	bool in_place = is_root && send->buffer == MPI_IN_PLACE;
	out.types = NULL;
	if (!cs_serve_has_root(serving, root) ||
	    (is_root && !look_scattered(serving, recv->buffer, recv->type, vector, CS_OUTPUT,
					&out)) ||
	    (!in_place && !cs_flat_look(serving, send, CS_INPUT, &in)) ||
	    (is_root && cs_side_is_at(send, recv, out.at[communicator->rank]) &&
	     cs_flat_is_refused(serving, send, recv, out.at[communicator->rank], &in, CS_INPUT)))
		return cs_serve_not(serving, "arguments not served");
	if (!cs_serve_choose_rooted(serving, CS_GATHERV, CS_BYTES_UNKNOWN, root))
		return false;
	size_t own = is_root ? out.bytes[communicator->rank] : in.bytes;
	if (!in_place && in.bytes != own)
		return cs_serve_not(serving, "arguments not served");
	struct cs_call *call = &serving->op.call;
	cs_call_init(call, CS_GATHERV, root, own);
	if (is_root)
		call->recv = open_scattered(serving, &out, CS_OUTPUT, in_place ? CS_OWN : CS_NONE);
	call->send.base = in_place ? NULL : cs_flat_open(serving, &in, CS_INPUT, CS_ALL);
	if (!in_place && !call->send.base)
		call->send.base = (char *)"";
	if (!cs_serve_run(serving, cs_call_signature(CS_GATHERV, (unsigned)root)))
		return false;
	if (is_root)
		close_scattered(serving, &out);
	return true;
}

bool
cs_serve_scatterv(struct cs_serving *serving, const struct cs_side *send,
		  const struct cs_vector_args *vector, const struct cs_side *recv, int root)
{
	struct cs_comm *communicator = serving->communicator;
	struct scattered in;
	struct cs_flat out = { 0 };
	bool is_root = communicator->rank == root;
	bool in_place = is_root && recv->buffer == MPI_IN_PLACE;
	in.types = NULL;
	if (!cs_serve_has_root(serving, root) ||
	    (is_root &&
	     !look_scattered(serving, send->buffer, send->type, vector, CS_INPUT, &in)) ||
	    (!in_place && !cs_flat_look(serving, recv, CS_OUTPUT, &out)) ||
	    (is_root && cs_side_is_at(recv, send, in.at[communicator->rank]) &&
	     cs_flat_is_refused(serving, recv, send, in.at[communicator->rank], &out, CS_OUTPUT)))
		return cs_serve_not(serving, "arguments not served");
	if (!cs_serve_choose_rooted(serving, CS_SCATTERV, CS_BYTES_UNKNOWN, root))
		return false;
	size_t own = is_root ? in.bytes[communicator->rank] : out.bytes;
	if (!in_place && out.bytes != own)
		return cs_serve_not(serving, "arguments not served");
	struct cs_call *call = &serving->op.call;
	cs_call_init(call, CS_SCATTERV, root, own);
	if (is_root)
		call->send = open_scattered(serving, &in, CS_INPUT, CS_ALL);
	call->recv.base = in_place || !out.bytes
			  ? NULL : cs_flat_open(serving, &out, CS_OUTPUT, CS_NONE);
	if (!cs_serve_run(serving, cs_call_signature(CS_SCATTERV, (unsigned)root)))
		return false;
	if (call->recv.base)
		cs_flat_close(serving, &out, call->recv.base);
	return true;
}

/* cs_flat_is_refused for an alltoallv or alltoallw. `is_alike`: one type, or array of types, and
 * one array of counts for both sides; only then MPICH compares the buffers, whatever the
 * displacements. */
static inline bool
is_refused_scattered(bool is_alike, struct scattered *in, const struct scattered *out)
{
	if (__builtin_expect(in->user != out->user, 1) || !in->user || in->total == 0 ||
	    out->total == 0)
		return false;
	if (!cs_flavour.takes_aliases && is_alike)
		return true;
	in->is_contiguous = false; /* packs them first */
	return false;
}

static bool
exchange(struct cs_serving *serving, enum cs_coll coll, struct scattered *in, struct scattered *out)
{
	struct cs_comm *communicator = serving->communicator;
	bool is_even = !in || in->bytes[communicator->rank] == out->bytes[communicator->rank];
	if (!is_even && cs_flavour.compares_own_blocks)
		return cs_serve_not(serving, "arguments not served");
	if (!cs_serve_choose(serving, coll, CS_BYTES_UNKNOWN))
		return false;
	if (!is_even)
		return cs_serve_not(serving, "arguments not served");
	struct cs_call *call = &serving->op.call;
	cs_call_init(call, coll, 0, 0);
	call->recv = open_scattered(serving, out, CS_OUTPUT, in ? CS_NONE : CS_ALL);
	call->send = in ? open_scattered(serving, in, CS_INPUT, CS_ALL) : call->recv;
	if (!cs_serve_run(serving, cs_call_signature(coll, 0)))
		return false;
	close_scattered(serving, out);
	return true;
}

bool
cs_serve_alltoallv(struct cs_serving *serving, const struct cs_side *send,
		   const struct cs_vector_args *send_vector, const struct cs_side *recv,
		   const struct cs_vector_args *recv_vector)
{
	struct scattered in, out;
	bool in_place = send->buffer == MPI_IN_PLACE;
	bool is_alike = send->type == recv->type && send_vector->counts == recv_vector->counts;
	in.types = out.types = NULL;
	if (!look_scattered(serving, recv->buffer, recv->type, recv_vector, CS_OUTPUT, &out) ||
	    (!in_place &&
	     (!look_scattered(serving, send->buffer, send->type, send_vector, CS_INPUT, &in) ||
			   is_refused_scattered(is_alike, &in, &out))))
		return cs_serve_not(serving, "arguments not served");
	return exchange(serving, CS_ALLTOALLV, in_place ? NULL : &in, &out);
}

/* Makes one cs_type per rank, to be freed; NULL if one is for the host. The type of an empty block
 * is not checked: MPICH accepts MPI_DATATYPE_NULL there, and all ranks must answer alike. */
static struct cs_type *
look_types(const struct cs_serving *serving, const MPI_Datatype *types,
	   const struct cs_vector_args *vector)
{
	const struct cs_comm *communicator = serving->communicator;
	struct scattered counts = { .vector = vector };
	if (!types || !vector->counts)
		return NULL;
	struct cs_type *found = calloc((size_t)communicator->size, sizeof *found);
	if (!found) {
		cs_warn_local("no memory for the types of %d ranks; ending the job",
			      communicator->size);
		cs_host_mpi.abort("out of memory");
	}
	for (int rank = 0; found && rank < communicator->size; rank++) {
		MPI_Count count = count_at(&counts, rank);
		const struct cs_type *type = count > 0 ? cs_type_look(types[rank], &found[rank])
						       : &found[rank];
		if (count < 0 || !type) {
			free(found);
			found = NULL;
		} else if (type != &found[rank]) {
			memcpy(&found[rank], type, sizeof *type);
		}
	}
	return found;
}

bool
cs_serve_alltoallw(struct cs_serving *serving, const void *send,
		   const struct cs_vector_args *send_vector, const MPI_Datatype *send_types,
		   void *recv, const struct cs_vector_args *recv_vector,
		   const MPI_Datatype *recv_types)
{
	struct scattered in = { 0 }, out = { 0 };
	bool in_place = send == MPI_IN_PLACE;
	bool is_alike = send_types == recv_types && send_vector->counts == recv_vector->counts;
	out.types = look_types(serving, recv_types, recv_vector);
	in.types = in_place ? NULL : look_types(serving, send_types, send_vector);
	bool is_served = out.types && (in_place || in.types) &&
			 look_scattered(serving, recv, MPI_DATATYPE_NULL, recv_vector, CS_OUTPUT,
					&out) &&
			 (in_place ||
			  (look_scattered(serving, (void *)send, MPI_DATATYPE_NULL, send_vector,
					  CS_INPUT, &in) &&
			   !is_refused_scattered(is_alike, &in, &out)));
	if (is_served)
		is_served = exchange(serving, CS_ALLTOALLW, in_place ? NULL : &in, &out);
	else
		cs_serve_not(serving, "arguments not served");
	free(out.types);
	free(in.types);
	return is_served;
}
