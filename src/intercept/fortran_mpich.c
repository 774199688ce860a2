/* intercept/fortran_mpich.c — takes the Fortran names that MPICH does not bring to a C name
 * (fortran.c has which). */
#include "intercept/fortran_layer.h"

CS_FORTRAN_INIT(mpi_init_f08_)
CS_FORTRAN_INIT_THREAD(mpi_init_thread_f08_)
/* Under MPICH a handle is the same number in C and in Fortran. (MPI_Comm_f2c is a function since
 * 4.2, and modules are not linked with the MPI.) */
#define SAME(handle) (handle)

CS_FORTRAN_FREE(mpi_comm_free_f08_, SAME)
CS_FORTRAN_FREE(mpi_comm_disconnect_f08_, SAME)

static void
take_ibarrier(MPI_Fint *comm, MPI_Fint *request, MPI_Fint *ierr)
{
	cs_ierr(ierr, cs_entry_Ibarrier(SAME(*comm), request));
}

static void
take_barrier(MPI_Fint *comm, MPI_Fint *ierr)
{
	cs_ierr(ierr, cs_entry_Barrier(SAME(*comm)));
}

void
cs_fortran_entries(void **entries, bool is_ordered)
{
	entries[CS_CALL_mpi_init_f08_] = (void *)take_mpi_init_f08_;
	entries[CS_CALL_mpi_init_thread_f08_] = (void *)take_mpi_init_thread_f08_;
	entries[CS_CALL_mpi_barrier_f08_] = (void *)take_barrier;
	entries[CS_CALL_mpi_ibarrier_f08_] = (void *)take_ibarrier;
	entries[CS_CALL_mpi_comm_free_f08_] = (void *)take_mpi_comm_free_f08_;
	entries[CS_CALL_mpi_comm_disconnect_f08_] = (void *)take_mpi_comm_disconnect_f08_;
}

/* The Fortran layer calls the C names. */
void
cs_fortran_count(void **entries)
{
}
