/* Memory for packing what is scattered: much of it is given back after the call, not when the
 * communicator is freed or another call packs less. Of a broadcast, and of an allgather whose two
 * sides are packed. */
#include "check.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)
#define PACKED (96 * MIB)
#define MOST_GROWTH (16 * MIB) /* the segment's pages, the host's buffers */

static size_t
resident(void)
{
	size_t whole = 0, pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");
	if (file && fscanf(file, "%zu %zu", &whole, &pages) != 2)
		pages = 0;
	if (file)
		fclose(file);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

int
main(int argc, char **argv)
{
	int rank, size;
	MPI_Datatype halves;
	check_begin(&argc, &argv, &rank, &size);
	MPI_Type_vector(1024, 1, 2, MPI_INT, &halves);
	MPI_Type_commit(&halves);
	MPI_Aint lb, extent;
	MPI_Type_get_extent(halves, &lb, &extent);
	int count = (int)(PACKED / 4096), each = count / size;
	char *in = malloc((size_t)count * (size_t)extent),
	     *out = malloc((size_t)count * (size_t)extent);
	memset(in, rank, (size_t)count * (size_t)extent);
	memset(out, -1, (size_t)count * (size_t)extent);
	MPI_Bcast(in, 1, halves, 0, MPI_COMM_WORLD);

	size_t before = resident();
	MPI_Bcast(in, count, halves, 0, MPI_COMM_WORLD);
	CHECK(in[(size_t)extent * (size_t)(count - 1)] == 0, "bcast: wrong data");
	size_t grown = resident() - before;
	CHECK(resident() < before || grown < MOST_GROWTH, "bcast: %zu MiB more than before",
	      grown / MIB);
	memset(in, rank, (size_t)count * (size_t)extent);
	MPI_Allgather(in, each, halves, out, each, halves, MPI_COMM_WORLD);
	CHECK(out[(size_t)extent * (size_t)each * (size_t)(size - 1)] == size - 1,
	      "allgather: wrong data");
	grown = resident() - before;
	CHECK(resident() < before || grown < MOST_GROWTH, "allgather: %zu MiB more than before",
	      grown / MIB);
	free(in);
	free(out);
	MPI_Type_free(&halves);
	return check_finish("large_packed");
}
