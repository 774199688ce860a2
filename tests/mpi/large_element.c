/* Reductions of elements of 32 KiB, more than the pieces that some algorithms are asked to make, by
 * a user's operation that is called with whole elements; against the host's. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#define NUMBERS 4096
#define MOST 3 /* elements of a block */

static MPI_Datatype element;

static void
add(void *in, void *inout, int *count, MPI_Datatype *type)
{
	const double *from = in;
	double *to = inout;
	(void)type;
	for (int i = 0; i < *count * NUMBERS; i++)
		to[i] += from[i];
}

static void
compare(const char *what, int count, const double *ours, const double *host, int elements)
{
	CHECK(!memcmp(ours, host, (size_t)elements * NUMBERS * sizeof *ours), "%s of %d elements",
	      what, count);
}

int
main(int argc, char **argv)
{
	int size;
	MPI_Op op;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Type_contiguous(NUMBERS, MPI_DOUBLE, &element);
	MPI_Type_commit(&element);
	MPI_Op_create(add, 1, &op);
	size_t all = (size_t)size * MOST * NUMBERS;
	double *in = calloc(all, sizeof *in), *ours = calloc(all, sizeof *ours),
	       *host = calloc(all, sizeof *host);
	for (size_t i = 0; i < all; i++)
		in[i] = (double)((size_t)check_rank * 7 + i % 1013);
	for (int count = 1; count <= MOST; count++) {
		MPI_Allreduce(in, ours, count, element, op, MPI_COMM_WORLD);
		PMPI_Allreduce(in, host, count, element, op, MPI_COMM_WORLD);
		compare("allreduce", count, ours, host, count);
		int root = count % size;
		MPI_Reduce(in, ours, count, element, op, root, MPI_COMM_WORLD);
		PMPI_Reduce(in, host, count, element, op, root, MPI_COMM_WORLD);
		if (check_rank == root)
			compare("reduce", count, ours, host, count);
		memcpy(ours, in, all * sizeof *in);
		memcpy(host, in, all * sizeof *in);
		MPI_Reduce_scatter_block(MPI_IN_PLACE, ours, count, element, op, MPI_COMM_WORLD);
		PMPI_Reduce_scatter_block(MPI_IN_PLACE, host, count, element, op, MPI_COMM_WORLD);
		compare("reduce_scatter_block in place", count, ours, host, count);
	}
	free(in);
	free(ours);
	free(host);
	MPI_Op_free(&op);
	MPI_Type_free(&element);
	return check_finish("large_element");
}
