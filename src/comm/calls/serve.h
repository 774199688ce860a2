/* comm/calls/serve.h — one function per collective that translates MPI's arguments into a cs_call
 * and serves it.
 *
 * Each returns true if it served the call; cs_serve_result then gives the result for the program.
 * It returns false, with nothing written, if the host is to do the call: by select's choice, or
 * since the arguments are not served or not valid, which the host reports. All ranks answer alike
 * in a correct program: each reason is equal on all by the standard, or an error of the program. */
#ifndef CS_COMM_CALLS_SERVE_H
#define CS_COMM_CALLS_SERVE_H

#include "comm/calls/serving.h"

#include <mpi.h>

/* Counts and displacements of a v-call as the program gave them: int, or MPI_Count and MPI_Aint
 * (`is_large`). */
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

/* Records a timed call, which was made at `caller` (a return address), and calls the program's
 * error handler if a truncation or a mismatch of calls was noted. Called at the very end of the
 * call, since a handler may make collectives on the same communicator, free it, or not return.
 * MPI_SUCCESS, MPI_ERR_TRUNCATE or MPI_ERR_OTHER. */
int cs_serve_end(struct cs_serving *serving, const void *caller);
__attribute__((always_inline)) static inline int
cs_serve_result(struct cs_serving *serving)
{
	const struct cs_node_op *node = &serving->op.node;
	return __builtin_expect((node->extras | node->outcome.bits) == 0, 1)
	       ? MPI_SUCCESS : cs_serve_end(serving, __builtin_return_address(0));
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
/* Displacements are in bytes; one type per rank. */
bool cs_serve_alltoallw(struct cs_serving *serving, const void *send,
			const struct cs_vector_args *send_vector, const MPI_Datatype *send_types,
			void *recv, const struct cs_vector_args *recv_vector,
			const MPI_Datatype *recv_types);

/* Bytes of a call that the host did, for the report, as select counts them: of `times` blocks of
 * one size; or the mean over `ranks` of a v-call's blocks. CS_BYTES_UNKNOWN if the arguments do not
 * tell. */
size_t cs_serve_size(struct cs_comm *communicator, MPI_Count count, MPI_Datatype type, int times);
size_t cs_serve_size_of_all(struct cs_comm *communicator, const struct cs_vector_args *vector,
			    MPI_Datatype type, int ranks);

/* Reductions in rank order, for COLLSHIM_REPRODUCIBLE (comm/calls/ordered.h). False: not served so,
 * since any order gives the same bits, or every such call is the host's, or the arguments are
 * wrong. *result: for the program. */
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
