/* comm/calls/persistent.h — persistent collectives (MPI 4.0, 6.13): a request that is started again
 * and again, served by a team of its own.
 *
 * Starts may come in another order on each rank, so that calls of one request only have an order:
 * therefore a request has a team, and what a team orders by the number of a call is ordered by the
 * number of the start. MPI_X_init is not local by the standard, and makes the team.
 *
 * The program's request is a persistent synchronous send of nothing to this process itself, on a
 * private communicator, with the request's number as its tag. MPI_Start of it, by whatever name,
 * makes a message that only this library can match: so it tells that the request was started. The
 * message is received when the operation is over, which completes the send. */
#ifndef CS_COMM_CALLS_PERSISTENT_H
#define CS_COMM_CALLS_PERSISTENT_H

#include "comm/calls/serving.h"

#include <mpi.h>

/* The arguments of a call, as far as its collective has them. */
struct cs_kept {
	enum cs_coll coll;
	bool is_large; /* arrays are of MPI_Count and MPI_Aint, not of int */
	void *buffer, *recv;
	const void *send;
	MPI_Count count, send_count, recv_count;
	const void *counts, *send_counts, *send_displs, *recv_counts, *recv_displs;
	MPI_Datatype type, send_type, recv_type;
	const MPI_Datatype *send_types, *recv_types;
	MPI_Op op;
	int root;
	MPI_Comm comm;
	size_t bytes; /* as the report counts them */
	const void *caller; /* the return address of MPI_X_init */
};

/* Calls the collective's cs_serve_ function with these arguments. */
typedef bool cs_replay(struct cs_serving *serving, const struct cs_kept *kept);

/* Called before the first request is made; set by intercept/persistent.c at the module's
 * opening. */
extern void (*cs_persistents_first)(void);

/* Replaces *request, which the host has just made for the call, if the call is served here; the
 * host's is freed then. Collective, may wait for other ranks. Arrays are copied, datatypes are
 * duplicated. `communicator`: NULL if the call is the host's. */
void cs_persistent_make(struct cs_comm *communicator, const struct cs_kept *kept,
			cs_replay *replay, MPI_Request *request);

/* Called after the host's MPI_Start or MPI_Startall, with handles as they were before: starts the
 * calls whose requests are ours. Local. */
void cs_persistents_start(int count, const MPI_Request *before, const MPI_Request *requests);

/* Starts the calls whose requests were started by a name that is not intercepted. Local. */
void cs_persistents_look(void);

/* Called after the host's MPI_Request_free: frees what belongs to the request, if it is ours. An
 * active one's is freed at the call's end. */
void cs_persistent_free(MPI_Request before);

#endif
