/* Teams that are idle give the memory back that they have touched as soon as much of the budget is
 * in use, and serve on.
 *
 *   idle_teams        with a budget of little more than its segments need */
#include "check.h"

#include <string.h>

#define COMMS 12
#define BYTES 65536

/* Bytes of the library's segments that this rank has mapped and that are there. */
static long
touched(void)
{
	char line[512], access[5];
	unsigned long from, to;
	long sum = 0, kilobytes;
	int is_ours = 0;
	FILE *file = fopen("/proc/self/smaps", "r");
	CHECK(file != NULL, "/proc/self/smaps cannot be read");
	while (file && fgets(line, sizeof line, file)) {
		if (sscanf(line, "%lx-%lx %4s ", &from, &to, access) == 3)
			is_ours = strstr(line, "/memfd:collshim") != NULL;
		else if (is_ours && sscanf(line, "Rss: %ld kB", &kilobytes) == 1)
			sum += kilobytes << 10;
	}
	if (file)
		fclose(file);
	return sum;
}

static void
use(MPI_Comm comm, int size, int salt)
{
	static char in[BYTES], out[64 * BYTES];
	for (int call = 0; call < 8; call++) {
		memset(in, check_rank + salt + call, sizeof in);
		memset(out, -1, sizeof out);
		MPI_Allgather(in, BYTES, MPI_BYTE, out, BYTES, MPI_BYTE, comm);
		for (int rank = 0; rank < size; rank++)
			for (long byte = 0; byte < BYTES; byte += 1024)
				CHECK(out[rank * BYTES + byte] == (char)(rank + salt + call),
				      "communicator %d, call %d, block %d", salt, call, rank);
	}
	PMPI_Barrier(comm);
}

int
main(int argc, char **argv)
{
	MPI_Comm comms[COMMS];
	int rank, size;
	long one = 0;
	check_begin(&argc, &argv, &rank, &size);
	for (int i = 0; i < COMMS; i++) {
		MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
		use(comms[i], size, i);
		one = i ? one : touched();
	}
	long all = touched();
	CHECK(one >= BYTES, "one team has touched %ld bytes", one);
	/* Of all but the last few: idle is who has made no call since another team was made. */
	CHECK(all <= COMMS / 2 * one, "%d teams have %ld bytes, where one had touched %ld", COMMS,
	      all, one);
	if (rank == 0)
		printf("%d teams: %ld KiB, the first %ld\n", COMMS, all >> 10, one >> 10);
	for (int i = 0; i < COMMS; i++) {
		use(comms[i], size, COMMS + i);
		MPI_Comm_free(&comms[i]);
	}
	return check_finish("idle_teams");
}
