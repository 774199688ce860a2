/* Calls of known numbers, for real_test: CALLS of each of four kinds of point-to-point calls, one
 * bcast, one non-blocking barrier, two others. With an argument it ends with that exit code after a
 * line of stdin. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define CALLS 50

int
main(int argc, char **argv)
{
	int rank, ranks, value = 0, got = 0;
	MPI_Comm copy;
	MPI_Request requests[2];
	MPI_Status statuses[2];
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
	for (int i = 0; i < CALLS; i++) {
		MPI_Isend(&value, 1, MPI_INT, right, 0, MPI_COMM_WORLD, &requests[0]);
		MPI_Irecv(&got, 1, MPI_INT, left, 0, MPI_COMM_WORLD, &requests[1]);
		MPI_Waitall(2, requests, statuses);
		MPI_Sendrecv(&value, 1, MPI_INT, right, 1, &got, 1, MPI_INT, left, 1,
			     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
	MPI_Ibarrier(MPI_COMM_WORLD, &requests[0]);
	MPI_Wait(&requests[0], statuses);
	MPI_Comm_dup(MPI_COMM_WORLD, &copy);
	MPI_Comm_free(&copy);
	MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &copy);
	MPI_Comm_free(&copy);
	if (argc > 1 && rank == 0) {
		char line[64];
		if (fgets(line, sizeof line, stdin))
			printf("stdin: %s", line);
	}
	MPI_Finalize();
	return argc > 1 ? atoi(argv[1]) : 0;
}
