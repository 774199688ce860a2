/* comm/host/yielding.c — runs the host's collectives, and yields the core while they wait. */
#include "comm/host/yielding.h"

#include "comm/engine.h"
#include "comm/host/flavour.h"
#include "comm/host/host.h"
#include "comm/host/pmpi.h"

/* Does the MPI's own blocking call serve? It differs from the non-blocking one, so all ranks have
 * to decide alike: COLLSHIM_STALL has been agreed on if MPI_Init was seen. */
static bool
is_blocking(void)
{
	return cs_flavour.yields_in_waits && !(cs_host_waits && cs_engine.is_init_seen);
}

static int
finish(int result, MPI_Request request)
{
	return result == MPI_SUCCESS ? cs_host_wait(&request, 0) : result;
}

int
cs_yielding_allgather(const void *in, int count, MPI_Datatype type, void *out, MPI_Comm comm)
{
	atomic_fetch_add(&cs_engine.team_calls, 1);
	if (is_blocking() || !cs_pmpi.Iallgather)
		return cs_pmpi.Allgather(in, count, type, out, count, type, comm);
	MPI_Request request = MPI_REQUEST_NULL;
	int result = cs_pmpi.Iallgather(in, count, type, out, count, type, comm, &request);
	return finish(result, request);
}

int
cs_yielding_allreduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op,
		      MPI_Comm comm)
{
	atomic_fetch_add(&cs_engine.team_calls, 1);
	if (is_blocking() || !cs_pmpi.Iallreduce)
		return cs_pmpi.Allreduce(in, out, count, type, op, comm);
	MPI_Request request = MPI_REQUEST_NULL;
	int result = cs_pmpi.Iallreduce(in, out, count, type, op, comm, &request);
	return finish(result, request);
}

int
cs_yielding_bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
	atomic_fetch_add(&cs_engine.team_calls, 1);
	if (is_blocking() || !cs_pmpi.Ibcast)
		return cs_pmpi.Bcast(buffer, count, type, root, comm);
	MPI_Request request = MPI_REQUEST_NULL;
	int result = cs_pmpi.Ibcast(buffer, count, type, root, comm, &request);
	return finish(result, request);
}
