/* Alltoallv and alltoallw from blocks of an array into other blocks of it, the displacements of
 * which are counted from different places: that the lowest address of both is the array's begin
 * does not make such a call one in place. */
#include "check.h"

#include <stdlib.h>

#define MOST 64

static int rank, size, *array, counts[MOST], send_at[MOST], recv_at[MOST];
static MPI_Datatype types[MOST];

/* `each` ints a block: those that come lie in front of those that go, and are counted from `off`
 * ints into the array. */
static void
fill(int each, int off, int unit)
{
	for (int r = 0; r < size; r++) {
		counts[r] = each;
		types[r] = MPI_INT;
		send_at[r] = (size + r) * each * unit;
		recv_at[r] = (r * each - off) * unit;
		for (int i = 0; i < each; i++) {
			array[r * each + i] = -1;
			array[(size + r) * each + i] = rank * MOST + r;
		}
	}
}

static void
check(const char *what, int each)
{
	for (int r = 0; r < size; r++)
		for (int i = 0; i < each; i++)
			CHECK(array[r * each + i] == r * MOST + rank,
			      "%s of %d ints: element %d of rank %d's block is %d", what, each, i,
			      r, array[r * each + i]);
}

int
main(int argc, char **argv)
{
	static const int eaches[] = { 1, 10, 1000, 50000 };
	check_begin(&argc, &argv, &rank, &size);
	array = malloc(2 * (size_t)size * 50000 * sizeof *array);
	for (int turn = 0; array && size <= MOST && turn < 8; turn++) {
		int each = eaches[turn / 2], off = turn % 2 ? each : 1;
		fill(each, off, 1);
		MPI_Alltoallv(array, counts, send_at, MPI_INT, array + off, counts, recv_at,
			      MPI_INT, MPI_COMM_WORLD);
		check("alltoallv", each);
		fill(each, off, sizeof(int));
		MPI_Alltoallw(array, counts, send_at, types, array + off, counts, recv_at, types,
			      MPI_COMM_WORLD);
		check("alltoallw", each);
	}
	free(array);
	return check_finish("one_array");
}
