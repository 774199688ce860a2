/* comm/host/yielding.h — the host's collectives for team creation, suited to jobs with more ranks
 * than cores.
 *
 * Blocking collectives may poll without ever yielding the core, as MPICH's do: if ranks share a
 * core, each step takes a time slice of some milliseconds. With such an MPI these call the
 * non-blocking ones, and test and yield by turns. Arguments and results are those of the MPI's
 * functions. */
#ifndef CS_COMM_HOST_YIELDING_H
#define CS_COMM_HOST_YIELDING_H

#include <mpi.h>

/* `count` elements from each rank. */
int cs_yielding_allgather(const void *in, int count, MPI_Datatype type, void *out, MPI_Comm comm);
int cs_yielding_allreduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op,
			  MPI_Comm comm);
int cs_yielding_bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm);

#endif
