/* A program of foreign_mpi.c. */
#include "foreign.h"

#include <stdio.h>

int
main(int argc, char **argv)
{
	if (MPI_Init(&argc, &argv) || MPI_Barrier(FOREIGN_WORLD))
		return 1;
	puts("barrier done");
	return 0;
}
