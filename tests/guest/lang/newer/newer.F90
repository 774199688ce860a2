! mpi_f08 with the names that Open MPI has since 6.0: choice buffers are passed by descriptors,
! counts are integers or MPI_Count. shapes.inc has them for one kind of counts, descriptors.c the
! procedures.
#define COUNT_TYPE integer
#define DISPL_TYPE integer
#define NAME(name) name/**/_f08ts
module newer_integers
#include "shapes.inc"
end module

#undef COUNT_TYPE
#undef DISPL_TYPE
#undef NAME
#define COUNT_TYPE integer(MPI_COUNT_KIND)
#define DISPL_TYPE integer(MPI_ADDRESS_KIND)
#define NAME(name) name/**/_c_f08ts
module newer_counts
#include "shapes.inc"
end module

module newer
  use newer_integers
  use newer_counts
  use mpi_f08, old_allgather => MPI_Allgather, old_allgatherv => MPI_Allgatherv, &
      old_allreduce => MPI_Allreduce, &
    old_alltoall => MPI_Alltoall, old_alltoallv => MPI_Alltoallv, old_alltoallw => MPI_Alltoallw, &
    old_bcast => MPI_Bcast, old_exscan => MPI_Exscan, old_scan => MPI_Scan, &
    old_gather => MPI_Gather, old_gatherv => MPI_Gatherv, old_reduce => MPI_Reduce, &
    old_reduce_scatter => MPI_Reduce_scatter, &
        old_reduce_scatter_block => MPI_Reduce_scatter_block, &
    old_scatter => MPI_Scatter, old_scatterv => MPI_Scatterv
end module
