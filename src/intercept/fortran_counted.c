/* intercept/fortran_counted.c — counts, for the report, the collectives that are never served,
 * under their Fortran names. */
#include "intercept/fortran_layer.h"

#include "base/clock.h"
#include "comm/calls/serve.h"

/* Handed on as it came. */
struct left {
	size_t bytes;
	uint64_t start; /* 0: nobody wants to know */
};

/* `count` and `type`: of what this rank sends to each neighbour. Without a type there are several
 * of them. */
static struct left
begin_left(MPI_Count count, const MPI_Fint *type, const MPI_Fint *comm)
{
	struct left left = { .bytes = CS_BYTES_UNKNOWN };
	struct cs_comm *communicator = cs_comm_enter(cs_comm_f2c(*comm));
	if (!communicator || !communicator->seat->selection.is_reporting)
		return left;
	if (type)
		left.bytes = cs_serve_size(communicator, count, cs_type_f2c(*type), 1);
	left.start = cs_clock_ns();
	return left;
}

static void
end_left(const struct left *left, enum cs_left coll)
{
	if (left->start)
		cs_comm_count_left(coll, left->bytes, cs_clock_ns() - left->start);
}

typedef MPI_Fint F; /* for the lists below */

/* `C`: what counts are. Buffers are passed on, whether as addresses or as descriptors. */
#define LEFT(symbol, coll, count, type, parameters, ...)                                           \
	static void take_##symbol parameters                                                       \
	{                                                                                          \
		struct left left = begin_left(count, type, comm);                                  \
		((void(*) parameters)cs_fortran_door->next[CS_CALL_##symbol])(__VA_ARGS__); \
		end_left(&left, coll);                                                             \
	}
#define LEFT_ALLGATHER_OF(C, symbol)                                                               \
	LEFT(symbol, CS_NEIGHBOR_ALLGATHER, *n, type, \
	     (void *a, C *n, F *type, void *b, C *m, F *type_b, F *comm, F *ierr), \
	     a, n, type, b, m, type_b, comm, ierr)
#define LEFT_ALLTOALL_OF(C, symbol)                                                                \
	LEFT(symbol, CS_NEIGHBOR_ALLTOALL, *n, type, \
	     (void *a, C *n, F *type, void *b, C *m, F *type_b, F *comm, F *ierr), \
	     a, n, type, b, m, type_b, comm, ierr)
#define LEFT_ALLGATHERV_OF(C, symbol)                                                              \
	LEFT(symbol, CS_NEIGHBOR_ALLGATHERV, *n, type,                                             \
	     (void *a, C *n, F *type, void *b, C *m, void *at, F *type_b, F *comm, F *ierr), \
	     a, n, type, b, m, at, type_b, comm, ierr)
#define LEFT_ALLTOALLV_OF(C, symbol)                                                               \
	LEFT(symbol, CS_NEIGHBOR_ALLTOALLV, 0, NULL,                                               \
	     (void *a, C *n, void *at, F *type, void *b, C *m, void *at_b, F *type_b, F *comm, \
	      F *ierr), \
	     a, n, at, type, b, m, at_b, type_b, comm, ierr)
#define LEFT_ALLTOALLW_OF(C, symbol)                                                               \
	LEFT(symbol, CS_NEIGHBOR_ALLTOALLW, 0, NULL,                                               \
	     (void *a, C *n, void *at, F *type, void *b, C *m, void *at_b, F *type_b, F *comm, \
	      F *ierr), \
	     a, n, at, type, b, m, at_b, type_b, comm, ierr)
#define LEFT_ALLGATHER(symbol) LEFT_ALLGATHER_OF(F, symbol)
#define LEFT_ALLGATHERV(symbol) LEFT_ALLGATHERV_OF(F, symbol)
#define LEFT_ALLTOALL(symbol) LEFT_ALLTOALL_OF(F, symbol)
#define LEFT_ALLTOALLV(symbol) LEFT_ALLTOALLV_OF(F, symbol)
#define LEFT_ALLTOALLW(symbol) LEFT_ALLTOALLW_OF(F, symbol)
#define LEFT_ALL(TAKE, lower, UPPER)                                                               \
	CS_FORTRAN_MANGLED(TAKE, lower, UPPER) \
	TAKE(mpi_##lower##_f08ts_)                                                                 \
	TAKE##_OF(MPI_Count, mpi_##lower##_c_f08ts_)
LEFT_ALL(LEFT_ALLGATHER, neighbor_allgather, NEIGHBOR_ALLGATHER)
LEFT_ALL(LEFT_ALLGATHERV, neighbor_allgatherv, NEIGHBOR_ALLGATHERV)
LEFT_ALL(LEFT_ALLTOALL, neighbor_alltoall, NEIGHBOR_ALLTOALL)
LEFT_ALL(LEFT_ALLTOALLV, neighbor_alltoallv, NEIGHBOR_ALLTOALLV)
LEFT_ALL(LEFT_ALLTOALLW, neighbor_alltoallw, NEIGHBOR_ALLTOALLW)

void
cs_fortran_count(void **entries)
{
	if (cs_fortran.comm_f2c == NULL || cs_fortran.type_f2c == NULL)
		return;
#define SET(symbol) entries[CS_CALL_##symbol] = (void *)take_##symbol;
#define SET_OF(C, symbol) SET(symbol)
	LEFT_ALL(SET, neighbor_allgather, NEIGHBOR_ALLGATHER)
	LEFT_ALL(SET, neighbor_allgatherv, NEIGHBOR_ALLGATHERV)
	LEFT_ALL(SET, neighbor_alltoall, NEIGHBOR_ALLTOALL)
	LEFT_ALL(SET, neighbor_alltoallv, NEIGHBOR_ALLTOALLV)
	LEFT_ALL(SET, neighbor_alltoallw, NEIGHBOR_ALLTOALLW)
#undef SET
#undef SET_OF
}
