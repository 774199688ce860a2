/* A call moves more than 2^31 bytes. */
#include "case.h"

#include <sys/mman.h>

#define BYTES (((size_t)1 << 31) + 3 * 4096 + 16)
#define STEP 4096 /* bytes from one word that is written and looked at to the next */

static char *
map(size_t bytes)
{
	char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		MPI_Abort(MPI_COMM_WORLD, 9);
	return memory;
}

static void
mark(char *data, size_t bytes, int from)
{
	for (size_t at = 0; at + 8 <= bytes; at += STEP)
		*(uint64_t *)(data + at) = 5 * at + (uint64_t)from;
}

static void
check(const char *data, size_t bytes, uint64_t factor, uint64_t plus)
{
	for (size_t at = 0; at + 8 <= bytes; at += STEP)
		CHECK(*(const uint64_t *)(data + at) == factor * 5 * at + plus, "at %zu", at);
}

static void
bcast(void)
{
	MPI_Datatype unit;
	char *data = map(BYTES);
	if (rank == size - 1)
		mark(data, BYTES, 1);
	MPI_Type_contiguous(16, MPI_BYTE, &unit);
	MPI_Type_commit(&unit);
	MPI_Bcast(data, (int)(BYTES / 16), unit, size - 1, MPI_COMM_WORLD);
	MPI_Type_free(&unit);
	check(data, BYTES, 1, 1);
	munmap(data, BYTES);
}

static void
allreduce(void)
{
	char *data = map(BYTES);
	mark(data, BYTES, rank);
	MPI_Allreduce(MPI_IN_PLACE, data, (int)(BYTES / 8), MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
	check(data, BYTES, (uint64_t)size, (uint64_t)(size * (size - 1) / 2));
	munmap(data, BYTES);
}

static void
allgather(void)
{
	size_t each = BYTES / (size_t)size / STEP * STEP;
	char *mine = map(each), *all = map(each * (size_t)size);
	mark(mine, each, rank);
	MPI_Allgather(mine, (int)(each / 8), MPI_UINT64_T, all, (int)(each / 8), MPI_UINT64_T,
		      MPI_COMM_WORLD);
	for (int r = 0; r < size; r++)
		check(all + (size_t)r * each, each, 1, (uint64_t)r);
	munmap(mine, each);
	munmap(all, each * (size_t)size);
}

static void
gatherv(void)
{
	int counts[64] = { 0 }, displs[64] = { 0 };
	char *mine = map(BYTES), *all = map(BYTES);
	counts[1] = (int)(BYTES / 8);
	mark(mine, BYTES, rank);
	MPI_Gatherv(mine, counts[rank], MPI_UINT64_T, all, counts, displs, MPI_UINT64_T, 0,
		    MPI_COMM_WORLD);
	if (rank == 0)
		check(all, BYTES, 1, 1);
	munmap(mine, BYTES);
	munmap(all, BYTES);
}

int
main(int argc, char **argv)
{
	begin(&argc, &argv);
	if (is("bcast"))
		bcast();
	else if (is("allreduce"))
		allreduce();
	else if (is("allgather"))
		allgather();
	else
		gatherv();
	return end();
}
