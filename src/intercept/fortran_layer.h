/* intercept/fortran_layer.h — what the entries of Fortran names share: mangled names, handles, and
 * the addresses that mean MPI_IN_PLACE and MPI_BOTTOM. Private to the files of
 * intercept/fortran*.c; without these entries: no_fortran.c. */
#ifndef CS_INTERCEPT_FORTRAN_LAYER_H
#define CS_INTERCEPT_FORTRAN_LAYER_H

#include "comm/calls/persistent.h"
#include "comm/engine.h"
#include "comm/enter.h"
#include "intercept/entry.h"

#include <assert.h>
#include <mpi.h>
#include <stdatomic.h>

/* Counts and displacements are passed on without a copy. (-fdefault-integer-8 would break the
 * host's C ABI too.) */
static_assert(sizeof(MPI_Fint) == sizeof(int), "Fortran integers are C ints");

static inline void
cs_ierr(MPI_Fint *ierr, int result)
{
	if (ierr != NULL) /* optional in mpi_f08 */
		*ierr = result;
}

/* Each mangling has its own next: the host's, or that of a tool below us. */
#define CS_FORTRAN_INIT(symbol) \
	static void take_##symbol(MPI_Fint *ierr)                                                  \
	{                                                                                          \
		((void (*)(MPI_Fint *))cs_engine.door->next[CS_CALL_##symbol])(ierr); \
		cs_entry_after_init();                                                             \
	}
#define CS_FORTRAN_INIT_THREAD(symbol) \
	static void take_##symbol(MPI_Fint *required, MPI_Fint *provided, MPI_Fint *ierr)          \
	{                                                                                          \
		((void (*)(MPI_Fint *, MPI_Fint *, \
			   MPI_Fint *))cs_engine.door->next[CS_CALL_##symbol])( \
			required, provided, ierr);                                                 \
		cs_entry_after_init();                                                             \
	}

/* MPI_Comm_free and MPI_Comm_disconnect; `f2c` makes C's handle. */
#define CS_FORTRAN_FREE(symbol, f2c) \
	static void take_##symbol(MPI_Fint *comm, MPI_Fint *ierr)                                  \
	{                                                                                          \
		struct cs_freeing *freeing = cs_comm_freeing(f2c(*comm));                        \
		((void (*)(MPI_Fint *, MPI_Fint *))cs_engine.door->next[CS_CALL_##symbol])(comm, \
											    ierr); \
		cs_comm_freed(freeing, f2c(*comm) == MPI_COMM_NULL);                             \
	}

/* MPI_Start, MPI_Startall and MPI_Request_free, which call PMPI_Start and so on. */
#define CS_FORTRAN_START(symbol) \
	static void take_##symbol(MPI_Fint *request, MPI_Fint *ierr) \
	{ \
		((void (*)(MPI_Fint *, MPI_Fint *))cs_engine.door->next[CS_CALL_##symbol])( \
			request, ierr); \
		cs_persistents_look(); \
	}
#define CS_FORTRAN_STARTALL(symbol) \
	static void take_##symbol(MPI_Fint *count, MPI_Fint *requests, MPI_Fint *ierr) \
	{ \
		((void (*)(MPI_Fint *, MPI_Fint *, \
			   MPI_Fint *))cs_engine.door->next[CS_CALL_##symbol])(count, requests, \
									     ierr); \
		cs_persistents_look(); \
	}
#define CS_FORTRAN_RELEASE(symbol, f2c) \
	static void take_##symbol(MPI_Fint *request, MPI_Fint *ierr) \
	{ \
		MPI_Request before = f2c(*request); \
		((void (*)(MPI_Fint *, MPI_Fint *))cs_engine.door->next[CS_CALL_##symbol])( \
			request, ierr); \
		if (f2c(*request) == MPI_REQUEST_NULL) \
			cs_persistent_free(before); \
	}

/* --- Open MPI's: entries of all that communicates --------------------------------------------- */

/* Mangled names of a procedure by compiler, and mpi_f08's own. */
#define CS_FORTRAN_MANGLED(TAKE, lower, UPPER) \
	TAKE(mpi_##lower##_)                                                                       \
	TAKE(mpi_##lower##__)                                                                      \
	TAKE(mpi_##lower)                                                                          \
	TAKE(MPI_##UPPER)                                                                          \
	TAKE(mpi_##lower##_f08_)

/* The host's functions, by their profiling names. Names that need one that it lacks are not
 * taken. */
struct cs_fortran {
	MPI_Comm (*comm_f2c)(MPI_Fint);
	MPI_Datatype (*type_f2c)(MPI_Fint);
	MPI_Op (*op_f2c)(MPI_Fint);
	MPI_Fint (*request_c2f)(MPI_Request);
	MPI_Request (*request_f2c)(MPI_Fint);
	MPI_Info (*info_f2c)(MPI_Fint);
	int (*comm_rank)(MPI_Comm, int *);
	int (*comm_size)(MPI_Comm, int *);
	int (*comm_remote_size)(MPI_Comm, int *);
	int (*comm_test_inter)(MPI_Comm, int *);
	int (*comm_call_errhandler)(MPI_Comm, int);
	int (*type_create_hvector)(int, int, MPI_Aint, MPI_Datatype, MPI_Datatype *);
	int (*type_commit)(MPI_Datatype *);
	int (*type_free)(MPI_Datatype *);
};
extern struct cs_fortran cs_fortran;
extern const char *cs_fortran_missing; /* the first of them that the MPI lacks; NULL: none */

/* Handles, for C. */
static inline MPI_Comm
cs_comm_f2c(MPI_Fint comm)
{
	return cs_fortran.comm_f2c(comm);
}

static inline MPI_Datatype
cs_type_f2c(MPI_Fint type)
{
	return cs_fortran.type_f2c(type);
}

static inline MPI_Op
cs_op_f2c(MPI_Fint op)
{
	return cs_fortran.op_f2c(op);
}

/* Makes a non-blocking call, which sets c_request, and Fortran's request and ierr of it. */
#define CS_REQUESTED(call) \
	do { \
		MPI_Request c_request; \
		int result = call; \
		if (result == MPI_SUCCESS) \
			*request = cs_fortran.request_c2f(c_request); \
		cs_ierr(ierr, result); \
	} while (0)

/* The addresses that mean MPI_IN_PLACE or MPI_BOTTOM. The loader usually makes one of the
 * definitions in the program, libmpi and libmpi_usempif08, but scopes can keep them apart; none of
 * them is ever a buffer. */
struct cs_sentinel {
	void *places[8];
	size_t count;
};
extern struct cs_sentinel cs_fortran_in_place, cs_fortran_bottom;
extern _Atomic int cs_fortran_sentinels_state; /* 0 unknown, 1 being found, 2 known */

/* At the first Fortran collective and not before: most processes have no Fortran, and the search is
 * slow. */
void cs_fortran_find_sentinels(void);

/* A buffer's address, for C. */
static inline void *
cs_buffer_f2c(void *place)
{
	if (atomic_load_explicit(&cs_fortran_sentinels_state, memory_order_acquire) != 2)
		cs_fortran_find_sentinels();
	for (size_t i = 0; i < cs_fortran_in_place.count; i++)
		if (place == cs_fortran_in_place.places[i])
			return MPI_IN_PLACE;
	for (size_t i = 0; i < cs_fortran_bottom.count; i++)
		if (place == cs_fortran_bottom.places[i])
			return MPI_BOTTOM;
	return place;
}

/* The datatypes of an alltoallw, for C. */
struct cs_fortran_types {
	MPI_Datatype few[2 * 64], *send, *recv;
};
/* With MPI_IN_PLACE the send arguments mean nothing and need not be there: NULL. False after the
 * error handler had it. */
bool cs_fortran_open_types(struct cs_fortran_types *types, MPI_Comm comm, const MPI_Fint *sendtypes,
			   const MPI_Fint *recvtypes, MPI_Fint *ierr);
void cs_fortran_close_types(struct cs_fortran_types *types);

/* Fills the rows of names whose buffers are descriptors; after cs_fortran is filled. */
void cs_fortran_ts_entries(void **entries, bool is_ordered);

#endif
