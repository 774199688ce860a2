/* The calls themselves: the same arguments through MPI_X or PMPI_X, in the int or in the
 * large-count form. */
#include "diff.h"

const char *const coll_names[COLL_COUNT] = {
	[ALLGATHER] = "Allgather", [ALLGATHERV] = "Allgatherv", [ALLREDUCE] = "Allreduce",
	[ALLTOALL] = "Alltoall", [ALLTOALLV] = "Alltoallv", [ALLTOALLW] = "Alltoallw",
	[BARRIER] = "Barrier", [BCAST] = "Bcast", [EXSCAN] = "Exscan", [GATHER] = "Gather",
	[GATHERV] = "Gatherv", [REDUCE] = "Reduce", [REDUCE_SCATTER] = "Reduce_scatter",
	[REDUCE_SCATTER_BLOCK] = "Reduce_scatter_block", [SCAN] = "Scan", [SCATTER] = "Scatter",
	[SCATTERV] = "Scatterv",
};

/* Non-blocking names, as the macro below makes them of the others. */
#define MPI_IAllgather MPI_Iallgather
#define MPI_IAllgatherv MPI_Iallgatherv
#define MPI_IAllreduce MPI_Iallreduce
#define MPI_IAlltoall MPI_Ialltoall
#define MPI_IAlltoallv MPI_Ialltoallv
#define MPI_IAlltoallw MPI_Ialltoallw
#define MPI_IBarrier MPI_Ibarrier
#define MPI_IBcast MPI_Ibcast
#define MPI_IExscan MPI_Iexscan
#define MPI_IGather MPI_Igather
#define MPI_IGatherv MPI_Igatherv
#define MPI_IReduce MPI_Ireduce
#define MPI_IReduce_scatter MPI_Ireduce_scatter
#define MPI_IReduce_scatter_block MPI_Ireduce_scatter_block
#define MPI_IScan MPI_Iscan
#define MPI_IScatter MPI_Iscatter
#define MPI_IScatterv MPI_Iscatterv
#define MPI_IAllgather_c MPI_Iallgather_c
#define MPI_IAllgatherv_c MPI_Iallgatherv_c
#define MPI_IAllreduce_c MPI_Iallreduce_c
#define MPI_IAlltoall_c MPI_Ialltoall_c
#define MPI_IAlltoallv_c MPI_Ialltoallv_c
#define MPI_IAlltoallw_c MPI_Ialltoallw_c
#define MPI_IBcast_c MPI_Ibcast_c
#define MPI_IExscan_c MPI_Iexscan_c
#define MPI_IGather_c MPI_Igather_c
#define MPI_IGatherv_c MPI_Igatherv_c
#define MPI_IReduce_c MPI_Ireduce_c
#define MPI_IReduce_scatter_c MPI_Ireduce_scatter_c
#define MPI_IReduce_scatter_block_c MPI_Ireduce_scatter_block_c
#define MPI_IScan_c MPI_Iscan_c
#define MPI_IScatter_c MPI_Iscatter_c
#define MPI_IScatterv_c MPI_Iscatterv_c

/* P: MPI_, PMPI_ or MPI_I; C: nothing or _c; K: suffix of the arrays; then the request, if any */
#define DEFINE(function, P, C, K, ...) \
	static int function(struct call *c, int w) \
	{ \
		MPI_Comm comm = c->comm->comm; \
		struct side *s = &c->send, *r = &c->recv; \
		MPI_Op op = c->reduction.op; \
		switch (c->coll) { \
		case ALLGATHER: \
			return P##Allgather##C(s->buffer[w], s->count, s->type[w], r->buffer[w], \
					       r->count, \
					       r->type[w], comm __VA_ARGS__); \
		case ALLGATHERV: \
			return P##Allgatherv##C(s->buffer[w], s->count, s->type[w], r->buffer[w], \
						r->counts##K, \
						r->displs##K, r->type[w], comm __VA_ARGS__); \
		case ALLREDUCE: \
			return P##Allreduce##C(s->buffer[w], r->buffer[w], r->count, r->type[w], \
					       op, comm __VA_ARGS__); \
		case ALLTOALL: \
			return P##Alltoall##C(s->buffer[w], s->count, s->type[w], r->buffer[w], \
					      r->count, \
					      r->type[w], comm __VA_ARGS__); \
		case ALLTOALLV: \
			return P##Alltoallv##C(s->buffer[w], s->counts##K, s->displs##K, \
					       s->type[w], \
					       r->buffer[w], r->counts##K, r->displs##K, \
						       r->type[w], comm __VA_ARGS__); \
		case ALLTOALLW: \
			return P##Alltoallw##C(s->buffer[w], s->counts##K, s->displs##K, \
					       s->types[w], \
					       r->buffer[w], r->counts##K, r->displs##K, \
						       r->types[w], comm __VA_ARGS__); \
		case BARRIER: \
			return P##Barrier(comm __VA_ARGS__); \
		case BCAST: \
			return P##Bcast##C(r->buffer[w], r->count, r->type[w], c->root, \
					   comm __VA_ARGS__); \
		case EXSCAN: \
			return P##Exscan##C(s->buffer[w], r->buffer[w], r->count, r->type[w], op, \
					    comm __VA_ARGS__); \
		case GATHER: \
			return P##Gather##C(s->buffer[w], s->count, s->type[w], r->buffer[w], \
					    r->count, \
					    r->type[w], c->root, comm __VA_ARGS__); \
		case GATHERV: \
			return P##Gatherv##C(s->buffer[w], s->count, s->type[w], r->buffer[w], \
					     r->counts##K, \
					     r->displs##K, r->type[w], c->root, comm __VA_ARGS__); \
		case REDUCE: \
			return P##Reduce##C(s->buffer[w], r->buffer[w], r->count, r->type[w], op, \
					    c->root, comm __VA_ARGS__); \
		case REDUCE_SCATTER: \
			return P##Reduce_scatter##C(s->buffer[w], r->buffer[w], r->counts##K, \
						    r->type[w], op, \
						    comm __VA_ARGS__); \
		case REDUCE_SCATTER_BLOCK: \
			return P##Reduce_scatter_block##C(s->buffer[w], r->buffer[w], r->count, \
							  r->type[w], op, \
							  comm __VA_ARGS__); \
		case SCAN: \
			return P##Scan##C(s->buffer[w], r->buffer[w], r->count, r->type[w], op, \
					  comm __VA_ARGS__); \
		case SCATTER: \
			return P##Scatter##C(s->buffer[w], s->count, s->type[w], r->buffer[w], \
					     r->count, \
					     r->type[w], c->root, comm __VA_ARGS__); \
		case SCATTERV: \
			return P##Scatterv##C(s->buffer[w], s->counts##K, s->displs##K, \
					      s->type[w], r->buffer[w], \
					      r->count, r->type[w], c->root, comm __VA_ARGS__); \
		case COLL_COUNT: \
			break; \
		} \
		return MPI_ERR_OTHER; \
	}

DEFINE(ours, MPI_, , )
DEFINE(host, PMPI_, , )
#define WITH_REQUEST , &c->request
DEFINE(begun, MPI_I, , , WITH_REQUEST)
#if MPI_VERSION >= 4
DEFINE(ours_large, MPI_, _c, _c)
DEFINE(host_large, PMPI_, _c, _c)
DEFINE(begun_large, MPI_I, _c, _c, WITH_REQUEST)
#endif

int
call_invoke(struct call *call, int set)
{
#if MPI_VERSION >= 4
	if (call->is_large_form)
		return call->error[set] = set == HOST ? host_large(call, set)
						      : ours_large(call, set);
#endif
	return call->error[set] = set == HOST ? host(call, set) : ours(call, set);
}

void
call_begin(struct call *call)
{
	call->request = MPI_REQUEST_NULL;
#if MPI_VERSION >= 4
	if (call->is_large_form) {
		call->error[OURS] = begun_large(call, OURS);
		return;
	}
#endif
	call->error[OURS] = begun(call, OURS);
}
