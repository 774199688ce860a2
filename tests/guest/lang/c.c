/* Every blocking collective from C, those of neighbours too, with and without MPI_IN_PLACE, results
 * checked; with -DLARGE those with MPI_Count. */
#include "newer/newer.h"

#include <stdio.h>
#include <string.h>

#ifdef LARGE
typedef MPI_Count count_type;
typedef MPI_Aint displ_type;
#define MPI_Allgather MPI_Allgather_c
#define MPI_Allgatherv MPI_Allgatherv_c
#define MPI_Allreduce MPI_Allreduce_c
#define MPI_Alltoall MPI_Alltoall_c
#define MPI_Alltoallv MPI_Alltoallv_c
#define MPI_Alltoallw MPI_Alltoallw_c
#define MPI_Bcast MPI_Bcast_c
#define MPI_Exscan MPI_Exscan_c
#define MPI_Gather MPI_Gather_c
#define MPI_Gatherv MPI_Gatherv_c
#define MPI_Neighbor_allgather MPI_Neighbor_allgather_c
#define MPI_Neighbor_allgatherv MPI_Neighbor_allgatherv_c
#define MPI_Neighbor_alltoall MPI_Neighbor_alltoall_c
#define MPI_Neighbor_alltoallv MPI_Neighbor_alltoallv_c
#define MPI_Neighbor_alltoallw MPI_Neighbor_alltoallw_c
#define MPI_Reduce MPI_Reduce_c
#define MPI_Reduce_scatter MPI_Reduce_scatter_c
#define MPI_Reduce_scatter_block MPI_Reduce_scatter_block_c
#define MPI_Scan MPI_Scan_c
#define MPI_Scatter MPI_Scatter_c
#define MPI_Scatterv MPI_Scatterv_c
#else
typedef int count_type, displ_type;
#endif

enum { MOST = 64, COUNT = 3 };

static int rank, size, failures;

static void
expect(const char *name, const int *got, const int *wanted, int count)
{
	for (int i = 0; i < count; i++)
		if (got[i] != wanted[i]) {
			printf("FAILED %s: rank %d of %d, element %d is %d, not %d\n", name, rank,
			       size, i, got[i], wanted[i]);
			failures++;
			return;
		}
}

/* Element i of what rank r contributes to rank `to`. */
static int
value(int r, int to, int i)
{
	return 10000 * r + 100 * to + i + 1;
}

int
main(int argc, char **argv)
{
	int provided;
	MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (size > MOST)
		MPI_Abort(MPI_COMM_WORLD, 98);
	static int out[MOST * COUNT * 2], in[MOST * COUNT * 2], wanted[MOST * COUNT * 2];
	count_type counts[MOST];
	displ_type displs[MOST], byte_displs[MOST];
	int root = size - 1, total = 0;
	MPI_Datatype types[MOST];
	MPI_Comm comm = MPI_COMM_WORLD;
	for (int r = 0; r < size; r++) {
		counts[r] = r + 1;
		displs[r] = total + r; /* holes of one element */
		byte_displs[r] = displs[r] * (displ_type)sizeof(int);
		total += r + 1;
		types[r] = MPI_INT;
	}
	int extent = total + size;

	for (int i = 0; i < COUNT; i++)
		out[i] = value(rank, 0, i);
	for (int r = 0; r < size; r++)
		for (int i = 0; i < COUNT; i++)
			wanted[r * COUNT + i] = value(r, 0, i);
	MPI_Allgather(out, COUNT, MPI_INT, in, COUNT, MPI_INT, comm);
	expect("allgather", in, wanted, size * COUNT);
	memset(in, 0, sizeof in);
	memcpy(in + rank * COUNT, out, COUNT * sizeof(int));
	MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, COUNT, MPI_INT, comm);
	expect("allgather in place", in, wanted, size * COUNT);
	memset(in, 0, sizeof in);
	MPI_Gather(out, COUNT, MPI_INT, in, COUNT, MPI_INT, root, comm);
	if (rank == root)
		expect("gather", in, wanted, size * COUNT);
	memset(in, 0, sizeof in);
	memcpy(in + rank * COUNT, out, COUNT * sizeof(int));
	MPI_Gather(rank == root ? MPI_IN_PLACE : out, COUNT, MPI_INT, in, COUNT, MPI_INT, root,
		   comm);
	if (rank == root)
		expect("gather in place", in, wanted, size * COUNT);

	memset(wanted, 0, sizeof wanted);
	for (int i = 0; i <= rank; i++)
		out[i] = value(rank, 0, i);
	for (int r = 0; r < size; r++)
		for (int i = 0; i < counts[r]; i++)
			wanted[displs[r] + i] = value(r, 0, i);
	memset(in, 0, sizeof in);
	MPI_Allgatherv(out, counts[rank], MPI_INT, in, counts, displs, MPI_INT, comm);
	expect("allgatherv", in, wanted, extent);
	memset(in, 0, sizeof in);
	memcpy(in + displs[rank], out, (size_t)counts[rank] * sizeof(int));
	MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, counts, displs, MPI_INT, comm);
	expect("allgatherv in place", in, wanted, extent);
	memset(in, 0, sizeof in);
	MPI_Gatherv(out, counts[rank], MPI_INT, in, counts, displs, MPI_INT, root, comm);
	if (rank == root)
		expect("gatherv", in, wanted, extent);
	memset(in, 0, sizeof in);
	memcpy(in + displs[rank], out, (size_t)counts[rank] * sizeof(int));
	MPI_Gatherv(rank == root ? MPI_IN_PLACE : out, counts[rank], MPI_INT, in, counts, displs,
		    MPI_INT, root, comm);
	if (rank == root)
		expect("gatherv in place", in, wanted, extent);

	for (int r = 0; r < size; r++)
		for (int i = 0; i < COUNT; i++)
			out[r * COUNT + i] = value(rank, r, i);
	for (int r = 0; r < size; r++)
		for (int i = 0; i < COUNT; i++)
			wanted[r * COUNT + i] = value(r, rank, i);
	MPI_Alltoall(out, COUNT, MPI_INT, in, COUNT, MPI_INT, comm);
	expect("alltoall", in, wanted, size * COUNT);
	memcpy(in, out, sizeof in);
	MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, COUNT, MPI_INT, comm);
	expect("alltoall in place", in, wanted, size * COUNT);
	for (int i = 0; i < COUNT; i++)
		wanted[i] = value(root, rank, i);
	memset(in, 0, sizeof in);
	MPI_Scatter(out, COUNT, MPI_INT, in, COUNT, MPI_INT, root, comm);
	expect("scatter", in, wanted, COUNT);
	memset(in, 0, sizeof in);
	MPI_Scatter(out, COUNT, MPI_INT, rank == root ? MPI_IN_PLACE : in, COUNT, MPI_INT, root,
		    comm);
	expect("scatter in place", rank == root ? out + rank * COUNT : in, wanted, COUNT);

	/* To rank r go r + 1 elements, whoever sends; what comes is rank + 1 elements of each. */
	count_type mine[MOST];
	displ_type at[MOST], bytes_at[MOST];
	memset(out, 0, sizeof out);
	for (int r = 0; r < size; r++) {
		mine[r] = rank + 1;
		at[r] = r * (rank + 1);
		bytes_at[r] = at[r] * (displ_type)sizeof(int);
		for (int i = 0; i < counts[r]; i++)
			out[displs[r] + i] = value(rank, r, i);
		for (int i = 0; i < mine[r]; i++)
			wanted[at[r] + i] = value(r, rank, i);
	}
	memset(in, 0, sizeof in);
	if (size * size <= MOST * COUNT * 2) {
		MPI_Alltoallv(out, counts, displs, MPI_INT, in, mine, at, MPI_INT, comm);
		expect("alltoallv", in, wanted, size * (rank + 1));
		memset(in, 0, sizeof in);
		MPI_Alltoallw(out, counts, byte_displs, types, in, mine, bytes_at, types, comm);
		expect("alltoallw", in, wanted, size * (rank + 1));
	}
	for (int i = 0; i <= rank; i++)
		wanted[i] = value(root, rank, i);
	memset(in, 0, sizeof in);
	MPI_Scatterv(out, counts, displs, MPI_INT, in, rank + 1, MPI_INT, root, comm);
	expect("scatterv", in, wanted, rank + 1);
	memset(in, 0, sizeof in);
	MPI_Scatterv(out, counts, displs, MPI_INT, rank == root ? MPI_IN_PLACE : in, rank + 1,
		     MPI_INT, root, comm);
	expect("scatterv in place", rank == root ? out + displs[rank] : in, wanted, rank + 1);
	for (int r = 0; r < size; r++) {
		mine[r] = COUNT;
		at[r] = r * COUNT;
		bytes_at[r] = at[r] * (displ_type)sizeof(int);
		for (int i = 0; i < COUNT; i++) {
			in[at[r] + i] = value(rank, r, i);
			wanted[at[r] + i] = value(r, rank, i);
		}
	}
	MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, in, mine, at, MPI_INT, comm);
	expect("alltoallv in place", in, wanted, size * COUNT);
	for (int r = 0; r < size; r++)
		for (int i = 0; i < COUNT; i++)
			in[at[r] + i] = value(rank, r, i);
	MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, in, mine, bytes_at, types, comm);
	expect("alltoallw in place", in, wanted, size * COUNT);

	int sum = size * (size - 1) / 2;
	for (int i = 0; i < extent + COUNT; i++) {
		out[i] = rank + i;
		wanted[i] = sum + size * i;
	}
	MPI_Allreduce(out, in, COUNT, MPI_INT, MPI_SUM, comm);
	expect("allreduce", in, wanted, COUNT);
	memcpy(in, out, sizeof in);
	MPI_Allreduce(MPI_IN_PLACE, in, COUNT, MPI_INT, MPI_SUM, comm);
	expect("allreduce in place", in, wanted, COUNT);
	memset(in, 0, sizeof in);
	MPI_Reduce(out, in, COUNT, MPI_INT, MPI_SUM, root, comm);
	if (rank == root)
		expect("reduce", in, wanted, COUNT);
	memcpy(in, out, sizeof in);
	MPI_Reduce(rank == root ? MPI_IN_PLACE : in, in, COUNT, MPI_INT, MPI_SUM, root, comm);
	if (rank == root)
		expect("reduce in place", in, wanted, COUNT);
	memset(in, 0, sizeof in);
	MPI_Reduce_scatter_block(out, in, 1, MPI_INT, MPI_SUM, comm);
	expect("reduce_scatter_block", in, wanted + rank, 1);
	memcpy(in, out, sizeof in);
	MPI_Reduce_scatter_block(MPI_IN_PLACE, in, 1, MPI_INT, MPI_SUM, comm);
	expect("reduce_scatter_block in place", in, wanted + rank, 1);
	memset(in, 0, sizeof in);
	MPI_Reduce_scatter(out, in, counts, MPI_INT, MPI_SUM, comm);
	expect("reduce_scatter", in, wanted + displs[rank] - rank, rank + 1);
	memcpy(in, out, sizeof in);
	MPI_Reduce_scatter(MPI_IN_PLACE, in, counts, MPI_INT, MPI_SUM, comm);
	expect("reduce_scatter in place", in, wanted + displs[rank] - rank, rank + 1);

	for (int i = 0; i < COUNT; i++) {
		wanted[i] = rank * (rank + 1) / 2 + (rank + 1) * i;
		wanted[COUNT + i] = rank * (rank - 1) / 2 + rank * i;
	}
	memset(in, 0, sizeof in);
	MPI_Scan(out, in, COUNT, MPI_INT, MPI_SUM, comm);
	expect("scan", in, wanted, COUNT);
	memcpy(in, out, sizeof in);
	MPI_Scan(MPI_IN_PLACE, in, COUNT, MPI_INT, MPI_SUM, comm);
	expect("scan in place", in, wanted, COUNT);
	memset(in, 0, sizeof in); /* as which the first rank's stays */
	MPI_Exscan(out, in, COUNT, MPI_INT, MPI_SUM, comm);
	expect("exscan", in, wanted + COUNT, COUNT);
	memcpy(in, out, sizeof in);
	MPI_Exscan(MPI_IN_PLACE, in, COUNT, MPI_INT, MPI_SUM, comm);
	expect("exscan in place", in, rank ? wanted + COUNT : out, COUNT);

	/* On a line: what the ranks before and behind this one have; of none nothing comes. */
	MPI_Comm line;
	int is_periodic = 0;
	count_type both[MOST] = { COUNT, COUNT };
	displ_type both_at[MOST] = { 0, COUNT };
	MPI_Aint both_bytes_at[MOST] = { 0, COUNT * sizeof(int) };
	MPI_Cart_create(comm, 1, &size, &is_periodic, 0, &line);
	for (int i = 0; i < COUNT; i++) {
		out[i] = out[COUNT + i] = value(rank, 0, i);
		wanted[i] = rank ? value(rank - 1, 0, i) : 0;
		wanted[COUNT + i] = rank + 1 < size ? value(rank + 1, 0, i) : 0;
	}
	memset(in, 0, sizeof in);
	MPI_Neighbor_allgather(out, COUNT, MPI_INT, in, COUNT, MPI_INT, line);
	expect("neighbor_allgather", in, wanted, 2 * COUNT);
	memset(in, 0, sizeof in);
	MPI_Neighbor_allgatherv(out, COUNT, MPI_INT, in, both, both_at, MPI_INT, line);
	expect("neighbor_allgatherv", in, wanted, 2 * COUNT);
	memset(in, 0, sizeof in);
	MPI_Neighbor_alltoall(out, COUNT, MPI_INT, in, COUNT, MPI_INT, line);
	expect("neighbor_alltoall", in, wanted, 2 * COUNT);
	memset(in, 0, sizeof in);
	MPI_Neighbor_alltoallv(out, both, both_at, MPI_INT, in, both, both_at, MPI_INT, line);
	expect("neighbor_alltoallv", in, wanted, 2 * COUNT);
	memset(in, 0, sizeof in);
	types[0] = types[1] = MPI_INT;
	MPI_Neighbor_alltoallw(out, both, both_bytes_at, types, in, both, both_bytes_at, types,
			       line);
	expect("neighbor_alltoallw", in, wanted, 2 * COUNT);
	MPI_Comm_free(&line);

	for (int i = 0; i < COUNT; i++) {
		in[i] = rank == root ? value(root, 0, i) : 0;
		wanted[i] = value(root, 0, i);
	}
	MPI_Bcast(in, COUNT, MPI_INT, root, comm);
	expect("bcast", in, wanted, COUNT);
	/* The same through absolute addresses. */
	MPI_Aint address;
	MPI_Datatype absolute;
	int length = COUNT;
	memset(in, 0, sizeof in);
	if (rank == root)
		memcpy(in, wanted, COUNT * sizeof(int));
	MPI_Get_address(in, &address);
	MPI_Type_create_hindexed(1, &length, &address, MPI_INT, &absolute);
	MPI_Type_commit(&absolute);
	MPI_Bcast(MPI_BOTTOM, 1, absolute, root, comm);
	expect("bcast from MPI_BOTTOM", in, wanted, COUNT);
	MPI_Type_free(&absolute);

	MPI_Barrier(comm);
	int all = 0;
	MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, comm);
	if (rank == 0 && all == 0)
		printf("every collective of C is right with %d ranks\n", size);
	MPI_Finalize();
	return all != 0;
}
