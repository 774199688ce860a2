/* Ranks that are late by construction: in each round all others make a reduction and then send the
 * late one a message, which waits for all of these before it makes the reduction, as its root. The
 * others' contributions are small, so they wait for nobody. (No MPI promises that; those that are
 * tested do so, as does collshim once there is a team.)
 *
 * arrivals ROUNDS LATE...: by turns these ranks are late. Before the rounds there are a reduction
 * and a barrier, and a call that the host serves; behind each a barrier. With ROUNDS below 0 rank 0
 * is killed behind so many. */
#include <mpi.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

int
main(int argc, char **argv)
{
	int rank, size, wrong = 0, rounds = argc > 1 ? atoi(argv[1]) : 0;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (argc < 3) {
		MPI_Finalize();
		return 2;
	}
	int one = 1, sum = 0;
	MPI_Reduce(&one, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
	MPI_Bcast(&one, 0, MPI_INT, 0, MPI_COMM_WORLD); /* nothing to move is never served */
	MPI_Barrier(MPI_COMM_WORLD);
	bool is_killed = rounds < 0;
	rounds = abs(rounds);
	for (int round = 0; round < rounds; round++) {
		int late = atoi(argv[2 + round % (argc - 2)]);
		for (int from = 0; rank == late && from < size; from++)
			if (from != late)
				MPI_Recv(NULL, 0, MPI_INT, from, round, MPI_COMM_WORLD,
					 MPI_STATUS_IGNORE);
		MPI_Reduce(&one, &sum, 1, MPI_INT, MPI_SUM, late, MPI_COMM_WORLD);
		if (rank != late)
			MPI_Send(NULL, 0, MPI_INT, late, round, MPI_COMM_WORLD);
		wrong += rank == late && sum != size;
		MPI_Barrier(MPI_COMM_WORLD);
	}
	if (is_killed && rank == 0)
		raise(SIGKILL);
	if (is_killed)
		MPI_Barrier(MPI_COMM_WORLD);
	if (wrong)
		printf("rank %d: %d wrong sums\n", rank, wrong);
	MPI_Finalize();
	return wrong ? 1 : 0;
}
