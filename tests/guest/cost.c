/* CALLS collectives of one kind inside counted(), for callgrind --toggle-collect=counted.
 *
 *   cost self|world bcast|allreduce|alltoallw|scan|neighbor|bcast8|allgather8|scatterv8|leaf8 CALLS
 *
 * The ones with an 8 move as many bytes; leaf8 is a scatterv from rank 1.
 * Results are not looked at: with short_circuit.c there are none. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static double number = 1, numbers[64];
static int words[16], sums[16], counts[64], zeros[64], ones[64], places[64];
static MPI_Datatype types[64];

static void
call(const char *kind, MPI_Comm comm, int calls)
{
	if (strcmp(kind, "bcast") == 0)
		for (int i = 0; i < calls; i++)
			MPI_Bcast(words, 4, MPI_INT, 0, comm);
	else if (strcmp(kind, "allreduce") == 0)
		for (int i = 0; i < calls; i++)
			MPI_Allreduce(words, sums, 4, MPI_INT, MPI_SUM, comm);
	else if (strcmp(kind, "alltoallw") == 0)
		for (int i = 0; i < calls; i++)
			MPI_Alltoallw(words, counts, zeros, types, sums, counts, zeros, types,
				      comm);
	else if (strcmp(kind, "scan") == 0)
		for (int i = 0; i < calls; i++)
			MPI_Scan(words, sums, 4, MPI_INT, MPI_SUM, comm);
	else if (strcmp(kind, "neighbor") == 0)
		for (int i = 0; i < calls; i++)
			MPI_Neighbor_allgather(words, 4, MPI_INT, sums, 4, MPI_INT, comm);
	else if (strcmp(kind, "bcast8") == 0)
		for (int i = 0; i < calls; i++)
			MPI_Bcast(&number, 1, MPI_DOUBLE, 0, comm);
	else if (strcmp(kind, "allgather8") == 0)
		for (int i = 0; i < calls; i++)
			MPI_Allgather(&number, 1, MPI_DOUBLE, numbers, 1, MPI_DOUBLE, comm);
	else if (strcmp(kind, "scatterv8") == 0 || strcmp(kind, "leaf8") == 0)
		for (int i = 0, root = kind[0] == 'l'; i < calls; i++)
			MPI_Scatterv(numbers, ones, places, MPI_DOUBLE, &number, 1, MPI_DOUBLE,
				     root, comm);
}

__attribute__((noinline)) void counted(const char *kind, MPI_Comm comm, int calls);
void
counted(const char *kind, MPI_Comm comm, int calls)
{
	call(kind, comm, calls);
}

int
main(int argc, char **argv)
{
	if (argc != 4)
		return 98;
	MPI_Init(&argc, &argv);
	MPI_Comm comm = strcmp(argv[1], "self") == 0 ? MPI_COMM_SELF : MPI_COMM_WORLD;
	for (int i = 0; i < 64; i++)
		types[i] = MPI_INT, ones[i] = 1, places[i] = i;
	/* First calls bind, make teams and fill caches: not counted. More of them than a team waits
	 * for; COST_WARM of them if they are to be judged, too. */
	const char *warm = getenv("COST_WARM");
	for (int i = 0; i < 40; i++)
		MPI_Barrier(comm);
	call(argv[2], comm, warm ? atoi(warm) : 40);
	counted(argv[2], comm, atoi(argv[3]));
	MPI_Finalize();
	return 0;
}
