/* A program that never calls MPI_Init (MPI 4.0, 11.3): its calls are the MPI's, right, and it
 * ends. */
#include <mpi.h>
#include <stdio.h>

#define CALLS 500 /* more than a team waits for */
#define COUNT 1000

static int
exercise(MPI_Comm comm)
{
	static double vector[COUNT];
	int rank, size, wrong = 0;
	MPI_Comm_rank(comm, &rank);
	MPI_Comm_size(comm, &size);
	for (int call = 0; call < CALLS; call++) {
		int mine = rank + call, sum = 0, root = call % size;
		MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm);
		wrong += sum != size * (size - 1) / 2 + size * call;
		for (int i = 0; i < COUNT; i++)
			vector[i] = rank == root ? call + i : -1;
		MPI_Bcast(vector, COUNT, MPI_DOUBLE, root, comm);
		wrong += vector[COUNT - 1] != call + COUNT - 1;
	}
	if (rank == 0)
		printf("sessions: %d of %d calls wrong\n", wrong, 2 * CALLS);
	return wrong;
}

int
main(void)
{
	MPI_Session session;
	MPI_Group group;
	MPI_Comm comm;
	if (MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session) != MPI_SUCCESS)
		return 2;
	MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
	MPI_Comm_create_from_group(group, "tests/mpi/sessions", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL,
				   &comm);
	int wrong = exercise(comm);
	MPI_Group_free(&group);
	MPI_Comm_free(&comm);
	MPI_Session_finalize(&session);
	return wrong != 0;
}
