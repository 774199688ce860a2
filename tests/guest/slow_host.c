/* Stands where the host MPI is expected and makes its allgather so often that it is slower than any
 * other algorithm. */
#include <mpi.h>

__attribute__((visibility("default"))) int
MPI_Allgather(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
	      int recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
	int code = MPI_SUCCESS;
	for (int i = 0; i < 100; i++)
		code |= PMPI_Allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype,
				       comm);
	return code;
}
