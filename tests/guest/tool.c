/* A PMPI tool as others preload them: counts MPI_Bcast and MPI_Allgather and passes them on to
 * PMPI. At the end each rank says the counts on stderr. */
#include <mpi.h>
#include <stdio.h>

static int bcasts, allgathers, rank = -1;

__attribute__((visibility("default"))) int
MPI_Bcast(void *buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm)
{
	bcasts++;
	return PMPI_Bcast(buffer, count, datatype, root, comm);
}

__attribute__((visibility("default"))) int
MPI_Allgather(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
	      int recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
	allgathers++;
	return PMPI_Allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
}

__attribute__((visibility("default"))) int
MPI_Finalize(void)
{
	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	fprintf(stderr, "tool: rank %d bcasts %d allgathers %d\n", rank, bcasts, allgathers);
	return PMPI_Finalize();
}
