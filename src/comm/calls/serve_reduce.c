/* comm/calls/serve_reduce.c — reductions (MPI 4.0, 6.9 and 6.10). Count, type and op are equal on
 * all ranks. */
#include "comm/calls/serve_common.h"

#include "base/log.h"
#include "comm/engine.h"
#include "comm/calls/ordered.h"

#include <stdlib.h>
#include <string.h>

struct reduced {
	const struct cs_type *type;
	struct cs_call *call; /* the operation's */
	void *recv;     /* the program's */
	bool is_shaped; /* elements with gaps: the call works on copies of the same shape */
	bool is_rooted;
	int root;       /* if so */
};

/* Copies elements with gaps into our memory, in the same shape, with the gaps zeroed. */
static char *
shaped_copy(struct cs_serving *serving, const struct reduced *reduced, const void *user,
	    size_t count)
{
	size_t unit = reduced->call->reduction.unit, data = count * reduced->type->size;
	char *copy = cs_serve_packed(serving, 0, count * unit + data),
	     *packed = copy + count * unit;
	memset(copy, 0, count * unit);
	cs_serve_pack(serving, reduced->type, user, (MPI_Count)count, packed);
	cs_serve_unpack(serving, reduced->type, copy, (MPI_Count)count, packed);
	return copy;
}

static void
shaped_result(struct cs_serving *serving, const struct reduced *reduced, const char *result,
	      size_t count);

struct shaped {
	struct reduced reduced;
	const char *result;
	size_t count;
};

static void
shape_later(struct cs_serving *serving, void *results)
{
	struct shaped *later = results;
	shaped_result(serving, &later->reduced, later->result, later->count);
}

/* Types of a reduction's elements are predefined, so they need not be kept. */
static void
shaped_result(struct cs_serving *serving, const struct reduced *reduced, const char *result,
	      size_t count)
{
	struct shaped later = { *reduced, result, count };
	if (cs_serve_postpone(serving, shape_later, &later, sizeof later))
		return;
	char *packed = cs_serve_packed(serving, 0, count * reduced->type->size);
	cs_serve_pack(serving, reduced->type, result, (MPI_Count)count, packed);
	cs_serve_unpack(serving, reduced->type, reduced->recv, (MPI_Count)count, packed);
}

static inline enum cs_order
order_of(const struct cs_call *call)
{
	return !call->is_commutative ? CS_ORDER_KEPT
	       : cs_reduction_is_exact(&call->reduction) ? CS_ORDER_EXACT : CS_ORDER_FREE;
}

/* Fills reduced->call->reduction from type and operation; if both are predefined, it is kept for
 * the next call. */
static __attribute__((noinline)) bool
make_reduction(struct cs_serving *serving, struct reduced *reduced, MPI_Datatype type, MPI_Op op)
{
	struct cs_comm *communicator = serving->communicator;
	struct cs_operation operation;
	if (!cs_operation_look(op, &operation) ||
	    !cs_reduction_make(type, reduced->type, op, &operation, &reduced->call->reduction))
		return false;
	reduced->call->is_commutative = operation.is_commutative;
	if (operation.is_predefined && reduced->type->is_predefined) {
		communicator->known_pair = reduced->call->reduction;
		communicator->known_order = order_of(reduced->call);
	}
	return true;
}

static inline bool
look(struct cs_serving *serving, struct reduced *reduced, MPI_Datatype type, MPI_Op op)
{
	struct cs_comm *communicator = serving->communicator;
	const struct cs_reduction *known = &communicator->known_pair;
	reduced->type = cs_serving_type(serving, type, CS_INPUT);
	if (known->unit && known->type == (uintptr_t)type && known->op == (uintptr_t)op) {
		reduced->call->reduction = *known;
		reduced->call->is_commutative = true; /* as all predefined operations are */
		return true;
	}
	return reduced->type && make_reduction(serving, reduced, type, op);
}

/* Fills in the call of a reduction. */
static inline __attribute__((always_inline)) void
fill(struct reduced *reduced, enum cs_coll coll, size_t count, size_t bytes)
{
	struct cs_call *call = reduced->call;
	reduced->is_shaped = !reduced->type->is_contiguous;
	call->coll = coll;
	call->count = count;
	call->bytes = bytes;
	call->counts = NULL;
	call->root = reduced->is_rooted ? reduced->root : -1;
}

/* Is a non-blocking call the host's? The program may free its operation before the call is over; a
 * fixed order of operands takes blocking calls; and a thread that steps calls does not call the
 * MPI. Nodes may differ in which kernels give the host's results, but not those whose calls are
 * stepped by a thread. */
static __attribute__((noinline)) bool
is_hosts_own(struct cs_serving *serving, const struct cs_call *call)
{
	if (!(call->reduction.kind & CS_KIND_OPERATION))
		return !cs_serve_not(serving, "not blocking, with an operation of the program's");
	if (cs_engine.settings.is_reproducible && !cs_reduction_is_exact(&call->reduction))
		return !cs_serve_not(serving, "not blocking, and COLLSHIM_REPRODUCIBLE");
	const struct cs_facts *facts = &serving->communicator->seat->selection.facts;
	if (!call->reduction.kernel && (facts->nodes == 1 || facts->by_thread))
		return !cs_serve_not(serving, "not blocking, and only the MPI has the operation");
	return false;
}

/* Checks the arguments that are equal on all ranks, and asks select. `is_spread`: one element of
 * each rank's block must fit into a slot together (reduce_scatter). `skew` as in cs_facts. */
static inline __attribute__((always_inline)) bool
begin(struct cs_serving *serving, struct reduced *reduced, enum cs_coll coll, MPI_Count count,
      MPI_Datatype type, MPI_Op op, bool is_spread, int skew)
{
	struct cs_comm *communicator = serving->communicator;
	if (count < 0 || !look(serving, reduced, type, op))
		return cs_serve_not(serving, "type, operation or arguments not served");
	if (__builtin_expect(serving->op.node.extras & CS_OP_NONBLOCKING, 0) &&
	    is_hosts_own(serving, reduced->call))
		return false;
	if (!cs_serve_has_team(serving))
		return false;
	const struct cs_team *team = communicator->seat->selection.team;
	size_t unit = reduced->call->reduction.unit, bytes, size;
	size_t room = team->node.shape.slot_bytes;
	if (team->shape.nodes > 1 && team->node.shape.area_bytes < room)
		room = team->node.shape.area_bytes;
	if (__builtin_mul_overflow((size_t)count, unit, &bytes) ||
	    unit > room / (is_spread ? (size_t)communicator->size : 1))
		return cs_serve_not(serving, "elements too large");
	/* Choose by the data, as in cs_choose_host, though elements are moved with their gaps. */
	fill(reduced, coll, (size_t)count, bytes);
	return cs_serve_bytes(reduced->type, count, &size) &&
	       cs_serve_choose_as(serving, coll, size, skew, order_of(reduced->call),
				  reduced->call->root);
}

/* As begin, for a fixed order (COLLSHIM_REPRODUCIBLE), which needs no team. */
static bool
begin_ordered(struct cs_serving *serving, struct reduced *reduced, enum cs_coll coll,
	      MPI_Count count, MPI_Datatype type, MPI_Op op)
{
	struct cs_comm *communicator = serving->communicator;
	size_t bytes;
	if (count <= 0 || !look(serving, reduced, type, op) ||
	    !cs_reduction_order(reduced->type, op, &reduced->call->reduction) ||
	    __builtin_mul_overflow((size_t)count, reduced->call->reduction.unit, &bytes) ||
	    !cs_ordered_may(communicator, reduced->call->reduction.unit))
		return cs_serve_not(serving, "type, operation or arguments not served");
	fill(reduced, coll, (size_t)count, bytes);
	return true;
}

/* Are these buffers that the host refuses, unless for no elements? No correct program passes them.
 * Open MPI refuses one buffer as both only in MPI_Reduce, and in MPI_Allreduce of more than one
 * element (4.1.4); elsewhere it works like MPI_IN_PLACE, some programs do it on some ranks, and so
 * it is served here. */
static inline bool
is_bad(const void *send, const void *recv, bool takes, bool may_alias)
{
	bool is_refused = takes && (!cs_serve_is_memory(recv) ||
				    (recv == send && !(may_alias && cs_flavour.takes_aliases)));
	return is_refused || !send;
}

static inline __attribute__((always_inline)) bool
finish_usually(struct cs_serving *serving, struct reduced *reduced, const void *send, void *recv,
	       size_t input, size_t output)
{
	struct cs_call *call = reduced->call;
	const void *from = send == MPI_IN_PLACE ? recv : send;
	reduced->recv = recv;
	uint64_t signature = cs_serve_reduction_signature(call);
	call->send = (struct cs_blocks){ .base = (char *)from };
	call->recv = (struct cs_blocks){ .base = recv };
	if (!reduced->is_shaped)
		return cs_serve_run(serving, signature);
	call->send.base = shaped_copy(serving, reduced, from, input);
	call->recv.base = recv ? cs_serve_packed(serving, 1, output * call->reduction.unit) : NULL;
	if (!cs_serve_run(serving, signature))
		return false;
	if (recv && output)
		shaped_result(serving, reduced, call->recv.base, output);
	return true;
}

/* Copies elements without their gaps, through `packed`. */
static void
copy_elements(const struct cs_type *type, void *to, const void *from, size_t count, char *packed)
{
	if (cs_type_pack(type, from, (MPI_Count)count, packed) &&
	    cs_type_unpack(type, to, (MPI_Count)count, packed))
		return;
	cs_warn_local("the MPI refused to pack or unpack a datatype in mid-call; ending the job");
	cs_host_mpi.abort("packing");
}

/* Serves a call in a fixed order. Packs into memory of its own, as there may be no team. */
static __attribute__((noinline)) bool
finish_ordered(struct cs_serving *serving, struct reduced *reduced, const void *send, void *recv,
	       size_t input, size_t output, int *result)
{
	struct cs_call *call = reduced->call;
	const struct cs_type *type = reduced->type;
	const void *from = send == MPI_IN_PLACE ? recv : send;
	struct cs_ordered_time time = cs_ordered_begin(serving);
	char *shaped = NULL, *packed = NULL;
	call->send = (struct cs_blocks){ .base = (char *)from };
	call->recv = (struct cs_blocks){ .base = recv };
	if (reduced->is_shaped) {
		size_t unit = call->reduction.unit;
		shaped = cs_ordered_need((input + output) * unit);
		packed = cs_ordered_need((input > output ? input : output) * type->size);
		memset(shaped, 0, (input + output) * unit);
		copy_elements(type, shaped, from, input, packed);
		call->send.base = shaped;
		call->recv.base = recv ? shaped + input * unit : NULL;
	}
	*result = cs_ordered_run(serving);
	if (reduced->is_shaped && recv && output)
		copy_elements(type, recv, call->recv.base, output, packed);
	free(shaped);
	free(packed);
	cs_serving_fini(serving);
	cs_ordered_end(serving, &time, call->coll, call->count * type->size);
	return true;
}

/* `ordered`: receives the result of a call in a fixed order; NULL: in any order. */
static inline __attribute__((always_inline)) bool
finish(struct cs_serving *serving, struct reduced *reduced, const void *send, void *recv,
       size_t input, size_t output, int *ordered)
{
	return ordered ? finish_ordered(serving, reduced, send, recv, input, output, ordered)
		       : finish_usually(serving, reduced, send, recv, input, output);
}

static inline __attribute__((always_inline)) bool
allreduce(struct cs_serving *serving, const void *send, void *recv, MPI_Count count,
	  MPI_Datatype type, MPI_Op op, int *ordered)
{
	struct reduced reduced = { .call = &serving->op.call };
	if (is_bad(send, recv, true, count <= 1) && count != 0)
		return cs_serve_not(serving, "arguments not served");
	if (ordered ? !begin_ordered(serving, &reduced, CS_ALLREDUCE, count, type, op)
		    : !begin(serving, &reduced, CS_ALLREDUCE, count, type, op, false, 1))
		return false;
	return finish(serving, &reduced, send, recv, (size_t)count, (size_t)count, ordered);
}

bool
cs_serve_allreduce(struct cs_serving *serving, const void *send, void *recv, MPI_Count count,
		   MPI_Datatype type, MPI_Op op)
{
	return allreduce(serving, send, recv, count, type, op, NULL);
}

bool
cs_serve_ordered_allreduce(struct cs_serving *serving, const void *send, void *recv,
			   MPI_Count count, MPI_Datatype type, MPI_Op op, int *result)
{
	return allreduce(serving, send, recv, count, type, op, result);
}

static inline __attribute__((always_inline)) bool
reduce(struct cs_serving *serving, const void *send, void *recv, MPI_Count count, MPI_Datatype type,
       MPI_Op op, int root, int *ordered)
{
	struct cs_comm *communicator = serving->communicator;
	struct reduced reduced = { .call = &serving->op.call, .is_rooted = true, .root = root };
	bool is_root = communicator->rank == root;
	if (root < 0 || root >= communicator->size ||
	    (((send == MPI_IN_PLACE && !is_root) || is_bad(send, recv, is_root, false)) &&
	     count != 0))
		return cs_serve_not(serving, "arguments not served");
	if (ordered ? !begin_ordered(serving, &reduced, CS_REDUCE, count, type, op)
		    : !begin(serving, &reduced, CS_REDUCE, count, type, op, false, 1))
		return false;
	return finish(serving, &reduced, send, is_root ? recv : NULL, (size_t)count, (size_t)count,
		      ordered);
}

bool
cs_serve_reduce(struct cs_serving *serving, const void *send, void *recv, MPI_Count count,
		MPI_Datatype type, MPI_Op op, int root)
{
	return reduce(serving, send, recv, count, type, op, root, NULL);
}

bool
cs_serve_ordered_reduce(struct cs_serving *serving, const void *send, void *recv, MPI_Count count,
			MPI_Datatype type, MPI_Op op, int root, int *result)
{
	return reduce(serving, send, recv, count, type, op, root, result);
}

static inline __attribute__((always_inline)) bool
reduce_scatter(struct cs_serving *serving, const void *send, void *recv,
	       const struct cs_vector_args *counts, MPI_Datatype type, MPI_Op op, int *ordered)
{
	struct cs_comm *communicator = serving->communicator;
	struct reduced reduced = { .call = &serving->op.call };
	MPI_Count total = 0;
	size_t *sizes = cs_serve_sizes(serving);
	if (!counts->counts)
		return cs_serve_not(serving, "arguments not served");
	for (int rank = 0; rank < communicator->size; rank++) {
		MPI_Count count = cs_serve_count_at(counts, rank);
		if (count < 0)
			return cs_serve_not(serving, "arguments not served");
		sizes[rank] = (size_t)count;
		total += count;
	}
	if (total && (!send || (sizes[communicator->rank] && !recv) || recv == MPI_IN_PLACE ||
		      (send == recv && !cs_flavour.takes_aliases)))
		return cs_serve_not(serving, "arguments not served");
	if (ordered) {
		if (!begin_ordered(serving, &reduced, CS_REDUCE_SCATTER, total, type, op))
			return false;
		/* Without a team, counting the call has freed them. */
		sizes = cs_serve_sizes(serving);
		for (int rank = 0; rank < communicator->size; rank++)
			sizes[rank] = (size_t)cs_serve_count_at(counts, rank);
	} else {
		int skew = cs_skew(sizes, communicator->size,
				   ((size_t)total + (size_t)communicator->size - 1) /
				   (size_t)communicator->size);
		if (!begin(serving, &reduced, CS_REDUCE_SCATTER, total, type, op, true, skew))
			return false;
	}
	reduced.call->counts = sizes;
	return finish(serving, &reduced, send, recv, (size_t)total, sizes[communicator->rank],
		      ordered);
}

bool
cs_serve_reduce_scatter(struct cs_serving *serving, const void *send, void *recv,
			const struct cs_vector_args *counts, MPI_Datatype type, MPI_Op op)
{
	return reduce_scatter(serving, send, recv, counts, type, op, NULL);
}

bool
cs_serve_ordered_reduce_scatter(struct cs_serving *serving, const void *send, void *recv,
				const struct cs_vector_args *counts, MPI_Datatype type, MPI_Op op,
				int *result)
{
	return reduce_scatter(serving, send, recv, counts, type, op, result);
}

static inline __attribute__((always_inline)) bool
reduce_scatter_block(struct cs_serving *serving, const void *send, void *recv, MPI_Count count,
		     MPI_Datatype type, MPI_Op op, int *ordered)
{
	struct cs_comm *communicator = serving->communicator;
	struct reduced reduced = { .call = &serving->op.call };
	MPI_Count total;
	if (count < 0 || __builtin_mul_overflow(count, (MPI_Count)communicator->size, &total) ||
	    (is_bad(send, recv, true, true) && count != 0))
		return cs_serve_not(serving, "arguments not served");
	if (ordered ? !begin_ordered(serving, &reduced, CS_REDUCE_SCATTER_BLOCK, total, type, op)
		    : !begin(serving, &reduced, CS_REDUCE_SCATTER_BLOCK, total, type, op, true, 1))
		return false;
	return finish(serving, &reduced, send, recv, (size_t)total, (size_t)count, ordered);
}

bool
cs_serve_reduce_scatter_block(struct cs_serving *serving, const void *send, void *recv,
			      MPI_Count count, MPI_Datatype type, MPI_Op op)
{
	return reduce_scatter_block(serving, send, recv, count, type, op, NULL);
}

bool
cs_serve_ordered_reduce_scatter_block(struct cs_serving *serving, const void *send, void *recv,
				      MPI_Count count, MPI_Datatype type, MPI_Op op, int *result)
{
	return reduce_scatter_block(serving, send, recv, count, type, op, result);
}

/* Serves a scan, or an exscan, of which the first rank has no result. Open MPI does not check that
 * rank's receive buffer, which may be null; MPICH checks it as elsewhere (4.1.4, 4.0.2). */
static inline __attribute__((always_inline)) bool
scan(struct cs_serving *serving, enum cs_coll coll, const void *send, void *recv, MPI_Count count,
     MPI_Datatype type, MPI_Op op, int *ordered)
{
	struct cs_comm *communicator = serving->communicator;
	struct reduced reduced = { .call = &serving->op.call };
	bool takes = coll == CS_SCAN || communicator->rank;
	const void *from = send == MPI_IN_PLACE ? recv : send;
	if ((is_bad(send, recv, takes || cs_flavour.checks_idle_result, true) ||
	     !cs_serve_is_memory(from)) && count != 0)
		return cs_serve_not(serving, "arguments not served");
	if (ordered ? !begin_ordered(serving, &reduced, coll, count, type, op)
		    : !begin(serving, &reduced, coll, count, type, op, false, 1))
		return false;
	return finish(serving, &reduced, from, takes ? recv : NULL, (size_t)count, (size_t)count,
		      ordered);
}

bool
cs_serve_scan(struct cs_serving *serving, enum cs_coll coll, const void *send, void *recv,
	      MPI_Count count, MPI_Datatype type, MPI_Op op)
{
	return scan(serving, coll, send, recv, count, type, op, NULL);
}

bool
cs_serve_ordered_scan(struct cs_serving *serving, enum cs_coll coll, const void *send, void *recv,
		      MPI_Count count, MPI_Datatype type, MPI_Op op, int *result)
{
	return scan(serving, coll, send, recv, count, type, op, result);
}
