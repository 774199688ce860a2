/* comm/host.h — the host MPI's collectives between the leaders of a team. */
#ifndef CS_COMM_HOST_H
#define CS_COMM_HOST_H

#include "wire/host.h"

#include <mpi.h>
#include <stdbool.h>

/* What `leaders` points to in wire/host.h; owned by the communicator's member (comm/member.h). */
struct cs_leaders {
	MPI_Comm comm; /* errors return */
	int nodes, node;
	int *ints; /* four arrays of one int per node */
	bool is_truncated; /* in the call being made */
};

extern const struct cs_host cs_host_mpi;

/* What progress needs, on cs_self (comm/types.h). */
bool cs_host_open(void);
void cs_host_close(void);

#endif
