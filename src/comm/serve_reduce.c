/* comm/serve_reduce.c — the reductions (MPI 4.0, 6.9 and 6.10). Count, type and op are equal on all ranks there. */
#include "comm/serve_common.h"

#include <string.h>

struct reduced {
	const struct cs_type *type;
	struct cs_type room; /* for a type that is not in the table */
	struct cs_operation operation;
	struct cs_call call;
	void *recv;     /* the program's */
	bool is_shaped; /* elements with gaps: the call works on copies of the same shape */
};

/* Elements with gaps -> the same shape in our memory, gaps zeroed. */
static char *
shaped_copy(struct cs_member *member, const struct reduced *reduced, const void *user, size_t count)
{
	size_t unit = reduced->call.reduction.unit, data = count * reduced->type->size;
	char *copy = cs_serve_packed(member, 0, count * unit + data), *packed = copy + count * unit;
	memset(copy, 0, count * unit);
	if (!cs_type_pack(reduced->type, user, (MPI_Count)count, packed) ||
	    !cs_type_unpack(reduced->type, copy, (MPI_Count)count, packed))
		cs_serve_packing_failed(member);
	return copy;
}

static void
shaped_result(struct cs_member *member, const struct reduced *reduced, const char *result, size_t count)
{
	char *packed = cs_serve_packed(member, 0, count * reduced->type->size);
	if (!cs_type_pack(reduced->type, result, (MPI_Count)count, packed) ||
	    !cs_type_unpack(reduced->type, reduced->recv, (MPI_Count)count, packed))
		cs_serve_packing_failed(member);
}

/* Looks at everything that all ranks share and asks select. `spread`: elements of each rank's block must fit into a
 * piece of shared memory together (reduce_scatter). `skew` as in cs_facts. */
static bool
begin(struct cs_member *member, struct reduced *reduced, enum cs_coll coll, MPI_Count count, MPI_Datatype type,
      MPI_Op op, bool is_spread, int skew)
{
	reduced->type = cs_type_look(type, &reduced->room);
	if (count < 0 || !reduced->type || !cs_operation_look(op, &reduced->operation) ||
	    !cs_reduction_make(type, reduced->type, op, &reduced->operation, &reduced->call.reduction))
		return cs_serve_not(member, "type, operation or arguments not served");
	const struct cs_team *team = member->runner.team;
	size_t unit = reduced->call.reduction.unit, bytes;
	size_t room = team->node.shape.slot_bytes;
	if (team->shape.nodes > 1 && team->node.shape.area_bytes < room)
		room = team->node.shape.area_bytes;
	if (__builtin_mul_overflow((size_t)count, unit, &bytes) || unit > room / (is_spread ? (size_t)member->size : 1))
		return cs_serve_not(member, "elements too large");
	if (!cs_serve_choose_skewed(member, coll, bytes, skew, reduced->operation.is_commutative))
		return false;
	reduced->is_shaped = !reduced->type->is_contiguous;
	reduced->call.coll = coll;
	reduced->call.count = (size_t)count;
	reduced->call.bytes = bytes;
	reduced->call.counts = NULL;
	reduced->call.is_commutative = reduced->operation.is_commutative;
	reduced->call.root = -1;
	return true;
}

/* Buffers that no correct program passes: the host has a word for them. */
static bool
is_bad(const void *send, const void *recv, bool takes)
{
	return (takes && (!recv || recv == send)) || !send;
}

static int
finish(struct cs_member *member, struct reduced *reduced, const void *send, void *recv, size_t input, size_t output)
{
	struct cs_call *call = &reduced->call;
	const void *from = send == MPI_IN_PLACE ? recv : send;
	reduced->recv = recv;
	call->send = (struct cs_blocks){ .base = (char *)from };
	call->recv = (struct cs_blocks){ .base = recv };
	if (!reduced->is_shaped)
		return cs_serve_run(member, call);
	call->send.base = shaped_copy(member, reduced, from, input);
	call->recv.base = recv ? cs_serve_packed(member, 1, output * call->reduction.unit) : NULL;
	int result = cs_serve_run(member, call);
	if (recv && output)
		shaped_result(member, reduced, call->recv.base, output);
	return result;
}

bool
cs_serve_allreduce(struct cs_member *member, const void *send, void *recv, MPI_Count count, MPI_Datatype type,
		   MPI_Op op, int *result)
{
	struct reduced reduced;
	if (is_bad(send == MPI_IN_PLACE ? "" : send, recv, true))
		return cs_serve_not(member, "arguments not served");
	if (!begin(member, &reduced, CS_ALLREDUCE, count, type, op, false, 1))
		return false;
	*result = finish(member, &reduced, send, recv, (size_t)count, (size_t)count);
	return true;
}

bool
cs_serve_reduce(struct cs_member *member, const void *send, void *recv, MPI_Count count, MPI_Datatype type, MPI_Op op,
		int root, int *result)
{
	struct reduced reduced;
	bool is_root = member->rank == root;
	if (root < 0 || root >= member->size || (send == MPI_IN_PLACE && !is_root) ||
	    is_bad(send == MPI_IN_PLACE ? "" : send, recv, is_root))
		return cs_serve_not(member, "arguments not served");
	if (!begin(member, &reduced, CS_REDUCE, count, type, op, false, 1))
		return false;
	reduced.call.root = root;
	*result = finish(member, &reduced, send, is_root ? recv : NULL, (size_t)count, (size_t)count);
	return true;
}

static MPI_Count
count_at(const struct cs_vector *vector, int rank)
{
	return vector->is_large ? ((const MPI_Count *)vector->counts)[rank] : ((const int *)vector->counts)[rank];
}

bool
cs_serve_reduce_scatter(struct cs_member *member, const void *send, void *recv, struct cs_vector counts,
			MPI_Datatype type, MPI_Op op, int *result)
{
	struct reduced reduced;
	MPI_Count total = 0;
	if (!counts.counts || is_bad(send == MPI_IN_PLACE ? "" : send, send == MPI_IN_PLACE ? "" : recv, false))
		return cs_serve_not(member, "arguments not served");
	for (int rank = 0; rank < member->size; rank++) {
		MPI_Count count = count_at(&counts, rank);
		if (count < 0)
			return cs_serve_not(member, "arguments not served");
		member->sizes[rank] = (size_t)count;
		total += count;
	}
	if ((member->sizes[member->rank] && !recv) || (send == recv && total))
		return cs_serve_not(member, "arguments not served");
	int skew = cs_skew(member->sizes, member->size, ((size_t)total + (size_t)member->size - 1) / (size_t)member->size);
	if (!begin(member, &reduced, CS_REDUCE_SCATTER, total, type, op, true, skew))
		return false;
	reduced.call.counts = member->sizes;
	*result = finish(member, &reduced, send, recv, (size_t)total, member->sizes[member->rank]);
	return true;
}

bool
cs_serve_reduce_scatter_block(struct cs_member *member, const void *send, void *recv, MPI_Count count,
			      MPI_Datatype type, MPI_Op op, int *result)
{
	struct reduced reduced;
	MPI_Count total;
	if (count < 0 || __builtin_mul_overflow(count, (MPI_Count)member->size, &total) ||
	    is_bad(send == MPI_IN_PLACE ? "" : send, recv, true))
		return cs_serve_not(member, "arguments not served");
	if (!begin(member, &reduced, CS_REDUCE_SCATTER_BLOCK, total, type, op, true, 1))
		return false;
	*result = finish(member, &reduced, send, recv, (size_t)total, (size_t)count);
	return true;
}
