/* An ordinary MPI program for the guest tests: CALLS times a bcast, an allgather and an allreduce,
 * results checked.
 *
 *   calls CALLS [fork]    with fork: after half of them each rank forks children, one that execs
 *                         and one that only leaves
 *   calls CALLS errno     looks whether errno is changed, also where the others wait long for rank
 *                         0
 *   calls CALLS turned    then a barrier on a communicator of the same ranks in the opposite order
 *   calls CALLS packed    CALLS times only a bcast, of a type with gaps
 *   calls CALLS whole     the same without gaps */
#include <errno.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int
wait_for(pid_t pid)
{
	int status = -1;
	return pid < 0 || waitpid(pid, &status, 0) != pid || status != 0;
}

static int
fork_children(void)
{
	fflush(stdout);
	pid_t execs = fork();
	if (execs == 0) {
		execlp("sh", "sh", "-c", "exec true", (char *)NULL);
		_exit(7);
	}
	pid_t leaves = fork();
	if (leaves == 0)
		_exit(0);
	return wait_for(execs) | wait_for(leaves) | (system("exit 0") != 0);
}

#define INTS 10 /* of a call */

/* Calls of bcast only, of a type with a gap after each int or of ints in a row. */
static int
broadcast_ints(int calls, int stride)
{
	int rank, bad = 0, ints[2 * INTS];
	MPI_Datatype type;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Type_vector(INTS, 1, stride, MPI_INT, &type);
	MPI_Type_commit(&type);
	for (int i = 0; i < calls; i++) {
		for (int k = 0; k < INTS; k++)
			ints[k * stride] = rank == 0 ? i + k : -1;
		MPI_Bcast(ints, 1, type, 0, MPI_COMM_WORLD);
		for (int k = 0; k < INTS; k++)
			bad += ints[k * stride] != i + k;
	}
	MPI_Type_free(&type);
	if (bad)
		printf("FAILED rank %d: %d wrong results\n", rank, bad);
	MPI_Finalize();
	return bad != 0;
}

int
main(int argc, char **argv)
{
	int calls = argc > 1 ? atoi(argv[1]) : 10;
	int rank, size, bad = 0;
	bool is_watched = argc > 2 && strcmp(argv[2], "errno") == 0;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (argc > 2 && strcmp(argv[2], "packed") == 0)
		return broadcast_ints(calls, 2);
	if (argc > 2 && strcmp(argv[2], "whole") == 0)
		return broadcast_ints(calls, 1);
	int *all = malloc((size_t)size * sizeof *all);
	for (int i = 0; i < calls; i++) {
		int word = rank == i % size ? i + 5 : -1, sum = 0;
		if (is_watched && rank == 0 && i == calls / 2)
			usleep(100000);
		errno = is_watched ? EXDEV : 0;
		MPI_Bcast(&word, 1, MPI_INT, i % size, MPI_COMM_WORLD);
		bad += word != i + 5;
		word += rank;
		MPI_Allgather(&word, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
		for (int r = 0; r < size; r++)
			bad += all[r] != i + 5 + r;
		MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		bad += sum != size * (size - 1) / 2;
		bad += is_watched && errno != EXDEV;
		if (i == calls / 2 && argc > 2 && strcmp(argv[2], "fork") == 0)
			bad += fork_children();
	}
	free(all);
	if (argc > 2 && strcmp(argv[2], "turned") == 0) {
		MPI_Comm turned;
		MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &turned);
		MPI_Barrier(turned);
		MPI_Comm_free(&turned);
	}
	if (bad != 0)
		printf("FAILED rank %d: %d wrong results\n", rank, bad);
	else if (rank == 0)
		printf("calls: ok with %d ranks\n", size);
	MPI_Finalize();
	return bad != 0;
}
