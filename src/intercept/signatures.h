/* intercept/signatures.h — the arguments of each collective, once, for all of its entries: C with
 * int and with MPI_Count (entry_calls.h), Fortran by address (fortran.c), Fortran by descriptor
 * (fortran_ts_calls.h), calls that are only counted (fortran_counted.c).
 *
 * CS_ARGS_<shape>(A) is a list A(kind), A(kind), ...; an entry gives an A that makes a parameter or
 * an argument of each kind. CS_NAME(kind) is the name that a parameter of that kind has. */
#ifndef CS_INTERCEPT_SIGNATURES_H
#define CS_INTERCEPT_SIGNATURES_H

#define CS_ARGS_BARRIER(A) A(COMM)
#define CS_ARGS_BCAST(A) A(BUFFER), A(COUNT), A(TYPE), A(ROOT), A(COMM)
#define CS_ARGS_SEND_ONE(A) A(SEND), A(SEND_COUNT), A(SEND_TYPE)
#define CS_ARGS_RECV_ONE(A) A(RECV), A(RECV_COUNT), A(RECV_TYPE)
#define CS_ARGS_SEND_ALL(A) A(SEND), A(SEND_COUNTS), A(SEND_DISPLS), A(SEND_TYPE)
#define CS_ARGS_RECV_ALL(A) A(RECV), A(RECV_COUNTS), A(RECV_DISPLS), A(RECV_TYPE)
#define CS_ARGS_EQUAL(A) CS_ARGS_SEND_ONE(A), CS_ARGS_RECV_ONE(A), A(COMM)
#define CS_ARGS_ROOTED(A) CS_ARGS_SEND_ONE(A), CS_ARGS_RECV_ONE(A), A(ROOT), A(COMM)
#define CS_ARGS_ALLGATHERV(A) CS_ARGS_SEND_ONE(A), CS_ARGS_RECV_ALL(A), A(COMM)
#define CS_ARGS_GATHERV(A) CS_ARGS_SEND_ONE(A), CS_ARGS_RECV_ALL(A), A(ROOT), A(COMM)
#define CS_ARGS_SCATTERV(A) CS_ARGS_SEND_ALL(A), CS_ARGS_RECV_ONE(A), A(ROOT), A(COMM)
#define CS_ARGS_ALLTOALLV(A) CS_ARGS_SEND_ALL(A), CS_ARGS_RECV_ALL(A), A(COMM)
#define CS_ARGS_ALLTOALLW(A) \
	A(SEND), A(SEND_COUNTS), A(SEND_DISPLS), A(SEND_TYPES), \
	A(RECV), A(RECV_COUNTS), A(RECV_DISPLS), A(RECV_TYPES), A(COMM)
#define CS_ARGS_NEIGHBOR_ALLTOALLW(A) \
	A(SEND), A(SEND_COUNTS), A(SEND_OFFSETS), A(SEND_TYPES), \
	A(RECV), A(RECV_COUNTS), A(RECV_OFFSETS), A(RECV_TYPES), A(COMM)
#define CS_ARGS_REDUCTION(A) A(SEND), A(RECV), A(COUNT), A(TYPE), A(OP), A(COMM)
#define CS_ARGS_REDUCE(A) A(SEND), A(RECV), A(COUNT), A(TYPE), A(OP), A(ROOT), A(COMM)
#define CS_ARGS_REDUCE_SCATTER(A) A(SEND), A(RECV), A(COUNTS), A(TYPE), A(OP), A(COMM)

/* ROW(name in C, in Fortran, in upper case, shape), of collectives with buffers. Reductions are
 * apart: COLLSHIM_REPRODUCIBLE has a form of its own of each, in one order. */
#define CS_REDUCTIONS(ROW) \
	ROW(Allreduce, allreduce, ALLREDUCE, REDUCTION) \
	ROW(Exscan, exscan, EXSCAN, REDUCTION) \
	ROW(Reduce, reduce, REDUCE, REDUCE) \
	ROW(Reduce_scatter, reduce_scatter, REDUCE_SCATTER, REDUCE_SCATTER) \
	ROW(Reduce_scatter_block, reduce_scatter_block, REDUCE_SCATTER_BLOCK, REDUCTION) \
	ROW(Scan, scan, SCAN, REDUCTION)
#define CS_MOVES(ROW) \
	ROW(Allgather, allgather, ALLGATHER, EQUAL) \
	ROW(Allgatherv, allgatherv, ALLGATHERV, ALLGATHERV) \
	ROW(Alltoall, alltoall, ALLTOALL, EQUAL) \
	ROW(Alltoallv, alltoallv, ALLTOALLV, ALLTOALLV) \
	ROW(Bcast, bcast, BCAST, BCAST) \
	ROW(Gather, gather, GATHER, ROOTED) \
	ROW(Gatherv, gatherv, GATHERV, GATHERV) \
	ROW(Scatter, scatter, SCATTER, ROOTED) \
	ROW(Scatterv, scatterv, SCATTERV, SCATTERV)
#define CS_TYPE_PER_RANK(ROW) ROW(Alltoallw, alltoallw, ALLTOALLW, ALLTOALLW)
/* Never served: counted for the report, if there is one. */
#define CS_NEIGHBORS(ROW) \
	ROW(Neighbor_allgather, neighbor_allgather, NEIGHBOR_ALLGATHER, EQUAL) \
	ROW(Neighbor_allgatherv, neighbor_allgatherv, NEIGHBOR_ALLGATHERV, ALLGATHERV) \
	ROW(Neighbor_alltoall, neighbor_alltoall, NEIGHBOR_ALLTOALL, EQUAL) \
	ROW(Neighbor_alltoallv, neighbor_alltoallv, NEIGHBOR_ALLTOALLV, ALLTOALLV) \
	ROW(Neighbor_alltoallw, neighbor_alltoallw, NEIGHBOR_ALLTOALLW, NEIGHBOR_ALLTOALLW)
#define CS_SERVED(ROW) CS_REDUCTIONS(ROW) CS_MOVES(ROW) CS_TYPE_PER_RANK(ROW)

#define CS_NAME(kind) CS_NAME_##kind
#define CS_NAME_BUFFER buffer
#define CS_NAME_COUNT count
#define CS_NAME_COUNTS counts
#define CS_NAME_TYPE type
#define CS_NAME_OP op
#define CS_NAME_ROOT root
#define CS_NAME_COMM comm
#define CS_NAME_SEND send
#define CS_NAME_SEND_COUNT send_count
#define CS_NAME_SEND_COUNTS send_counts
#define CS_NAME_SEND_DISPLS send_displs
#define CS_NAME_SEND_OFFSETS send_displs
#define CS_NAME_SEND_TYPE send_type
#define CS_NAME_SEND_TYPES send_types
#define CS_NAME_RECV recv
#define CS_NAME_RECV_COUNT recv_count
#define CS_NAME_RECV_COUNTS recv_counts
#define CS_NAME_RECV_DISPLS recv_displs
#define CS_NAME_RECV_OFFSETS recv_displs
#define CS_NAME_RECV_TYPE recv_type
#define CS_NAME_RECV_TYPES recv_types

/* The parameter of a kind in C, of int (CS_C) or of MPI_Count (CS_C_LARGE). */
#define CS_C(kind) CS_C_##kind(int, int)
#define CS_C_LARGE(kind) CS_C_##kind(MPI_Count, MPI_Aint)
#define CS_C_BUFFER(count_t, displ_t) void *buffer
#define CS_C_COUNT(count_t, displ_t) count_t count
#define CS_C_COUNTS(count_t, displ_t) const count_t counts[]
#define CS_C_TYPE(count_t, displ_t) MPI_Datatype type
#define CS_C_OP(count_t, displ_t) MPI_Op op
#define CS_C_ROOT(count_t, displ_t) int root
#define CS_C_COMM(count_t, displ_t) MPI_Comm comm
#define CS_C_SEND(count_t, displ_t) const void *send
#define CS_C_SEND_COUNT(count_t, displ_t) count_t send_count
#define CS_C_SEND_COUNTS(count_t, displ_t) const count_t send_counts[]
#define CS_C_SEND_DISPLS(count_t, displ_t) const displ_t send_displs[]
#define CS_C_SEND_OFFSETS(count_t, displ_t) const MPI_Aint send_displs[]
#define CS_C_SEND_TYPE(count_t, displ_t) MPI_Datatype send_type
#define CS_C_SEND_TYPES(count_t, displ_t) const MPI_Datatype send_types[]
#define CS_C_RECV(count_t, displ_t) void *recv
#define CS_C_RECV_COUNT(count_t, displ_t) count_t recv_count
#define CS_C_RECV_COUNTS(count_t, displ_t) const count_t recv_counts[]
#define CS_C_RECV_DISPLS(count_t, displ_t) const displ_t recv_displs[]
#define CS_C_RECV_OFFSETS(count_t, displ_t) const MPI_Aint recv_displs[]
#define CS_C_RECV_TYPE(count_t, displ_t) MPI_Datatype recv_type
#define CS_C_RECV_TYPES(count_t, displ_t) const MPI_Datatype recv_types[]

#endif
