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

/* P: MPI_ or PMPI_; C: nothing or _c; K: suffix of the arrays */
#define DEFINE(function, P, C, K) \
	static int function(struct call *c, int w) \
	{ \
		MPI_Comm comm = c->comm->comm; \
		struct side *s = &c->send, *r = &c->recv; \
		MPI_Op op = c->reduction.op; \
		switch (c->coll) { \
		case ALLGATHER: \
			return P##Allgather##C(s->buffer[w], s->count, s->type[w], r->buffer[w], \
					       r->count, \
					       r->type[w], comm); \
		case ALLGATHERV: \
			return P##Allgatherv##C(s->buffer[w], s->count, s->type[w], r->buffer[w], \
						r->counts##K, \
						r->displs##K, r->type[w], comm); \
		case ALLREDUCE: \
			return P##Allreduce##C(s->buffer[w], r->buffer[w], r->count, r->type[w], \
					       op, comm); \
		case ALLTOALL: \
			return P##Alltoall##C(s->buffer[w], s->count, s->type[w], r->buffer[w], \
					      r->count, \
					      r->type[w], comm); \
		case ALLTOALLV: \
			return P##Alltoallv##C(s->buffer[w], s->counts##K, s->displs##K, \
					       s->type[w], \
					       r->buffer[w], r->counts##K, r->displs##K, \
						       r->type[w], comm); \
		case ALLTOALLW: \
			return P##Alltoallw##C(s->buffer[w], s->counts##K, s->displs##K, \
					       s->types[w], \
					       r->buffer[w], r->counts##K, r->displs##K, \
						       r->types[w], comm); \
		case BARRIER: \
			return P##Barrier(comm); \
		case BCAST: \
			return P##Bcast##C(r->buffer[w], r->count, r->type[w], c->root, comm); \
		case EXSCAN: \
			return P##Exscan##C(s->buffer[w], r->buffer[w], r->count, r->type[w], op, \
					    comm); \
		case GATHER: \
			return P##Gather##C(s->buffer[w], s->count, s->type[w], r->buffer[w], \
					    r->count, \
					    r->type[w], c->root, comm); \
		case GATHERV: \
			return P##Gatherv##C(s->buffer[w], s->count, s->type[w], r->buffer[w], \
					     r->counts##K, \
					     r->displs##K, r->type[w], c->root, comm); \
		case REDUCE: \
			return P##Reduce##C(s->buffer[w], r->buffer[w], r->count, r->type[w], op, \
					    c->root, comm); \
		case REDUCE_SCATTER: \
			return P##Reduce_scatter##C(s->buffer[w], r->buffer[w], r->counts##K, \
						    r->type[w], op, \
						    comm); \
		case REDUCE_SCATTER_BLOCK: \
			return P##Reduce_scatter_block##C(s->buffer[w], r->buffer[w], r->count, \
							  r->type[w], op, \
							  comm); \
		case SCAN: \
			return P##Scan##C(s->buffer[w], r->buffer[w], r->count, r->type[w], op, \
					  comm); \
		case SCATTER: \
			return P##Scatter##C(s->buffer[w], s->count, s->type[w], r->buffer[w], \
					     r->count, \
					     r->type[w], c->root, comm); \
		case SCATTERV: \
			return P##Scatterv##C(s->buffer[w], s->counts##K, s->displs##K, \
					      s->type[w], r->buffer[w], \
					      r->count, r->type[w], c->root, comm); \
		case COLL_COUNT: \
			break; \
		} \
		return MPI_ERR_OTHER; \
	}

DEFINE(ours, MPI_, , )
DEFINE(host, PMPI_, , )
#if MPI_VERSION >= 4
DEFINE(ours_large, MPI_, _c, _c)
DEFINE(host_large, PMPI_, _c, _c)
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
