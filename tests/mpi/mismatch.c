/* Ranks that disagree on one node: about the collective, its root, operation, type or size. Each
 * rank that can see it hears of it, once, by the class that the host gives, or MPI_ERR_OTHER where
 * the host has none or hangs; nobody waits for ever, and the communicator goes on to be used. With
 * "fatal": only the last of the cases, with the default error handler. With "again": one case, and
 * one of another kind on the next communicator of the same ranks, which is said, too. (Each kind is
 * said once in each process.) With "tried": in calls that try the host, with COLLSHIM_ADAPT=on.
 * With "levels": errors may be of any class, and be found or not, where ranks go different ways for
 * sizes on either side of a border; and a scan's small vectors reach the first rank, too. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#ifdef OPEN_MPI
#define LESS_OF_A_BCAST MPI_SUCCESS
#else
#define LESS_OF_A_BCAST MPI_ERR_OTHER
#endif
#define MOST (4 << 20) /* bytes of a block */
#define PACKED 2048 /* bytes of all blocks that go by levels */

static MPI_Comm comm;
static int rank, size;
static int *in, *out, *counts, *displs;
static int handler_calls, handler_class, any_class;

static void
handler(MPI_Comm *which, int *code, ...)
{
	handler_calls++;
	PMPI_Error_class(*code, &handler_class);
}

/* `n` ints; rank 1 is the one that is wrong. Others have half of what it has, or twice as much. */
static int
fewer(int n)
{
	return rank == 1 ? n / 2 : n;
}

static int
more(int n)
{
	return rank == 1 ? n : n / 2;
}

#define CASE(name, call) static int name(int n) { return call; }
CASE(bcast_more, MPI_Bcast(in, rank ? n / 2 : n, MPI_INT, 0, comm))
CASE(bcast_less, MPI_Bcast(in, rank ? n : n / 2, MPI_INT, 0, comm))
CASE(bcast_two_roots, MPI_Bcast(in, n, MPI_INT, rank == 1, comm))
CASE(bcast_crossed, MPI_Bcast(in, n, MPI_INT, rank == 0, comm))
CASE(gather_fewer, MPI_Gather(in, fewer(n), MPI_INT, out, n, MPI_INT, 0, comm))
CASE(gather_more, MPI_Gather(in, more(n), MPI_INT, out, n / 2, MPI_INT, 0, comm))
CASE(scatter_fewer, MPI_Scatter(in, n, MPI_INT, out, fewer(n), MPI_INT, 0, comm))
CASE(scatter_more, MPI_Scatter(in, n / 2, MPI_INT, out, more(n), MPI_INT, 0, comm))
CASE(allgather_fewer, MPI_Allgather(in, fewer(n), MPI_INT, out, fewer(n), MPI_INT, comm))
CASE(allgather_more, MPI_Allgather(in, more(n), MPI_INT, out, more(n), MPI_INT, comm))
CASE(alltoall_fewer, MPI_Alltoall(in, fewer(n), MPI_INT, out, fewer(n), MPI_INT, comm))
CASE(alltoall_more, MPI_Alltoall(in, more(n), MPI_INT, out, more(n), MPI_INT, comm))
CASE(allreduce_fewer, MPI_Allreduce(in, out, fewer(n), MPI_INT, MPI_SUM, comm))
CASE(allreduce_more, MPI_Allreduce(in, out, more(n), MPI_INT, MPI_SUM, comm))
CASE(allreduce_operation, MPI_Allreduce(in, out, n, MPI_INT, rank == 1 ? MPI_MAX : MPI_SUM, comm))
CASE(allreduce_type,
     MPI_Allreduce(in, out, fewer(n), rank == 1 ? MPI_DOUBLE : MPI_INT, MPI_SUM, comm))
CASE(allreduce_kind, MPI_Allreduce(in, out, n, rank == 1 ? MPI_FLOAT : MPI_INT, MPI_SUM, comm))
CASE(reduce_fewer, MPI_Reduce(in, out, fewer(n), MPI_INT, MPI_SUM, 0, comm))
CASE(reduce_more, MPI_Reduce(in, out, more(n), MPI_INT, MPI_SUM, 0, comm))
CASE(reduce_two_roots, MPI_Reduce(in, out, n, MPI_INT, MPI_SUM, rank == 1, comm))
CASE(block_fewer, MPI_Reduce_scatter_block(in, out, fewer(n), MPI_INT, MPI_SUM, comm))
CASE(scan_fewer, MPI_Scan(in, out, fewer(n), MPI_INT, MPI_SUM, comm))
CASE(scan_more, MPI_Scan(in, out, more(n), MPI_INT, MPI_SUM, comm))
CASE(exscan_fewer, MPI_Exscan(in, out, fewer(n), MPI_INT, MPI_SUM, comm))
CASE(exscan_operation, MPI_Exscan(in, out, n, MPI_INT, rank == 1 ? MPI_MAX : MPI_SUM, comm))
CASE(scan_or_exscan, rank == 1 ? MPI_Exscan(in, out, n, MPI_INT, MPI_SUM, comm)
			       : MPI_Scan(in, out, n, MPI_INT, MPI_SUM, comm))
CASE(scan_or_barrier, rank == 1 ? MPI_Barrier(comm) : MPI_Scan(in, out, n, MPI_INT, MPI_SUM, comm))
CASE(bcast_or_barrier, rank == 1 ? MPI_Barrier(comm) : MPI_Bcast(in, n, MPI_INT, 0, comm))
CASE(alltoall_or_barrier, rank == 1 ? MPI_Barrier(comm)
				    : MPI_Alltoall(in, n, MPI_INT, out, n, MPI_INT, comm))
CASE(gather_or_scatter, rank == 1 ? MPI_Scatter(in, n, MPI_INT, out, n, MPI_INT, 0, comm)
				  : MPI_Gather(in, n, MPI_INT, out, n, MPI_INT, 0, comm))
CASE(reduce_or_gather, rank == 1 ? MPI_Gather(in, n, MPI_INT, out, n, MPI_INT, 0, comm)
				 : MPI_Reduce(in, out, n, MPI_INT, MPI_SUM, 0, comm))
CASE(allreduce_or_alltoall, rank == 1 ? MPI_Alltoall(in, n, MPI_INT, out, n, MPI_INT, comm)
				      : MPI_Allreduce(in, out, n, MPI_INT, MPI_SUM, comm))
CASE(allreduce_or_allgather, rank == 1 ? MPI_Allgather(in, n, MPI_INT, out, n, MPI_INT, comm)
				       : MPI_Allreduce(in, out, n, MPI_INT, MPI_SUM, comm))

/* As alltoallv has it: rank 1 says less of both sides than others of it. */
static int
alltoallv_fewer(int n)
{
	for (int other = 0; other < size; other++) {
		counts[other] = fewer(n);
		displs[other] = other * n;
	}
	return MPI_Alltoallv(in, counts, displs, MPI_INT, out, counts, displs, MPI_INT, comm);
}

/* Rank 1 believes that it has less to give than others do, who all know of all blocks. */
static int
allgatherv_fewer(int n)
{
	for (int other = 0; other < size; other++) {
		counts[other] = fewer(n);
		displs[other] = other * n;
	}
	return MPI_Allgatherv(in, counts[rank], MPI_INT, out, counts, displs, MPI_INT, comm);
}

#define ANY (-1)      /* success or an error: who does not look does not see */
#define AN_ERROR (-2) /* of any class */

static const struct mistake {
	const char *name;
	int (*make)(int n);
	int class_0, class_1, class_other; /* of ranks 0, 1 and the others */
} mistakes[] = {
	{ "bcast of more", bcast_more, MPI_SUCCESS, MPI_ERR_TRUNCATE, MPI_ERR_TRUNCATE },
	{ "bcast of less", bcast_less, MPI_SUCCESS, LESS_OF_A_BCAST, LESS_OF_A_BCAST },
	{ "bcast from two roots", bcast_two_roots, MPI_SUCCESS, MPI_SUCCESS, MPI_SUCCESS },
	{ "bcast from each other", bcast_crossed, MPI_ERR_OTHER, MPI_ERR_OTHER, MPI_ERR_OTHER },
	{ "gather of less", gather_fewer, MPI_SUCCESS, MPI_SUCCESS, MPI_SUCCESS },
	{ "gather of more", gather_more, MPI_ERR_TRUNCATE, MPI_SUCCESS, MPI_SUCCESS },
	{ "scatter of more", scatter_fewer, MPI_SUCCESS, MPI_ERR_TRUNCATE, MPI_SUCCESS },
	{ "scatter of less", scatter_more, MPI_SUCCESS, MPI_SUCCESS, MPI_SUCCESS },
	{ "allgather, one fewer", allgather_fewer, MPI_SUCCESS, MPI_ERR_TRUNCATE, MPI_SUCCESS },
	{ "allgather, one more", allgather_more, MPI_ERR_TRUNCATE, MPI_SUCCESS, MPI_ERR_TRUNCATE },
	{ "allgatherv, one fewer", allgatherv_fewer, MPI_SUCCESS, MPI_ERR_TRUNCATE, MPI_SUCCESS },
	{ "alltoall, one fewer", alltoall_fewer, MPI_SUCCESS, MPI_ERR_TRUNCATE, MPI_SUCCESS },
	{ "alltoall, one more", alltoall_more, MPI_ERR_TRUNCATE, MPI_SUCCESS, MPI_ERR_TRUNCATE },
	{ "alltoallv, one fewer", alltoallv_fewer, ANY, ANY, ANY },
	{ "allreduce, one fewer", allreduce_fewer, MPI_ERR_OTHER, MPI_ERR_TRUNCATE, MPI_ERR_OTHER },
	{ "allreduce, one more", allreduce_more, MPI_ERR_TRUNCATE, MPI_ERR_OTHER,
	  MPI_ERR_TRUNCATE },
	{ "allreduce, two operations", allreduce_operation, MPI_ERR_OTHER, MPI_ERR_OTHER,
	  MPI_ERR_OTHER },
	{ "allreduce, elements of two sizes", allreduce_type, MPI_ERR_OTHER, MPI_ERR_OTHER,
	  MPI_ERR_OTHER },
	{ "allreduce, two kinds of numbers", allreduce_kind, MPI_ERR_OTHER, MPI_ERR_OTHER,
	  MPI_ERR_OTHER },
	{ "reduce, one fewer", reduce_fewer, MPI_ERR_OTHER, ANY, ANY },
	{ "reduce, one more", reduce_more, MPI_ERR_TRUNCATE, ANY, ANY },
	{ "reduce to two roots", reduce_two_roots, MPI_ERR_OTHER, MPI_ERR_OTHER, ANY },
	{ "reduce_scatter_block, one fewer", block_fewer, AN_ERROR, AN_ERROR, AN_ERROR },
	/* The first rank reads nothing, and of a chain each only what the one before it has. */
	{ "scan, one fewer", scan_fewer, MPI_SUCCESS, MPI_ERR_TRUNCATE, ANY },
	{ "scan, one more", scan_more, MPI_SUCCESS, MPI_ERR_OTHER, ANY },
	{ "exscan, one fewer", exscan_fewer, MPI_SUCCESS, MPI_ERR_TRUNCATE, ANY },
	{ "exscan, two operations", exscan_operation, MPI_SUCCESS, MPI_ERR_OTHER, ANY },
	{ "scan or exscan", scan_or_exscan, MPI_SUCCESS, MPI_ERR_OTHER, ANY },
	{ "scan or barrier", scan_or_barrier, MPI_SUCCESS, MPI_ERR_OTHER, ANY },
	{ "bcast or barrier", bcast_or_barrier, MPI_SUCCESS, MPI_ERR_OTHER, MPI_SUCCESS },
	{ "alltoall or barrier", alltoall_or_barrier, MPI_ERR_OTHER, MPI_ERR_OTHER, MPI_ERR_OTHER },
	{ "gather or scatter", gather_or_scatter, MPI_ERR_OTHER, MPI_ERR_OTHER, MPI_SUCCESS },
	{ "reduce or gather", reduce_or_gather, MPI_ERR_OTHER, ANY, ANY },
	{ "allreduce or alltoall", allreduce_or_alltoall, MPI_ERR_OTHER, MPI_ERR_OTHER,
	  MPI_ERR_OTHER },
	{ "allreduce or allgather", allreduce_or_allgather, MPI_ERR_OTHER, MPI_ERR_OTHER,
	  MPI_ERR_OTHER },
};
enum { MISTAKES = sizeof mistakes / sizeof *mistakes };

static void
try(const struct mistake *mistake, int bytes)
{
	int expected = rank == 0 ? mistake->class_0 : rank == 1
		       ? mistake->class_1 : mistake->class_other;
	int class = MPI_SUCCESS;
	if (any_class && expected > 0 && expected != MPI_SUCCESS)
		expected = AN_ERROR;
	if (any_class && strstr(mistake->name, "scan"))
		expected = bytes * size <= PACKED ? AN_ERROR : rank == 1 ? expected : ANY;
	else if (any_class && bytes * size > PACKED && bytes * size <= 2 * PACKED)
		expected = ANY;
	handler_calls = handler_class = 0;
	int code = mistake->make(bytes / (int)sizeof(int));
	if (code != MPI_SUCCESS)
		PMPI_Error_class(code, &class);
	CHECK(expected == ANY || (expected == AN_ERROR ? class != MPI_SUCCESS : class == expected),
	      "%s, %d bytes: error class %d, not %d", mistake->name, bytes, class, expected);
	CHECK(handler_calls == (code != MPI_SUCCESS) && handler_class == class,
	      "%s, %d bytes: handler called %d times, class %d", mistake->name, bytes,
	      handler_calls, handler_class);
}

/* The same communicator with what is right: more calls than there are lines, so that each of them
 * is used again. */
static void
go_on(const char *after, int bytes)
{
	int wrong = 0, code = MPI_SUCCESS, n = bytes / (int)sizeof(int) / size + 1;
	for (int call = 0; call < 3; call++) {
		for (int i = 0; i < n * size; i++)
			in[i] = rank + i + call;
		code |= MPI_Allreduce(in, out, n, MPI_INT, MPI_SUM, comm);
		for (int i = 0; i < n; i++)
			wrong += out[i] != size * (size - 1) / 2 + size * (i + call);
		code |= MPI_Alltoall(in, n, MPI_INT, out, n, MPI_INT, comm);
		for (int i = 0; i < n * size; i++)
			wrong += out[i] != i / n + rank * n + i % n + call;
		code |= MPI_Bcast(in, n, MPI_INT, size - 1, comm);
		for (int i = 0; i < n; i++)
			wrong += in[i] != size - 1 + i + call;
	}
	for (int call = 0; call < 70; call++) {
		int one = call, sum = 0;
		code |= MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
		wrong += sum != size * call;
	}
	CHECK(code == MPI_SUCCESS && wrong == 0, "after %s of %d bytes: code %d, %d wrong", after,
	      bytes, code, wrong);
}

static void
try_again(void)
{
	MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	bcast_crossed(4);
	MPI_Comm_free(&comm);
	PMPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	MPI_Barrier(comm);
	allreduce_fewer(4);
}

CASE(bcast, MPI_Bcast(in, n, MPI_INT, 0, comm))
CASE(allreduce, MPI_Allreduce(in, out, n, MPI_INT, MPI_SUM, comm))
CASE(scan, MPI_Scan(in, out, n, MPI_INT, MPI_SUM, comm))
CASE(gather, MPI_Gather(in, n, MPI_INT, out, n, MPI_INT, 0, comm))

/* The fifth call of a class is the first one that the host makes (base/trial.h). */
static void
try_in_trials(MPI_Errhandler errhandler)
{
	static const struct {
		int (*right)(int n);
		struct mistake mistake;
	} all[] = {
		{ bcast, { "bcast or barrier", bcast_or_barrier, MPI_ERR_OTHER, MPI_ERR_OTHER,
			   MPI_ERR_OTHER } },
		/* A root that is not the first rank of its node does not try. */
		{ bcast, { "bcast from two roots", bcast_two_roots, MPI_ERR_OTHER, ANY,
			   MPI_ERR_OTHER } },
		{ allreduce, { "allreduce or alltoall", allreduce_or_alltoall, MPI_ERR_OTHER,
			       MPI_ERR_OTHER, MPI_ERR_OTHER } },
		{ allreduce, { "allreduce, two kinds of numbers", allreduce_kind, MPI_ERR_OTHER,
			       MPI_ERR_OTHER, MPI_ERR_OTHER } },
		{ scan, { "scan or exscan", scan_or_exscan, MPI_ERR_OTHER, MPI_ERR_OTHER, ANY } },
		{ gather, { "gather or scatter", gather_or_scatter, MPI_ERR_OTHER, MPI_ERR_OTHER,
			    MPI_ERR_OTHER } },
	};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		PMPI_Comm_dup(MPI_COMM_WORLD, &comm);
		MPI_Comm_set_errhandler(comm, errhandler);
		for (int call = 0; call < 4; call++)
			CHECK(all[i].right(4) == MPI_SUCCESS, "before %s", all[i].mistake.name);
		try(&all[i].mistake, 16);
		MPI_Comm_free(&comm);
	}
}

int
main(int argc, char **argv)
{
	static const int sizes[] = { 16, 96, 128, 800, 1022 & ~7, 4096, 8 << 10, 128 << 10, 1 << 20,
				     MOST };
	MPI_Errhandler errhandler;
	check_begin(&argc, &argv, &rank, &size);
	in = calloc((size_t)size, MOST);
	out = calloc((size_t)size, 2 * MOST);
	counts = calloc((size_t)size, sizeof *counts);
	displs = calloc((size_t)size, sizeof *displs);
	PMPI_Comm_dup(MPI_COMM_WORLD, &comm);
	for (int i = 0; i < 8; i++)
		MPI_Barrier(comm);
	if (argc > 1 && !strcmp(argv[1], "again")) {
		try_again();
		MPI_Comm_free(&comm);
		MPI_Finalize();
		return 0;
	}
	if (argc > 1 && !strcmp(argv[1], "tried")) {
		MPI_Comm_free(&comm);
		MPI_Comm_create_errhandler(handler, &errhandler);
		try_in_trials(errhandler);
		MPI_Errhandler_free(&errhandler);
		return check_finish("mismatch");
	}
	any_class = argc > 1 && !strcmp(argv[1], "levels");
	if (argc > 1 && !any_class) {
		mistakes[MISTAKES - 1].make(4);
		fprintf(stderr, "rank %d went on\n", rank);
		MPI_Finalize();
		return 0;
	}
	MPI_Comm_create_errhandler(handler, &errhandler);
	MPI_Comm_set_errhandler(comm, errhandler);
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		for (int which = 0; which < MISTAKES; which++) {
			try(&mistakes[which], sizes[i]);
			go_on(mistakes[which].name, sizes[i]);
		}
	MPI_Errhandler_free(&errhandler);
	MPI_Comm_free(&comm);
	free(in);
	free(out);
	free(counts);
	free(displs);
	return check_finish("mismatch");
}
