#include "bench.h"

const char *const bench_distribution_names[BENCH_DISTRIBUTIONS] = {
	[BENCH_REGULAR] = "regular",       [BENCH_BROADCAST] = "broadcast", [BENCH_SPIKE] = "spike",
	[BENCH_HALF] = "half",             [BENCH_DECREASING] = "decreasing",
	[BENCH_GEOMETRIC] = "geometric",
};

static double
weight(enum bench_distribution distribution, int rank, int ranks)
{
	switch (distribution) {
	case BENCH_BROADCAST:
		return rank == 0;
	case BENCH_SPIKE:
		return rank == 0 ? ranks - 1 : 1;
	case BENCH_HALF:
		return rank % 2 == 0;
	case BENCH_DECREASING:
		return ranks == 1 ? 1 : ranks - 1 - rank;
	case BENCH_GEOMETRIC:
		return 1.0 / (1 << (31 - __builtin_clz((unsigned)rank + 1)));
	case BENCH_REGULAR:
	default:
		return 1;
	}
}

void
bench_distribute(enum bench_distribution distribution, size_t total, int ranks, int *counts)
{
	double sum = 0, so_far = 0;
	for (int rank = 0; rank < ranks; rank++)
		sum += weight(distribution, rank, ranks);
	if (sum == 0) /* spike with one rank: it has all */
		sum = 1;
	/* Rounding the running sum, not each count, keeps the total exact. */
	size_t given = 0;
	for (int rank = 0; rank < ranks; rank++) {
		so_far += weight(distribution, rank, ranks);
		size_t upto = rank == ranks - 1
			      ? total : (size_t)((double)total * (so_far / sum) + 0.5);
		upto = upto > total ? total : upto;
		counts[rank] = (int)(upto - given);
		given = upto;
	}
}
