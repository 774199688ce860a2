/* comm/host.h — the host MPI's collectives between the leaders of a team. */
#ifndef CS_COMM_HOST_H
#define CS_COMM_HOST_H

#include "wire/host.h"

#include <mpi.h>

/* What `leaders` points to in wire/host.h; owned by the communicator's member (comm/member.h). */
struct cs_leaders {
	MPI_Comm comm; /* errors return */
	int nodes, node;
	int *ints; /* four arrays of one int per node */
};

extern const struct cs_host cs_host_mpi;

#endif
