/* early: a rank starts a call before all others, and computes, without a call of MPI, until they
 * are over with it (MPI 4.0, 6.12: a call is complete on a rank when its own part is). The order of
 * events is all that is looked at: a rank that needs the absent one's help waits for ever.
 *
 *   early          for which the absent rank has published all that others need when it started
 *   early aside    of any size: its progress thread helps */
#include "check.h"
#include "each.h"

#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

EACH(begin, MPI_I, , , , WITH_REQUEST)
EACH(by_host, PMPI_, , , , )
EACH(make, PERSISTENT, _init, _init, , WITH_INFO)

static int rank, size;
static _Atomic int *over; /* ranks that are over with their calls so far; [1]: calls so far of
			   * which the absent rank has begun its own, times ranks */
static int target;

/* Most bytes of a block, so that a ring has room for it, or for those of all ranks together. */
enum { OWN = 1600000, ALL = 480000 };
static const long most[EACH_COLLS] = { OWN, OWN, OWN, ALL, ALL, ALL, OWN, OWN, OWN,
				       OWN, OWN, OWN, ALL, ALL, OWN, ALL, ALL };

/* A page of zeros that all ranks share. (MPICH 5.0.2 over UCX has no shared windows.) */
static _Atomic int *
shared_counters(void)
{
	int fd = rank ? -1 : memfd_create("early", MFD_CLOEXEC), its[2] = { getpid(), fd };
	char path[64];
	CHECK(rank || !ftruncate(fd, 4096), "no shared memory");
	PMPI_Bcast(its, 2, MPI_INT, 0, MPI_COMM_WORLD);
	snprintf(path, sizeof path, "/proc/%d/fd/%d", its[0], its[1]);
	if (rank)
		fd = open(path, O_RDWR | O_CLOEXEC);
	void *counters = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (counters == MAP_FAILED)
		perror(path), MPI_Abort(MPI_COMM_WORLD, 1);
	PMPI_Barrier(MPI_COMM_WORLD);
	close(fd);
	return counters;
}

static void
leave(int which, int count, int absent, int root, bool is_persistent)
{
	struct each each = each_with(which, rank, count, root);
	size_t ints = (size_t)size * ((size_t)count + 1);
	int *in = malloc(ints * sizeof *in), *out = malloc(ints * sizeof *out),
	    *right = malloc(ints * sizeof *right);
	MPI_Request request;
	target += size;
	for (size_t i = 0; i < ints; i++) {
		in[i] = (int)i * 7 + rank * 1000;
		out[i] = right[i] = -5;
	}
	by_host(which, &each, in, right, NULL);
	PMPI_Barrier(MPI_COMM_WORLD); /* nobody waits for a message of the MPI's any more */
	if (is_persistent)
		make(which, &each, in, out, &request);
	while (rank != absent && atomic_load(&over[1]) < target)
		sched_yield();
	if (is_persistent)
		MPI_Start(&request);
	else
		begin(which, &each, in, out, &request);
	if (rank == absent)
		atomic_store(&over[1], target);
	while (rank == absent && atomic_load(&over[0]) < target - 1)
		sched_yield();
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	atomic_fetch_add(&over[0], 1);
	CHECK(!memcmp(out, right, ints * sizeof *out), "collective %d of %d ints: another result",
	      which, count);
	if (is_persistent)
		MPI_Request_free(&request);
	free(in);
	free(out);
	free(right);
}

int
main(int argc, char **argv)
{
	static const int counts[] = { 1, 11, 120, 500, 4000, 30000, 120000, 400000 };
	int turn = 0;
	check_begin(&argc, &argv, &rank, &size);
	bool is_aside = argc > 1 && !strcmp(argv[1], "aside");
	over = shared_counters();
	MPI_Barrier(MPI_COMM_WORLD);
	for (int which = 0; which < EACH_COLLS; which++)
		for (int i = 0; i < (int)(sizeof counts / sizeof *counts); i++)
			for (int form = 0; form < 4; form++, turn++) {
				int absent = (turn + i) % size, root = (absent + form % 2) % size;
				if (is_aside ? i % 3 == 1 : counts[i] * 4 <= most[which])
					leave(which, counts[i], absent, root, form / 2);
			}
	MPI_Barrier(MPI_COMM_WORLD);
	munmap((void *)over, 4096);
	return check_finish("early");
}
