/* One buffer for sending and receiving, on some ranks only (a root, say): wrong by the standard, but Open MPI gets on with it,
 * and so must its programs with us. MPICH refuses such calls, and there is nothing to test. */
#include "check.h"

#include <string.h>

#ifndef OPEN_MPI

int
main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
	if (check_rank == 0)
		printf("MPICH refuses such calls\n");
	MPI_Finalize();
	return 77;
}

#else

#define MOST 64
#define EACH 1000 /* elements of a block */

static int rank, size;
static int data[(MOST + 1) * EACH], other[(MOST + 1) * EACH], ones[MOST], counts[MOST], displs[MOST], bytes[MOST];
static MPI_Datatype types[MOST];

static void
reset(void)
{
	for (int i = 0; i < (MOST + 1) * EACH; i++)
		data[i] = other[i] = rank * 1000000 + i;
}

/* Element i of what rank `from` had. */
static int
at(int from, int i)
{
	return from * 1000000 + i;
}

/* Blocks of `result`: block r is what rank r had from `first(r)` on. */
static void
check_gathered(const char *name, int root, const int *result, int stride)
{
	long wrong = 0;
	for (int r = 0; r < size; r++)
		for (int i = 0; i < EACH; i++)
			wrong += result[r * EACH + i] != at(r, r * stride + i);
	CHECK(wrong == 0, "%s, root %d: %ld elements are wrong", name, root, wrong);
}

static void
check_own(const char *name, int root, const int *result, int from, int first)
{
	long wrong = 0;
	for (int i = 0; i < EACH; i++)
		wrong += result[i] != at(from, first + i);
	CHECK(wrong == 0, "%s, root %d: %ld elements are wrong", name, root, wrong);
}

static void
rooted(int root)
{
	int is_root = rank == root;
	reset();
	MPI_Gather(is_root ? data : other, EACH, MPI_INT, data, EACH, MPI_INT, root, MPI_COMM_WORLD);
	if (is_root)
		check_gathered("gather", root, data, 0);
	reset();
	MPI_Gatherv(is_root ? data : other, EACH, MPI_INT, data, counts, displs, MPI_INT, root, MPI_COMM_WORLD);
	if (is_root)
		check_gathered("gatherv", root, data, 0);
	reset();
	MPI_Scatter(data, EACH, MPI_INT, is_root ? data : other, EACH, MPI_INT, root, MPI_COMM_WORLD);
	check_own("scatter", root, is_root ? data : other, root, rank * EACH);
	reset();
	MPI_Scatterv(data, counts, displs, MPI_INT, is_root ? data : other, EACH, MPI_INT, root, MPI_COMM_WORLD);
	check_own("scatterv", root, is_root ? data : other, root, rank * EACH);
}

static void
all(void)
{
	reset(); /* the own block: the same address on rank 0 only */
	MPI_Allgather(data + rank * EACH, EACH, MPI_INT, data, EACH, MPI_INT, MPI_COMM_WORLD);
	check_gathered("allgather", 0, data, EACH);
	reset();
	MPI_Allgatherv(data + rank * EACH, EACH, MPI_INT, data, counts, displs, MPI_INT, MPI_COMM_WORLD);
	check_gathered("allgatherv", 0, data, EACH);
	reset();
	MPI_Alltoall(rank ? other : data, EACH, MPI_INT, data, EACH, MPI_INT, MPI_COMM_WORLD);
	for (int r = 0; r < size; r++)
		check_own("alltoall", 0, data + r * EACH, r, rank * EACH);
	reset();
	MPI_Alltoallv(rank ? other : data, counts, displs, MPI_INT, data, counts, displs, MPI_INT, MPI_COMM_WORLD);
	for (int r = 0; r < size; r++)
		check_own("alltoallv", 0, data + r * EACH, r, rank * EACH);
	reset();
	MPI_Alltoallw(rank ? other : data, counts, bytes, types, data, counts, bytes, types, MPI_COMM_WORLD);
	for (int r = 0; r < size; r++)
		check_own("alltoallw", 0, data + r * EACH, r, rank * EACH);
}

static void
reductions(void)
{
	int sum = 1000000 * (size * (size - 1) / 2);
	reset();
	MPI_Allreduce(rank ? other : data, data, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	CHECK(data[0] == sum, "allreduce: %d instead of %d", data[0], sum);
	reset();
	MPI_Reduce_scatter(rank ? other : data, data, ones, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	CHECK(data[0] == sum + size * rank, "reduce_scatter: %d instead of %d", data[0], sum + size * rank);
	reset();
	MPI_Reduce_scatter_block(rank ? other : data, data, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	CHECK(data[0] == sum + size * rank, "reduce_scatter_block: %d instead of %d", data[0], sum + size * rank);
}

int
main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	check_rank = rank;
	for (int i = 0; i < size && i < MOST; i++) {
		ones[i] = 1;
		counts[i] = EACH;
		displs[i] = i * EACH;
		bytes[i] = i * EACH * (int)sizeof(int);
		types[i] = MPI_INT;
	}
	for (int i = 0; i < 3; i++) {
		for (int root = 0; root < size; root++)
			rooted(root);
		all();
		reductions();
	}
	return check_finish("aliased");
}

#endif
