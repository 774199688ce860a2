/* intercept/entry_calls.h — the entry points that exist for int and for MPI_Count (MPI 4.0's _c
 * names). Included once for each by entry.c with COUNT, DISPL, IS_LARGE and NAME set; no include
 * guard on purpose. */
#define CAT(a, b) a##b
#define ENTRY_OF(name) CAT(cs_entry_, name)
#define HOST_OF(name, coll, root, size, ...) HOST(name, coll, root, size, __VA_ARGS__)
#define LEFT_OF(name, coll, size, ...) LEFT(name, coll, size, __VA_ARGS__)
/* A size as select counts it, for the report. */
#define BLOCK(count, type) cs_serve_size(communicator, count, type, 1)
#define BLOCKS(count, type) cs_serve_size(communicator, count, type, communicator->size)
#define TOTAL(counts, type) cs_serve_size_of_all(communicator, VECTOR(counts, NULL), type, 1)
#define MEAN(counts, type) \
	cs_serve_size_of_all(communicator, VECTOR(counts, NULL), type, communicator->size)
#define VECTOR(counts, displs) (&(struct cs_vector){ counts, displs, IS_LARGE })
#define SIDE(buffer, count, type) (&(struct cs_side){ (void *)(buffer), count, type })

int
ENTRY_OF(NAME(Bcast))(void *buffer, COUNT count, MPI_Datatype type, int root, MPI_Comm comm)
{
	ENTER(comm);
	if (may_serve(communicator) && !is_hosted(serving, CS_BCAST, count, type, 1) &&
	    cs_serve_bcast(serving, SIDE(buffer, count, type), root))
		return cs_serve_result(serving);
	HOST_OF(NAME(Bcast), CS_BCAST, root, BLOCK(count, type), buffer, count, type, root, comm);
}

int
ENTRY_OF(NAME(Allgather))(const void *send, COUNT send_count, MPI_Datatype send_type, void *recv,
			  COUNT recv_count, MPI_Datatype recv_type, MPI_Comm comm)
{
	ENTER(comm);
	if (may_serve(communicator) &&
	    !is_hosted(serving, CS_ALLGATHER, recv_count, recv_type, 1) &&
	    cs_serve_allgather(serving, SIDE(send, send_count, send_type),
						   SIDE(recv, recv_count, recv_type)))
		return cs_serve_result(serving);
	HOST_OF(NAME(Allgather), CS_ALLGATHER, NO_ROOT, BLOCK(recv_count, recv_type),
		send, send_count, send_type, recv, recv_count, recv_type, comm);
}

int
ENTRY_OF(NAME(Allgatherv))(const void *send, COUNT send_count, MPI_Datatype send_type, void *recv,
			   const COUNT recv_counts[], const DISPL displs[], MPI_Datatype recv_type,
			   MPI_Comm comm)
{
	ENTER(comm);
	if (may_serve(communicator) && !is_always_hosted(serving, CS_ALLGATHERV) &&
	    cs_serve_allgatherv(serving, SIDE(send, send_count, send_type),
				SIDE(recv, 0, recv_type), VECTOR(recv_counts, displs)))
		return cs_serve_result(serving);
	HOST_OF(NAME(Allgatherv), CS_ALLGATHERV, NO_ROOT, MEAN(recv_counts, recv_type),
		send, send_count, send_type, recv, recv_counts, displs, recv_type, comm);
}

int
ENTRY_OF(NAME(Gather))(const void *send, COUNT send_count, MPI_Datatype send_type, void *recv,
		       COUNT recv_count, MPI_Datatype recv_type, int root, MPI_Comm comm)
{
	ENTER(comm);
	if (may_serve(communicator) &&
	    !is_hosted(serving, CS_GATHER, communicator->rank == root ? recv_count : send_count,
		       communicator->rank == root ? recv_type : send_type, 1) &&
	    cs_serve_gather(serving, SIDE(send, send_count, send_type),
						SIDE(recv, recv_count, recv_type), root))
		return cs_serve_result(serving);
	HOST_OF(NAME(Gather), CS_GATHER, root, communicator->rank == root
		? BLOCK(recv_count, recv_type) : BLOCK(send_count, send_type), send, send_count,
		send_type, recv, recv_count, recv_type, root, comm);
}

int
ENTRY_OF(NAME(Gatherv))(const void *send, COUNT send_count, MPI_Datatype send_type, void *recv,
			const COUNT recv_counts[], const DISPL displs[], MPI_Datatype recv_type,
			int root, MPI_Comm comm)
{
	ENTER(comm);
	if (may_serve(communicator) && !is_always_hosted(serving, CS_GATHERV) &&
	    cs_serve_gatherv(serving, SIDE(send, send_count, send_type), SIDE(recv, 0, recv_type),
			     VECTOR(recv_counts, displs), root))
		return cs_serve_result(serving);
	HOST_OF(NAME(Gatherv), CS_GATHERV, root, CS_BYTES_UNKNOWN,
		send, send_count, send_type, recv, recv_counts, displs, recv_type, root, comm);
}

int
ENTRY_OF(NAME(Scatter))(const void *send, COUNT send_count, MPI_Datatype send_type, void *recv,
			COUNT recv_count, MPI_Datatype recv_type, int root, MPI_Comm comm)
{
	ENTER(comm);
	if (may_serve(communicator) &&
	    !is_hosted(serving, CS_SCATTER, communicator->rank == root ? send_count : recv_count,
		       communicator->rank == root ? send_type : recv_type, 1) &&
	    cs_serve_scatter(serving, SIDE(send, send_count, send_type),
						 SIDE(recv, recv_count, recv_type), root))
		return cs_serve_result(serving);
	HOST_OF(NAME(Scatter), CS_SCATTER, root, communicator->rank == root
		? BLOCK(send_count, send_type) : BLOCK(recv_count, recv_type), send, send_count,
		send_type, recv, recv_count, recv_type, root, comm);
}

int
ENTRY_OF(NAME(Scatterv))(const void *send, const COUNT send_counts[], const DISPL displs[],
			 MPI_Datatype send_type, void *recv, COUNT recv_count,
			 MPI_Datatype recv_type, int root, MPI_Comm comm)
{
	ENTER(comm);
	if (may_serve(communicator) && !is_always_hosted(serving, CS_SCATTERV) &&
	    cs_serve_scatterv(serving, SIDE(send, 0, send_type), VECTOR(send_counts, displs),
			      SIDE(recv, recv_count, recv_type), root))
		return cs_serve_result(serving);
	HOST_OF(NAME(Scatterv), CS_SCATTERV, root, CS_BYTES_UNKNOWN,
		send, send_counts, displs, send_type, recv, recv_count, recv_type, root, comm);
}

int
ENTRY_OF(NAME(Alltoall))(const void *send, COUNT send_count, MPI_Datatype send_type, void *recv,
			 COUNT recv_count, MPI_Datatype recv_type, MPI_Comm comm)
{
	ENTER(comm);
	if (may_serve(communicator) && !is_hosted(serving, CS_ALLTOALL, recv_count, recv_type, 1) &&
	    cs_serve_alltoall(serving, SIDE(send, send_count, send_type),
						  SIDE(recv, recv_count, recv_type)))
		return cs_serve_result(serving);
	HOST_OF(NAME(Alltoall), CS_ALLTOALL, NO_ROOT, BLOCK(recv_count, recv_type),
		send, send_count, send_type, recv, recv_count, recv_type, comm);
}

int
ENTRY_OF(NAME(Alltoallv))(const void *send, const COUNT send_counts[], const DISPL send_displs[],
			  MPI_Datatype send_type, void *recv, const COUNT recv_counts[],
			  const DISPL recv_displs[], MPI_Datatype recv_type, MPI_Comm comm)
{
	ENTER(comm);
	if (may_serve(communicator) && !is_always_hosted(serving, CS_ALLTOALLV) &&
	    cs_serve_alltoallv(serving, SIDE(send, 0, send_type), VECTOR(send_counts, send_displs),
			       SIDE(recv, 0, recv_type), VECTOR(recv_counts, recv_displs)))
		return cs_serve_result(serving);
	HOST_OF(NAME(Alltoallv), CS_ALLTOALLV, NO_ROOT, CS_BYTES_UNKNOWN,
		send, send_counts, send_displs, send_type, recv, recv_counts, recv_displs,
		recv_type, comm);
}

int
ENTRY_OF(NAME(Alltoallw))(const void *send, const COUNT send_counts[], const DISPL send_displs[],
			  const MPI_Datatype send_types[], void *recv, const COUNT recv_counts[],
			  const DISPL recv_displs[], const MPI_Datatype recv_types[], MPI_Comm comm)
{
	ENTER(comm);
	if (may_serve(communicator) && !is_always_hosted(serving, CS_ALLTOALLW) &&
	    cs_serve_alltoallw(serving, send, VECTOR(send_counts, send_displs), send_types, recv,
			       VECTOR(recv_counts, recv_displs), recv_types))
		return cs_serve_result(serving);
	HOST_OF(NAME(Alltoallw), CS_ALLTOALLW, NO_ROOT, CS_BYTES_UNKNOWN,
		send, send_counts, send_displs, send_types, recv, recv_counts, recv_displs,
		recv_types, comm);
}

int
ENTRY_OF(NAME(Allreduce))(const void *send, void *recv, COUNT count, MPI_Datatype type, MPI_Op op,
			  MPI_Comm comm)
{
	ENTER(comm);
	if (may_serve(communicator) && !is_hosted(serving, CS_ALLREDUCE, count, type, 1) &&
	    cs_serve_allreduce(serving, send, recv, count, type, op))
		return cs_serve_result(serving);
	HOST_OF(NAME(Allreduce), CS_ALLREDUCE, NO_ROOT, BLOCK(count, type), send, recv, count, type,
		op, comm);
}

int
ENTRY_OF(NAME(Reduce))(const void *send, void *recv, COUNT count, MPI_Datatype type, MPI_Op op,
		       int root, MPI_Comm comm)
{
	ENTER(comm);
	if (may_serve(communicator) && !is_hosted(serving, CS_REDUCE, count, type, 1) &&
	    cs_serve_reduce(serving, send, recv, count, type, op, root))
		return cs_serve_result(serving);
	HOST_OF(NAME(Reduce), CS_REDUCE, root, BLOCK(count, type), send, recv, count, type, op,
		root, comm);
}

int
ENTRY_OF(NAME(Reduce_scatter))(const void *send, void *recv, const COUNT counts[],
			       MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
	ENTER(comm);
	if (may_serve(communicator) && !is_always_hosted(serving, CS_REDUCE_SCATTER) &&
	    cs_serve_reduce_scatter(serving, send, recv, VECTOR(counts, NULL), type, op))
		return cs_serve_result(serving);
	HOST_OF(NAME(Reduce_scatter), CS_REDUCE_SCATTER, NO_ROOT, TOTAL(counts, type), send, recv,
		counts, type, op, comm);
}

int
ENTRY_OF(NAME(Reduce_scatter_block))(const void *send, void *recv, COUNT count, MPI_Datatype type,
				     MPI_Op op, MPI_Comm comm)
{
	ENTER(comm);
	if (may_serve(communicator) &&
	    !is_hosted(serving, CS_REDUCE_SCATTER_BLOCK, count, type, communicator->size) &&
	    cs_serve_reduce_scatter_block(serving, send, recv, count, type, op))
		return cs_serve_result(serving);
	HOST_OF(NAME(Reduce_scatter_block), CS_REDUCE_SCATTER_BLOCK, NO_ROOT, BLOCKS(count, type),
		send, recv, count, type, op, comm);
}

int
ENTRY_OF(NAME(Scan))(const void *send, void *recv, COUNT count, MPI_Datatype type, MPI_Op op,
		     MPI_Comm comm)
{
	ENTER(comm);
	if (may_serve(communicator) && !is_hosted(serving, CS_SCAN, count, type, 1) &&
	    cs_serve_scan(serving, CS_SCAN, send, recv, count, type, op))
		return cs_serve_result(serving);
	HOST_OF(NAME(Scan), CS_SCAN, NO_ROOT, BLOCK(count, type), send, recv, count, type, op,
		comm);
}

int
ENTRY_OF(NAME(Exscan))(const void *send, void *recv, COUNT count, MPI_Datatype type, MPI_Op op,
		       MPI_Comm comm)
{
	ENTER(comm);
	if (may_serve(communicator) && !is_hosted(serving, CS_EXSCAN, count, type, 1) &&
	    cs_serve_scan(serving, CS_EXSCAN, send, recv, count, type, op))
		return cs_serve_result(serving);
	HOST_OF(NAME(Exscan), CS_EXSCAN, NO_ROOT, BLOCK(count, type), send, recv, count, type, op,
		comm);
}

/* --- what is only counted: by what this rank sends to each neighbour -------------------------- */

int
ENTRY_OF(NAME(Neighbor_allgather))(const void *send, COUNT send_count, MPI_Datatype send_type,
				   void *recv, COUNT recv_count, MPI_Datatype recv_type,
				   MPI_Comm comm)
{
	LEFT_OF(NAME(Neighbor_allgather), CS_NEIGHBOR_ALLGATHER, BLOCK(send_count, send_type),
		send, send_count, send_type, recv, recv_count, recv_type, comm);
}

int
ENTRY_OF(NAME(Neighbor_allgatherv))(const void *send, COUNT send_count, MPI_Datatype send_type,
				    void *recv, const COUNT recv_counts[], const DISPL displs[],
				    MPI_Datatype recv_type, MPI_Comm comm)
{
	LEFT_OF(NAME(Neighbor_allgatherv), CS_NEIGHBOR_ALLGATHERV, BLOCK(send_count, send_type),
		send, send_count, send_type, recv, recv_counts, displs, recv_type, comm);
}

int
ENTRY_OF(NAME(Neighbor_alltoall))(const void *send, COUNT send_count, MPI_Datatype send_type,
				  void *recv, COUNT recv_count, MPI_Datatype recv_type,
				  MPI_Comm comm)
{
	LEFT_OF(NAME(Neighbor_alltoall), CS_NEIGHBOR_ALLTOALL, BLOCK(send_count, send_type),
		send, send_count, send_type, recv, recv_count, recv_type, comm);
}

int
ENTRY_OF(NAME(Neighbor_alltoallv))(const void *send, const COUNT send_counts[],
				   const DISPL send_displs[], MPI_Datatype send_type, void *recv,
				   const COUNT recv_counts[], const DISPL recv_displs[],
				   MPI_Datatype recv_type, MPI_Comm comm)
{
	LEFT_OF(NAME(Neighbor_alltoallv), CS_NEIGHBOR_ALLTOALLV, CS_BYTES_UNKNOWN,
		send, send_counts, send_displs, send_type, recv, recv_counts, recv_displs,
		recv_type, comm);
}

int
ENTRY_OF(NAME(Neighbor_alltoallw))(const void *send, const COUNT send_counts[],
				   const MPI_Aint send_displs[], const MPI_Datatype send_types[],
				   void *recv, const COUNT recv_counts[],
				   const MPI_Aint recv_displs[], const MPI_Datatype recv_types[],
				   MPI_Comm comm)
{
	LEFT_OF(NAME(Neighbor_alltoallw), CS_NEIGHBOR_ALLTOALLW, CS_BYTES_UNKNOWN,
		send, send_counts, send_displs, send_types, recv, recv_counts, recv_displs,
		recv_types, comm);
}

/* --- COLLSHIM_REPRODUCIBLE: the reductions in one order, what this is not needed for as ever -- */

int
ENTRY_OF(NAME(ordered_Allreduce))(const void *send, void *recv, COUNT count, MPI_Datatype type,
				  MPI_Op op, MPI_Comm comm)
{
	ENTER(comm);
	int result;
	if (communicator &&
	    cs_serve_ordered_allreduce(serving, send, recv, count, type, op, &result))
		return result;
	return ENTRY_OF(NAME(Allreduce))(send, recv, count, type, op, comm);
}

int
ENTRY_OF(NAME(ordered_Reduce))(const void *send, void *recv, COUNT count, MPI_Datatype type,
			       MPI_Op op, int root, MPI_Comm comm)
{
	ENTER(comm);
	int result;
	if (communicator &&
	    cs_serve_ordered_reduce(serving, send, recv, count, type, op, root, &result))
		return result;
	return ENTRY_OF(NAME(Reduce))(send, recv, count, type, op, root, comm);
}

int
ENTRY_OF(NAME(ordered_Reduce_scatter))(const void *send, void *recv, const COUNT counts[],
				       MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
	ENTER(comm);
	int result;
	if (communicator &&
	    cs_serve_ordered_reduce_scatter(serving, send, recv, VECTOR(counts, NULL), type, op,
					    &result))
		return result;
	return ENTRY_OF(NAME(Reduce_scatter))(send, recv, counts, type, op, comm);
}

int
ENTRY_OF(NAME(ordered_Reduce_scatter_block))(const void *send, void *recv, COUNT count,
					     MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
	ENTER(comm);
	int result;
	if (communicator &&
	    cs_serve_ordered_reduce_scatter_block(serving, send, recv, count, type, op, &result))
		return result;
	return ENTRY_OF(NAME(Reduce_scatter_block))(send, recv, count, type, op, comm);
}

int
ENTRY_OF(NAME(ordered_Scan))(const void *send, void *recv, COUNT count, MPI_Datatype type,
			     MPI_Op op, MPI_Comm comm)
{
	ENTER(comm);
	int result;
	if (communicator &&
	    cs_serve_ordered_scan(serving, CS_SCAN, send, recv, count, type, op, &result))
		return result;
	return ENTRY_OF(NAME(Scan))(send, recv, count, type, op, comm);
}

int
ENTRY_OF(NAME(ordered_Exscan))(const void *send, void *recv, COUNT count, MPI_Datatype type,
			       MPI_Op op, MPI_Comm comm)
{
	ENTER(comm);
	int result;
	if (communicator &&
	    cs_serve_ordered_scan(serving, CS_EXSCAN, send, recv, count, type, op, &result))
		return result;
	return ENTRY_OF(NAME(Exscan))(send, recv, count, type, op, comm);
}

#undef CAT
#undef ENTRY_OF
#undef HOST_OF
#undef LEFT_OF
#undef BLOCK
#undef BLOCKS
#undef TOTAL
#undef MEAN
#undef VECTOR
#undef SIDE
#undef COUNT
#undef DISPL
#undef IS_LARGE
#undef NAME
