/* Ranks leave a reduction before others have come to it, and free its communicator: what is written
 * for it then is written into memory that is still there.
 *
 *   leave COUNT     so many communicators, each with reductions for which a rank is late, by turns:
 *                   it waits for a message of each other one, which these send behind the
 *                   reduction, unless they get its result; then it is freed
 *
 * Before that a reduction and a broadcast, for which nobody is late: what is made then needs all.
 * With more than two nodes others than the root may have to wait for the late one. */
#include "../mpi/check.h"

#include <stdlib.h>

/* Before the reduction the late rank waits; behind it the others tell it. */
static void
wait_for_others(int late, int root, int size)
{
	for (int from = 0; check_rank == late && from < size; from++)
		if (from != late && from != root)
			MPI_Recv(NULL, 0, MPI_INT, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void
tell_late(int late, int root)
{
	if (check_rank != late && check_rank != root)
		MPI_Send(NULL, 0, MPI_INT, late, 1, MPI_COMM_WORLD);
}

int
main(int argc, char **argv)
{
	int size, count = argc > 1 ? atoi(argv[1]) : 0;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int i = 0; i < count; i++) {
		MPI_Comm comm;
		int late = i % size, root = (i + 1 + i / size) % size, one = 1, sum = 0, told = i;
		root = root == late ? (root + 1) % size : root;
		MPI_Comm_dup(MPI_COMM_WORLD, &comm);
		MPI_Reduce(&one, &sum, 1, MPI_INT, MPI_SUM, root, comm);
		told = check_rank == late ? i + 7 : -1;
		MPI_Bcast(&told, 1, MPI_INT, late, comm);
		CHECK(told == i + 7, "communicator %d: %d from rank %d", i, told, late);
		for (int round = 0; round < 3; round++) {
			wait_for_others(late, root, size);
			MPI_Reduce(&one, &sum, 1, MPI_INT, MPI_SUM, root, comm);
			tell_late(late, root);
			CHECK(check_rank != root || sum == size, "communicator %d: %d of %d", i,
			      sum, size);
		}
		MPI_Comm_free(&comm);
	}
	return check_finish("leave");
}
