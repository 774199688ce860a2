/* Wrong arguments: the error class of MPI_X is that of PMPI_X, a user's error handler is called as
 * often and with the same communicator, and the communicator goes on working. Every rank makes the
 * same mistake, except in the truncations, where the receivers say less than is sent, and once
 * more, and in the beginning, where one rank makes it alone. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

static int rank, size;
static int buffer[1 << 17], result[1 << 17];
static int *counts, *displs;
static MPI_Datatype uncommitted, *types;
static MPI_Comm freed;

/* Handles that are none, as far as the host looks before it uses them; where it does not, something
 * that it refuses. MPICH crashes on MPI_Bcast of MPI_IN_PLACE, Open MPI on MPI_Allreduce of a null
 * pointer for a type. */
#ifdef OPEN_MPI
#define NO_BUFFER MPI_IN_PLACE
#define NO_TYPE ((MPI_Datatype)NULL)
#define NO_TYPE_2 MPI_DATATYPE_NULL
#define NO_OPERATION MPI_OP_NULL
#define A_TYPE MPI_OP_NULL
#elif defined(CS_STANDARD_ABI)
/* Any handle but these may be an address. */
#define NO_BUFFER buffer
#define NO_TYPE MPI_DATATYPE_NULL
#define NO_TYPE_2 MPI_DATATYPE_NULL
#define NO_OPERATION MPI_OP_NULL
#define A_TYPE MPI_OP_NULL
#else
#define NO_BUFFER buffer
#define NO_TYPE ((MPI_Datatype)0x12345)
#define NO_TYPE_2 NO_TYPE
#define NO_OPERATION ((MPI_Op)0x4711)
#define A_TYPE ((MPI_Op)MPI_INT)
#endif

#define FIRST_SCAN 80
#define LAST_SCAN 89

/* Each mistake, once for MPI_ and once for PMPI_. */
#define MISTAKES(P) \
	static int P##try(int which, MPI_Comm comm, const char **name) \
	{ \
		int large = 1 << 16; \
		switch (which) { \
		case 0: *name = "bcast: negative count"; \
				return P##Bcast(buffer, -1, MPI_INT, 0, comm); \
		case 1: *name = "bcast: root too large"; \
				return P##Bcast(buffer, 4, MPI_INT, size, comm); \
		case 2: *name = "bcast: root below 0"; \
				return P##Bcast(buffer, 4, MPI_INT, -77, comm); \
		case 3: *name = "bcast: no datatype"; \
				return P##Bcast(buffer, 4, MPI_DATATYPE_NULL, 0, comm); \
		case 4: *name = "bcast: uncommitted type"; \
				return P##Bcast(buffer, 4, uncommitted, 0, comm); \
		case 5: *name = "bcast: count and type wrong"; \
				return P##Bcast(NULL, -4, MPI_DATATYPE_NULL, 0, comm); \
		case 6: *name = "bcast: no communicator"; \
				return P##Bcast(buffer, 4, MPI_INT, 0, MPI_COMM_NULL); \
		case 7: \
			*name = "allreduce: no operation"; \
			return P##Allreduce(buffer, result, 4, MPI_INT, MPI_OP_NULL, comm); \
		case 8: \
			*name = "allreduce: bits of doubles"; \
			return P##Allreduce(buffer, result, 4, MPI_DOUBLE, MPI_BAND, comm); \
		case 9: \
			*name = "allreduce: minloc of ints"; \
			return P##Allreduce(buffer, result, 4, MPI_INT, MPI_MINLOC, comm); \
		case 10: \
			*name = "allreduce: aliased"; \
			return P##Allreduce(result, result, 4, MPI_INT, MPI_MAX, comm); \
		case 11: \
			*name = "allreduce: no datatype"; \
			return P##Allreduce(buffer, result, 4, MPI_DATATYPE_NULL, MPI_SUM, comm); \
		case 12: \
			*name = "allreduce: derived type with a predefined operation"; \
			return P##Allreduce(buffer, result, 1, types[0], MPI_SUM, comm); \
		case 13: \
			*name = "reduce: root too large"; \
			return P##Reduce(buffer, result, 4, MPI_INT, MPI_SUM, size + 1, comm); \
		case 14: \
			*name = "reduce: no datatype"; \
			return P##Reduce(buffer, result, 4, MPI_DATATYPE_NULL, MPI_SUM, 0, comm); \
		case 15: \
			*name = "allgather: negative count"; \
			return P##Allgather(buffer, -1, MPI_INT, result, -1, MPI_INT, comm); \
		case 16: \
			*name = "allgather: no send type"; \
			return P##Allgather(buffer, 1, MPI_DATATYPE_NULL, result, 1, MPI_INT, \
					    comm); \
		case 17: \
			*name = "allgather: uncommitted receive type"; \
			return P##Allgather(buffer, 2, MPI_INT, result, 1, uncommitted, comm); \
		case 18: \
			*name = "allgatherv: no receive type"; \
			return P##Allgatherv(buffer, 1, MPI_INT, result, counts, displs, \
					     MPI_DATATYPE_NULL, comm); \
		case 19: \
			*name = "gather: root too large"; \
			return P##Gather(buffer, 1, MPI_INT, result, 1, MPI_INT, size, comm); \
		case 20: \
			*name = "gather: negative send count"; \
			return P##Gather(buffer, -1, MPI_INT, result, -1, MPI_INT, 0, comm); \
		case 21: \
			*name = "scatter: uncommitted type"; \
			return P##Scatter(buffer, 1, uncommitted, result, 1, uncommitted, 0, \
					  comm); \
		case 22: \
			*name = "scatterv: root below 0"; \
			return P##Scatterv(buffer, counts, displs, MPI_INT, result, 1, MPI_INT, \
					   -9, comm); \
		case 23: \
			*name = "alltoall: negative count"; \
			return P##Alltoall(buffer, -1, MPI_INT, result, -1, MPI_INT, comm); \
		case 24: \
			*name = "alltoallv: a negative count"; \
			counts[0] = -2; \
			return P##Alltoallv(buffer, counts, displs, MPI_INT, result, counts, \
					    displs, MPI_INT, comm); \
		case 25: \
			*name = "alltoallw: a missing type"; \
			types[size - 1] = MPI_DATATYPE_NULL; \
			return P##Alltoallw(buffer, counts, displs, types, result, counts, displs, \
					    types, comm); \
		case 26: \
			*name = "reduce_scatter: a negative count"; \
			counts[0] = -1; \
			return P##Reduce_scatter(buffer, result, counts, MPI_INT, MPI_SUM, comm); \
		case 27: \
			*name = "reduce_scatter_block: no operation"; \
			return P##Reduce_scatter_block(buffer, result, 2, MPI_INT, MPI_OP_NULL, \
						       comm); \
		case 28: *name = "barrier: no communicator"; return P##Barrier(MPI_COMM_NULL); \
		case 29: \
			*name = "reduce: no communicator"; \
			return P##Reduce(buffer, result, 4, MPI_INT, MPI_SUM, 0, MPI_COMM_NULL); \
		case 30: \
			*name = "allgather: receives in place"; \
			return P##Allgather(buffer, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, comm); \
		case 31: \
			*name = "allgatherv: receives in place"; \
			return P##Allgatherv(buffer, 1, MPI_INT, MPI_IN_PLACE, counts, displs, \
					     MPI_INT, comm); \
		case 32: \
			*name = "allreduce: receives in place"; \
			return P##Allreduce(buffer, MPI_IN_PLACE, 4, MPI_INT, MPI_SUM, comm); \
		case 33: \
			*name = "alltoall: receives in place"; \
			return P##Alltoall(buffer, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, comm); \
		case 34: \
			*name = "alltoallv: receives in place"; \
			return P##Alltoallv(buffer, counts, displs, MPI_INT, MPI_IN_PLACE, counts, \
					    displs, MPI_INT, comm); \
		case 35: \
			*name = "alltoallw: receives in place"; \
			return P##Alltoallw(buffer, counts, displs, types, MPI_IN_PLACE, counts, \
					    displs, types, comm); \
		case 36: \
			*name = "reduce_scatter: receives in place"; \
			return P##Reduce_scatter(buffer, MPI_IN_PLACE, counts, MPI_INT, MPI_SUM, \
						 comm); \
		case 37: \
			*name = "reduce_scatter_block: receives in place"; \
			return P##Reduce_scatter_block(buffer, MPI_IN_PLACE, 2, MPI_INT, MPI_SUM, \
						       comm); \
		case 38: \
			*name = "bcast: in place, or a type that is none"; \
			return P##Bcast(NO_BUFFER, 4, NO_TYPE, 0, comm); \
		case 39: \
			*name = "allreduce: a type that is none"; \
			return P##Allreduce(buffer, result, 4, NO_TYPE_2, MPI_SUM, comm); \
		case 40: \
			*name = "allreduce: an operation that is none"; \
			return P##Allreduce(buffer, result, 4, MPI_INT, NO_OPERATION, comm); \
		case 41: \
			*name = "allreduce: a type for an operation"; \
			return P##Allreduce(buffer, result, 4, MPI_INT, A_TYPE, comm); \
		case 42: \
			*name = "barrier: a communicator that was freed"; \
			return P##Barrier(freed); \
		case 43: \
			*name = "allgather: the own block is where it goes"; \
			return P##Allgather(result + rank, 1, MPI_INT, result, 1, MPI_INT, comm); \
		case 44: \
			*name = "allgatherv: the own block is where it goes"; \
			return P##Allgatherv(result + displs[rank], counts[rank], MPI_INT, result, \
					     counts, displs, MPI_INT, comm); \
		case 45: \
			*name = "alltoall: aliased"; \
			return P##Alltoall(result, 1, MPI_INT, result, 1, MPI_INT, comm); \
		case 46: \
			*name = "alltoallv: aliased"; \
			return P##Alltoallv(result, counts, displs, MPI_INT, result, counts, \
					    displs, MPI_INT, comm); \
		case 47: \
			*name = "alltoallw: aliased"; \
			return P##Alltoallw(result, counts, displs, types, result, counts, displs, \
					    types, comm); \
		/* From here on the call itself runs,
			and what the host says about it depends on the sizes. */         \
		case 48: \
			*name = "bcast: truncated, short"; \
			return P##Bcast(buffer, rank == 0 ? 8 : 4, MPI_INT, 0, comm); \
		case 49: \
			*name = "gather: truncated, short"; \
			return P##Gather(buffer, rank == 0 ? 2 : 4, MPI_INT, result, 2, MPI_INT, \
					 0, comm); \
		case 50: \
			*name = "bcast: truncated, long"; \
			return P##Bcast(buffer, rank == 0 ? large : large / 2, MPI_INT, 0, comm); \
		case 51: \
			*name = "scatterv: truncated"; \
			for (int i = 0; i < size; i++) \
				counts[i] = i ? 5 : 3; \
			return P##Scatterv(buffer, counts, displs, MPI_INT, result, 3, MPI_INT, 0, \
					   comm); \
		case 52: \
			*name = "gatherv: truncated"; \
			return P##Gatherv(buffer, rank == 0 ? 1 : 6, MPI_INT, result, counts, \
					  displs, MPI_INT, 0, \
					  comm); \
		case 53: \
			*name = "scatterv: less than expected"; \
			for (int i = 0; i < size; i++) \
				counts[i] = 12; \
			return P##Scatterv(buffer, counts, displs, MPI_INT, result, \
					   rank ? large : 12, MPI_INT, 0, \
					   comm); \
		case 54: \
			*name = "gatherv: truncated at the last rank"; \
			return P##Gatherv(buffer, rank == size - 1 ? 1 : 6, MPI_INT, result, \
					  counts, displs, MPI_INT, \
					  size - 1, comm); \
		case 55: \
			*name = "scatter: truncated"; \
			return P##Scatter(buffer, 4096, MPI_INT, result, rank == 0 ? 4096 : 2048, \
					  MPI_INT, 0, comm); \
		/* Only by one rank: Open MPI refuses these three at once,
			*/                                          \
		case 60: \
			*name = "alltoall: another size to itself"; \
			return P##Alltoall(buffer, 2, MPI_INT, result, 1, MPI_INT, comm); \
		case 61: \
			*name = "alltoallv: another size to itself"; \
			return P##Alltoallv(buffer, displs, displs, MPI_INT, result, counts, \
					    displs, MPI_INT, comm); \
		case 62: \
			*name = "alltoallw: another size to itself"; \
			return P##Alltoallw(buffer, displs, displs, types, result, counts, displs, \
					    types, comm); \
		/* and MPICH these two. */ \
		case 63: \
			*name = "alltoallv: one buffer, blocks elsewhere"; \
			return P##Alltoallv(result, counts, displs, MPI_INT, result, counts, \
					    counts, MPI_INT, comm); \
		case 64: \
			*name = "alltoallw: one buffer, blocks elsewhere"; \
			return P##Alltoallw(result, counts, displs, types, result, counts, counts, \
					    types, comm); \
		case FIRST_SCAN: \
			*name = "scan: no operation"; \
			return P##Scan(buffer, result, 4, MPI_INT, MPI_OP_NULL, comm); \
		case FIRST_SCAN + 1: \
			*name = "scan: bits of doubles"; \
			return P##Scan(buffer, result, 4, MPI_DOUBLE, MPI_BAND, comm); \
		case FIRST_SCAN + 2: \
			*name = "scan: aliased"; \
			return P##Scan(result, result, 4, MPI_INT, MPI_MAX, comm); \
		case FIRST_SCAN + 3: \
			*name = "scan: no datatype"; \
			return P##Scan(buffer, result, 4, MPI_DATATYPE_NULL, MPI_SUM, comm); \
		case FIRST_SCAN + 4: \
			*name = "scan: receives in place"; \
			return P##Scan(buffer, MPI_IN_PLACE, 4, MPI_INT, MPI_SUM, comm); \
		case FIRST_SCAN + 5: \
			*name = "scan: no communicator"; \
			return P##Scan(buffer, result, 4, MPI_INT, MPI_SUM, MPI_COMM_NULL); \
		case FIRST_SCAN + 6: \
			*name = "exscan: no operation"; \
			return P##Exscan(buffer, result, 4, MPI_INT, MPI_OP_NULL, comm); \
		case FIRST_SCAN + 7: \
			*name = "exscan: aliased"; \
			return P##Exscan(result, result, 4, MPI_INT, MPI_MAX, comm); \
		case FIRST_SCAN + 8: \
			*name = "exscan: uncommitted type"; \
			return P##Exscan(buffer, result, 4, uncommitted, MPI_SUM, comm); \
		case FIRST_SCAN + 9: \
			*name = "exscan: receives in place"; \
			return P##Exscan(buffer, MPI_IN_PLACE, 4, MPI_INT, MPI_SUM, comm); \
		default: return -1; \
		} \
	}

MISTAKES(MPI_)
MISTAKES(PMPI_)
#define FIRST_TRUNCATION 48

/* Under Open MPI 0. */
static int
mpich_major(void)
{
	char text[MPI_MAX_LIBRARY_VERSION_STRING];
	int length, major = 0;
	MPI_Get_library_version(text, &length);
	return sscanf(text, "MPICH Version: %d", &major) == 1 ? major : 0;
}

/* Open MPI's bcast tree, MPICH's tree of a scatter, and 5.0.2's of a bcast hang behind a rank that
 * stops at its truncation. What both crash on (a NULL buffer with a count, a negative count of an
 * allreduce) is not here, nor what Open MPI alone crashes on, an exscan that receives in place. */
static int
host_hangs(int which)
{
	int is_bcast = which == FIRST_TRUNCATION || which == FIRST_TRUNCATION + 2;
#ifdef OPEN_MPI
	return which == LAST_SCAN || (size > 2 && is_bcast);
#else
	return size > 2 && (which == FIRST_TRUNCATION + 7 || (is_bcast && mpich_major() >= 5));
#endif
}

/* MPICH 5.0.2 ends the job by an assertion where a reduction's type is null; 4.2.1 does not. */
static int
host_dies(int which)
{
	return mpich_major() >= 5 &&
	       (which == 11 || which == 14 || which == 39 || which == FIRST_SCAN + 3);
}

/* Open MPI 6.0.0rc2 tells the root of a truncated gatherv or nobody, as it happens, where the
 * message is there before the root is; 5.0.7 always tells it. Between nodes the library hears no
 * more, of a gather neither, for which its leaders call gatherv. */
static int
host_may_miss(int which)
{
	char text[MPI_MAX_LIBRARY_VERSION_STRING];
	int length, major = 0;
	MPI_Get_library_version(text, &length);
	return sscanf(text, "Open MPI v%d", &major) == 1 && major >= 6 &&
	       (which == 49 || which == 52 || which == 54);
}

/* What the handler was told is what a call returns, but of MPICH 5.0.2, which then returns
 * MPI_SUCCESS. */
static int handler_calls, handler_code;
static MPI_Comm handler_comm;

static void
handler(MPI_Comm *comm, int *code, ...)
{
	handler_calls++;
	handler_comm = *comm;
	handler_code = *code;
}

static void
reset(void)
{
	for (int i = 0; i < size; i++) {
		counts[i] = 1;
		displs[i] = 8 * i;
		types[i] = MPI_INT;
	}
	PMPI_Type_dup(MPI_INT, &types[0]);
}

struct outcome {
	int class, calls;
	int is_same_comm;
};

static struct outcome
attempt(int which, int is_ours, const char **name)
{
	struct outcome outcome = {MPI_SUCCESS, 0, 1};
	MPI_Comm comm;
	MPI_Errhandler errhandler;
	PMPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Comm_create_errhandler(handler, &errhandler);
	MPI_Comm_set_errhandler(comm, errhandler);
	/* the library may begin to serve a communicator only after some calls */
	for (int i = 0; i < 3; i++)
		MPI_Allreduce(MPI_IN_PLACE, result, 1, MPI_INT, MPI_MAX, comm);
	reset();
	freed = MPI_COMM_NULL;
#if !defined(OPEN_MPI) && !defined(CS_STANDARD_ABI)
	MPI_Comm passing;
	PMPI_Comm_dup(comm, &passing);
	freed = passing;
	PMPI_Comm_free(&passing);
#endif
	MPI_Datatype dup = types[0];
	handler_calls = 0;
	int code = is_ours ? MPI_try(which, comm, name) : PMPI_try(which, comm, name);
	outcome.calls = handler_calls;
	outcome.is_same_comm = handler_calls == 0 || handler_comm == comm ||
			       handler_comm == MPI_COMM_WORLD;
	if (code == MPI_SUCCESS && handler_calls > 0)
		code = handler_code;
	if (code != MPI_SUCCESS)
		PMPI_Error_class(code, &outcome.class);
	PMPI_Type_free(&dup);
	if (which < FIRST_TRUNCATION || which >= FIRST_SCAN) {
		int one = 1, sum = 0;
		MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
		CHECK(sum == size, "%s: afterwards the communicator gives %d, not %d", *name, sum,
		      size);
		MPI_Comm_free(&comm);
	} /* after a truncation a message may still be under way on it: leave it alone */
	MPI_Errhandler_free(&errhandler);
	return outcome;
}

/* One rank alone makes a mistake that any host refuses at once, before anybody's first collective
 * on `comm`, and goes on. */
static void
alone(MPI_Comm comm, int which)
{
	const char *name = "";
	int word = 0;
	MPI_Errhandler errhandler;
	MPI_Comm_create_errhandler(handler, &errhandler);
	MPI_Comm_set_errhandler(comm, errhandler);
	reset();
	MPI_Datatype dup = types[0];
	handler_calls = handler_code = 0;
	if (rank == 0) {
		int code = MPI_try(which, comm, &name);
		CHECK((code != MPI_SUCCESS || handler_code != MPI_SUCCESS) && handler_calls == 1,
		      "%s, by one rank: code %d, handler called %d times", name, code,
		      handler_calls);
		for (int other = 1; other < size; other++)
			PMPI_Send(&word, 1, MPI_INT, other, 1, comm);
	} else {
		PMPI_Recv(&word, 1, MPI_INT, 0, 1, comm, MPI_STATUS_IGNORE);
	}
	for (int i = 0; i < 8; i++) {
		int one = i + 1, sum = 0;
		word = rank == 0 ? i : -1;
		MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
		MPI_Bcast(&word, 1, MPI_INT, 0, comm);
		CHECK(sum == size * one && word == i, "mistake %d, by one rank: then the sum is "
						      "%d, not %d, and %d comes, not %d",
		      which, sum, size * one, word, i);
	}
	PMPI_Type_free(&dup);
	MPI_Errhandler_free(&errhandler);
}

static void
each_alone(void)
{
	static const int mistakes[] = {
		0, 1, 3, 4, 7, 8, 13, 15, 16, 18, 19, 22, 23, 24, 26, 27,
		FIRST_SCAN, FIRST_SCAN + 3, FIRST_SCAN + 8,
#ifdef OPEN_MPI
		60, 61, 62,
#else
		63, 64,
#endif
	};
	alone(MPI_COMM_WORLD, 0);
	for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
		MPI_Comm comm;
		if (host_dies(mistakes[i]))
			continue;
		PMPI_Comm_dup(MPI_COMM_WORLD, &comm);
		alone(comm, mistakes[i]);
		MPI_Comm_free(&comm);
	}
}

static MPI_Datatype gappy; /* two ints of four */

static void
calling_handler(MPI_Comm *comm, int *code, ...)
{
	handler_calls++;
	handler_code = *code;
	memset(result, 0, sizeof result);
	MPI_Bcast(result, 1 << 15, gappy, 0, *comm);
}

/* A handler that makes another call on the communicator, of the same kind and larger. */
static void
call_in_handler(void)
{
	enum { SENT = 400, TAKEN = 300 };
	MPI_Datatype vector;
	MPI_Comm comm;
	MPI_Errhandler errhandler;
	int wrong = 0, code;
	PMPI_Comm_split(MPI_COMM_WORLD, rank < 2 ? 0 : MPI_UNDEFINED, rank, &comm);
	if (comm == MPI_COMM_NULL)
		return;
	PMPI_Type_vector(2, 1, 2, MPI_INT, &vector);
	PMPI_Type_create_resized(vector, 0, 16, &gappy);
	PMPI_Type_commit(&gappy);
	for (int i = 0; i < 8; i++)
		MPI_Barrier(comm);
	MPI_Comm_create_errhandler(calling_handler, &errhandler);
	MPI_Comm_set_errhandler(comm, errhandler);
	handler_calls = handler_code = 0;
	for (int i = 0; i < 4 * SENT; i++)
		buffer[i] = rank == 0 ? i : -1;
	code = MPI_Bcast(buffer, rank == 0 ? SENT : TAKEN, gappy, 0, comm);
	if (rank == 0) {
		for (int i = 0; i < 1 << 17; i++)
			result[i] = 77;
		MPI_Bcast(result, 1 << 15, gappy, 0, comm);
	} else {
		for (int i = 0; i < 4 * TAKEN; i++)
			wrong += buffer[i] != (i % 2 ? -1 : i);
		for (int i = 0; i < 1 << 17; i++)
			wrong += result[i] != (i % 2 ? 0 : 77);
		/* Another code is MPICH's own, which leaves nothing of the message. */
		code = code == MPI_SUCCESS ? handler_code : code;
		CHECK(code != MPI_SUCCESS && handler_calls == 1 &&
		      (wrong == 0 || code != MPI_ERR_TRUNCATE),
		      "a call in a handler: code %d, handler called %d times, %d numbers wrong",
		      code, handler_calls, wrong);
	}
	MPI_Errhandler_free(&errhandler);
	PMPI_Type_free(&vector);
	PMPI_Type_free(&gappy);
	MPI_Comm_free(&comm);
}

int
main(int argc, char **argv)
{
	check_begin(&argc, &argv, &rank, &size);
	counts = calloc((size_t)size, sizeof *counts);
	displs = calloc((size_t)size, sizeof *displs);
	types = calloc((size_t)size, sizeof(MPI_Datatype));
	MPI_Errhandler world_handler;
	/* Errors without a communicator go to MPI_COMM_WORLD */
	MPI_Comm_create_errhandler(handler, &world_handler);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, world_handler);
	PMPI_Type_contiguous(2, MPI_INT, &uncommitted);
	/* with an argument: only that mistake, for looking at one alone */
	int only = argc > 1 ? atoi(argv[1]) : -1, refused = 0;
	const char *name = "";
	if (only < 0) {
		each_alone();
		call_in_handler();
	}
	for (int which = 0; which <= LAST_SCAN; which = which == FIRST_TRUNCATION + 7
	     ? FIRST_SCAN : which + 1) {
		if ((only >= 0 && which != only) || host_hangs(which) || host_dies(which))
			continue;
		struct outcome host = attempt(which, 0, &name), ours = attempt(which, 1, &name);
		refused += host.class != MPI_SUCCESS;
		if (host_may_miss(which) &&
		    (host.class == MPI_SUCCESS || ours.class == MPI_SUCCESS))
			continue;
		/* MPICH hands an error down its tree as MPI_ERR_OTHER; with us it is the truncation
		 * that it is */
		int is_alike = host.class == ours.class ||
			       (which >= FIRST_TRUNCATION && host.class != MPI_SUCCESS &&
							    ours.class == MPI_ERR_TRUNCATE);
		CHECK(is_alike, "%s (%d): error class %d from the host, %d from us", name, which,
		      host.class, ours.class);
		CHECK(host.calls == ours.calls, "%s (%d): handler called %d times by the host, %d "
						"by us", name, which,
		      host.calls, ours.calls);
		/* Where the communicator is null, Open MPI 6.0.0rc2's libmpi_abi gives the handler
		 * of MPI_COMM_WORLD an address of its own. */
		CHECK(ours.is_same_comm || !host.is_same_comm,
		      "%s (%d): the handler got another communicator", name, which);
	}
	CHECK(only >= 0 || refused >= 20, "the host refused %d of these calls only: this test "
					  "tests nothing", refused);
	PMPI_Type_free(&uncommitted);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
	MPI_Errhandler_free(&world_handler);
	return check_finish("errors");
}
