/* CALLS collectives of one kind inside counted(), for callgrind --toggle-collect=counted.
 *
 *   cost self|world bcast|allreduce|alltoallw|scan|neighbor|bcast8|allgather8|scatterv8|leaf8|
 *                   ibcast8|start8|init8 CALLS
 *
 * The ones with an 8 move as many bytes; leaf8 is a scatterv from rank 1; start8 is a persistent
 * broadcast, and init8 makes and frees one for each start.
 * Results are not looked at: with short_circuit.c there are none. */
#include <mpi.h>
#if defined(OPEN_MPI) && MPI_VERSION < 4 && OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#define MPI_Bcast_init MPIX_Bcast_init
#endif
#include <stdlib.h>
#include <string.h>

static double number = 1, numbers[64];
static int words[16], sums[16], counts[64], zeros[64], ones[64], places[64];
static MPI_Datatype types[64];
static MPI_Request request, kept;

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
	else if (strcmp(kind, "ibcast8") == 0)
		for (int i = 0; i < calls; i++) {
			MPI_Ibcast(&number, 1, MPI_DOUBLE, 0, comm, &request);
			MPI_Wait(&request, MPI_STATUS_IGNORE);
		}
	else if (strcmp(kind, "start8") == 0 || strcmp(kind, "init8") == 0)
		for (int i = 0, is_new = kind[0] == 'i'; i < calls; i++) {
			if (is_new)
				MPI_Bcast_init(&number, 1, MPI_DOUBLE, 0, comm, MPI_INFO_NULL,
					       &kept);
			MPI_Start(&kept);
			MPI_Wait(&kept, MPI_STATUS_IGNORE);
			if (is_new)
				MPI_Request_free(&kept);
		}
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
	if (strcmp(argv[2], "start8") == 0)
		MPI_Bcast_init(&number, 1, MPI_DOUBLE, 0, comm, MPI_INFO_NULL, &kept);
	call(argv[2], comm, warm ? atoi(warm) : 40);
	counted(argv[2], comm, atoi(argv[3]));
	MPI_Finalize();
	return 0;
}
