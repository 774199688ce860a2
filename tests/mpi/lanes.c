/* lanes: calls that want several lanes, which the first blocking one makes. All are forced to want
 * them (COLLSHIM_ALLREDUCE=hier:host:lanes=64 and so on).
 *
 *   lanes [CASE...]    default: all cases, below, each on a communicator of its own */
#include "check.h"

#include <stdlib.h>

#define COUNT (1 << 16) /* ints of a vector */
#define LEAST 700       /* ints of a block between two ranks, at least */

static int rank, size;
static MPI_Comm comm;

/* Int `i` of what rank `from` has for rank `to`. */
static int
value(int call, int from, int to, int i)
{
	return call * 131 + from * 31 + to * 7 + i % 1000;
}

static int *
fill(int call, int count)
{
	int *in = malloc((size_t)count * sizeof *in);
	for (int i = 0; i < count; i++)
		in[i] = value(call, rank, 0, i);
	return in;
}

/* Sums of ranks before `until`. */
static void
is_sum(const char *what, int call, const int *out, int count, int until)
{
	int bad = 0;
	for (int i = 0; i < count; i++)
		bad += out[i] != until * value(call, 0, 0, i) + 31 * until * (until - 1) / 2;
	CHECK(!bad, "%s: %d of %d ints are wrong", what, bad, count);
}

/* Blocks of several sizes. */
struct blocks {
	int *in, *out, *counts, *from_counts, *at, *from;
};

static int
length(int from, int to)
{
	return LEAST + (from * 5 + to * 3) % 11;
}

static struct blocks
lay_blocks(int call)
{
	int *ints = malloc(4 * (size_t)size * sizeof *ints), all = 0, all_from = 0;
	struct blocks blocks = { .counts = ints, .from_counts = ints + size, .at = ints + 2 * size,
				 .from = ints + 3 * size };
	for (int peer = 0; peer < size; peer++) {
		blocks.counts[peer] = length(rank, peer);
		blocks.from_counts[peer] = length(peer, rank);
		blocks.at[peer] = all;
		blocks.from[peer] = all_from;
		all += blocks.counts[peer];
		all_from += blocks.from_counts[peer];
	}
	blocks.in = malloc((size_t)all * sizeof *ints);
	blocks.out = calloc((size_t)all_from, sizeof *ints);
	for (int peer = 0; peer < size; peer++)
		for (int i = 0; i < blocks.counts[peer]; i++)
			blocks.in[blocks.at[peer] + i] = value(call, rank, peer, i);
	return blocks;
}

static void
are_blocks(const char *what, int call, struct blocks *blocks)
{
	int bad = 0;
	for (int peer = 0; peer < size; peer++)
		for (int i = 0; i < blocks->from_counts[peer]; i++)
			bad += blocks->out[blocks->from[peer] + i] != value(call, peer, rank, i);
	CHECK(!bad, "%s: %d ints are wrong", what, bad);
	free(blocks->in);
	free(blocks->out);
	free(blocks->counts);
}

static void
sum_all(int call)
{
	int *in = fill(call, COUNT), *out = malloc(COUNT * sizeof *out);
	MPI_Allreduce(in, out, COUNT, MPI_INT, MPI_SUM, comm);
	is_sum("allreduce", call, out, COUNT, size);
	free(in);
	free(out);
}

/* --- cases ------------------------------------------------------------------------------------ */

/* Calls that do not block take what there is, and are under way while a blocking one makes more. */
static void
crossing(void)
{
	for (int call = 0; call < 4; call++) {
		MPI_Request requests[2];
		MPI_Status statuses[2];
		struct blocks blocks = lay_blocks(call);
		int *in = fill(call, COUNT), *out = malloc(COUNT * sizeof *out);
		MPI_Ialltoallv(blocks.in, blocks.counts, blocks.at, MPI_INT, blocks.out,
			       blocks.from_counts, blocks.from, MPI_INT, comm, &requests[0]);
		MPI_Iallreduce(in, out, COUNT, MPI_INT, MPI_SUM, comm, &requests[1]);
		if (call == 1 || call == 3)
			sum_all(100 + call);
		MPI_Waitall(2, requests, statuses);
		are_blocks("ialltoallv", call, &blocks);
		is_sum("iallreduce", call, out, COUNT, size);
		free(in);
		free(out);
	}
}

/* Lanes are known to be wanted in mid-call. */
static void
unequal(void)
{
	for (int call = 0; call < 3; call++) {
		struct blocks blocks = lay_blocks(call);
		MPI_Alltoallv(blocks.in, blocks.counts, blocks.at, MPI_INT, blocks.out,
			      blocks.from_counts, blocks.from, MPI_INT, comm);
		are_blocks("alltoallv", call, &blocks);
	}
}

/* The root's own lane carries a short reduction. */
static void
roots(void)
{
	for (int root = size - 1; root >= 0; root--) {
		int *in = fill(root, 3), out[3] = { 0 };
		MPI_Reduce(in, out, 3, MPI_INT, MPI_SUM, root, comm);
		if (rank == root)
			is_sum("reduce", root, out, 3, size);
		free(in);
	}
}

static void
scan(void)
{
	for (int call = 0; call < 3; call++) {
		int *in = fill(call, COUNT), *out = malloc(COUNT * sizeof *out);
		MPI_Scan(in, out, COUNT, MPI_INT, MPI_SUM, comm);
		is_sum("scan", call, out, COUNT, rank + 1);
		free(in);
		free(out);
	}
}

static void
bcast(void)
{
	for (int root = 0; root < size; root++) {
		int *data = fill(root, COUNT);
		MPI_Bcast(data, COUNT, MPI_INT, root, comm);
		int bad = 0;
		for (int i = 0; i < COUNT; i++)
			bad += data[i] != value(root, root, 0, i);
		CHECK(!bad, "bcast from %d: %d ints are wrong", root, bad);
		free(data);
	}
}

static void
sum(void)
{
	for (int call = 0; call < 3; call++)
		sum_all(call);
}

int
main(int argc, char **argv)
{
	static const struct check_case cases[] = {
		{ "sum", sum },     { "crossing", crossing }, { "unequal", unequal },
		{ "roots", roots }, { "scan", scan },         { "bcast", bcast },
	};
	check_begin(&argc, &argv, &rank, &size);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct check_case one[2] = { cases[i] };
		MPI_Comm_dup(MPI_COMM_WORLD, &comm);
		check_cases(one, argc, argv);
		MPI_Comm_free(&comm);
	}
	return check_finish("lanes");
}
