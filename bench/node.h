#ifndef BENCH_NODE_H
#define BENCH_NODE_H

#include <mpi.h>

/* The ranks of this one's node, in the order of MPI_COMM_WORLD, to be freed. All ranks call it. */
void bench_node(MPI_Comm *node);

#endif
