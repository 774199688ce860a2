/* Vectors for which the plan of COLLSHIM_BCAST=chain:segment=64 or pipelined-binomial:segment=64 is just small enough to be
 * kept, or too large on some ranks or on all: every rank goes the same way, or this hangs. The sizes come in turns, so that what
 * was found out for the one is asked again after the other. */
#include "check.h"

#include <stdlib.h>

#define SEGMENT 64
#define STEP 48             /* bytes of a step; these sizes are near the limits whatever it is */
#define BUDGET (8 << 20)
#define MOST (16 << 20)

static unsigned char
value(size_t at, int root, int turn)
{
	return (unsigned char)(at * 31 + at / 251 + (size_t)root * 7 + (size_t)turn);
}

static void
check_bcast(unsigned char *data, size_t bytes, int root, int turn)
{
	size_t wrong = 0;
	for (size_t i = 0; i < bytes; i++)
		data[i] = check_rank == root ? value(i, root, turn) : 0;
	MPI_Bcast(data, (int)bytes, MPI_BYTE, root, MPI_COMM_WORLD);
	for (size_t i = 0; i < bytes; i++)
		wrong += data[i] != value(i, root, turn);
	CHECK(!wrong, "%zu bytes from %d: %zu are wrong", bytes, root, wrong);
}

int
main(int argc, char **argv)
{
	int ranks;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	unsigned char *data = malloc(MOST);
	CHECK(data, "no memory");
	for (int turn = 0; data && turn < 2; turn++) {
		check_bcast(data, 1000, turn, turn);
		/* Of ranks with one neighbour, two, three, and four. */
		for (size_t neighbours = 4; neighbours; neighbours--) {
			size_t limit = BUDGET / STEP / 2 / neighbours * SEGMENT;
			const size_t sizes[] = { limit, limit + 1, limit + SEGMENT, limit - SEGMENT + 1 };
			for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
				check_bcast(data, sizes[i], (int)i % ranks, turn);
		}
		for (int root = 0; root < ranks; root++)
			check_bcast(data, MOST, root, turn);
	}
	free(data);
	return check_finish("large_plan");
}
