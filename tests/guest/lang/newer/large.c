/* MPI's functions with MPI_Count, made of those with int, for an MPI that has none. */
#include "newer.h"

enum { MOST = 64 };

/* Up to four arrays of a call, as ints. */
static int narrow[4][MOST];

#define ARRAY(type, name)                                                                          \
	static const int *name(int which, const type *wide, MPI_Comm comm)                         \
	{                                                                                          \
		int size;                                                                          \
		PMPI_Comm_size(comm, &size);                                                       \
		if (size > MOST)                                                                   \
			PMPI_Abort(comm, 95);                                                      \
		for (int i = 0; wide && i < size; i++)                                             \
			narrow[which][i] = (int)wide[i];                                           \
		return narrow[which];                                                              \
	}
ARRAY(MPI_Count, counts)
ARRAY(MPI_Aint, displs)

#define MADE(name, parameters, ...)                                                                \
	int PMPI_##name##_c parameters { return PMPI_##name(__VA_ARGS__); }                        \
	int MPI_##name##_c parameters { return PMPI_##name(__VA_ARGS__); }
#define ONE(name) const void *name, MPI_Count name##_count, MPI_Datatype name##_type
#define IN(name) void *name, MPI_Count name##_count, MPI_Datatype name##_type
#define FROM(name) name, (int)name##_count, name##_type
#define SEVERAL(name) \
	name, const MPI_Count *name##_counts, const MPI_Aint *name##_displs, \
		MPI_Datatype name##_type
#define OF(name, which) \
	name, counts(which, name##_counts, comm), displs(which + 1, name##_displs, comm), \
		name##_type
#define TYPED(name) \
	name, const MPI_Count *name##_counts, const MPI_Aint *name##_displs, \
		const MPI_Datatype *name##_types
#define OF_TYPED(name, which) \
	name, counts(which, name##_counts, comm), displs(which + 1, name##_displs, comm), \
		name##_types
#define SUMMED const void *send, void *recv, MPI_Count count, MPI_Datatype type, MPI_Op op

MADE(Allgather, (ONE(send), IN(recv), MPI_Comm comm), FROM(send), FROM(recv), comm)
MADE(Allgatherv, (ONE(send), void *SEVERAL(recv), MPI_Comm comm), FROM(send), OF(recv, 0), comm)
MADE(Allreduce, (SUMMED, MPI_Comm comm), send, recv, (int)count, type, op, comm)
MADE(Alltoall, (ONE(send), IN(recv), MPI_Comm comm), FROM(send), FROM(recv), comm)
MADE(Alltoallv, (const void *SEVERAL(send), void *SEVERAL(recv), MPI_Comm comm), OF(send, 0),
     OF(recv, 2), comm)
MADE(Alltoallw, (const void *TYPED(send), void *TYPED(recv), MPI_Comm comm), OF_TYPED(send, 0),
     OF_TYPED(recv, 2), comm)
MADE(Bcast, (IN(data), int root, MPI_Comm comm), FROM(data), root, comm)
MADE(Exscan, (SUMMED, MPI_Comm comm), send, recv, (int)count, type, op, comm)
MADE(Gather, (ONE(send), IN(recv), int root, MPI_Comm comm), FROM(send), FROM(recv), root, comm)
MADE(Gatherv, (ONE(send), void *SEVERAL(recv), int root, MPI_Comm comm), FROM(send), OF(recv, 0),
     root, comm)
/* (Of neighbours: no more of them than ranks, and not fewer elements in the program's arrays.) */
MADE(Neighbor_allgather, (ONE(send), IN(recv), MPI_Comm comm), FROM(send), FROM(recv), comm)
MADE(Neighbor_allgatherv, (ONE(send), void *SEVERAL(recv), MPI_Comm comm), FROM(send), OF(recv, 0),
     comm)
MADE(Neighbor_alltoall, (ONE(send), IN(recv), MPI_Comm comm), FROM(send), FROM(recv), comm)
MADE(Neighbor_alltoallv, (const void *SEVERAL(send), void *SEVERAL(recv), MPI_Comm comm),
     OF(send, 0), OF(recv, 2), comm)
MADE(Neighbor_alltoallw, (const void *TYPED(send), void *TYPED(recv), MPI_Comm comm), send,
     counts(0, send_counts, comm), send_displs, send_types, recv, counts(2, recv_counts, comm),
     recv_displs, recv_types, comm)
MADE(Reduce, (SUMMED, int root, MPI_Comm comm), send, recv, (int)count, type, op, root, comm)
MADE(Reduce_scatter, (const void *send, void *recv, const MPI_Count *sizes, MPI_Datatype type,
		      MPI_Op op, MPI_Comm comm),
     send, recv, counts(0, sizes, comm), type, op, comm)
MADE(Reduce_scatter_block, (SUMMED, MPI_Comm comm), send, recv, (int)count, type, op, comm)
MADE(Scan, (SUMMED, MPI_Comm comm), send, recv, (int)count, type, op, comm)
MADE(Scatter, (ONE(send), IN(recv), int root, MPI_Comm comm), FROM(send), FROM(recv), root, comm)
MADE(Scatterv, (const void *SEVERAL(send), IN(recv), int root, MPI_Comm comm), OF(send, 0),
     FROM(recv), root, comm)
