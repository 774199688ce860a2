/* The last rank never comes to a reduction, whose root is rank 0: it waits for a message that
 * nobody sends. Who is over says so on stderr. */
#include <mpi.h>
#include <stdio.h>

int
main(int argc, char **argv)
{
	int rank, size, one = 1, sum = 0;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	/* What is made at first needs all. */
	MPI_Reduce(&one, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == size - 1)
		MPI_Recv(NULL, 0, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Reduce(&one, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
	fprintf(stderr, "rank %d is over\n", rank);
	MPI_Finalize();
	return 0;
}
