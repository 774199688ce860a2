/* Vectors of many segments, as COLLSHIM_BCAST=chain:segment=64 and its like have them: the plans'
 * loops turn tens of thousands of times, and every byte comes, from any root.
 *
 *   long_pipeline SEED */
#include "check.h"

#include <stdlib.h>

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
	for (size_t i = 0; i < bytes + 64 && i < MOST; i++)
		data[i] = check_rank == root ? value(i, root, turn) : 0;
	MPI_Bcast(data, (int)bytes, MPI_BYTE, root, MPI_COMM_WORLD);
	for (size_t i = 0; i < bytes; i++)
		wrong += data[i] != value(i, root, turn);
	for (size_t i = bytes; check_rank != root && i < bytes + 64 && i < MOST; i++)
		wrong += data[i] != 0;
	CHECK(!wrong, "%zu bytes from %d, turn %d: %zu are wrong", bytes, root, turn, wrong);
}

int
main(int argc, char **argv)
{
	int ranks;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	unsigned seed = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 0) : 1;
	if (!check_rank)
		printf("seed %u\n", seed);
	unsigned char *data = malloc(MOST);
	CHECK(data, "no memory");
	for (int turn = 0; data && turn < 20; turn++) {
		seed = seed * 1103515245 + 12345;
		check_bcast(data, (size_t)(seed >> 8) % (1 << (4 + turn)), turn % ranks, turn);
	}
	for (int root = 0; data && root < ranks; root++)
		check_bcast(data, MOST, root, root);
	free(data);
	return check_finish("long_pipeline");
}
