/* A rank that comes late to each call: it waits for a message of each other rank, which they send
 * when they are about to make the call, and then counts for longer than any rank polls.
 *
 *   imbalance CALLS [own-cores]
 *
 * With own-cores it is skipped where ranks have to share some.
 *
 * Collectives of several kinds take turns, and their results are checked. What is agreed meanwhile
 * and which algorithms served shows in the report and in the lines of COLLSHIM_VERBOSE=1. */
#include "check.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { LATE = 1, BYTES = 100, COUNTS = 400000 };

static void
come(int ranks)
{
	char word = 0;
	if (check_rank != LATE) {
		PMPI_Send(&word, 1, MPI_CHAR, LATE, 0, MPI_COMM_WORLD);
		return;
	}
	for (int rank = 0; rank < ranks; rank++)
		if (rank != LATE)
			PMPI_Recv(&word, 1, MPI_CHAR, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	for (volatile int counted = 0; counted < COUNTS; counted++)
		;
}

static char
byte_of(int rank, int call)
{
	return (char)(rank * 31 + call);
}

static void
gather_all(int ranks, int call, char *all)
{
	char own[BYTES];
	memset(own, byte_of(check_rank, call), BYTES);
	memset(all, 0, (size_t)ranks * BYTES);
	MPI_Allgather(own, BYTES, MPI_CHAR, all, BYTES, MPI_CHAR, MPI_COMM_WORLD);
	for (int rank = 0; rank < ranks; rank++)
		CHECK(all[rank * BYTES] == byte_of(rank, call) &&
		      all[rank * BYTES + BYTES - 1] == byte_of(rank, call),
		      "allgather %d, block %d", call, rank);
}

static void
broadcast(int ranks, int call)
{
	char word[BYTES];
	int root = call % ranks;
	memset(word, check_rank == root ? byte_of(root, call) : 0, BYTES);
	MPI_Bcast(word, BYTES, MPI_CHAR, root, MPI_COMM_WORLD);
	CHECK(word[0] == byte_of(root, call) && word[BYTES - 1] == byte_of(root, call),
	      "bcast %d", call);
}

static void
add_up(int ranks, int call)
{
	double own = call + check_rank, sum = -1;
	MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	CHECK(sum == ranks * (double)call + ranks * (ranks - 1) / 2, "allreduce %d: %g", call, sum);
}

static void
count_up(int ranks, int call)
{
	int own = call + check_rank, most = -1;
	MPI_Allreduce(&own, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
	CHECK(most == call + ranks - 1, "allreduce %d of integers: %d", call, most);
}

int
main(int argc, char **argv)
{
	int calls = argc > 1 ? atoi(argv[1]) : 1000, ranks;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	cpu_set_t cores;
	if (argc > 2 && !sched_getaffinity(0, sizeof cores, &cores) && CPU_COUNT(&cores) < ranks) {
		MPI_Finalize();
		return 77;
	}
	char *all = malloc((size_t)ranks * BYTES);
	for (int call = 0; call < calls; call++) {
		come(ranks);
		if (call % 4 == 0)
			gather_all(ranks, call, all);
		else if (call % 4 == 1)
			broadcast(ranks, call);
		else if (call % 4 == 2)
			add_up(ranks, call);
		else
			count_up(ranks, call);
	}
	free(all);
	return check_finish("imbalance");
}
