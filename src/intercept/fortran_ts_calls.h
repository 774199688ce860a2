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
#define ONE_SENT open_section(&out, send, *send_count, *send_type)
#define ONE_RECEIVED open_section(&in, recv, *recv_count, *recv_type)
#define ALL_SENT(count) open_whole(&out, send, count, *send_type)
#define ALL_RECEIVED(count) open_whole(&in, recv, count, *recv_type)
#define ROOT_SENDS(count) open_on_root(&out, send, count, *send_type, *root, *comm)
#define ROOT_RECEIVES(count) open_on_root(&in, recv, count, *recv_type, *root, *comm)

BY_DESCRIPTOR(, Allgather, allgather, EQUAL, ALL_RECEIVED(*recv_count), ONE_SENT)
BY_DESCRIPTOR(, Allgatherv, allgatherv, ALLGATHERV, ALL_RECEIVED(0), ONE_SENT)
BY_DESCRIPTOR(, Alltoall, alltoall, EQUAL, ALL_RECEIVED(*recv_count), ALL_SENT(*send_count))
BY_DESCRIPTOR(, Alltoallv, alltoallv, ALLTOALLV, ALL_SENT(0), ALL_RECEIVED(0))
BY_DESCRIPTOR(, Bcast, bcast, BCAST, true, open_section(&in, buffer, *count, *type))
BY_DESCRIPTOR(, Gather, gather, ROOTED, ROOT_RECEIVES(*recv_count), ONE_SENT)
BY_DESCRIPTOR(, Gatherv, gatherv, GATHERV, ROOT_RECEIVES(0), ONE_SENT)
BY_DESCRIPTOR(, Scatter, scatter, ROOTED, ROOT_SENDS(*send_count), ONE_RECEIVED)
BY_DESCRIPTOR(, Scatterv, scatterv, SCATTERV, ROOT_SENDS(0), ONE_RECEIVED)

#define COUNT_REDUCTION *count
#define COUNT_REDUCE *count
#define COUNT_REDUCE_SCATTER 0
#define SUMMED(way, Name, name, shape) \
	BY_DESCRIPTOR(way, Name, name, shape, open_whole(&out, send, 0, *type), \
		      open_whole(&in, recv, COUNT_##shape, *type))
#define USUAL(Name, name, UPPER, shape) SUMMED(, Name, name, shape)
#define ORDERED(Name, name, UPPER, shape) SUMMED(ordered_, Name, name, shape)
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
#undef SUMMED
#undef USUAL
#undef ORDERED
#undef COUNT
#undef DISPL
#undef TAKE
#undef ENTRY
#undef CALL_OF
