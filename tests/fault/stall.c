/* A collective that hangs, until the job is ended from outside:
 *
 *   stall first | absent | wait | elsewhere | root
 *
 *   first      the last rank never makes a collective call
 *   absent     the last rank never calls MPI_Allreduce
 *   wait       the same of MPI_Iallreduce, for which the others are in MPI_Wait
 *   elsewhere  the last rank calls MPI_Barrier on a duplicate of MPI_COMM_WORLD
 *   root       the last rank has another root of MPI_Bcast */
#include <mpi.h>

#include <string.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "absent";
	double in[4] = { 1 }, out[4];
	int rank, size;
	MPI_Comm other;
	MPI_Request request;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	int is_last = rank == size - 1;
	MPI_Comm_dup(MPI_COMM_WORLD, &other);
	MPI_Comm_set_name(other, "the other one");
	while (is_last && !strcmp(how, "first"))
		pause();
	/* Both have shared memory then. */
	for (int i = 0; i < 3; i++) {
		MPI_Allreduce(in, out, 4, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		MPI_Barrier(other);
	}
	while (is_last && (!strcmp(how, "absent") || !strcmp(how, "wait")))
		pause();
	if (is_last && !strcmp(how, "elsewhere"))
		MPI_Barrier(other);
	if (!strcmp(how, "root"))
		MPI_Bcast(out, 4, MPI_DOUBLE, is_last, MPI_COMM_WORLD);
	else if (!strcmp(how, "wait"))
		MPI_Iallreduce(in, out, 4, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
	else
		MPI_Allreduce(in, out, 4, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	if (!strcmp(how, "wait"))
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_Comm_free(&other);
	MPI_Finalize();
	return 0;
}
