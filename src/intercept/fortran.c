/* intercept/fortran.c — takes the Fortran names that never arrive at a C name, under Open MPI;
 * fortran_mpich.c takes MPICH's.
 *
 * Seen with Open MPI 4.1.4 and 6.0.0rc2 and MPICH 4.0.2, 4.2.1 and 5.0.2 (objdump of their Fortran
 * libraries):
 *
 *   Open MPI  mpi_bcast_, mpi_bcast_f08_ -> ompi_bcast_f -> PMPI_Bcast   all are taken here
 *        6.0  mpi_bcast_f08ts_, mpi_bcast_c_f08ts_ -> PMPI_Bcast, PMPI_Bcast_c    and these
 *   MPICH     mpi_bcast_, mpi_bcast_f08ts_ -> MPI_Bcast   the C entry sees it, with C's sentinels
 *             mpi_barrier_f08_ -> PMPI_Barrier, mpi_init_f08_ -> PMPI_Init  these are taken here
 *             (and mpi_comm_free_f08_, mpi_comm_disconnect_f08_)
 *
 * Here a call is what the host's Fortran layer would make of it: handles converted, MPI_IN_PLACE
 * and MPI_BOTTOM recognised by their address, the C function called, its result stored. */
#include "intercept/fortran_layer.h"


CS_FORTRAN_MANGLED(CS_FORTRAN_INIT, init, INIT)
CS_FORTRAN_MANGLED(CS_FORTRAN_INIT_THREAD, init_thread, INIT_THREAD)

/* --- communicators ---------------------------------------------------------------------------- */

#define IDUP(symbol)                                                                               \
	static void take_##symbol(MPI_Fint *comm, MPI_Fint *copy, MPI_Fint *request, \
				  MPI_Fint *ierr) \
	{                                                                                          \
		cs_comm_duplicating();                                                           \
		((void (*)(MPI_Fint *, MPI_Fint *, MPI_Fint *, \
			   MPI_Fint *))cs_engine.door->next[CS_CALL_##symbol])( \
			comm, copy, request, ierr);                                                \
	}
#define FREE_HERE(symbol) CS_FORTRAN_FREE(symbol, cs_comm_f2c)
CS_FORTRAN_MANGLED(FREE_HERE, comm_free, COMM_FREE)
CS_FORTRAN_MANGLED(FREE_HERE, comm_disconnect, COMM_DISCONNECT)
CS_FORTRAN_MANGLED(IDUP, comm_idup, COMM_IDUP)

/* --- collectives ------------------------------------------------------------------------------ */

#define FORTRAN(kind) FORTRAN_##kind
#define FORTRAN_BUFFER void *buffer
#define FORTRAN_SEND void *send
#define FORTRAN_RECV void *recv
#define FORTRAN_COUNT MPI_Fint *count
#define FORTRAN_COUNTS MPI_Fint *counts
#define FORTRAN_TYPE MPI_Fint *type
#define FORTRAN_OP MPI_Fint *op
#define FORTRAN_ROOT MPI_Fint *root
#define FORTRAN_COMM MPI_Fint *comm
#define FORTRAN_SEND_COUNT MPI_Fint *send_count
#define FORTRAN_SEND_COUNTS MPI_Fint *send_counts
#define FORTRAN_SEND_DISPLS MPI_Fint *send_displs
#define FORTRAN_SEND_TYPE MPI_Fint *send_type
#define FORTRAN_SEND_TYPES MPI_Fint *send_types
#define FORTRAN_RECV_COUNT MPI_Fint *recv_count
#define FORTRAN_RECV_COUNTS MPI_Fint *recv_counts
#define FORTRAN_RECV_DISPLS MPI_Fint *recv_displs
#define FORTRAN_RECV_TYPE MPI_Fint *recv_type
#define FORTRAN_RECV_TYPES MPI_Fint *recv_types

/* The argument of a kind for C. */
#define TO_C(kind) TO_C_##kind
#define TO_C_BUFFER cs_buffer_f2c(buffer)
#define TO_C_SEND cs_buffer_f2c(send)
#define TO_C_RECV cs_buffer_f2c(recv)
#define TO_C_COUNT *count
#define TO_C_COUNTS counts
#define TO_C_TYPE cs_type_f2c(*type)
#define TO_C_OP cs_op_f2c(*op)
#define TO_C_ROOT *root
#define TO_C_COMM cs_comm_f2c(*comm)
#define TO_C_SEND_COUNT *send_count
#define TO_C_SEND_COUNTS send_counts
#define TO_C_SEND_DISPLS send_displs
#define TO_C_SEND_TYPE cs_type_f2c(*send_type)
#define TO_C_RECV_COUNT *recv_count
#define TO_C_RECV_COUNTS recv_counts
#define TO_C_RECV_DISPLS recv_displs
#define TO_C_RECV_TYPE cs_type_f2c(*recv_type)

#define BY_ADDRESS(way, Name, lower, shape) \
	static void take_##way##lower(CS_ARGS_##shape(FORTRAN), MPI_Fint *ierr) \
	{ \
		cs_ierr(ierr, cs_entry_##way##Name(CS_ARGS_##shape(TO_C))); \
	}
#define TAKE(Name, lower, UPPER, shape) BY_ADDRESS(, Name, lower, shape)
#define TAKE_ORDERED(Name, lower, UPPER, shape) BY_ADDRESS(ordered_, Name, lower, shape)
CS_MOVES(TAKE)
CS_REDUCTIONS(TAKE)
CS_REDUCTIONS(TAKE_ORDERED)

#define TAKE_BEGUN(Name, lower, UPPER, shape) \
	static void take_i##lower(CS_ARGS_##shape(FORTRAN), MPI_Fint *request, MPI_Fint *ierr) \
	{ \
		CS_REQUESTED(cs_entry_I##lower(CS_ARGS_##shape(TO_C), &c_request)); \
	}
CS_MOVES(TAKE_BEGUN)
CS_REDUCTIONS(TAKE_BEGUN)

static void
take_ialltoallw(CS_ARGS_ALLTOALLW(FORTRAN), MPI_Fint *request, MPI_Fint *ierr)
{
	struct cs_fortran_types types;
	void *c_send = cs_buffer_f2c(send);
	if (!cs_fortran_open_types(&types, cs_comm_f2c(*comm),
				   c_send == MPI_IN_PLACE ? NULL : send_types, recv_types, ierr))
		return;
	CS_REQUESTED(cs_entry_Ialltoallw(c_send, send_counts, send_displs, types.send,
				      cs_buffer_f2c(recv), recv_counts, recv_displs, types.recv,
				      cs_comm_f2c(*comm), &c_request));
	cs_fortran_close_types(&types);
}

static void
take_ibarrier(MPI_Fint *comm, MPI_Fint *request, MPI_Fint *ierr)
{
	CS_REQUESTED(cs_entry_Ibarrier(cs_comm_f2c(*comm), &c_request));
}

/* --- persistent ------------------------------------------------------------------------------- */

#define TAKE_INIT(Name, lower, UPPER, shape) \
	static void take_##lower##_init(CS_ARGS_##shape(FORTRAN), MPI_Fint *info, \
					MPI_Fint *request, MPI_Fint *ierr) \
	{ \
		CS_REQUESTED(cs_entry_##Name##_init(CS_ARGS_##shape(TO_C), \
						    cs_fortran.info_f2c(*info), &c_request)); \
	}
CS_MOVES(TAKE_INIT)
CS_REDUCTIONS(TAKE_INIT)
TAKE_INIT(Barrier, barrier, BARRIER, BARRIER)

static void
take_alltoallw_init(CS_ARGS_ALLTOALLW(FORTRAN), MPI_Fint *info, MPI_Fint *request, MPI_Fint *ierr)
{
	struct cs_fortran_types types;
	void *c_send = cs_buffer_f2c(send);
	if (!cs_fortran_open_types(&types, cs_comm_f2c(*comm),
				   c_send == MPI_IN_PLACE ? NULL : send_types, recv_types, ierr))
		return;
	CS_REQUESTED(cs_entry_Alltoallw_init(c_send, send_counts, send_displs, types.send,
					     cs_buffer_f2c(recv), recv_counts, recv_displs,
					     types.recv, cs_comm_f2c(*comm),
					     cs_fortran.info_f2c(*info), &c_request));
	cs_fortran_close_types(&types);
}

CS_FORTRAN_MANGLED(CS_FORTRAN_START, start, START)
CS_FORTRAN_MANGLED(CS_FORTRAN_STARTALL, startall, STARTALL)
#define RELEASE(symbol) CS_FORTRAN_RELEASE(symbol, cs_fortran.request_f2c)
CS_FORTRAN_MANGLED(RELEASE, request_free, REQUEST_FREE)

static void
take_alltoallw(CS_ARGS_ALLTOALLW(FORTRAN), MPI_Fint *ierr)
{
	struct cs_fortran_types types;
	void *c_send = cs_buffer_f2c(send);
	if (!cs_fortran_open_types(&types, cs_comm_f2c(*comm),
				   c_send == MPI_IN_PLACE ? NULL : send_types, recv_types, ierr))
		return;
	cs_ierr(ierr, cs_entry_Alltoallw(c_send, send_counts, send_displs, types.send,
					 cs_buffer_f2c(recv), recv_counts, recv_displs, types.recv,
					 cs_comm_f2c(*comm)));
	cs_fortran_close_types(&types);
}

static void
take_barrier(MPI_Fint *comm, MPI_Fint *ierr)
{
	cs_ierr(ierr, cs_entry_Barrier(cs_comm_f2c(*comm)));
}

/* --- all of them ------------------------------------------------------------------------------ */

/* Looks up a function that these entries call themselves. */
static void *
look_up(const char *name)
{
	void *function = cs_engine.door->lookup(name);
	if (function == NULL && cs_fortran_missing == NULL)
		cs_fortran_missing = name;
	return function;
}

void
cs_fortran_entries(void **entries, bool is_ordered)
{
	struct cs_fortran *fortran = &cs_fortran;
	fortran->comm_f2c = (MPI_Comm(*)(MPI_Fint))look_up("PMPI_Comm_f2c");
	fortran->type_f2c = (MPI_Datatype(*)(MPI_Fint))look_up("PMPI_Type_f2c");
	fortran->op_f2c = (MPI_Op(*)(MPI_Fint))look_up("PMPI_Op_f2c");
	fortran->request_c2f = (MPI_Fint(*)(MPI_Request))look_up("PMPI_Request_c2f");
	fortran->request_f2c = (MPI_Request(*)(MPI_Fint))look_up("PMPI_Request_f2c");
	fortran->info_f2c = (MPI_Info(*)(MPI_Fint))look_up("PMPI_Info_f2c");
	fortran->comm_rank = (int (*)(MPI_Comm, int *))look_up("PMPI_Comm_rank");
	fortran->comm_size = (int (*)(MPI_Comm, int *))look_up("PMPI_Comm_size");
	fortran->comm_remote_size = (int (*)(MPI_Comm, int *))look_up("PMPI_Comm_remote_size");
	fortran->comm_test_inter = (int (*)(MPI_Comm, int *))look_up("PMPI_Comm_test_inter");
	fortran->comm_call_errhandler =
		(int (*)(MPI_Comm, int))look_up("PMPI_Comm_call_errhandler");
	fortran->type_create_hvector = (int (*)(int, int, MPI_Aint, MPI_Datatype, MPI_Datatype *))
		look_up("PMPI_Type_create_hvector");
	fortran->type_commit = (int (*)(MPI_Datatype *))look_up("PMPI_Type_commit");
	fortran->type_free = (int (*)(MPI_Datatype *))look_up("PMPI_Type_free");

#define ENTRY(Name, lower, UPPER, shape) ENTRY_BY(, lower, UPPER)
#define ENTRY_BEGUN(Name, lower, UPPER, shape) ENTRY_BY(, i##lower, I##UPPER)
#define ENTRY_ORDERED(Name, lower, UPPER, shape) ENTRY_BY(ordered_, lower, UPPER)
#define ENTRY_INIT(Name, lower, UPPER, shape) \
	ENTRY_BY(, lower##_init, UPPER##_INIT) \
	entries[CS_CALL_mpix_##lower##_init_] = entries[CS_CALL_mpix_##lower##_init__] = \
		entries[CS_CALL_mpix_##lower##_init] = entries[CS_CALL_MPIX_##UPPER##_INIT] = \
			entries[CS_CALL_mpix_##lower##_init_f08_] = (void *)take_##lower##_init;
#define ENTRY_BY(way, lower, UPPER) \
	entries[CS_CALL_mpi_##lower##_] = entries[CS_CALL_mpi_##lower##__] =                       \
		entries[CS_CALL_mpi_##lower] = entries[CS_CALL_MPI_##UPPER] =                      \
			entries[CS_CALL_mpi_##lower##_f08_] = (void *)take_##way##lower;
#define FORWARD(Name, lower, UPPER, shape) FORWARD_BY(lower, UPPER) FORWARD_BY(i##lower, I##UPPER)
#define FORWARD_BY(lower, UPPER) \
	entries[CS_CALL_mpi_##lower##_] = entries[CS_CALL_mpi_##lower##__] =                       \
		entries[CS_CALL_mpi_##lower] = entries[CS_CALL_MPI_##UPPER] =                      \
			entries[CS_CALL_mpi_##lower##_f08_] =                                      \
				entries[CS_CALL_mpi_##lower##_f08ts_] =                            \
					entries[CS_CALL_mpi_##lower##_c_f08ts_] = NULL;
#define OWN(symbol) entries[CS_CALL_##symbol] = (void *)take_##symbol;
	CS_FORTRAN_MANGLED(OWN, init, INIT)
	CS_FORTRAN_MANGLED(OWN, init_thread, INIT_THREAD)
	CS_FORTRAN_MANGLED(OWN, comm_idup, COMM_IDUP)
	if (fortran->comm_f2c == NULL)
		return;
	CS_FORTRAN_MANGLED(OWN, comm_free, COMM_FREE)
	CS_FORTRAN_MANGLED(OWN, comm_disconnect, COMM_DISCONNECT)
	ENTRY_BY(, barrier, BARRIER)
	if (fortran->type_f2c == NULL)
		return;
	CS_SERVED(ENTRY)
	if (fortran->request_c2f) {
		CS_SERVED(ENTRY_BEGUN)
		ENTRY_BY(, ibarrier, IBARRIER)
	}
	if (fortran->request_c2f && fortran->request_f2c && fortran->info_f2c &&
	    fortran->op_f2c && fortran->comm_size && fortran->comm_remote_size &&
	    fortran->comm_test_inter && fortran->comm_call_errhandler) {
		CS_SERVED(ENTRY_INIT)
		ENTRY_INIT(Barrier, barrier, BARRIER, BARRIER)
		CS_FORTRAN_MANGLED(OWN, start, START)
		CS_FORTRAN_MANGLED(OWN, startall, STARTALL)
		CS_FORTRAN_MANGLED(OWN, request_free, REQUEST_FREE)
	}
	if (is_ordered) {
		CS_REDUCTIONS(ENTRY_ORDERED)
	}
	if (fortran->comm_rank && fortran->comm_test_inter && fortran->type_create_hvector &&
	    fortran->type_commit && fortran->type_free)
		cs_fortran_ts_entries(entries, is_ordered);
	/* Only reductions can be in one order. */
	if (fortran->op_f2c == NULL) {
		CS_REDUCTIONS(FORWARD)
	}
	if (!fortran->comm_size || !fortran->comm_remote_size || !fortran->comm_test_inter ||
	    !fortran->comm_call_errhandler) {
		CS_TYPE_PER_RANK(FORWARD)
	}
#undef ENTRY
#undef ENTRY_ORDERED
#undef ENTRY_BY
#undef ENTRY_BEGUN
#undef ENTRY_INIT
#undef FORWARD
#undef FORWARD_BY
#undef OWN
}
