/* Calls in rows, with nothing between them that would keep the ranks together: a fast rank is then
 * as many calls ahead as the shared memory lets it be, lines and slots come round while slow ranks
 * still read them, and small and large calls take turns. Every result is known beforehand, from the
 * number of the call alone.
 *
 *   rows [CALLS [SEED]]
 *
 * A block of rank s for rank t in call n holds value_of(n, s, t, i); the call's collective, size
 * and root come from a generator that all ranks run alike. Sizes lie around those where the library
 * changes its way. */
#include "check.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MOST 40000 /* ints of a block */

static int rank, size, *in, *out;

static uint64_t
mix(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

static int
value_of(uint64_t call, int from, int to, int i)
{
	return (int)(mix(call * 1000003 + (uint64_t)from * 1009 + (uint64_t)to * 31 + (uint64_t)i %
			 257) & 0xffff);
}

static void
write_block(int *block, uint64_t call, int from, int to, int count)
{
	for (int i = 0; i < count; i++)
		block[i] = value_of(call, from, to, i);
}

static void
check_block(const char *what, const int *block, uint64_t call, int from, int to, int count)
{
	for (int i = 0; i < count; i++)
		CHECK(block[i] == value_of(call, from, to, i),
		      "call %llu, %s of %d ints: element %d of rank %d's block is %d, not %d",
		      (unsigned long long)call, what, count, i, from, block[i],
		      value_of(call, from, to, i));
}

static void
check_sums(const char *what, const int *sums, uint64_t call, int count)
{
	for (int i = 0; i < count; i++) {
		int sum = 0;
		for (int from = 0; from < size; from++)
			sum += value_of(call, from, 0, i);
		CHECK(sums[i] == sum, "call %llu, %s of %d ints: element %d is %d, not %d",
		      (unsigned long long)call, what, count, i, sums[i], sum);
	}
}

/* Rooted calls are most of them: they alone let ranks run ahead. */
static void
call_one(uint64_t call, int which, int root, int count)
{
	bool is_root = rank == root;
	memset(in, 0xff, (size_t)count * (size_t)size * sizeof *in);
	switch (which) {
	case 0:
		write_block(out, call, rank, 0, count);
		MPI_Gather(out, count, MPI_INT, in, count, MPI_INT, root, MPI_COMM_WORLD);
		for (int from = 0; is_root && from < size; from++)
			check_block("gather", in + from * count, call, from, 0, count);
		return;
	case 1:
		for (int to = 0; is_root && to < size; to++)
			write_block(out + to * count, call, root, to, count);
		MPI_Scatter(out, count, MPI_INT, in, count, MPI_INT, root, MPI_COMM_WORLD);
		check_block("scatter", in, call, root, rank, count);
		return;
	case 2:
		if (is_root)
			write_block(in, call, root, 0, count);
		MPI_Bcast(in, count, MPI_INT, root, MPI_COMM_WORLD);
		check_block("bcast", in, call, root, 0, count);
		return;
	case 3:
		write_block(out, call, rank, 0, count);
		MPI_Reduce(out, in, count, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
		if (is_root)
			check_sums("reduce", in, call, count);
		return;
	case 4:
		write_block(out, call, rank, 0, count);
		MPI_Allreduce(out, in, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		check_sums("allreduce", in, call, count);
		return;
	case 5:
		write_block(out, call, rank, 0, count);
		MPI_Allgather(out, count, MPI_INT, in, count, MPI_INT, MPI_COMM_WORLD);
		for (int from = 0; from < size; from++)
			check_block("allgather", in + from * count, call, from, 0, count);
		return;
	default:
		for (int to = 0; to < size; to++)
			write_block(out + to * count, call, rank, to, count);
		MPI_Alltoall(out, count, MPI_INT, in, count, MPI_INT, MPI_COMM_WORLD);
		for (int from = 0; from < size; from++)
			check_block("alltoall", in + from * count, call, from, rank, count);
	}
}

int
main(int argc, char **argv)
{
	/* Ints. 12: 48 bytes, a line; 512: a small slot; 4096 / size: a small slot of the area;
	 * 32768: a quarter of a slot. */
	check_begin(&argc, &argv, &rank, &size);
	const int counts[] = { 1, 1, 2, 12, 13, 512, 513, 4096 / size, 4096 / size + 1, 4096, 4097,
			       32768, MOST };
	enum { COUNTS = sizeof counts / sizeof *counts };
	uint64_t calls = argc > 1 ? strtoull(argv[1], NULL, 10) : 3000,
		 seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	in = malloc((size_t)size * MOST * sizeof *in);
	out = malloc((size_t)size * MOST * sizeof *out);
	if (!in || !out)
		MPI_Abort(MPI_COMM_WORLD, 1);
	memset(out, 0, (size_t)size * MOST * sizeof *out);
	if (rank == 0)
		printf("rows: %llu calls, seed %llu\n", (unsigned long long)calls,
		       (unsigned long long)seed);

	int row = 0, which = 0, root = 0;
	for (uint64_t call = 0; call < calls; call++) {
		uint64_t dice = mix(seed * 0x10001 + call);
		if (row-- == 0) { /* rows of one collective to one root, longer than there are
				   * lines */
			row = (int)(dice % 200);
			which = (int)(dice / 1000 % 4 ? dice / 7000 % 4 : dice / 7000 % 7);
			root = (int)(dice / 90000 % (uint64_t)size);
		}
		/* Nine of ten are small. */
		uint64_t size_dice = dice >> 40;
		call_one(call, which, root,
			 counts[size_dice % 10 ? size_dice / 10 % 7 : size_dice / 10 % COUNTS]);
	}
	free(in);
	free(out);
	return check_finish("rows");
}
