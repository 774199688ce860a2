/* sums.c — reductions of doubles in rows, each of a class of its own, whose algorithms are tried in
 * dry calls: every result is that of the call itself. The numbers are whole, so that the order of a
 * sum does not matter.
 *
 *   sums [CALLS] */
#include "check.h"

#include <stdlib.h>

#define EACH 5 /* doubles of a block */
#define MOST 64 /* ranks */

static double in[EACH * MOST], out[EACH * MOST];
static int counts[MOST], rank, size;

/* The sum of the element's numbers of ranks 0 to `last` in that call. */
static double
sum(int last, int call, int element)
{
	return (last + 1) * (call + element) + last * (last + 1) / 2;
}

static void
check(const char *what, int call, int last, int first, int count)
{
	for (int i = 0; i < count; i++)
		CHECK(out[i] == sum(last, call, first + i), "%s, call %d: element %d is %g, not %g",
		      what, call, i, out[i], sum(last, call, first + i));
}

static void
call_all(int call)
{
	int all = EACH * size, last = size - 1, root = call % size;
	MPI_Comm comm = MPI_COMM_WORLD;
	for (int i = 0; i < all; i++)
		in[i] = rank + call + i;
	MPI_Allreduce(in, out, EACH, MPI_DOUBLE, MPI_SUM, comm);
	check("allreduce", call, last, 0, EACH);
	MPI_Reduce(in, out, EACH, MPI_DOUBLE, MPI_SUM, root, comm);
	if (rank == root)
		check("reduce", call, last, 0, EACH);
	MPI_Scan(in, out, EACH, MPI_DOUBLE, MPI_SUM, comm);
	check("scan", call, rank, 0, EACH);
	MPI_Exscan(in, out, EACH, MPI_DOUBLE, MPI_SUM, comm);
	if (rank)
		check("exscan", call, rank - 1, 0, EACH);
	MPI_Reduce_scatter_block(in, out, EACH, MPI_DOUBLE, MPI_SUM, comm);
	check("reduce_scatter_block", call, last, EACH * rank, EACH);
	/* One element for each rank but the first, which has the others. */
	for (int i = 0; i < size; i++)
		counts[i] = i ? 1 : all - last;
	MPI_Reduce_scatter(in, out, counts, MPI_DOUBLE, MPI_SUM, comm);
	check("reduce_scatter", call, last, rank ? all - size + rank : 0,
	      counts[rank]);
}

int
main(int argc, char **argv)
{
	check_begin(&argc, &argv, &rank, &size);
	for (int call = 0; call < (argc > 1 ? atoi(argv[1]) : 100) && size <= MOST; call++)
		call_all(call);
	return check_finish("sums");
}
