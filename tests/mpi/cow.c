/* Results that are mapped copy-on-write (COLLSHIM_COW): read, written to and freed by each rank as
 * memory of its own; in memory of all kinds; and what a child process sees. */
#include "check.h"

#include <malloc.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define INTS (1 << 19) /* of a result, in the long calls */

static int rank, size, *from;

static int
value(int of, int i, int turn)
{
	return of * 1000003 + i * 7 + turn;
}

static int
wrong(const int *result, int ints, int each, int turn)
{
	int bad = 0;
	for (int i = 0; i < ints; i++)
		bad += result[i] != value(i / each, i % each, turn);
	return bad;
}

static void
gather(const char *what, int *result, int ints, int turn, int in_place)
{
	int each = ints / size, *block = in_place ? result + rank * each : from;
	for (int i = 0; i < each; i++)
		block[i] = value(rank, i, turn);
	MPI_Allgather(in_place ? MPI_IN_PLACE : from, each, MPI_INT, result, each, MPI_INT,
		      MPI_COMM_WORLD);
	int bad = wrong(result, each * size, each, turn);
	CHECK(!bad, "allgather into %s, turn %d: %d are wrong", what, turn, bad);
}

static void
cast(const char *what, int *result, int ints, int turn, int root)
{
	for (int i = 0; i < ints && rank == root; i++)
		result[i] = value(0, i, turn);
	MPI_Bcast(result, ints, MPI_INT, root, MPI_COMM_WORLD);
	int bad = wrong(result, ints, ints, turn);
	CHECK(!bad, "bcast to %s, turn %d: %d are wrong", what, turn, bad);
}

/* Each rank writes to its own, and nobody sees another's. */
static void
written(int *result, int ints)
{
	for (int i = rank; i < ints; i += 100)
		result[i] = -rank - 1;
	PMPI_Barrier(MPI_COMM_WORLD);
	int bad = 0;
	for (int i = 0; i < ints; i++)
		bad += i % 100 == rank ? result[i] != -rank - 1
				       : result[i] != value(0, i, 3);
	CHECK(!bad, "after writing: %d are wrong", bad);
}

static void
forked(int *result, int ints)
{
	int status = 0;
	cast("memory that a child has, too", result, ints, 5, 0);
	pid_t child = fork();
	if (!child) {
		int bad = wrong(result, ints, ints, 5);
		memset(result, 0, (size_t)ints * sizeof *result);
		_exit(bad != 0);
	}
	result[ints / 2] = 1;
	if (child > 0)
		waitpid(child, &status, 0);
	CHECK(!status, "a child sees something else");
	result[ints / 2] = value(0, ints / 2, 5);
	CHECK(!wrong(result, ints, ints, 5), "a child's writes are seen");
}

static void
all_in(const char *what, int *result, int ints)
{
	for (int turn = 0; turn < 4; turn++) {
		gather(what, result, ints, turn, turn % 2);
		cast(what, result, ints, turn, turn * (size - 1) / 3);
	}
}

/* A block that malloc has mapped by itself, as the second bit of its head says: free memory of the
 * heap that has room for it, which the MPI may have left, is taken first. */
static int *
mapped_block(size_t alignment, size_t bytes)
{
	void *block = NULL;
	if (posix_memalign(&block, alignment, bytes))
		return NULL;
	if (((size_t *)block)[-1] & 2)
		return block;
	int *other = mapped_block(alignment, bytes);
	free(block);
	return other;
}

/* A new block, in all kinds of calls: resized, freed. */
static void
in_block(int *result, int turn)
{
	int bad = 0;
	all_in("a block of malloc", result, INTS);
	all_in("a part of a block", result + 5, INTS - 1000);
	cast("the block again", result, INTS, 3, 0);
	written(result, INTS);
	forked(result, INTS);
	gather("the block", result, INTS, 7, 0);
	int *more = realloc(result, 2 * INTS * sizeof *result);
	bad += wrong(more, INTS / size * size, INTS / size, 7);
	for (int i = 0; i < 2 * INTS; i++)
		more[i] = i;
	cast("a block of another size", more, 2 * INTS, turn, size - 1);
	free(more);
	result = calloc(INTS, sizeof *result);
	for (int i = 0; i < INTS; i++)
		bad += result[i] != 0;
	free(result);
	CHECK(!bad, "realloc or calloc, turn %d: %d are wrong", turn, bad);
}

static void
blocks_of_all_kinds(void)
{
	static int fixed[INTS];
	int *result, *mapped, *locked;
	/* Beyond a page's, alignment may leave whole pages before a block, which is not mapped. */
	result = mapped_block((size_t)sysconf(_SC_PAGESIZE), INTS * sizeof *result);
	all_in("an aligned block", result, INTS);
	free(result);
	/* Blocks that begin elsewhere in their pages on each rank. */
	result = mapped_block(16, INTS * sizeof *result + 4096);
	all_in("blocks of all kinds", rank % 2 ? result + 16 * rank : result, INTS);
	free(result);
	all_in("static memory", fixed, INTS);
	mapped = mmap(NULL, INTS * sizeof *mapped, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	all_in("a mapping", mapped, INTS);
	/* A mapping of the program's own must stay one. */
	CHECK(!madvise(mapped, INTS * sizeof *mapped, MADV_DONTNEED) && !mapped[INTS / 2],
	      "a mapping is not the program's any more");
	locked = malloc(INTS * sizeof *locked);
	if (!mlock(locked, 4096))
		all_in("memory with a locked page", locked, INTS);
	free(locked);
}

int
main(int argc, char **argv)
{
	check_begin(&argc, &argv, &rank, &size);
	from = malloc(INTS * sizeof *from);
	mallopt(M_MMAP_THRESHOLD, 1 << 20);
	for (int turn = 0; turn < 4; turn++)
		in_block(mapped_block(16, INTS * sizeof(int)), turn);
	blocks_of_all_kinds();
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
	for (int turn = 0; turn < 2; turn++)
		in_block(malloc(INTS * sizeof(int)), turn);
	free(from);
	return check_finish("cow");
}
