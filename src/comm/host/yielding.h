/* comm/host/yielding.h — the host's collectives with which a team is made, for jobs with more ranks
 * than cores.
 *
 * Blocking ones may look for messages without ever giving the core up, as MPICH's do: where ranks
 * share one, each step of theirs takes a time slice of some milliseconds. There these are the
 * non-blocking ones, looked at and the core given up by turns. Arguments and results are those of
 * the MPI's functions. */
#ifndef CS_COMM_HOST_YIELDING_H
#define CS_COMM_HOST_YIELDING_H

#include <mpi.h>

/* `count` from each */
int cs_yielding_allgather(const void *in, int count, MPI_Datatype type, void *out, MPI_Comm comm);
int cs_yielding_allreduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op,
			  MPI_Comm comm);
int cs_yielding_bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm);

#endif
