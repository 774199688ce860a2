/* Asks by weak references whether MPI is there, in the program, or (IN_LIBRARY) in a library that
 * it is linked with (IS_LIBRARY). */
#include <stdio.h>

__attribute__((visibility("default"))) int ask(void);

#ifndef IN_LIBRARY
extern int MPI_Init(int *argc, char ***argv) __attribute__((weak));
extern int MPI_Allreduce_c(void) __attribute__((weak));
extern long MPI_Barrier(long comm) __attribute__((weak));
extern void mpi_init_(int *ierr) __attribute__((weak));
/* Not ours, and nobody's. */
extern void MPI_Unheard_of(void) __attribute__((weak));
static long (*volatile kept)(long) = MPI_Barrier;

int
ask(void)
{
	printf("MPI_Init %d, MPI_Allreduce_c %d, mpi_init_ %d, a pointer %d, what nobody has %d\n",
	       MPI_Init != NULL, MPI_Allreduce_c != NULL, mpi_init_ != NULL, kept != NULL,
	       MPI_Unheard_of != NULL);
	return kept != NULL ? printf("MPI_Barrier %ld\n", kept(7)) : 0;
}
#endif

#ifndef IS_LIBRARY
int PMPI_Fake_answer(void);

int
main(void)
{
	ask();
#ifdef WITH_MPI
	return PMPI_Fake_answer() != 42; /* not weak: so it is linked with the fake MPI */
#else
	return 0;
#endif
}
#endif
