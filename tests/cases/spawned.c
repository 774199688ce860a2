/* Spawned processes are merged with their parents and split again. */
#include "case.h"

static void
use_often(MPI_Comm comm)
{
	for (int turn = 0; turn < 30; turn++)
		use(comm, 1 + 35 * turn);
}

static void
use_merged(MPI_Comm inter, int is_child)
{
	MPI_Comm merged, part;
	MPI_Intercomm_merge(inter, is_child, &merged);
	use_often(merged);
	MPI_Comm_split(merged, is_child, 0, &part);
	use_often(part);
	MPI_Comm_free(&part);
	MPI_Comm_free(&merged);
}

int
main(int argc, char **argv)
{
	MPI_Comm parent, inter;
	begin(&argc, &argv);
	MPI_Comm_get_parent(&parent);
	use(MPI_COMM_WORLD, 250);
	if (parent != MPI_COMM_NULL) {
		use_merged(parent, 1);
		MPI_Comm_disconnect(&parent);
		return end_quietly();
	}
	for (int turn = 0; turn < (is("twice") ? 2 : 1); turn++) {
		MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
			       MPI_ERRCODES_IGNORE);
		use_merged(inter, 0);
		MPI_Comm_disconnect(&inter);
	}
	return end();
}
