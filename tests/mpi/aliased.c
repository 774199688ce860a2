/* One buffer for sending and receiving, perhaps on some ranks only (a root, say). Where blocks keep
 * out of each other's way that is right, and all ranks must go one way. Where they do not it is
 * wrong by the standard, but Open MPI gets on with it, and so must its programs with us. MPICH
 * refuses that (errors.c). */
#include "check.h"

#include <string.h>

#define MOST 64
#define EACH 1000 /* elements of a block */

static int rank, size;
static int data[2 * MOST * EACH], other[2 * MOST * EACH], ones[MOST], counts[MOST], displs[MOST],
	   bytes[MOST];
static int send_counts[MOST], recv_counts[MOST], behind[MOST], behind_all[MOST],
	   bytes_behind_all[MOST];
static MPI_Datatype types[MOST], recv_types[MOST], displaced, displaced_all;

static void
reset(void)
{
	for (int i = 0; i < 2 * MOST * EACH; i++)
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

/* The own data of the root in front of the blocks of all, and there only. */
static void
hole(int root)
{
	int is_root = rank == root, *mine = is_root ? data : other;
	reset();
	MPI_Gatherv(mine, EACH, MPI_INT, data, counts, behind, MPI_INT, root, MPI_COMM_WORLD);
	if (is_root)
		check_gathered("gatherv behind a hole", root, data + EACH, 0);
	reset();
	MPI_Scatterv(data, counts, behind, MPI_INT, mine, EACH, MPI_INT, root, MPI_COMM_WORLD);
	check_own("scatterv behind a hole", root, mine, root, (rank + 1) * EACH);
	reset();
	MPI_Allgatherv(mine, EACH, MPI_INT, data, counts, behind, MPI_INT, MPI_COMM_WORLD);
	check_gathered("allgatherv behind a hole", root, data + EACH, 0);
	reset();
	MPI_Gather(mine, EACH, MPI_INT, data, 1, displaced, root, MPI_COMM_WORLD);
	if (is_root)
		check_gathered("gather by a displaced type", root, data + EACH, 0);
	reset();
	MPI_Scatter(data, 1, displaced, mine, EACH, MPI_INT, root, MPI_COMM_WORLD);
	check_own("scatter by a displaced type", root, mine, root, (rank + 1) * EACH);
	reset();
	MPI_Allgather(mine, EACH, MPI_INT, data, 1, displaced, MPI_COMM_WORLD);
	check_gathered("allgather by a displaced type", root, data + EACH, 0);
	reset();
	MPI_Alltoall(mine, EACH, MPI_INT, data, 1, displaced_all, MPI_COMM_WORLD);
	for (int r = 0; r < size; r++)
		check_own("alltoall by a displaced type", root, data + (size + r) * EACH, r,
			  rank * EACH);
}

static void
check_exchanged(const char *name, int lazy)
{
	for (int r = 0; r < size; r++)
		if (recv_counts[r])
			check_own(name, lazy, data + (size + r) * EACH, r, rank * EACH);
}

/* All blocks in one array, what comes behind what goes; `lazy` receives nothing, or sends
 * nothing. */
static void
exchanged(int lazy, int is_silent)
{
	for (int r = 0; r < size; r++) {
		send_counts[r] = (is_silent ? rank : r) == lazy ? 0 : EACH;
		recv_counts[r] = (is_silent ? r : rank) == lazy ? 0 : EACH;
	}
	reset();
	MPI_Alltoallv(data, send_counts, displs, MPI_INT, data, recv_counts, behind_all, MPI_INT,
		      MPI_COMM_WORLD);
	check_exchanged("alltoallv in one array", lazy);
	reset();
	MPI_Alltoallw(data, send_counts, bytes, types, data, recv_counts, bytes_behind_all,
		      recv_types, MPI_COMM_WORLD);
	check_exchanged("alltoallw in one array", lazy);
}

#ifdef OPEN_MPI

static void
rooted(int root)
{
	int is_root = rank == root;
	reset();
	MPI_Gather(is_root ? data : other, EACH, MPI_INT, data, EACH, MPI_INT, root,
		   MPI_COMM_WORLD);
	if (is_root)
		check_gathered("gather", root, data, 0);
	reset();
	MPI_Gatherv(is_root ? data : other, EACH, MPI_INT, data, counts, displs, MPI_INT, root,
		    MPI_COMM_WORLD);
	if (is_root)
		check_gathered("gatherv", root, data, 0);
	reset();
	MPI_Scatter(data, EACH, MPI_INT, is_root ? data : other, EACH, MPI_INT, root,
		    MPI_COMM_WORLD);
	check_own("scatter", root, is_root ? data : other, root, rank * EACH);
	reset();
	MPI_Scatterv(data, counts, displs, MPI_INT, is_root ? data : other, EACH, MPI_INT, root,
		     MPI_COMM_WORLD);
	check_own("scatterv", root, is_root ? data : other, root, rank * EACH);
}

static void
all(void)
{
	reset(); /* the own block: the same address on rank 0 only */
	MPI_Allgather(data + rank * EACH, EACH, MPI_INT, data, EACH, MPI_INT, MPI_COMM_WORLD);
	check_gathered("allgather", 0, data, EACH);
	reset();
	MPI_Allgatherv(data + rank * EACH, EACH, MPI_INT, data, counts, displs, MPI_INT,
		       MPI_COMM_WORLD);
	check_gathered("allgatherv", 0, data, EACH);
	reset();
	MPI_Alltoall(rank ? other : data, EACH, MPI_INT, data, EACH, MPI_INT, MPI_COMM_WORLD);
	for (int r = 0; r < size; r++)
		check_own("alltoall", 0, data + r * EACH, r, rank * EACH);
	reset();
	MPI_Alltoallv(rank ? other : data, counts, displs, MPI_INT, data, counts, displs, MPI_INT,
		      MPI_COMM_WORLD);
	for (int r = 0; r < size; r++)
		check_own("alltoallv", 0, data + r * EACH, r, rank * EACH);
	reset();
	MPI_Alltoallw(rank ? other : data, counts, bytes, types, data, counts, bytes, types,
		      MPI_COMM_WORLD);
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
	CHECK(data[0] == sum + size * rank, "reduce_scatter: %d instead of %d", data[0],
	      sum + size * rank);
	reset();
	MPI_Reduce_scatter_block(rank ? other : data, data, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	CHECK(data[0] == sum + size * rank, "reduce_scatter_block: %d instead of %d", data[0],
	      sum + size * rank);
}

#endif

/* EACH ints from the one of that number on; one behind another as such blocks are. */
static MPI_Datatype
displaced_by(int ints)
{
	MPI_Datatype type;
	MPI_Aint at = (MPI_Aint)ints * (MPI_Aint)sizeof(int);
	MPI_Type_create_hindexed_block(1, EACH, &at, MPI_INT, &type);
	MPI_Type_commit(&type);
	return type;
}

int
main(int argc, char **argv)
{
	check_begin(&argc, &argv, &rank, &size);
	for (int i = 0; i < size && i < MOST; i++) {
		ones[i] = 1;
		counts[i] = EACH;
		displs[i] = i * EACH;
		bytes[i] = i * EACH * (int)sizeof(int);
		types[i] = recv_types[i] = MPI_INT;
		behind[i] = (i + 1) * EACH;
		behind_all[i] = (size + i) * EACH;
		bytes_behind_all[i] = behind_all[i] * (int)sizeof(int);
	}
	displaced = displaced_by(EACH);
	displaced_all = displaced_by(size * EACH);
	for (int i = 0; i < 3; i++)
		for (int root = 0; root < size; root++) {
			hole(root);
			exchanged(root, 0);
			exchanged(root, 1);
		}
#ifdef OPEN_MPI
	for (int i = 0; i < 3; i++) {
		for (int root = 0; root < size; root++)
			rooted(root);
		all();
		reductions();
	}
#endif
	MPI_Type_free(&displaced);
	MPI_Type_free(&displaced_all);
	return check_finish("aliased");
}
