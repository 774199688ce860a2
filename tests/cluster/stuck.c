/* tests/cluster/stuck.c — a job that does not end by itself: rank 0 says "started", rank 1 waits
 * for nothing, the others wait for rank 1 in a barrier. For the tests of what tests/launch does
 * about it. */
#include <mpi.h>

#include <stdio.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
	int rank;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0) {
		printf("started\n");
		fflush(stdout);
	}
	while (rank == 1)
		pause();
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	return 0;
}
