/* early: a rank starts a call and computes, without a call of MPI, until all others are over with
 * it (MPI 4.0, 6.12: a call is complete on a rank when its own part is). The order of events is all
 * that is looked at: a rank that needs the absent one's help waits for ever.
 *
 *   early          what the absent rank has published when it started the call
 *   early aside    any size: its progress thread helps */
#include "check.h"
#include "each.h"

#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

EACH(begin, MPI_I, , , , WITH_REQUEST)
EACH(by_host, PMPI_, , , , )
EACH(make, PERSISTENT, _init, _init, , WITH_INFO)

static int rank, size;
static _Atomic int *over; /* how many ranks are over, of all calls so far */
static int target;

/* Most bytes of a block that hold: if the absent rank is the root, and if not. */
static const long most[EACH_COLLS][2] = {
	[0] = { 4096, 4096 },
};

static void
leave(int which, int count, int absent, int root, bool is_persistent)
{
	struct each each = each_with(which, rank, count, root);
	size_t ints = (size_t)size * ((size_t)count + 1);
	int *in = malloc(ints * sizeof *in), *out = malloc(ints * sizeof *out),
	    *right = malloc(ints * sizeof *right);
	MPI_Request request;
	for (size_t i = 0; i < ints; i++) {
		in[i] = (int)i * 7 + rank * 1000;
		out[i] = right[i] = -5;
	}
	by_host(which, &each, in, right, NULL);
	if (is_persistent) {
		make(which, &each, in, out, &request);
		MPI_Start(&request);
	} else {
		begin(which, &each, in, out, &request);
	}
	while (rank == absent && atomic_load(over) < target + size - 1)
		sched_yield();
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	atomic_fetch_add(over, 1);
	target += size;
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
	static const int counts[] = { 1, 11, 120, 500, 4000, 16000, 30000, 120000, 400000 };
	MPI_Win window;
	MPI_Aint bytes;
	int unit, turn = 0;
	check_begin(&argc, &argv, &rank, &size);
	bool is_aside = argc > 1 && !strcmp(argv[1], "aside");
	PMPI_Win_allocate_shared(rank ? 0 : 4096, 1, MPI_INFO_NULL, MPI_COMM_WORLD, (void *)&over,
				 &window);
	PMPI_Win_shared_query(window, 0, &bytes, &unit, (void *)&over);
	if (!rank)
		*over = 0;
	MPI_Barrier(MPI_COMM_WORLD);
	for (int which = 0; which < EACH_COLLS; which++)
		for (int i = 0; i < (int)(sizeof counts / sizeof *counts); i++)
			for (int form = 0; form < 4; form++, turn++) {
				int absent = turn % size, root = (absent + form % 2) % size;
				if (is_aside || counts[i] * 4 <= most[which][form % 2])
					leave(which, counts[i], absent, root, form / 2);
			}
	MPI_Barrier(MPI_COMM_WORLD);
	PMPI_Win_free(&window);
	return check_finish("early");
}
