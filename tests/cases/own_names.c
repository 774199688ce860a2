/* The program has some of MPI's names itself, as with a tool that is linked in: they call the PMPI_
 * names. -DOWN_ENDS: MPI_Init and MPI_Finalize; -DOWN_FREE: MPI_Comm_free; -DOWN_SOME: MPI_Init and
 * two collectives. */
#include "case.h"

#if defined OWN_ENDS || defined OWN_SOME
int
MPI_Init(int *argc, char ***argv)
{
	return PMPI_Init(argc, argv);
}
#endif

#ifdef OWN_ENDS
int
MPI_Finalize(void)
{
	return PMPI_Finalize();
}
#endif

#ifdef OWN_FREE
int
MPI_Comm_free(MPI_Comm *comm)
{
	return PMPI_Comm_free(comm);
}
#endif

#ifdef OWN_SOME
int
MPI_Barrier(MPI_Comm comm)
{
	return PMPI_Barrier(comm);
}

int
MPI_Allreduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
	return PMPI_Allreduce(in, out, count, type, op, comm);
}
#endif

int
main(int argc, char **argv)
{
	begin(&argc, &argv);
	for (int turn = 0; turn < 10; turn++)
		use(MPI_COMM_WORLD, 1 + 850 * turn);
	for (int turn = 0; turn < 20 && is("comms"); turn++) {
		MPI_Comm comm;
		MPI_Comm_split(MPI_COMM_WORLD, turn % 2 ? 0 : rank % 2, -rank, &comm);
		for (int i = 0; i < 3 + turn; i++)
			use(comm, 1 + 45 * i);
		MPI_Comm_free(&comm);
	}
	return end();
}
