/* crowd.c — many ranks on one node: small calls, long broadcasts and sums, against arithmetic. The
 * MPI's own collectives may fail with so many. In the middle each rank changes the CPUs that it may
 * use, and a communicator is made after that.
 *
 *	crowd [BYTES]	shared memory of a rank, at most, on average (by /proc/self/smaps_rollup) */
#include "check.h"

#include <sched.h>
#include <stdlib.h>

enum { MOST = 512, LONG = 100000 };

static int rank, size, turn;
static int in[LONG], out[LONG];

/* Element i of the block from one rank to another. */
static int
value(int from, int to, int i)
{
	return from * 31 + to * 17 + i * 3 + turn;
}

static void
fill(int from, int to, int count)
{
	for (int i = 0; i < count; i++)
		in[i] = value(from, to, i);
	memset(out, 0xee, sizeof out);
}

static void
expect(const char *what, const int *got, int from, int to, int count)
{
	int bad = 0;
	for (int i = 0; i < count; i++)
		bad += got[i] != value(from, to, i);
	CHECK(!bad, "%s, turn %d: %d of %d from %d are wrong", what, turn, bad, count, from);
}

static void
expect_sum(const char *what, int count)
{
	int bad = 0, ranks = size * (size - 1) / 2;
	for (int i = 0; i < count; i++)
		bad += out[i] != ranks * 31 + size * (i * 3 + turn);
	CHECK(!bad, "%s, turn %d: %d of %d are wrong", what, turn, bad, count);
}

static void
from_and_to_one(MPI_Comm comm, int root, int count)
{
	fill(root, 0, count);
	if (rank == root)
		memcpy(out, in, (size_t)count * sizeof *out);
	MPI_Bcast(out, count, MPI_INT, root, comm);
	expect("bcast", out, root, 0, count);
	fill(rank, 0, count);
	MPI_Reduce(in, out, count, MPI_INT, MPI_SUM, root, comm);
	if (rank == root)
		expect_sum("reduce", count);
	int few = count < LONG / size ? count : LONG / size;
	fill(rank, root, few);
	MPI_Gather(in, few, MPI_INT, out, few, MPI_INT, root, comm);
	for (int from = 0; rank == root && from < size; from++)
		expect("gather", out + from * few, from, root, few);
	for (int to = 0; rank == root && to < size; to++)
		for (int i = 0; i < few; i++)
			in[to * few + i] = value(root, to, i);
	MPI_Scatter(in, few, MPI_INT, out, few, MPI_INT, root, comm);
	expect("scatter", out, root, rank, few);
}

static void
all_to_all(MPI_Comm comm, int count)
{
	fill(rank, 0, count);
	MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, comm);
	expect_sum("allreduce", count);
	int few = count < LONG / size ? count : LONG / size;
	fill(rank, 0, few);
	memcpy(out + rank * few, in, (size_t)few * sizeof *in);
	MPI_Allgather(MPI_IN_PLACE, 0, MPI_INT, out, few, MPI_INT, comm);
	for (int from = 0; from < size; from++)
		expect("allgather", out + from * few, from, 0, few);
	fill(rank, 0, 0);
	for (int to = 0; to < size; to++)
		for (int i = 0; i < few; i++)
			in[to * few + i] = value(rank, to, i);
	MPI_Alltoall(in, few, MPI_INT, out, few, MPI_INT, comm);
	for (int from = 0; from < size; from++)
		expect("alltoall", out + from * few, from, rank, few);
	MPI_Barrier(comm);
}

static void
call_all(MPI_Comm comm)
{
	static const int counts[] = { 0, 1, 2, 13, 64, 511, 2000, 40000 };
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++, turn++) {
		from_and_to_one(comm, (int)(i * 41) % size, counts[i]);
		all_to_all(comm, counts[i]);
	}
}

/* KiB of shared memory that this process maps, each page in parts by those that do. */
static long
shared_kib(void)
{
	char line[200];
	long kib = 0, found = -1;
	FILE *file = fopen("/proc/self/smaps_rollup", "r");
	while (file && fgets(line, sizeof line, file))
		if (sscanf(line, "Pss_Shmem: %ld", &kib) == 1)
			found = kib;
	if (file)
		fclose(file);
	return found;
}

int
main(int argc, char **argv)
{
	MPI_Comm other;
	cpu_set_t cpus;
	check_begin(&argc, &argv, &rank, &size);
	CHECK(size <= MOST, "more than %d ranks", MOST);
	long before = shared_kib(), most = argc > 1 ? atol(argv[1]) : 0;
	CHECK(!most || before >= 0, "this kernel has no smaps_rollup to measure memory by");
	call_all(MPI_COMM_WORLD);
	if (sched_getaffinity(0, sizeof cpus, &cpus) == 0)
		for (size_t cpu = 0, left = (size_t)(rank % CPU_COUNT(&cpus)); cpu < CPU_SETSIZE;
		     cpu++)
			if (CPU_ISSET(cpu, &cpus) && left-- != 0)
				CPU_CLR(cpu, &cpus);
	CHECK(sched_setaffinity(0, sizeof cpus, &cpus) == 0, "cannot be bound");
	call_all(MPI_COMM_WORLD);
	MPI_Comm_dup(MPI_COMM_WORLD, &other);
	call_all(other);
	MPI_Comm_free(&other);
	long here[] = { before, shared_kib() }, sum[] = { 0, 0 };
	PMPI_Reduce(here, sum, 2, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
	if (rank == 0) {
		printf("%ld KiB of shared memory for each rank, %ld at the start\n", sum[1] / size,
		       sum[0] / size);
		CHECK(!most || (sum[1] - sum[0]) / size * 1024 <= most, "more than %ld bytes",
		      most);
	}
	return check_finish("crowd");
}
