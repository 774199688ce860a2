/* tests/mpi/each.h — every collective on MPI_COMM_WORLD with the same arguments, in each of its
 * forms: EACH(function, ...) defines
 *
 *   int function(int which, struct each *each, int *in, int *out, MPI_Request *request)
 *
 * P, C, B, K: prefix of the names (MPI_, MPI_I, ...), suffix of all (nothing, _c, _init, _init_c),
 * of the barrier's, and of the arrays (nothing, _c); then further arguments, if any. */
#ifndef TESTS_MPI_EACH_H
#define TESTS_MPI_EACH_H

#include "names.h"

#include <mpi.h>

#if defined(OPEN_MPI) && MPI_VERSION < 4 && OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#define PERSISTENT MPIX_
#define INIT(name) MPIX_##name##_init
#else
#define PERSISTENT MPI_
#define INIT(name) MPI_##name##_init
#endif
#define WITH_REQUEST , request
#define WITH_INFO , MPI_INFO_NULL, request

enum { EACH_COLLS = 17, EACH_RANKS = 8 };

/* `count` elements a rank; in v-calls one more of odd ranks. Buffers: EACH_RANKS * (count + 1). */
struct each {
	int rank, count, root;
	int counts[EACH_RANKS], displs[EACH_RANKS], bytes[EACH_RANKS];
	MPI_Count counts_c[EACH_RANKS], bytes_c[EACH_RANKS];
	MPI_Aint displs_c[EACH_RANKS];
	MPI_Datatype types[EACH_RANKS];
};

static inline struct each
each_with(int which, int rank, int count, int root)
{
	struct each each = { .rank = rank, .count = count, .root = root };
	for (int i = 0; i < EACH_RANKS; i++) {
		each.counts_c[i] = each.counts[i] = count + i % 2;
		each.bytes_c[i] = each.bytes[i] = count + (i + rank) % 2; /* alike on both sides */
		each.displs[i] = i * (count + 1) * (which == 5 ? (int)sizeof(int) : 1);
		each.displs_c[i] = each.displs[i];
		each.types[i] = MPI_INT;
	}
	return each;
}

#define EACH(...) EACH_EXPANDED(__VA_ARGS__)
#define EACH_EXPANDED(function, P, C, B, K, ...) \
	static int function(int which, struct each *each, int *in, int *out, MPI_Request *request) \
	{ \
		MPI_Comm comm = MPI_COMM_WORLD; \
		MPI_Op op = MPI_SUM; \
		MPI_Datatype t = MPI_INT, *types = each->types; \
		int n = each->count, r = each->root, own = each->counts[each->rank]; \
		__typeof__(&each->counts##K[0]) c = each->counts##K, b = each->bytes##K; \
		__typeof__(&each->displs##K[0]) d = each->displs##K; \
		(void)request; \
		switch (which) { \
		case 0: return P##Allgather##C(in, n, t, out, n, t, comm __VA_ARGS__); \
		case 1: return P##Allgatherv##C(in, own, t, out, c, d, t, comm __VA_ARGS__); \
		case 2: return P##Allreduce##C(in, out, n, t, op, comm __VA_ARGS__); \
		case 3: return P##Alltoall##C(in, n, t, out, n, t, comm __VA_ARGS__); \
		case 4: return P##Alltoallv##C(in, b, d, t, out, b, d, t, comm __VA_ARGS__); \
		case 5: \
			return P##Alltoallw##C(in, b, d, types, out, b, d, types, \
					       comm __VA_ARGS__); \
		case 6: return P##Barrier##B(comm __VA_ARGS__); \
		case 7: \
			return P##Bcast##C(each->rank == r ? in : out, n, t, r, comm __VA_ARGS__); \
		case 8: return P##Exscan##C(in, out, n, t, op, comm __VA_ARGS__); \
		case 9: return P##Gather##C(in, n, t, out, n, t, r, comm __VA_ARGS__); \
		case 10: return P##Gatherv##C(in, own, t, out, c, d, t, r, comm __VA_ARGS__); \
		case 11: return P##Reduce##C(in, out, n, t, op, r, comm __VA_ARGS__); \
		case 12: return P##Reduce_scatter##C(in, out, c, t, op, comm __VA_ARGS__); \
		case 13: return P##Reduce_scatter_block##C(in, out, n, t, op, comm __VA_ARGS__); \
		case 14: return P##Scan##C(in, out, n, t, op, comm __VA_ARGS__); \
		case 15: return P##Scatter##C(in, n, t, out, n, t, r, comm __VA_ARGS__); \
		default: return P##Scatterv##C(in, c, d, t, out, own, t, r, comm __VA_ARGS__); \
		} \
	}

#endif
