/* Processes that joined later: collectives on the intercommunicator to them, on the merged
 * communicator, and on the children's own MPI_COMM_WORLD are right and do not hang. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#define CHILDREN 2
#define MOST 30000

static void
exercise(MPI_Comm comm, const char *what)
{
	static int out[MOST], in[MOST];
	int rank, size;
	PMPI_Comm_rank(comm, &rank);
	PMPI_Comm_size(comm, &size);
	for (int round = 0; round < 60; round++) {
		int count = round % 3 == 0 ? MOST / size : 1 + round, root = round % size;
		for (int i = 0; i < count; i++)
			out[i] = rank * 7 + i + round;
		MPI_Allreduce(out, in, count, MPI_INT, MPI_SUM, comm);
		int sum = 7 * size * (size - 1) / 2 + size * round;
		CHECK(in[0] == sum && in[count - 1] == sum + size * (count - 1),
		      "%s: allreduce gives %d, not %d", what, in[0], sum);
		MPI_Allgather(out, count / size, MPI_INT, in, count / size, MPI_INT, comm);
		if (count / size > 0)
			CHECK(in[(size - 1) * (count / size)] == (size - 1) * 7 + round,
			      "%s: allgather", what);
		MPI_Bcast(out, count, MPI_INT, root, comm);
		CHECK(out[count - 1] == root * 7 + count - 1 + round, "%s: bcast from %d", what,
		      root);
		MPI_Barrier(comm);
	}
}

static void
between(MPI_Comm inter, int is_child)
{
	int mine = is_child ? 5 : 3, sum = 0, remote;
	PMPI_Comm_remote_size(inter, &remote);
	for (int i = 0; i < 10; i++) {
		MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, inter);
		CHECK(sum == (is_child ? 3 : 5) * remote, "intercommunicator: allreduce gives %d",
		      sum);
		MPI_Barrier(inter);
	}
}

int
main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm parent, inter, merged;
	PMPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
	exercise(MPI_COMM_WORLD, "world");
	MPI_Comm_get_parent(&parent);
	int is_child = parent != MPI_COMM_NULL;
	if (is_child) {
		inter = parent;
		check_rank += 1000;
	} else {
		int codes[CHILDREN];
		MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, CHILDREN, MPI_INFO_NULL, 0, MPI_COMM_WORLD,
			       &inter, codes);
	}
	between(inter, is_child);
	MPI_Intercomm_merge(inter, is_child, &merged);
	exercise(merged, "merged");
	between(inter, is_child);
	MPI_Comm_free(&merged);
	int here = check_failures, all = 0;
	/* The parents hear of the children's failures */
	PMPI_Allreduce(&here, &all, 1, MPI_INT, MPI_SUM, inter);
	if (!is_child)
		check_failures += all;
	MPI_Comm_disconnect(&inter);
	if (is_child) {
		MPI_Finalize();
		return here != 0;
	}
	return check_finish("spawn");
}
