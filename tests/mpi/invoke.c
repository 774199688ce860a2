/* The calls themselves: the same arguments through MPI_X, PMPI_X, MPI_Ix or MPI_X_init, in the int
 * or in the large-count form. */
#include "names.h"
#include "sides.h"

#include <stdlib.h>

#if defined(OPEN_MPI) && MPI_VERSION < 4 && OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#define PERSISTENT MPIX_
#else
#define PERSISTENT MPI_
#endif

const char *const coll_names[COLL_COUNT] = {
	[ALLGATHER] = "Allgather", [ALLGATHERV] = "Allgatherv", [ALLREDUCE] = "Allreduce",
	[ALLTOALL] = "Alltoall", [ALLTOALLV] = "Alltoallv", [ALLTOALLW] = "Alltoallw",
	[BARRIER] = "Barrier", [BCAST] = "Bcast", [EXSCAN] = "Exscan", [GATHER] = "Gather",
	[GATHERV] = "Gatherv", [REDUCE] = "Reduce", [REDUCE_SCATTER] = "Reduce_scatter",
	[REDUCE_SCATTER_BLOCK] = "Reduce_scatter_block", [SCAN] = "Scan", [SCATTER] = "Scatter",
	[SCATTERV] = "Scatterv",
};

/* P: MPI_, PMPI_, MPI_I or MPIX_; C: nothing, _c, _init or _init_c, and B for the barrier; K:
 * suffix of the arrays; then info and request, if any */
#define DEFINE(...) DEFINE_EXPANDED(__VA_ARGS__)
#define DEFINE_EXPANDED(function, P, C, B, K, ...) \
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
			return P##Barrier##B(comm __VA_ARGS__); \
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

#define WITH_REQUEST , &c->request
#define WITH_INFO , MPI_INFO_NULL, &c->request
DEFINE(ours, MPI_, , , )
DEFINE(host, PMPI_, , , )
DEFINE(begun, MPI_I, , , , WITH_REQUEST)
DEFINE(made, PERSISTENT, _init, _init, , WITH_INFO)
#if MPI_VERSION >= 4
DEFINE(ours_large, MPI_, _c, , _c)
DEFINE(host_large, PMPI_, _c, , _c)
DEFINE(begun_large, MPI_I, _c, , _c, WITH_REQUEST)
DEFINE(made_large, PERSISTENT, _init_c, _init, _c, WITH_INFO)
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
call_begin(struct call *call, int set)
{
	call->request = MPI_REQUEST_NULL;
	call->is_begun = true;
#if MPI_VERSION >= 4
	if (call->is_large_form) {
		call->error[set] = begun_large(call, set);
		return;
	}
#endif
	call->error[set] = begun(call, set);
}

/* ---- persistent ---- */

void
call_make_request(struct call *call, int set)
{
#if MPI_VERSION >= 4
	if (call->is_large_form) {
		call->error[set] = made_large(call, set);
		return;
	}
#endif
	call->error[set] = made(call, set);
}

void
calls_start(struct call *calls, int count, const int *which)
{
	MPI_Request *requests = allocate((size_t)count * sizeof *requests);
	for (int i = 0; i < count; i++)
		requests[i] = calls[which[i]].request;
	int result = count == 1 ? MPI_Start(requests) : MPI_Startall(count, requests);
	for (int i = 0; i < count; i++) {
		calls[which[i]].request = requests[i];
		calls[which[i]].error[OURS] = result;
	}
	free(requests);
}

void
call_free_request(struct call *call)
{
	(void)MPI_Request_free(&call->request);
}
