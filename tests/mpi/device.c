/* Blocks in memory that the kernel reads for its process only, as a device's is that a program has
 * mapped. Every process has some: the page with the kernel's clock, which changes at any time, so
 * what arrives is not looked at. That it arrives is: a rank that tried to read it directly could
 * only end the job. */
#include "check.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define BYTES 2048 /* of a block; with all of them less than the page */

static int rank, size;

static char *
mapped(const char *name)
{
	char line[256], *memory = NULL;
	FILE *maps = fopen("/proc/self/maps", "r");
	while (maps && !memory && fgets(line, sizeof line, maps))
		if (strstr(line, name))
			memory = (char *)strtoul(line, NULL, 16);
	if (maps)
		fclose(maps);
	return memory;
}

/* All that reads blocks directly, from `memory`; returns how many calls failed. */
static int
send_from(char *memory, char *into)
{
	int counts[2] = {BYTES, BYTES}, at[2] = {0, 0}, failed = 0;
	MPI_Datatype types[2] = {MPI_CHAR, MPI_CHAR};
	MPI_Comm comm = MPI_COMM_WORLD;
	int to[2] = {0, BYTES};
	failed += MPI_Allgather(memory, BYTES, MPI_CHAR, into, BYTES, MPI_CHAR, comm) !=
		  MPI_SUCCESS;
	failed += MPI_Allgatherv(memory, BYTES, MPI_CHAR, into, counts, to, MPI_CHAR, comm) !=
		  MPI_SUCCESS;
	failed += MPI_Alltoall(memory, BYTES / 2, MPI_CHAR, into, BYTES / 2, MPI_CHAR, comm) !=
		  MPI_SUCCESS;
	failed += MPI_Alltoallv(memory, counts, at, MPI_CHAR, into, counts, to, MPI_CHAR, comm) !=
		  MPI_SUCCESS;
	failed += MPI_Alltoallw(memory, counts, at, types, into, counts, to, types, comm) !=
		  MPI_SUCCESS;
	for (int root = 0; root < size; root++) {
		failed += MPI_Gather(memory, BYTES, MPI_CHAR, into, BYTES, MPI_CHAR, root, comm) !=
			  MPI_SUCCESS;
		failed += MPI_Gatherv(memory, BYTES, MPI_CHAR, into, counts, to, MPI_CHAR, root,
				      comm) != MPI_SUCCESS;
		failed += MPI_Scatter(memory, BYTES / 2, MPI_CHAR, into, BYTES / 2, MPI_CHAR, root,
				      comm) != MPI_SUCCESS;
		failed += MPI_Scatterv(memory, counts, at, MPI_CHAR, into, BYTES, MPI_CHAR, root,
				       comm) != MPI_SUCCESS;
	}
	return failed;
}

/* A call with two blocks on either side of the device's memory, which others can read, says nothing
 * of what lies between. */
static int
send_around(const char *device, char *below, char *into)
{
	char *above = mapped("[vdso]");
	int counts[2] = {BYTES, BYTES}, to[2] = {0, BYTES}, at[2] = {0, (int)(above - below)};
	if (above < device || below > device || above - below > INT_MAX)
		return 0;
	return MPI_Alltoallv(below, counts, at, MPI_CHAR, into, counts, to, MPI_CHAR,
			     MPI_COMM_WORLD) != MPI_SUCCESS;
}

int
main(int argc, char **argv)
{
	check_begin(&argc, &argv, &rank, &size);
	CHECK(size == 2, "made for two ranks, not %d", size);
	char *into = malloc(2 * BYTES), *own = malloc(2 * BYTES), *device = mapped("[vvar]");
	/* The kernel places mappings downwards, so this one mostly is below those that it has made
	 * itself. */
	char *below = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(device, "no [vvar] in /proc/self/maps%s", "");
	for (int turn = 0; device && size == 2 && turn < 3; turn++) {
		int failed = send_around(device, below, into);
		CHECK(!failed, "%d calls failed", failed);
		failed = send_from(device, into);
		CHECK(!failed, "%d calls failed", failed);
		memset(own, 'a' + rank, 2 * BYTES);
		failed = send_from(own, into);
		CHECK(!failed, "%d calls failed", failed);
		MPI_Allgather(own, BYTES, MPI_CHAR, into, BYTES, MPI_CHAR, MPI_COMM_WORLD);
		for (int i = 0; i < 2 * BYTES; i++)
			CHECK(into[i] == 'a' + i / BYTES, "byte %d is %d", i, into[i]);
	}
	free(own);
	free(into);
	return check_finish("device");
}
