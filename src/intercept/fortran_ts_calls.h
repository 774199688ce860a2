/* intercept/fortran_ts_calls.h — mpi_f08's procedures whose buffers are descriptors, for int and
 * for MPI_Count. Included once for each by fortran_ts.c with COUNT, DISPL, TAKE, ENTRY and CALL_OF
 * set; no include guard on purpose.
 *
 * As in Open MPI 6.0 what one rank sends or receives may be a section of an array, and is one
 * element of a type made for it; where a side has blocks for several ranks, or is reduced, it must
 * be whole. What is not so is for the host to refuse. */
#define ARRAY const struct cs_descriptor
#define TO_HOST(name, ...) \
	((__typeof__(&TAKE(name)))cs_fortran_door->next[CALL_OF(name)])(__VA_ARGS__)

#define EQUAL(name, Name, open_send)                                                               \
	static void TAKE(name)(ARRAY *send, COUNT *send_count, MPI_Fint *send_type, ARRAY *recv, \
			       COUNT *recv_count, \
			       MPI_Fint *recv_type, MPI_Fint *comm, MPI_Fint *ierr)                \
	{                                                                                          \
		struct part out, in;                                                               \
		if (!open_whole(&in, recv, *recv_count, *recv_type) || \
		    !open_send(&out, send, *send_count, *send_type)) { \
			TO_HOST(name, send, send_count, send_type, recv, recv_count, recv_type, \
				comm, ierr); \
			return;                                                                    \
		}                                                                                  \
		cs_ierr(ierr, ENTRY(Name)(out.memory, (COUNT)out.count, out.type, in.memory, \
					  (COUNT)in.count, in.type, \
					cs_comm_f2c(*comm))); \
		close_part(&out);                                                                  \
	}
EQUAL(allgather, Allgather, open_section)
EQUAL(alltoall, Alltoall, open_whole)

static void
TAKE(allgatherv)(ARRAY *send, COUNT *send_count, MPI_Fint *send_type, ARRAY *recv,
		 COUNT *recv_counts, DISPL *displs, MPI_Fint *recv_type, MPI_Fint *comm,
		 MPI_Fint *ierr)
{
	struct part out, in;
	if (!open_whole(&in, recv, 0, *recv_type) ||
	    !open_section(&out, send, *send_count, *send_type)) {
		TO_HOST(allgatherv, send, send_count, send_type, recv, recv_counts, displs,
			recv_type, comm, ierr);
		return;
	}
	cs_ierr(ierr, ENTRY(Allgatherv)(out.memory, (COUNT)out.count, out.type, in.memory,
					recv_counts, displs, in.type, cs_comm_f2c(*comm)));
	close_part(&out);
}

static void
TAKE(alltoallv)(ARRAY *send, COUNT *send_counts, DISPL *send_displs, MPI_Fint *send_type,
		ARRAY *recv, COUNT *recv_counts, DISPL *recv_displs, MPI_Fint *recv_type,
		MPI_Fint *comm, MPI_Fint *ierr)
{
	struct part out, in;
	if (!open_whole(&out, send, 0, *send_type) || !open_whole(&in, recv, 0, *recv_type)) {
		TO_HOST(alltoallv, send, send_counts, send_displs, send_type, recv, recv_counts,
			recv_displs, recv_type, comm, ierr);
		return;
	}
	cs_ierr(ierr, ENTRY(Alltoallv)(out.memory, send_counts, send_displs, out.type, in.memory,
				       recv_counts, recv_displs, in.type, cs_comm_f2c(*comm)));
}

static void
TAKE(alltoallw)(ARRAY *send, COUNT *send_counts, DISPL *send_displs, MPI_Fint *send_types,
		ARRAY *recv, COUNT *recv_counts, DISPL *recv_displs, MPI_Fint *recv_types,
		MPI_Fint *comm, MPI_Fint *ierr)
{
	if (!is_readable() || !cs_descriptor_is_whole(send) || !cs_descriptor_is_whole(recv)) {
		TO_HOST(alltoallw, send, send_counts, send_displs, send_types, recv, recv_counts,
			recv_displs, recv_types, comm, ierr);
		return;
	}
	struct cs_fortran_types types;
	void *out = cs_buffer_f2c(send->base);
	if (!cs_fortran_open_types(&types, cs_comm_f2c(*comm),
				   out == MPI_IN_PLACE ? NULL : send_types, recv_types, ierr))
		return;
	cs_ierr(ierr, ENTRY(Alltoallw)(out, send_counts, send_displs, types.send,
				       cs_buffer_f2c(recv->base), recv_counts, recv_displs,
				       types.recv, cs_comm_f2c(*comm)));
	cs_fortran_close_types(&types);
}

static void
TAKE(bcast)(ARRAY *data, COUNT *count, MPI_Fint *type, MPI_Fint *root, MPI_Fint *comm,
	    MPI_Fint *ierr)
{
	struct part part;
	if (!open_section(&part, data, *count, *type)) {
		TO_HOST(bcast, data, count, type, root, comm, ierr);
		return;
	}
	cs_ierr(ierr, ENTRY(Bcast)(part.memory, (COUNT)part.count, part.type, *root,
				   cs_comm_f2c(*comm)));
	close_part(&part);
}

static void
TAKE(gather)(ARRAY *send, COUNT *send_count, MPI_Fint *send_type, ARRAY *recv, COUNT *recv_count,
	     MPI_Fint *recv_type, MPI_Fint *root, MPI_Fint *comm, MPI_Fint *ierr)
{
	struct part out, in;
	if (!open_on_root(&in, recv, *recv_count, *recv_type, *root, *comm) ||
	    !open_section(&out, send, *send_count, *send_type)) {
		TO_HOST(gather, send, send_count, send_type, recv, recv_count, recv_type, root,
			comm, ierr);
		return;
	}
	cs_ierr(ierr, ENTRY(Gather)(out.memory, (COUNT)out.count, out.type, in.memory,
				    (COUNT)in.count, in.type, *root, cs_comm_f2c(*comm)));
	close_part(&out);
}

static void
TAKE(gatherv)(ARRAY *send, COUNT *send_count, MPI_Fint *send_type, ARRAY *recv, COUNT *recv_counts,
	      DISPL *displs, MPI_Fint *recv_type, MPI_Fint *root, MPI_Fint *comm, MPI_Fint *ierr)
{
	struct part out, in;
	if (!open_on_root(&in, recv, 0, *recv_type, *root, *comm) ||
	    !open_section(&out, send, *send_count, *send_type)) {
		TO_HOST(gatherv, send, send_count, send_type, recv, recv_counts, displs, recv_type,
			root, comm, ierr);
		return;
	}
	cs_ierr(ierr, ENTRY(Gatherv)(out.memory, (COUNT)out.count, out.type, in.memory, recv_counts,
				     displs, in.type, *root, cs_comm_f2c(*comm)));
	close_part(&out);
}

static void
TAKE(scatter)(ARRAY *send, COUNT *send_count, MPI_Fint *send_type, ARRAY *recv, COUNT *recv_count,
	      MPI_Fint *recv_type, MPI_Fint *root, MPI_Fint *comm, MPI_Fint *ierr)
{
	struct part out, in;
	if (!open_on_root(&out, send, *send_count, *send_type, *root, *comm) ||
	    !open_section(&in, recv, *recv_count, *recv_type)) {
		TO_HOST(scatter, send, send_count, send_type, recv, recv_count, recv_type, root,
			comm, ierr);
		return;
	}
	cs_ierr(ierr, ENTRY(Scatter)(out.memory, (COUNT)out.count, out.type, in.memory,
				     (COUNT)in.count, in.type, *root, cs_comm_f2c(*comm)));
	close_part(&in);
}

static void
TAKE(scatterv)(ARRAY *send, COUNT *send_counts, DISPL *displs, MPI_Fint *send_type, ARRAY *recv,
	       COUNT *recv_count, MPI_Fint *recv_type, MPI_Fint *root, MPI_Fint *comm,
	       MPI_Fint *ierr)
{
	struct part out, in;
	if (!open_on_root(&out, send, 0, *send_type, *root, *comm) ||
	    !open_section(&in, recv, *recv_count, *recv_type)) {
		TO_HOST(scatterv, send, send_counts, displs, send_type, recv, recv_count, recv_type,
			root, comm, ierr);
		return;
	}
	cs_ierr(ierr, ENTRY(Scatterv)(out.memory, send_counts, displs, out.type, in.memory,
				      (COUNT)in.count, in.type, *root, cs_comm_f2c(*comm)));
	close_part(&in);
}

/* `way`: nothing, or ordered_. */
#define SUMMED(way, name, Name)                                                                    \
	static void TAKE(way##name)(ARRAY *send, ARRAY *recv, COUNT *count, MPI_Fint *type, \
				    MPI_Fint *op, MPI_Fint *comm, \
				    MPI_Fint *ierr)                                                \
	{                                                                                          \
		struct part out, in;                                                               \
		if (!open_whole(&out, send, 0, *type) || !open_whole(&in, recv, *count, *type)) {  \
			TO_HOST(name, send, recv, count, type, op, comm, ierr);                    \
			return;                                                                    \
		}                                                                                  \
		cs_ierr(ierr, ENTRY(way##Name)(out.memory, in.memory, *count, in.type,             \
					       cs_op_f2c(*op), cs_comm_f2c(*comm)));               \
	}
#define REDUCTIONS_TS(way)                                                                         \
	SUMMED(way, allreduce, Allreduce)                                                          \
	SUMMED(way, exscan, Exscan)                                                                \
	SUMMED(way, scan, Scan)                                                                    \
	SUMMED(way, reduce_scatter_block, Reduce_scatter_block)                                    \
	static void TAKE(way##reduce)(ARRAY *send, ARRAY *recv, COUNT *count, MPI_Fint *type, \
				      MPI_Fint *op, MPI_Fint *root, \
				      MPI_Fint *comm, MPI_Fint *ierr)                              \
	{                                                                                          \
		struct part out, in;                                                               \
		if (!open_whole(&out, send, 0, *type) || !open_whole(&in, recv, *count, *type)) {  \
			TO_HOST(reduce, send, recv, count, type, op, root, comm, ierr);            \
			return;                                                                    \
		}                                                                                  \
		cs_ierr(ierr, ENTRY(way##Reduce)(out.memory, in.memory, *count, in.type,           \
						 cs_op_f2c(*op), *root, cs_comm_f2c(*comm)));      \
	}                                                                                          \
	static void TAKE(way##reduce_scatter)(ARRAY *send, ARRAY *recv, COUNT *counts, \
					      MPI_Fint *type, MPI_Fint *op, \
					      MPI_Fint *comm, MPI_Fint *ierr)                      \
	{                                                                                          \
		struct part out, in;                                                               \
		if (!open_whole(&out, send, 0, *type) || !open_whole(&in, recv, 0, *type)) {       \
			TO_HOST(reduce_scatter, send, recv, counts, type, op, comm, ierr);         \
			return;                                                                    \
		}                                                                                  \
		cs_ierr(ierr, ENTRY(way##Reduce_scatter)(out.memory, in.memory, counts, in.type,   \
							 cs_op_f2c(*op), cs_comm_f2c(*comm)));     \
	}
REDUCTIONS_TS()
REDUCTIONS_TS(ordered_)

#undef ARRAY
#undef TO_HOST
#undef EQUAL
#undef SUMMED
#undef REDUCTIONS_TS
#undef COUNT
#undef DISPL
#undef TAKE
#undef ENTRY
#undef CALL_OF
