/* Linked with an MPI, loaded with RTLD_LOCAL by late.c. */
#include <mpi.h>
#include <stdio.h>

__attribute__((visibility("default"))) int plugin_run(void);
int
plugin_run(void)
{
	int rank, size, sum = 0;
	if (MPI_Init(NULL, NULL) != MPI_SUCCESS)
		return 1;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	int mine = rank + 1;
	for (int i = 0; i < 20; i++)
		MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0)
		printf("plugin: sum %d of %d ranks\n", sum, size);
	MPI_Finalize();
	return sum != size * (size + 1) / 2;
}
