/* intercept/fortran_counted.c — counts, for the report, the collectives that are never served,
 * under their Fortran names. */
#include "intercept/fortran_layer.h"

#include "base/clock.h"
#include "comm/calls/serve.h"

/* Handed on as it came. */
struct left {
	struct cs_report_row *row;
	uint64_t start; /* 0: nobody wants to know */
};

/* `count` and `type`: of what this rank sends to each neighbour. Without a type there are several
 * of them. */
static struct left
begin_left(enum cs_left coll, MPI_Count count, const MPI_Fint *type, const MPI_Fint *comm)
{
	struct left left = { 0 };
	size_t bytes = CS_BYTES_UNKNOWN;
	struct cs_comm *communicator = cs_comm_enter(cs_comm_f2c(*comm));
	if (!communicator || !communicator->seat->selection.is_reporting)
		return left;
	if (type)
		bytes = cs_serve_size(communicator, count, cs_type_f2c(*type), 1);
	left.row = cs_comm_left_row(coll, bytes);
	left.start = cs_report_call(left.row, bytes, false);
	return left;
}

static void
end_left(const struct left *left)
{
	if (left->start)
		cs_report_called(left->row, cs_report_caller(NULL), left->start, cs_clock_ns());
}

/* Arguments are passed on as they came, whether buffers are addresses or descriptors, and counts of
 * type `count_t`. */
#define POINTER(kind) void *CS_NAME(kind)
#define LEFT(symbol, coll, shape, count, type) \
	static void take_##symbol(CS_ARGS_##shape(POINTER), MPI_Fint *ierr) \
	{ \
		struct left left = begin_left(CS_##coll, count, type, comm); \
		((__typeof__(&take_##symbol))cs_engine.door->next[CS_CALL_##symbol])( \
			CS_ARGS_##shape(CS_NAME), ierr); \
		end_left(&left); \
	}
#define LEFT_EQUAL(symbol, coll, count_t) \
	LEFT(symbol, coll, EQUAL, *(count_t *)send_count, send_type)
#define LEFT_ALLGATHERV(symbol, coll, count_t) \
	LEFT(symbol, coll, ALLGATHERV, *(count_t *)send_count, send_type)
#define LEFT_ALLTOALLV(symbol, coll, count_t) LEFT(symbol, coll, ALLTOALLV, 0, NULL)
#define LEFT_NEIGHBOR_ALLTOALLW(symbol, coll, count_t) \
	LEFT(symbol, coll, NEIGHBOR_ALLTOALLW, 0, NULL)
#define TAKE(Name, lower, UPPER, shape) \
	LEFT_##shape(mpi_##lower##_, UPPER, MPI_Fint) \
	LEFT_##shape(mpi_##lower##__, UPPER, MPI_Fint) \
	LEFT_##shape(mpi_##lower, UPPER, MPI_Fint) \
	LEFT_##shape(MPI_##UPPER, UPPER, MPI_Fint) \
	LEFT_##shape(mpi_##lower##_f08_, UPPER, MPI_Fint) \
	LEFT_##shape(mpi_##lower##_f08ts_, UPPER, MPI_Fint) \
	LEFT_##shape(mpi_##lower##_c_f08ts_, UPPER, MPI_Count)
CS_NEIGHBORS(TAKE)

void
cs_fortran_count(void **entries)
{
	if (cs_fortran.comm_f2c == NULL || cs_fortran.type_f2c == NULL)
		return;
#define SET(symbol) entries[CS_CALL_##symbol] = (void *)take_##symbol;
#define SET_ALL(Name, lower, UPPER, shape) \
	CS_FORTRAN_MANGLED(SET, lower, UPPER) \
	SET(mpi_##lower##_f08ts_) \
	SET(mpi_##lower##_c_f08ts_)
	CS_NEIGHBORS(SET_ALL)
#undef SET
#undef SET_ALL
}
