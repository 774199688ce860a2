/* tests/mpi/names.h — names of non-blocking collectives as macros make them of the blocking
 * ones. */
#ifndef TESTS_MPI_NAMES_H
#define TESTS_MPI_NAMES_H

#define MPI_IAllgather MPI_Iallgather
#define MPI_IAllgatherv MPI_Iallgatherv
#define MPI_IAllreduce MPI_Iallreduce
#define MPI_IAlltoall MPI_Ialltoall
#define MPI_IAlltoallv MPI_Ialltoallv
#define MPI_IAlltoallw MPI_Ialltoallw
#define MPI_IBarrier MPI_Ibarrier
#define MPI_IBcast MPI_Ibcast
#define MPI_IExscan MPI_Iexscan
#define MPI_IGather MPI_Igather
#define MPI_IGatherv MPI_Igatherv
#define MPI_IReduce MPI_Ireduce
#define MPI_IReduce_scatter MPI_Ireduce_scatter
#define MPI_IReduce_scatter_block MPI_Ireduce_scatter_block
#define MPI_IScan MPI_Iscan
#define MPI_IScatter MPI_Iscatter
#define MPI_IScatterv MPI_Iscatterv
#define MPI_IAllgather_c MPI_Iallgather_c
#define MPI_IAllgatherv_c MPI_Iallgatherv_c
#define MPI_IAllreduce_c MPI_Iallreduce_c
#define MPI_IAlltoall_c MPI_Ialltoall_c
#define MPI_IAlltoallv_c MPI_Ialltoallv_c
#define MPI_IAlltoallw_c MPI_Ialltoallw_c
#define MPI_IBcast_c MPI_Ibcast_c
#define MPI_IExscan_c MPI_Iexscan_c
#define MPI_IGather_c MPI_Igather_c
#define MPI_IGatherv_c MPI_Igatherv_c
#define MPI_IReduce_c MPI_Ireduce_c
#define MPI_IReduce_scatter_c MPI_Ireduce_scatter_c
#define MPI_IReduce_scatter_block_c MPI_Ireduce_scatter_block_c
#define MPI_IScan_c MPI_Iscan_c
#define MPI_IScatter_c MPI_Iscatter_c
#define MPI_IScatterv_c MPI_Iscatterv_c

#endif
