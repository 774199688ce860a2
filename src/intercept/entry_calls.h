/* intercept/entry_calls.h — the entry points that exist for int and for MPI_Count (MPI 4.0's _c
 * names). Included once for each by entry.c with PARAMETER, IS_LARGE and NAME set; no include guard
 * on purpose. */
#define CAT(a, b) a##b
#define ENTRY_OF(name) CAT(cs_entry_, name)
#define HOST_OF(name, coll, root, size, ...) HOST(name, coll, root, size, __VA_ARGS__)
#define HANDED_ON_OF(name, coll, size, ...) HANDED_ON(name, coll, size, __VA_ARGS__)
#define LEFT_OF(name, coll, size, ...) LEFT(name, coll, size, __VA_ARGS__)
/* A size as select counts it, for the report. */
#define BLOCK(count, type) cs_serve_size(communicator, count, type, 1)
#define BLOCKS(count, type) cs_serve_size(communicator, count, type, communicator->size)
#define TOTAL(counts, type) cs_serve_size_of_all(communicator, VECTOR(counts, NULL), type, 1)
#define MEAN(counts, type) \
	cs_serve_size_of_all(communicator, VECTOR(counts, NULL), type, communicator->size)
#define VECTOR(counts, displs) (&(struct cs_vector_args){ counts, displs, IS_LARGE })
#define SIDE(buffer, count, type) (&(struct cs_side){ (void *)(buffer), count, type })
#define SEND_SIDE SIDE(send, send_count, send_type)
#define RECV_SIDE SIDE(recv, recv_count, recv_type)

/* One collective, and its non-blocking and persistent forms: size for the report, whether the MPI
 * does it in any case, the call to comm/. */
#define SERVED(Name, lower, shape, coll, root, size, hosted, serve) \
	PERSISTENT(Name, shape, coll, size, serve) \
	int ENTRY_OF(NAME(I##lower))(CS_ARGS_##shape(PARAMETER), MPI_Request *request) \
	{ \
		BEGIN(comm); \
		if (serving && request && serve) \
			return cs_icall_request(serving, request); \
		HANDED_ON_OF(NAME(I##lower), coll, size, CS_ARGS_##shape(CS_NAME), request); \
	} \
	int ENTRY_OF(NAME(Name))(CS_ARGS_##shape(PARAMETER)) \
	{ \
		ENTER(comm); \
		if (cs_choose_may_serve(serving) && !hosted && serve) \
			return cs_serve_result(serving); \
		HOST_OF(NAME(Name), coll, root, size, CS_ARGS_##shape(CS_NAME)); \
	}
#define HOSTED(coll) cs_choose_always_host(serving, coll)
#define HOSTED_BLOCK(coll, count, type) \
	cs_choose_host(serving, coll, count, type, 1, CS_ORDER_UNKNOWN)
#define HOSTED_SUM(coll, times) \
	cs_choose_host(serving, coll, count, type, times, cs_choose_order(serving, type, op))
#define ON_ROOT(there, elsewhere) (communicator->rank == root ? there : elsewhere)

SERVED(Bcast, bcast, BCAST, CS_BCAST, root,
       BLOCK(count, type), HOSTED_BLOCK(CS_BCAST, count, type),
       cs_serve_bcast(serving, SIDE(buffer, count, type), root))
SERVED(Allgather, allgather, EQUAL, CS_ALLGATHER, NO_ROOT, BLOCK(recv_count, recv_type),
       HOSTED_BLOCK(CS_ALLGATHER, recv_count, recv_type),
       cs_serve_allgather(serving, SEND_SIDE, RECV_SIDE))
SERVED(Allgatherv, allgatherv, ALLGATHERV, CS_ALLGATHERV, NO_ROOT, MEAN(recv_counts, recv_type),
       HOSTED(CS_ALLGATHERV),
       cs_serve_allgatherv(serving, SEND_SIDE, SIDE(recv, 0, recv_type),
			   VECTOR(recv_counts, recv_displs)))
SERVED(Gather, gather, ROOTED, CS_GATHER, root,
       ON_ROOT(BLOCK(recv_count, recv_type), BLOCK(send_count, send_type)),
       HOSTED_BLOCK(CS_GATHER, ON_ROOT(recv_count, send_count), ON_ROOT(recv_type, send_type)),
       cs_serve_gather(serving, SEND_SIDE, RECV_SIDE, root))
SERVED(Gatherv, gatherv, GATHERV, CS_GATHERV, root, CS_BYTES_UNKNOWN, HOSTED(CS_GATHERV),
       cs_serve_gatherv(serving, SEND_SIDE, SIDE(recv, 0, recv_type),
			VECTOR(recv_counts, recv_displs), root))
SERVED(Scatter, scatter, ROOTED, CS_SCATTER, root,
       ON_ROOT(BLOCK(send_count, send_type), BLOCK(recv_count, recv_type)),
       HOSTED_BLOCK(CS_SCATTER, ON_ROOT(send_count, recv_count), ON_ROOT(send_type, recv_type)),
       cs_serve_scatter(serving, SEND_SIDE, RECV_SIDE, root))
SERVED(Scatterv, scatterv, SCATTERV, CS_SCATTERV, root, CS_BYTES_UNKNOWN, HOSTED(CS_SCATTERV),
       cs_serve_scatterv(serving, SIDE(send, 0, send_type), VECTOR(send_counts, send_displs),
			 RECV_SIDE, root))
SERVED(Alltoall, alltoall, EQUAL, CS_ALLTOALL, NO_ROOT, BLOCK(recv_count, recv_type),
       HOSTED_BLOCK(CS_ALLTOALL, recv_count, recv_type),
       cs_serve_alltoall(serving, SEND_SIDE, RECV_SIDE))
SERVED(Alltoallv, alltoallv, ALLTOALLV, CS_ALLTOALLV, NO_ROOT,
       CS_BYTES_UNKNOWN, HOSTED(CS_ALLTOALLV),
       cs_serve_alltoallv(serving, SIDE(send, 0, send_type), VECTOR(send_counts, send_displs),
			  SIDE(recv, 0, recv_type), VECTOR(recv_counts, recv_displs)))
SERVED(Alltoallw, alltoallw, ALLTOALLW, CS_ALLTOALLW, NO_ROOT,
       CS_BYTES_UNKNOWN, HOSTED(CS_ALLTOALLW),
       cs_serve_alltoallw(serving, send, VECTOR(send_counts, send_displs), send_types, recv,
			  VECTOR(recv_counts, recv_displs), recv_types))
SERVED(Allreduce, allreduce, REDUCTION, CS_ALLREDUCE, NO_ROOT, BLOCK(count, type),
       HOSTED_SUM(CS_ALLREDUCE, 1),
       cs_serve_allreduce(serving, send, recv, count, type, op))
SERVED(Reduce, reduce, REDUCE, CS_REDUCE, root,
       BLOCK(count, type), HOSTED_SUM(CS_REDUCE, 1),
       cs_serve_reduce(serving, send, recv, count, type, op, root))
SERVED(Reduce_scatter, reduce_scatter, REDUCE_SCATTER, CS_REDUCE_SCATTER, NO_ROOT,
       TOTAL(counts, type),
       HOSTED(CS_REDUCE_SCATTER),
       cs_serve_reduce_scatter(serving, send, recv, VECTOR(counts, NULL), type, op))
SERVED(Reduce_scatter_block, reduce_scatter_block, REDUCTION, CS_REDUCE_SCATTER_BLOCK, NO_ROOT,
       BLOCKS(count, type),
       HOSTED_SUM(CS_REDUCE_SCATTER_BLOCK, communicator->size),
       cs_serve_reduce_scatter_block(serving, send, recv, count, type, op))
SERVED(Scan, scan, REDUCTION, CS_SCAN, NO_ROOT,
       BLOCK(count, type), HOSTED_SUM(CS_SCAN, 1),
       cs_serve_scan(serving, CS_SCAN, send, recv, count, type, op))
SERVED(Exscan, exscan, REDUCTION, CS_EXSCAN, NO_ROOT, BLOCK(count, type),
       HOSTED_SUM(CS_EXSCAN, 1),
       cs_serve_scan(serving, CS_EXSCAN, send, recv, count, type, op))

/* --- what is only counted: by what this rank sends to each neighbour -------------------------- */

#define COUNTED(Name, shape, coll, size) \
	int ENTRY_OF(NAME(Name))(CS_ARGS_##shape(PARAMETER)) \
	{ \
		LEFT_OF(NAME(Name), coll, size, CS_ARGS_##shape(CS_NAME)); \
	}
COUNTED(Neighbor_allgather, EQUAL, CS_NEIGHBOR_ALLGATHER, BLOCK(send_count, send_type))
COUNTED(Neighbor_allgatherv, ALLGATHERV, CS_NEIGHBOR_ALLGATHERV, BLOCK(send_count, send_type))
COUNTED(Neighbor_alltoall, EQUAL, CS_NEIGHBOR_ALLTOALL, BLOCK(send_count, send_type))
COUNTED(Neighbor_alltoallv, ALLTOALLV, CS_NEIGHBOR_ALLTOALLV, CS_BYTES_UNKNOWN)
COUNTED(Neighbor_alltoallw, NEIGHBOR_ALLTOALLW, CS_NEIGHBOR_ALLTOALLW, CS_BYTES_UNKNOWN)

/* --- COLLSHIM_REPRODUCIBLE: reductions in one order; those that need none go the usual way ---- */

#define ORDERED(Name, shape, serve) \
	int ENTRY_OF(NAME(ordered_##Name))(CS_ARGS_##shape(PARAMETER)) \
	{ \
		ENTER(comm); \
		int result; \
		const char *frame = __builtin_frame_address(0); \
		cs_report_enter(__builtin_return_address(0), frame); \
		if (!communicator || !serve) \
			result = ENTRY_OF(NAME(Name))(CS_ARGS_##shape(CS_NAME)); \
		cs_report_leave(frame); \
		return result; \
	}
ORDERED(Allreduce, REDUCTION,
	cs_serve_ordered_allreduce(serving, send, recv, count, type, op, &result))
ORDERED(Reduce, REDUCE,
	cs_serve_ordered_reduce(serving, send, recv, count, type, op, root, &result))
ORDERED(Reduce_scatter, REDUCE_SCATTER,
	cs_serve_ordered_reduce_scatter(serving, send, recv, VECTOR(counts, NULL), type, op,
					&result))
ORDERED(Reduce_scatter_block, REDUCTION,
	cs_serve_ordered_reduce_scatter_block(serving, send, recv, count, type, op, &result))
ORDERED(Scan, REDUCTION,
	cs_serve_ordered_scan(serving, CS_SCAN, send, recv, count, type, op, &result))
ORDERED(Exscan, REDUCTION,
	cs_serve_ordered_scan(serving, CS_EXSCAN, send, recv, count, type, op, &result))

#undef CAT
#undef ENTRY_OF
#undef HOST_OF
#undef LEFT_OF
#undef HANDED_ON_OF
#undef BLOCK
#undef BLOCKS
#undef TOTAL
#undef MEAN
#undef VECTOR
#undef SIDE
#undef SEND_SIDE
#undef RECV_SIDE
#undef SERVED
#undef HOSTED
#undef HOSTED_BLOCK
#undef HOSTED_SUM
#undef ON_ROOT
#undef COUNTED
#undef ORDERED
#undef PARAMETER
#undef IS_LARGE
#undef NAME
