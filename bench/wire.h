/* bench/wire.h — messages between two ranks for --loggp: the MPI's, or direct verbs by the
 * library's own code (ib/ib.h) on top of these. */
#ifndef BENCH_WIRE_H
#define BENCH_WIRE_H

#include "wire/wire.h"

#define BENCH_NO_VERBS 3 /* exit code */

struct cs_ib;

struct bench_wire {
	struct cs_wire mpi;
	int ranks[2];         /* of MPI_COMM_WORLD, by rank in the wire */
	struct cs_ib *ib;     /* NULL: no verbs */
	struct cs_wire *used; /* `mpi`, or the one by verbs */
	char name[200];       /* of the device, with verbs */
};

/* By the MPI; others than these two ranks have no use for it. */
void bench_wire_open(struct bench_wire *wire, const int ranks[2], int rank);
/* Goes over to verbs. Collective over all ranks; false, at all of them: rank 0 has said on stderr
 * why these two cannot. The library's limits are those of its built-in tuning. */
bool bench_wire_use_verbs(struct bench_wire *wire, int rank, int ranks);
/* Waits for the other rank, with verbs. */
void bench_wire_close(struct bench_wire *wire);

#endif
