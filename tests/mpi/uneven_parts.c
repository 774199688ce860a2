/* uneven_parts.c — MPI_Reduce_scatter of doubles between nodes, with unequal counts and
 * of so many bytes that MPICH takes another algorithm: its own in place ended the job (4.0).
 *
 * 	uneven_parts COUNT	elements for each rank on average */
#include "check.h"

#include <stdlib.h>

int
main(int argc, char **argv)
{
	int ranks, parts[64], before = 0, all = 0, count = argc > 1 ? atoi(argv[1]) : 1000;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	for (int rank = 0; rank < ranks && rank < 64; rank++) {
		parts[rank] = (int)((long)count * 2 * (rank + 1) / (ranks + 1));
		before += rank < check_rank ? parts[rank] : 0;
		all += parts[rank];
	}
	double *in = malloc((size_t)all * sizeof *in), *out = malloc((size_t)all * sizeof *out);
	for (int turn = 0; turn < 4; turn++) {
		int bad = 0;
		for (int i = 0; i < all; i++)
			in[i] = check_rank + i + turn;
		MPI_Reduce_scatter(in, out, parts, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		for (int i = 0; i < parts[check_rank]; i++) {
			double ranks_sum = ranks * (ranks - 1) / 2;
			bad += out[i] != ranks_sum + (double)ranks * (before + i + turn);
		}
		CHECK(!bad, "turn %d: %d elements are wrong", turn, bad);
	}
	free(in);
	free(out);
	return check_finish("uneven parts");
}
