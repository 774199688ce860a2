/* many_rounds.c — gatherv and scatterv of so large a block that its rounds through a small area are
 * too many for several senders of a node.
 *
 * 	many_rounds BYTES	of the last rank's block; the others have some hundred */
#include "check.h"

#include <stdlib.h>

static int ranks, *counts, *at;

static char
byte_of(int rank, int i)
{
	return (char)(i * 7 + rank * 13);
}

static void
check_block(const char *what, int rank, const char *block)
{
	int bad = 0;
	for (int i = 0; i < counts[rank]; i++)
		bad += block[i] != byte_of(rank, i);
	CHECK(!bad, "%s, block of rank %d: %d bytes are wrong", what, rank, bad);
}

static void
gather_and_scatter(int root, char *block, char *all)
{
	for (int i = 0; i < counts[check_rank]; i++)
		block[i] = byte_of(check_rank, i);
	MPI_Gatherv(block, counts[check_rank], MPI_CHAR, all, counts, at, MPI_CHAR, root,
		    MPI_COMM_WORLD);
	for (int rank = 0; rank < ranks && check_rank == root; rank++)
		check_block("gatherv", rank, all + at[rank]);
	for (int i = 0; i < counts[check_rank]; i++)
		block[i] = 0;
	MPI_Scatterv(all, counts, at, MPI_CHAR, block, counts[check_rank], MPI_CHAR, root,
		     MPI_COMM_WORLD);
	check_block("scatterv", check_rank, block);
}

int
main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	counts = malloc(2 * (size_t)ranks * sizeof *counts);
	at = counts + ranks;
	for (int rank = 0, all = 0; rank < ranks; all += counts[rank++]) {
		counts[rank] = rank + 1 < ranks ? 100 + rank : atoi(argv[1]);
		at[rank] = all;
	}
	char *block = malloc((size_t)counts[check_rank]),
	     *all = malloc((size_t)at[ranks - 1] + (size_t)counts[ranks - 1]);
	gather_and_scatter(0, block, all);
	gather_and_scatter(ranks - 1, block, all);
	free(all);
	free(block);
	free(counts);
	return check_finish("many_rounds");
}
