/* Calls of the sizes by which the driver (./every) has every algorithm chosen, each compared with
 * the host's own (PMPI).
 *
 *   every KINDS      for each kind k below KINDS every collective whose size all ranks know, with
 *                    64 (k + 1) and with 8192 + 1024 k bytes (as the tuning counts them); then, on
 *                    all ranks and on the first three, those whose sizes not all ranks know, with
 *                    small and with large blocks
 *
 * Integers are summed: the result does not depend on the order. */
#include "../mpi/check.h"

#include <stdlib.h>
#include <string.h>

#define MOST 3000000

static int *in, *out, *wanted; /* MOST ints each */

static void
start(int salt)
{
	for (int i = 0; i < MOST / 100; i++)
		in[i] = i * 37 + check_rank * 1009 + salt;
	memset(out, 0x77, MOST / 100 * sizeof *out);
	memset(wanted, 0x77, MOST / 100 * sizeof *wanted);
}

static void
compare(const char *what, int bytes, size_t count)
{
	size_t at = 0;
	while (at < count && out[at] == wanted[at])
		at++;
	CHECK(at == count, "%s of %d bytes: int %zu is %d and not %d", what, bytes, at, out[at],
	      wanted[at]);
}

/* The call once as the program makes it, once by the host. */
#define BOTH(name, bytes, count, ...) \
	do { \
		int *to = out; \
		start(bytes); \
		MPI_##name(__VA_ARGS__); \
		to = wanted; \
		PMPI_##name(__VA_ARGS__); \
		compare(#name, bytes, count); \
	} while (0)

static void
sized(int bytes, int round, int size)
{
	MPI_Comm world = MPI_COMM_WORLD;
	int n = bytes / 4, root = round % size, counts[64], at[64], sum = 0, parts[64];
	size_t all = (size_t)n * (size_t)size, mine = check_rank == root ? all : 0;
	BOTH(Allgather, bytes, all, in, n, MPI_INT, to, n, MPI_INT, world);
	BOTH(Alltoall, bytes, all, in, n, MPI_INT, to, n, MPI_INT, world);
	BOTH(Gather, bytes, mine, in, n, MPI_INT, to, n, MPI_INT, root, world);
	BOTH(Scatter, bytes, (size_t)n, in, n, MPI_INT, to, n, MPI_INT, root, world);
	BOTH(Allreduce, bytes, (size_t)n, in, to, n, MPI_INT, MPI_SUM, world);
	BOTH(Scan, bytes, (size_t)n, in, to, n, MPI_INT, MPI_SUM, world);
	BOTH(Exscan, bytes, check_rank ? (size_t)n : 0, in, to, n, MPI_INT, MPI_SUM, world);
	BOTH(Reduce, bytes, check_rank == root ? (size_t)n : 0, in, to, n, MPI_INT, MPI_SUM, root,
	     world);
	BOTH(Reduce_scatter_block, bytes, (size_t)(n / size), in, to, n / size, MPI_INT, MPI_SUM,
	     world);
	for (int rank = 0; rank < size; rank++) {
		counts[rank] = n + (rank % 2 ? -1 : 1) * (size % 2 == 0 ? n / 2 : 0);
		parts[rank] = n / size + (rank % 2 ? 1 : -1) * (size % 2 == 0);
		at[rank] = sum;
		sum += counts[rank];
	}
	BOTH(Allgatherv, bytes, (size_t)sum, in, counts[check_rank], MPI_INT, to, counts, at,
	     MPI_INT, world);
	BOTH(Reduce_scatter, bytes, (size_t)parts[check_rank], in, to, parts, MPI_INT, MPI_SUM,
	     world);
	start(bytes);
	memcpy(wanted, in, (size_t)bytes);
	if (check_rank == root)
		memcpy(out, in, (size_t)bytes);
	MPI_Bcast(out, n, MPI_INT, root, world);
	PMPI_Bcast(wanted, n, MPI_INT, root, world);
	compare("Bcast", bytes, (size_t)n);
}

static void
unsized(MPI_Comm comm, int n, int round)
{
	int rank, size, counts[64], at[64], to_counts[64], to_at[64], bytes_at[64], sum = 0,
	    to_sum = 0;
	MPI_Datatype types[64];
	MPI_Comm_rank(comm, &rank);
	MPI_Comm_size(comm, &size);
	int root = round % size;
	MPI_Barrier(comm);
	for (int peer = 0; peer < size; peer++) {
		counts[peer] = n + 5 * peer + 3 * rank;
		to_counts[peer] = n + 5 * rank + 3 * peer;
		at[peer] = sum;
		to_at[peer] = to_sum;
		bytes_at[peer] = 4 * to_sum;
		types[peer] = MPI_INT;
		sum += counts[peer];
		to_sum += to_counts[peer];
	}
	BOTH(Alltoallv, n, (size_t)to_sum, in, counts, at, MPI_INT, to, to_counts, to_at, MPI_INT,
	     comm);
	for (int peer = 0; peer < size; peer++)
		at[peer] *= 4;
	BOTH(Alltoallw, n, (size_t)to_sum, in, counts, at, types, to, to_counts, bytes_at, types,
	     comm);
	sum = 0;
	for (int peer = 0; peer < size; peer++) {
		counts[peer] = n + 7 * peer;
		at[peer] = sum;
		sum += counts[peer];
	}
	BOTH(Gatherv, n, rank == root ? (size_t)sum : 0, in, counts[rank], MPI_INT, to, counts, at,
	     MPI_INT, root, comm);
	BOTH(Scatterv, n, (size_t)counts[rank], in, counts, at, MPI_INT, to, counts[rank], MPI_INT,
	     root, comm);
}

int
main(int argc, char **argv)
{
	int size;
	MPI_Comm three;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	in = malloc(MOST * sizeof *in);
	out = malloc(MOST * sizeof *out);
	wanted = malloc(MOST * sizeof *wanted);
	if (argc < 2 || !in || !out || !wanted)
		MPI_Abort(MPI_COMM_WORLD, 2);
	for (int kind = 0; kind < atoi(argv[1]); kind++) {
		sized(64 * (kind + 1), kind, size);
		sized(8192 + 1024 * kind, kind + 1, size);
	}
	MPI_Comm_split(MPI_COMM_WORLD, check_rank < 3 ? 0 : MPI_UNDEFINED, 0, &three);
	for (int round = 0; round < 2; round++) {
		unsized(MPI_COMM_WORLD, round ? 3000 : 20, round);
		if (three != MPI_COMM_NULL)
			unsized(three, round ? 3000 : 20, round);
	}
	if (three != MPI_COMM_NULL)
		MPI_Comm_free(&three);
	return check_finish("every");
}
