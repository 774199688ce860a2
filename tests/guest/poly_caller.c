/* Uses the mpi_* functions of poly.c; with -DWITH_MPI in a program that also calls an MPI. */
#include "poly.h"

#include <stdio.h>

#ifdef WITH_MPI
long MPI_Barrier(long comm);
#endif

int
main(void)
{
	for (int i = 0; i < 3; i++) {
		if (mpi_init(14) != 42 || mpi_gather(50, 8) != 42) {
			puts("FAILED a function of another library was not called as it is");
			return 1;
		}
#ifdef WITH_MPI
		MPI_Barrier(1);
#endif
	}
	return 0;
}
