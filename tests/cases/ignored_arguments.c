/* Arguments that mean nothing on a rank are null or wrong there, and where nothing moves buffers
 * are null. */
#include "case.h"

#define MOST 3000
#define WRONG ((void *)(uintptr_t)0x10)

static int *all, *one, *counts, *displs;
static int count, root;
static bool is_root;

#define GOOD(call) CHECK((call) == MPI_SUCCESS, "%s, %d elements, root %d", #call, count, root)

static void
at_other_ranks_than_the_root(void)
{
	MPI_Datatype type = is_root ? MPI_INT : MPI_DATATYPE_NULL;
	void *wrong = is_root ? (void *)all : WRONG, *null = is_root ? (void *)all : NULL;
	GOOD(MPI_Reduce(one, wrong, count, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD));
	GOOD(MPI_Reduce(one, null, count, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD));
	if (is_root)
		CHECK(all[count - 1] == 5 * size * (size - 1) / 2 + size * (count - 1),
		      "reduce: %d", all[count - 1]);
	GOOD(MPI_Gather(one, count, MPI_INT, wrong, is_root ? count : -3, type, root,
			MPI_COMM_WORLD));
	for (int r = 0; is_root && r < size; r++)
		CHECK(all[r * count] == 5 * r, "gather: %d from %d", all[r * count], r);
	GOOD(MPI_Gatherv(one, count, MPI_INT, null, is_root ? counts : WRONG,
			 is_root ? displs : NULL, type, root, MPI_COMM_WORLD));
	memset(one, 0, MOST * sizeof *one);
	GOOD(MPI_Scatter(null, is_root ? count : -1, type, one, count, MPI_INT, root,
			 MPI_COMM_WORLD));
	CHECK(one[count - 1] == 5 * rank + count - 1, "scatter: %d", one[count - 1]);
	memset(one, 0, MOST * sizeof *one);
	GOOD(MPI_Scatterv(wrong, is_root ? counts : NULL, is_root ? displs : WRONG, type, one,
			  count, MPI_INT, root, MPI_COMM_WORLD));
	CHECK(one[count - 1] == 5 * rank + count - 1, "scatterv: %d", one[count - 1]);
}

static void
where_nothing_moves(void)
{
	for (int r = 0; r < size; r++)
		counts[r] = displs[r] = 0;
	/* What a host says of them is its own affair: rank 0 prints whether all went well, and
	 * run_case compares. */
	int codes = MPI_Reduce(NULL, NULL, 0, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
	codes |= MPI_Allreduce(NULL, NULL, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	codes |= MPI_Bcast(NULL, 0, MPI_INT, root, MPI_COMM_WORLD);
	codes |= MPI_Allgather(NULL, 0, MPI_INT, NULL, 0, MPI_INT, MPI_COMM_WORLD);
	codes |= MPI_Gather(NULL, 0, MPI_INT, NULL, 0, MPI_INT, root, MPI_COMM_WORLD);
	codes |= MPI_Scatter(NULL, 0, MPI_INT, NULL, 0, MPI_INT, root, MPI_COMM_WORLD);
	codes |= MPI_Alltoall(NULL, 0, MPI_INT, NULL, 0, MPI_INT, MPI_COMM_WORLD);
	codes |= MPI_Allgatherv(NULL, 0, MPI_INT, NULL, counts, displs, MPI_INT, MPI_COMM_WORLD);
	codes |= MPI_Gatherv(NULL, 0, MPI_INT, NULL, counts, displs, MPI_INT, root, MPI_COMM_WORLD);
	codes |= MPI_Scatterv(NULL, counts, displs, MPI_INT, NULL, 0, MPI_INT, root,
			      MPI_COMM_WORLD);
	/* Two arrays of counts: with one for both sides MPICH by itself takes this for a buffer
	 * that is sent and received. */
	codes |= MPI_Alltoallv(NULL, counts, displs, MPI_INT, NULL, displs, counts, MPI_INT,
			       MPI_COMM_WORLD);
	codes |= MPI_Reduce_scatter(NULL, NULL, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	codes |= MPI_Reduce_scatter_block(NULL, NULL, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (rank == 0)
		puts(codes == MPI_SUCCESS ? "all went well" : "not all went well");
}

static void
in_place(void)
{
	memcpy(all + rank * count, one, (size_t)count * sizeof *one);
	GOOD(MPI_Allgather(MPI_IN_PLACE, -7, MPI_DATATYPE_NULL, all, count, MPI_INT,
			   MPI_COMM_WORLD));
	for (int r = 0; r < size; r++)
		CHECK(all[r * count] == 5 * r, "allgather: %d from %d", all[r * count], r);
	GOOD(MPI_Allgatherv(MPI_IN_PLACE, -7, MPI_DATATYPE_NULL, all, counts, displs, MPI_INT,
			    MPI_COMM_WORLD));
	if (is_root)
		GOOD(MPI_Gather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, count, MPI_INT, root,
				MPI_COMM_WORLD));
	else
		GOOD(MPI_Gather(one, count, MPI_INT, NULL, 0, MPI_DATATYPE_NULL, root,
				MPI_COMM_WORLD));
	for (int r = 0; is_root && r < size; r++)
		CHECK(all[r * count + count - 1] == 5 * r + count - 1, "gather from %d", r);
	if (is_root)
		GOOD(MPI_Scatterv(all, counts, displs, MPI_INT, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL,
				  root, MPI_COMM_WORLD));
	else
		GOOD(MPI_Scatterv(NULL, NULL, NULL, MPI_DATATYPE_NULL, one, count, MPI_INT, root,
				  MPI_COMM_WORLD));
	CHECK(one[count - 1] == 5 * rank + count - 1, "scatterv: %d", one[count - 1]);
	for (int i = 0; i < size * count; i++)
		all[i] = 100 * rank + i / count;
	GOOD(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, count, MPI_INT, MPI_COMM_WORLD));
	for (int r = 0; r < size; r++)
		CHECK(all[r * count + count - 1] == 100 * r + rank, "alltoall from %d", r);
	GOOD(MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, all, counts, displs,
			   MPI_INT, MPI_COMM_WORLD));
	for (int r = 0; r < size; r++)
		CHECK(all[r * count] == 100 * rank + r, "alltoallv from %d", r);
}

static void
where_some_have_nothing(void)
{
	int mine = rank % 2 ? 0 : count, total = 0;
	for (int r = 0; r < size; r++) {
		counts[r] = r % 2 ? 0 : count;
		displs[r] = r % 2 ? -1000000 : total;
		total += counts[r];
	}
	GOOD(MPI_Allgatherv(mine ? one : NULL, mine, MPI_INT, all, counts, displs, MPI_INT,
			    MPI_COMM_WORLD));
	for (int r = 0; r < size; r += 2)
		CHECK(all[displs[r] + count - 1] == 5 * r + count - 1, "allgatherv from %d", r);
	GOOD(MPI_Gatherv(mine ? one : NULL, mine, MPI_INT, all, counts, displs, MPI_INT, root,
			 MPI_COMM_WORLD));
	GOOD(MPI_Scatterv(all, counts, displs, MPI_INT, mine ? one : NULL, mine, MPI_INT, root,
			  MPI_COMM_WORLD));
	for (int i = 0; i < total; i++)
		all[i] = rank + i;
	GOOD(MPI_Reduce_scatter(all, mine ? one : NULL, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
	if (mine)
		CHECK(one[0] == size * (size - 1) / 2 + size * displs[rank], "reduce_scatter: %d",
		      one[0]);
}

int
main(int argc, char **argv)
{
	static const int counts_of_turns[] = { 1, 90, MOST };
	begin(&argc, &argv);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	one = room(MOST * sizeof *one);
	all = room(MOST * sizeof *all * (size_t)size);
	counts = room(sizeof *counts * (size_t)size);
	displs = room(sizeof *displs * (size_t)size);
	for (int turn = 0; turn < 24; turn++) {
		root = (size - 1 + turn) % size;
		is_root = rank == root;
		count = counts_of_turns[turn % 3];
		for (int i = 0; i < count; i++)
			one[i] = 5 * rank + i;
		for (int r = 0; r < size; r++) {
			counts[r] = count;
			displs[r] = r * count;
		}
		if (is("not_root"))
			at_other_ranks_than_the_root();
		else if (is("nothing"))
			where_nothing_moves();
		else if (is("in_place"))
			in_place();
		else
			where_some_have_nothing();
	}
	return end();
}
