/* A program built with AddressSanitizer, whose run-time library stands before ours in
 * LD_PRELOAD. */
#include "case.h"

int
main(int argc, char **argv)
{
	begin(&argc, &argv);
	for (int turn = 0; turn < 5; turn++) {
		MPI_Comm comm;
		MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
		for (int i = 0; i < 25; i++)
			use(comm, 1 + 130 * i);
		MPI_Comm_free(&comm);
		use(MPI_COMM_WORLD, 1 + 6000 * turn);
	}
	return end();
}
