/* Messages by verbs as a program makes them, each result compared with the host's own (PMPI).
 *
 *   traffic thresholds SLOT_BYTES   allgather, bcast, alltoall and reduce with sizes around every
 *                                   threshold of the protocols, and a bcast and a reduce of more
 *                                   than soft RoCE moves by one request (8 MiB)
 *   traffic remap ROUNDS            buffers are unmapped, moved or discarded, and others mapped at
 *                                   the same address
 *   traffic fork ROUNDS             the program forks between collectives; the child uses its
 *                                   buffers and ends
 *   traffic repeat COUNT [BYTES]    the same allgather COUNT times, for the counters of the report
 *   traffic reduce COUNT [BYTES]    the same with reduce to the last rank
 *
 * Which algorithms these are is the environment's to say. */
#include "../mpi/check.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static int size;

static void
fill(unsigned char *bytes, size_t count, int from, int round)
{
	for (size_t i = 0; i < count; i++)
		bytes[i] = (unsigned char)(i * 131 + (size_t)from * 29 + (size_t)round * 7 +
					   (i >> 8));
}

static void
compare(const char *what, size_t bytes, const unsigned char *got, const unsigned char *wanted,
	size_t count)
{
	size_t at = 0;
	while (at < count && got[at] == wanted[at])
		at++;
	CHECK(at == count, "%s of %zu bytes: byte %zu of %zu is %d and not %d", what, bytes, at,
	      count, got[at], wanted[at]);
}

static unsigned char *
memory(size_t bytes)
{
	unsigned char *base = malloc(bytes ? bytes : 1);
	if (!base)
		MPI_Abort(MPI_COMM_WORLD, 3);
	return base;
}

/* --- thresholds ------------------------------------------------------------------------------- */

static void
allgather(size_t bytes, int round)
{
	size_t all = bytes * (size_t)size;
	unsigned char *in = memory(bytes), *out = memory(all), *wanted = memory(all);
	fill(in, bytes, check_rank, round);
	memset(out, 0xee, all);
	MPI_Allgather(in, (int)bytes, MPI_BYTE, out, (int)bytes, MPI_BYTE, MPI_COMM_WORLD);
	PMPI_Allgather(in, (int)bytes, MPI_BYTE, wanted, (int)bytes, MPI_BYTE, MPI_COMM_WORLD);
	compare("allgather", bytes, out, wanted, all);
	free(in);
	free(out);
	free(wanted);
}

static void
bcast(size_t bytes, int root, int round)
{
	unsigned char *out = memory(bytes), *wanted = memory(bytes);
	fill(wanted, bytes, root, round);
	memset(out, 0xee, bytes);
	if (check_rank == root)
		memcpy(out, wanted, bytes);
	MPI_Bcast(out, (int)bytes, MPI_BYTE, root, MPI_COMM_WORLD);
	compare("bcast", bytes, out, wanted, bytes);
	free(out);
	free(wanted);
}

static void
alltoall(size_t bytes, int round)
{
	size_t all = bytes * (size_t)size;
	unsigned char *in = memory(all), *out = memory(all), *wanted = memory(all);
	fill(in, all, check_rank, round);
	memset(out, 0xee, all);
	MPI_Alltoall(in, (int)bytes, MPI_BYTE, out, (int)bytes, MPI_BYTE, MPI_COMM_WORLD);
	PMPI_Alltoall(in, (int)bytes, MPI_BYTE, wanted, (int)bytes, MPI_BYTE, MPI_COMM_WORLD);
	compare("alltoall", bytes, out, wanted, all);
	free(in);
	free(out);
	free(wanted);
}

static void
reduce(size_t bytes, int root, int round)
{
	unsigned char *in = memory(bytes), *out = memory(bytes), *wanted = memory(bytes);
	fill(in, bytes, check_rank, round);
	memset(out, 0xee, bytes);
	MPI_Reduce(in, out, (int)bytes, MPI_BYTE, MPI_BXOR, root, MPI_COMM_WORLD);
	PMPI_Reduce(in, wanted, (int)bytes, MPI_BYTE, MPI_BXOR, root, MPI_COMM_WORLD);
	if (check_rank == root)
		compare("reduce", bytes, out, wanted, bytes);
	free(in);
	free(out);
	free(wanted);
}

static void
thresholds(size_t slot)
{
	/* Trailer 24; inline room as asked (128) and as soft RoCE gives it; a slot, two of them;
	 * pages; MTU 4096. */
	size_t middles[] = { 4, 128 - 24, 200 - 24, slot - 24, slot, 2 * slot, 4096, 64 << 10 };
	int round = 0;
	for (size_t bytes = 0; bytes < 3; bytes++)
		allgather(bytes, round++);
	for (size_t i = 0; i < sizeof middles / sizeof *middles; i++)
		for (size_t bytes = middles[i] - 1; bytes <= middles[i] + 1; bytes++) {
			allgather(bytes, round++);
			bcast(bytes, round % size, round);
			alltoall(bytes, round);
			reduce(bytes, round % size, round);
		}
	bcast((8 << 20) + 12345, size - 1, round);
	reduce((8 << 20) + 12345, size - 1, round);
}

/* --- memory that changes ---------------------------------------------------------------------- */

#define MAPPED ((size_t)1 << 20)
#define BLOCK ((size_t)60 << 10)

static unsigned char *
map_at(void *place)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | (place ? MAP_FIXED : 0);
	unsigned char *base = mmap(place, MAPPED, PROT_READ | PROT_WRITE, flags, -1, 0);
	if (base == MAP_FAILED)
		MPI_Abort(MPI_COMM_WORLD, 3);
	return base;
}

/* In a way that the round chooses, the memory behind `base` becomes another. */
static void
change(unsigned char *base, int round)
{
	unsigned char *elsewhere;
	switch (round % 4) {
	case 0:
		munmap(base, MAPPED);
		map_at(base);
		break;
	case 1:
		madvise(base, MAPPED, MADV_DONTNEED);
		break;
	case 2:
		elsewhere = mremap(base, MAPPED, MAPPED, MREMAP_MAYMOVE | MREMAP_FIXED,
				   map_at(NULL));
		map_at(base);
		munmap(elsewhere, MAPPED);
		break;
	default: /* only a page in the middle */
		munmap(base + BLOCK / 2 / 4096 * 4096, 4096);
		if (mmap(base + BLOCK / 2 / 4096 * 4096, 4096, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
			MPI_Abort(MPI_COMM_WORLD, 3);
	}
}

static void
remap(int rounds)
{
	unsigned char *in = map_at(NULL), *out = map_at(NULL), *wanted = memory(MAPPED);
	size_t all = BLOCK * (size_t)size;
	if (all > MAPPED)
		MPI_Abort(MPI_COMM_WORLD, 2);
	for (int round = 0; round < rounds; round++) {
		fill(in, BLOCK, check_rank, round);
		memset(out, 0xee, all);
		MPI_Allgather(in, (int)BLOCK, MPI_BYTE, out, (int)BLOCK, MPI_BYTE, MPI_COMM_WORLD);
		for (int rank = 0; rank < size; rank++)
			fill(wanted + (size_t)rank * BLOCK, BLOCK, rank, round);
		compare("allgather after a change of mappings", BLOCK, out, wanted, all);
		change(in, round);
		change(out, round / 2);
	}
	free(wanted);
}

/* --- fork ------------------------------------------------------------------------------------- */

static void
fork_between(int rounds)
{
	size_t all = BLOCK * (size_t)size;
	unsigned char *in = memory(BLOCK), *out = memory(all), *wanted = memory(all);
	for (int round = 0; round < rounds; round++) {
		fill(in, BLOCK, check_rank, round);
		pid_t child = fork();
		if (child == 0) {
			memset(in, 1, BLOCK); /* its own copy */
			memset(out, 2, all);
			_exit(in[5] + out[6] == 3 ? 0 : 1);
		}
		CHECK(child > 0, "fork failed");
		MPI_Allgather(in, (int)BLOCK, MPI_BYTE, out, (int)BLOCK, MPI_BYTE, MPI_COMM_WORLD);
		int status = -1;
		CHECK(waitpid(child, &status, 0) == child && status == 0,
		      "the child ended with status %d", status);
		for (int rank = 0; rank < size; rank++)
			fill(wanted + (size_t)rank * BLOCK, BLOCK, rank, round);
		compare("allgather around a fork", BLOCK, out, wanted, all);
	}
	free(in);
	free(out);
	free(wanted);
}

static void
repeat(int count, size_t bytes)
{
	size_t all = bytes * (size_t)size;
	unsigned char *in = memory(bytes), *out = memory(all), *wanted = memory(all);
	fill(in, bytes, check_rank, 0);
	for (int rank = 0; rank < size; rank++)
		fill(wanted + (size_t)rank * bytes, bytes, rank, 0);
	for (int i = 0; i < count; i++) {
		memset(out, 0xee, all);
		MPI_Allgather(in, (int)bytes, MPI_BYTE, out, (int)bytes, MPI_BYTE, MPI_COMM_WORLD);
		compare("allgather", bytes, out, wanted, all);
	}
	free(in);
	free(out);
	free(wanted);
}

static void
repeat_reduce(int count, size_t bytes)
{
	for (int i = 0; i < count; i++)
		reduce(bytes, size - 1, i);
}

int
main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	const char *what = argc > 2 ? argv[1] : "";
	int number = argc > 2 ? atoi(argv[2]) : 0;
	size_t bytes = argc > 3 ? (size_t)atoi(argv[3]) : 1000;
	if (!strcmp(what, "thresholds"))
		thresholds((size_t)number);
	else if (!strcmp(what, "remap"))
		remap(number);
	else if (!strcmp(what, "fork"))
		fork_between(number);
	else if (!strcmp(what, "repeat"))
		repeat(number, bytes);
	else if (!strcmp(what, "reduce"))
		repeat_reduce(number, bytes);
	else
		CHECK(0, "traffic thresholds|remap|fork|repeat|reduce NUMBER");
	return check_finish(what);
}
