/* intercept/fortran_ts_calls.h — mpi_f08's procedures whose buffers are descriptors, for int and
 * for MPI_Count. Included once for each by fortran_ts.c with COUNT, DISPL, TAKE, ENTRY and CALL_OF
 * set; no include guard on purpose.
 *
 * As in Open MPI 6.0 a buffer for one rank may be a section of an array, and is one element of a
 * type made for it; a buffer with blocks for several ranks, or that is reduced, must be whole. Else
 * the host refuses. */
#define TO_HOST(name, ...) \
	((__typeof__(&TAKE(name)))cs_engine.door->next[CALL_OF(name)])(__VA_ARGS__)

/* The side for which a type may be made is opened last, so that nothing is left behind. */
#define BY_DESCRIPTOR(way, Name, name, shape, open_first, open_last) \
	static void TAKE(way##name)(CS_ARGS_##shape(ARRAYS), MPI_Fint *ierr) \
	{ \
		struct part out = { .is_made = false }, in; \
		if (!open_first || !open_last) { \
			TO_HOST(name, CS_ARGS_##shape(CS_NAME), ierr); \
			return; \
		} \
		cs_ierr(ierr, ENTRY(way##Name)(CS_ARGS_##shape(PARTS))); \
		close_part(&out); \
		close_part(&in); \
	}
/* And its non-blocking form; the MPI, or the call, keeps a type that is freed here. */
#define BOTH(Name, name, shape, open_first, open_last) \
	BY_DESCRIPTOR(, Name, name, shape, open_first, open_last) \
	static void TAKE(i##name)(CS_ARGS_##shape(ARRAYS), MPI_Fint *request, MPI_Fint *ierr) \
	{ \
		struct part out = { .is_made = false }, in; \
		if (!open_first || !open_last) { \
			TO_HOST(i##name, CS_ARGS_##shape(CS_NAME), request, ierr); \
			return; \
		} \
		CS_REQUESTED(ENTRY(I##name)(CS_ARGS_##shape(PARTS), &c_request)); \
		close_part(&out); \
		close_part(&in); \
	}
#define ONE_SENT open_section(&out, send, *send_count, *send_type)
#define ONE_RECEIVED open_section(&in, recv, *recv_count, *recv_type)
#define ALL_SENT(count) open_whole(&out, send, count, *send_type)
#define ALL_RECEIVED(count) open_whole(&in, recv, count, *recv_type)
#define ROOT_SENDS(count) open_on_root(&out, send, count, *send_type, *root, *comm)
#define ROOT_RECEIVES(count) open_on_root(&in, recv, count, *recv_type, *root, *comm)

BOTH(Allgather, allgather, EQUAL, ALL_RECEIVED(*recv_count), ONE_SENT)
BOTH(Allgatherv, allgatherv, ALLGATHERV, ALL_RECEIVED(0), ONE_SENT)
BOTH(Alltoall, alltoall, EQUAL, ALL_RECEIVED(*recv_count), ALL_SENT(*send_count))
BOTH(Alltoallv, alltoallv, ALLTOALLV, ALL_SENT(0), ALL_RECEIVED(0))
BOTH(Bcast, bcast, BCAST, true, open_section(&in, buffer, *count, *type))
BOTH(Gather, gather, ROOTED, ROOT_RECEIVES(*recv_count), ONE_SENT)
BOTH(Gatherv, gatherv, GATHERV, ROOT_RECEIVES(0), ONE_SENT)
BOTH(Scatter, scatter, ROOTED, ROOT_SENDS(*send_count), ONE_RECEIVED)
BOTH(Scatterv, scatterv, SCATTERV, ROOT_SENDS(0), ONE_RECEIVED)

#define COUNT_REDUCTION *count
#define COUNT_REDUCE *count
#define COUNT_REDUCE_SCATTER 0
#define OPEN_SUMMED(shape) \
	open_whole(&out, send, 0, *type), open_whole(&in, recv, COUNT_##shape, *type)
#define BY_DESCRIPTOR_OF(...) BY_DESCRIPTOR(__VA_ARGS__)
#define BOTH_OF(...) BOTH(__VA_ARGS__)
#define USUAL(Name, name, UPPER, shape) BOTH_OF(Name, name, shape, OPEN_SUMMED(shape))
#define ORDERED(Name, name, UPPER, shape) \
	BY_DESCRIPTOR_OF(ordered_, Name, name, shape, OPEN_SUMMED(shape))
CS_REDUCTIONS(USUAL)
CS_REDUCTIONS(ORDERED)

static void
TAKE(alltoallw)(CS_ARGS_ALLTOALLW(ARRAYS), MPI_Fint *ierr)
{
	if (!is_readable() || !cs_descriptor_is_whole(send) || !cs_descriptor_is_whole(recv)) {
		TO_HOST(alltoallw, CS_ARGS_ALLTOALLW(CS_NAME), ierr);
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
TAKE(ialltoallw)(CS_ARGS_ALLTOALLW(ARRAYS), MPI_Fint *request, MPI_Fint *ierr)
{
	if (!is_readable() || !cs_descriptor_is_whole(send) || !cs_descriptor_is_whole(recv)) {
		TO_HOST(ialltoallw, CS_ARGS_ALLTOALLW(CS_NAME), request, ierr);
		return;
	}
	struct cs_fortran_types types;
	void *out = cs_buffer_f2c(send->base);
	if (!cs_fortran_open_types(&types, cs_comm_f2c(*comm),
				   out == MPI_IN_PLACE ? NULL : send_types, recv_types, ierr))
		return;
	CS_REQUESTED(ENTRY(Ialltoallw)(out, send_counts, send_displs, types.send,
				       cs_buffer_f2c(recv->base), recv_counts, recv_displs,
				       types.recv, cs_comm_f2c(*comm), &c_request));
	cs_fortran_close_types(&types);
}

#undef TO_HOST
#undef BY_DESCRIPTOR
#undef ONE_SENT
#undef ONE_RECEIVED
#undef ALL_SENT
#undef ALL_RECEIVED
#undef ROOT_SENDS
#undef ROOT_RECEIVES
#undef COUNT_REDUCTION
#undef COUNT_REDUCE
#undef COUNT_REDUCE_SCATTER
#undef OPEN_SUMMED
#undef BY_DESCRIPTOR_OF
#undef BOTH
#undef BOTH_OF
#undef USUAL
#undef ORDERED
#undef COUNT
#undef DISPL
#undef TAKE
#undef ENTRY
#undef CALL_OF
