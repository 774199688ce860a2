/* The names that Open MPI has since 6.0 and this MPI may not have; newer.c makes them of those that
 * it has. */
#ifndef NEWER_H
#define NEWER_H

#include <mpi.h>

#ifdef MADE_UP
#pragma GCC visibility push(default)
#define VOID const void *
#define TYPES const MPI_Datatype *
#define COUNTS const MPI_Count *
#define DISPLS const MPI_Aint *
#define NEWER(name, ...)                                                                           \
	int MPI_##name##_c(__VA_ARGS__);                                                           \
	int PMPI_##name##_c(__VA_ARGS__);
NEWER(Allgather, VOID, MPI_Count, MPI_Datatype, void *, MPI_Count, MPI_Datatype, MPI_Comm)
NEWER(Allgatherv, VOID, MPI_Count, MPI_Datatype, void *, COUNTS, DISPLS, MPI_Datatype, MPI_Comm)
NEWER(Allreduce, VOID, void *, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm)
NEWER(Alltoall, VOID, MPI_Count, MPI_Datatype, void *, MPI_Count, MPI_Datatype, MPI_Comm)
NEWER(Alltoallv, VOID, COUNTS, DISPLS, MPI_Datatype, void *, COUNTS, DISPLS, MPI_Datatype, MPI_Comm)
NEWER(Alltoallw, VOID, COUNTS, DISPLS, TYPES, void *, COUNTS, DISPLS, TYPES, MPI_Comm)
NEWER(Bcast, void *, MPI_Count, MPI_Datatype, int, MPI_Comm)
NEWER(Exscan, VOID, void *, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm)
NEWER(Gather, VOID, MPI_Count, MPI_Datatype, void *, MPI_Count, MPI_Datatype, int, MPI_Comm)
NEWER(Gatherv, VOID, MPI_Count, MPI_Datatype, void *, COUNTS, DISPLS, MPI_Datatype, int, MPI_Comm)
NEWER(Neighbor_allgather, VOID, MPI_Count, MPI_Datatype, void *, MPI_Count, MPI_Datatype, MPI_Comm)
NEWER(Neighbor_allgatherv, VOID, MPI_Count, MPI_Datatype, void *, COUNTS, DISPLS, MPI_Datatype,
      MPI_Comm)
NEWER(Neighbor_alltoall, VOID, MPI_Count, MPI_Datatype, void *, MPI_Count, MPI_Datatype, MPI_Comm)
NEWER(Neighbor_alltoallv, VOID, COUNTS, DISPLS, MPI_Datatype, void *, COUNTS, DISPLS, MPI_Datatype,
      MPI_Comm)
NEWER(Neighbor_alltoallw, VOID, COUNTS, DISPLS, TYPES, void *, COUNTS, DISPLS, TYPES, MPI_Comm)
NEWER(Reduce, VOID, void *, MPI_Count, MPI_Datatype, MPI_Op, int, MPI_Comm)
NEWER(Reduce_scatter, VOID, void *, COUNTS, MPI_Datatype, MPI_Op, MPI_Comm)
NEWER(Reduce_scatter_block, VOID, void *, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm)
NEWER(Scan, VOID, void *, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm)
NEWER(Scatter, VOID, MPI_Count, MPI_Datatype, void *, MPI_Count, MPI_Datatype, int, MPI_Comm)
NEWER(Scatterv, VOID, COUNTS, DISPLS, MPI_Datatype, void *, MPI_Count, MPI_Datatype, int, MPI_Comm)
#pragma GCC visibility pop
#endif

#endif
