/* One-sided operations whose target waits in a collective, and windows of shared memory as buffers
 * of collectives. */
#include "case.h"

#define LONG 300000

static void
wait_in_collective(int origin)
{
	int value = rank, all[64];
	if (is("barrier"))
		MPI_Barrier(MPI_COMM_WORLD);
	else if (is("bcast"))
		MPI_Bcast(&value, 1, MPI_INT, origin, MPI_COMM_WORLD);
	else if (is("allreduce"))
		MPI_Allreduce(&value, all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	else {
		MPI_Gather(&value, 1, MPI_INT, all, 1, MPI_INT, 0, MPI_COMM_WORLD);
		MPI_Bcast(&value, 1, MPI_INT, origin, MPI_COMM_WORLD);
	}
}

/* The last rank reaches into the others' windows before it joins them. */
static void
passive_targets(void)
{
	MPI_Win win;
	int *memory, *values = room(LONG * sizeof *values), origin = size - 1, one = 1, before;
	MPI_Win_allocate(LONG * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
			 &win);
	memset(memory, 0, LONG * sizeof *memory);
	MPI_Barrier(MPI_COMM_WORLD);
	for (int turn = 0; turn < 5; turn++) {
		int count = turn % 2 ? 10 : LONG - 1;
		for (int target = 0; rank == origin && target < origin; target++) {
			MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
			MPI_Accumulate(values, count, MPI_INT, target, 0, count, MPI_INT, MPI_SUM,
				       win);
			MPI_Fetch_and_op(&one, &before, MPI_INT, target, LONG - 1, MPI_SUM, win);
			MPI_Win_unlock(target, win);
			CHECK(before == turn, "fetched %d in turn %d", before, turn);
		}
		wait_in_collective(origin);
	}
	MPI_Win_free(&win);
	free(values);
}

static void
shared_windows(void)
{
	MPI_Comm node;
	MPI_Win win;
	int me, ranks, *memory, *theirs, unit;
	MPI_Aint bytes;
	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
	MPI_Comm_rank(node, &me);
	MPI_Comm_size(node, &ranks);
	bytes = (MPI_Aint)sizeof(int) * LONG / 4 * (ranks + 1);
	MPI_Win_allocate_shared(bytes, sizeof(int), MPI_INFO_NULL, node, &memory, &win);
	for (int turn = 0; turn < 6; turn++) {
		int count = turn % 2 ? 90 : LONG / 4, *result = memory + LONG / 4;
		MPI_Win_fence(0, win);
		for (int i = 0; i < count; i++)
			memory[i] = 9 * me + i;
		MPI_Allgather(memory, count, MPI_INT, result, count, MPI_INT, node);
		for (int r = 0; r < ranks; r++)
			CHECK(result[(r + 1) * count - 1] == 9 * r + count - 1,
			      "allgather of %d from %d", count, r);
		/* From a neighbour's part of the window, which that one must not write
		 * meanwhile. */
		MPI_Win_shared_query(win, (me + 1) % ranks, &bytes, &unit, &theirs);
		MPI_Barrier(node);
		MPI_Allreduce(theirs, result, count, MPI_INT, MPI_SUM, node);
		CHECK(result[count - 1] == 9 * ranks * (ranks - 1) / 2 + ranks * (count - 1),
		      "allreduce of %d", count);
		MPI_Barrier(node);
		if (me == 0)
			for (int i = 0; i < count; i++)
				memory[i] = 5 * i;
		MPI_Bcast(memory, count, MPI_INT, 0, node);
		CHECK(memory[count - 1] == 5 * (count - 1), "bcast of %d", count);
		MPI_Barrier(node);
	}
	MPI_Win_free(&win);
	MPI_Comm_free(&node);
}

int
main(int argc, char **argv)
{
	begin(&argc, &argv);
	use(MPI_COMM_WORLD, 10);
	if (is("shared"))
		shared_windows();
	else
		passive_targets();
	use(MPI_COMM_WORLD, 1000);
	return end();
}
