/* intercept/entry.h — the typed entry points of a module: where intercepted calls arrive.
 *
 * cs_entry_X has exactly the prototype of MPI_X. What the MPI of the process has not (the _c calls
 * under Open MPI 4 and 5) does not arrive: the door asks what is there, whatever headers the module
 * was built with. */
#ifndef CS_INTERCEPT_ENTRY_H
#define CS_INTERCEPT_ENTRY_H

#include "intercept/module_abi.h"

#include <mpi.h>
#include <stdbool.h>

#define CALL(name, arguments) __typeof__(MPI_##name) cs_entry_##name;
#include "intercept/calls.def"

/* MPI 4.0's, which the headers may not have. */
typedef int cs_large_equal(const void *send, MPI_Count send_count, MPI_Datatype send_type,
			   void *recv, MPI_Count recv_count, MPI_Datatype recv_type, MPI_Comm comm);
typedef int cs_large_rooted(const void *send, MPI_Count send_count, MPI_Datatype send_type,
			    void *recv, MPI_Count recv_count, MPI_Datatype recv_type, int root,
			    MPI_Comm comm);
typedef int cs_large_reduction(const void *send, void *recv, MPI_Count count, MPI_Datatype type,
			       MPI_Op op, MPI_Comm comm);
cs_large_equal cs_entry_Allgather_c, cs_entry_Alltoall_c, cs_entry_Neighbor_allgather_c,
	       cs_entry_Neighbor_alltoall_c;
cs_large_rooted cs_entry_Gather_c, cs_entry_Scatter_c;
cs_large_reduction cs_entry_Allreduce_c, cs_entry_Exscan_c, cs_entry_Reduce_scatter_block_c,
		   cs_entry_Scan_c;
typedef int cs_large_allgatherv(const void *send, MPI_Count send_count, MPI_Datatype send_type,
				void *recv, const MPI_Count recv_counts[], const MPI_Aint displs[],
				MPI_Datatype recv_type, MPI_Comm comm);
cs_large_allgatherv cs_entry_Allgatherv_c, cs_entry_Neighbor_allgatherv_c;
typedef int cs_large_alltoallv(const void *send, const MPI_Count send_counts[],
			       const MPI_Aint send_displs[], MPI_Datatype send_type, void *recv,
			       const MPI_Count recv_counts[], const MPI_Aint recv_displs[],
			       MPI_Datatype recv_type, MPI_Comm comm);
cs_large_alltoallv cs_entry_Alltoallv_c, cs_entry_Neighbor_alltoallv_c;
typedef int cs_large_alltoallw(const void *send, const MPI_Count send_counts[],
			       const MPI_Aint send_displs[], const MPI_Datatype send_types[],
			       void *recv, const MPI_Count recv_counts[],
			       const MPI_Aint recv_displs[], const MPI_Datatype recv_types[],
			       MPI_Comm comm);
cs_large_alltoallw cs_entry_Alltoallw_c, cs_entry_Neighbor_alltoallw_c;
typedef int cs_large_bcast(void *buffer, MPI_Count count, MPI_Datatype type, int root,
			   MPI_Comm comm);
cs_large_bcast cs_entry_Bcast_c;
typedef int cs_large_gatherv(const void *send, MPI_Count send_count, MPI_Datatype send_type,
			     void *recv, const MPI_Count recv_counts[], const MPI_Aint displs[],
			     MPI_Datatype recv_type, int root, MPI_Comm comm);
cs_large_gatherv cs_entry_Gatherv_c;
typedef int cs_large_reduce(const void *send, void *recv, MPI_Count count, MPI_Datatype type,
			    MPI_Op op, int root, MPI_Comm comm);
cs_large_reduce cs_entry_Reduce_c;
typedef int cs_large_reduce_scatter(const void *send, void *recv, const MPI_Count counts[],
				    MPI_Datatype type, MPI_Op op, MPI_Comm comm);
cs_large_reduce_scatter cs_entry_Reduce_scatter_c;
typedef int cs_large_scatterv(const void *send, const MPI_Count send_counts[],
			      const MPI_Aint displs[], MPI_Datatype send_type, void *recv,
			      MPI_Count recv_count, MPI_Datatype recv_type, int root,
			      MPI_Comm comm);
cs_large_scatterv cs_entry_Scatterv_c;

/* These only count, so that they are the module's only where a report is wanted. */
#define CS_COUNTED(COUNTED)                                                                        \
	COUNTED(Neighbor_allgather)                                                                \
	COUNTED(Neighbor_allgatherv)                                                               \
	COUNTED(Neighbor_alltoall)                                                                 \
	COUNTED(Neighbor_alltoallv)                                                                \
	COUNTED(Neighbor_alltoallw)

/* In the place of cs_entry_X where COLLSHIM_REPRODUCIBLE is set. */
#define CS_ORDERED(ORDERED)                                                                        \
	ORDERED(Allreduce)                                                                         \
	ORDERED(Exscan)                                                                            \
	ORDERED(Reduce)                                                                            \
	ORDERED(Reduce_scatter)                                                                    \
	ORDERED(Reduce_scatter_block)                                                              \
	ORDERED(Scan)
#define DECLARE(name)                                                                              \
	__typeof__(cs_entry_##name) cs_entry_ordered_##name;                                       \
	__typeof__(cs_entry_##name##_c) cs_entry_ordered_##name##_c;
CS_ORDERED(DECLARE)
#undef DECLARE

/* MPI was initialised by a Fortran name that reaches no C name; may be called more than once. */
void cs_entry_after_init(void);

/* Fills the rows of Fortran names that this MPI's own Fortran layer does not bring to C names; the
 * others stay as they are. Makes no MPI call (fortran.c). `is_ordered`: as for C. */
void cs_fortran_entries(const struct cs_door *door, void **entries, bool is_ordered);
/* The same of what only counts; behind the former. */
void cs_fortran_count(void **entries);

#endif
