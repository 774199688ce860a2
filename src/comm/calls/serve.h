/* comm/calls/serve.h — MPI's arguments to a cs_call, and back: one function per collective.
 *
 * Each returns true if it served the call: cs_serve_result has the result for the program then;
 * false if the host is to do it (nothing has been touched then): because select says so, or because
 * the arguments are not what we serve or not valid, which the host says better. All ranks answer
 * alike as long as the program is a correct one; each reason below is either equal everywhere by
 * the standard or an error of the program's. */
#ifndef CS_COMM_CALLS_SERVE_H
#define CS_COMM_CALLS_SERVE_H

#include "comm/calls/serving.h"

#include <mpi.h>

/* Counts and displacements of a v-call as the program gave them: of int, or of MPI_Count and
 * MPI_Aint. */
struct cs_vector_args {
	const void *counts, *displs;
	bool is_large;
};

/* One side of a call. */
struct cs_side {
	void *buffer;
	MPI_Count count; /* not for v-sides */
	MPI_Datatype type;
};

/* More came than there was room for, or ranks made different calls, an error of the program's: its
 * error handler has it. At the very end of the call, since a handler may make collectives on the
 * same communicator, free it, or not return. */
int cs_serve_end(struct cs_serving *serving);
static inline int
cs_serve_result(struct cs_serving *serving)
{
	return __builtin_expect(serving->op.node.extras == 0, 1)
	       ? MPI_SUCCESS : cs_serve_end(serving);
}

bool cs_serve_barrier(struct cs_serving *serving);
bool cs_serve_bcast(struct cs_serving *serving, const struct cs_side *data, int root);
bool cs_serve_allgather(struct cs_serving *serving, const struct cs_side *send,
			const struct cs_side *recv);
bool cs_serve_allgatherv(struct cs_serving *serving, const struct cs_side *send,
			 const struct cs_side *recv, const struct cs_vector_args *vector);
bool cs_serve_gather(struct cs_serving *serving, const struct cs_side *send,
		     const struct cs_side *recv, int root);
bool cs_serve_gatherv(struct cs_serving *serving, const struct cs_side *send,
		      const struct cs_side *recv, const struct cs_vector_args *vector, int root);
bool cs_serve_scatter(struct cs_serving *serving, const struct cs_side *send,
		      const struct cs_side *recv, int root);
bool cs_serve_scatterv(struct cs_serving *serving, const struct cs_side *send,
		       const struct cs_vector_args *vector, const struct cs_side *recv, int root);
bool cs_serve_alltoall(struct cs_serving *serving, const struct cs_side *send,
		       const struct cs_side *recv);
bool cs_serve_alltoallv(struct cs_serving *serving, const struct cs_side *send,
			const struct cs_vector_args *send_vector, const struct cs_side *recv,
			const struct cs_vector_args *recv_vector);
/* Displacements in bytes, a type per rank. */
bool cs_serve_alltoallw(struct cs_serving *serving, const void *send,
			const struct cs_vector_args *send_vector, const MPI_Datatype *send_types,
			void *recv, const struct cs_vector_args *recv_vector,
			const MPI_Datatype *recv_types);

/* For the report, where the host did the call: its size as select would have counted it, of `times`
 * blocks of one size, or of blocks of several, over `ranks`; CS_BYTES_UNKNOWN if the arguments do
 * not tell. */
size_t cs_serve_size(struct cs_comm *communicator, MPI_Count count, MPI_Datatype type, int times);
size_t cs_serve_size_of_all(struct cs_comm *communicator, const struct cs_vector_args *vector,
			    MPI_Datatype type, int ranks);

/* The reductions in one order, for COLLSHIM_REPRODUCIBLE (comm/calls/ordered.h). False: not served
 * so; the usual ways then give the same bits in any order, or they leave every such call to the
 * host, or the call is wrong. *result is for the program. */
bool cs_serve_ordered_allreduce(struct cs_serving *serving, const void *send, void *recv,
				MPI_Count count, MPI_Datatype type, MPI_Op op, int *result);
bool cs_serve_ordered_reduce(struct cs_serving *serving, const void *send, void *recv,
			     MPI_Count count, MPI_Datatype type, MPI_Op op, int root, int *result);
bool cs_serve_ordered_reduce_scatter(struct cs_serving *serving, const void *send, void *recv,
				     const struct cs_vector_args *counts, MPI_Datatype type,
				     MPI_Op op, int *result);
bool cs_serve_ordered_reduce_scatter_block(struct cs_serving *serving, const void *send, void *recv,
					   MPI_Count count, MPI_Datatype type, MPI_Op op,
					   int *result);

bool cs_serve_ordered_scan(struct cs_serving *serving, enum cs_coll coll, const void *send,
			   void *recv, MPI_Count count, MPI_Datatype type, MPI_Op op, int *result);

/* `coll`: CS_SCAN, or CS_EXSCAN. */
bool cs_serve_scan(struct cs_serving *serving, enum cs_coll coll, const void *send, void *recv,
		   MPI_Count count, MPI_Datatype type, MPI_Op op);
bool cs_serve_allreduce(struct cs_serving *serving, const void *send, void *recv, MPI_Count count,
			MPI_Datatype type, MPI_Op op);
bool cs_serve_reduce(struct cs_serving *serving, const void *send, void *recv, MPI_Count count,
		     MPI_Datatype type, MPI_Op op, int root);
bool cs_serve_reduce_scatter(struct cs_serving *serving, const void *send, void *recv,
			     const struct cs_vector_args *counts, MPI_Datatype type, MPI_Op op);
bool cs_serve_reduce_scatter_block(struct cs_serving *serving, const void *send, void *recv,
				   MPI_Count count, MPI_Datatype type, MPI_Op op);

#endif
