/* intercept/fortran_mpich.c — takes the Fortran names that MPICH does not bring to a C name
 * (fortran.c has which). */
#include "intercept/fortran_layer.h"

#include "comm/calls/icall.h"

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
take_barrier_init(MPI_Fint *comm, MPI_Fint *info, MPI_Fint *request, MPI_Fint *ierr)
{
	cs_ierr(ierr, cs_entry_Barrier_init(SAME(*comm), SAME(*info), request));
}

static void
take_barrier(MPI_Fint *comm, MPI_Fint *ierr)
{
	cs_ierr(ierr, cs_entry_Barrier(SAME(*comm)));
}

/* --- requests: the MPI waits without us for persistent ones ----------------------------------- */

CS_FORTRAN_START(mpi_start_f08_)
CS_FORTRAN_STARTALL(mpi_startall_f08_)
CS_FORTRAN_RELEASE(mpi_request_free_f08_, SAME)

#define NEXT(symbol, ...) \
	((void (*)(__VA_ARGS__))cs_engine.door->next[CS_CALL_mpi_##symbol##_f08_])
#define WORD MPI_Fint *

/* Functions that return at once. */
static void
take_request_get_status(WORD request, WORD flag, void *status, WORD ierr)
{
	cs_icalls_drive();
	NEXT(request_get_status, WORD, WORD, void *, WORD)(request, flag, status, ierr);
}

static void
take_test(WORD request, WORD flag, void *status, WORD ierr)
{
	cs_icalls_drive();
	NEXT(test, WORD, WORD, void *, WORD)(request, flag, status, ierr);
}

static void
take_testall(WORD count, WORD requests, WORD flag, void *statuses, WORD ierr)
{
	cs_icalls_drive();
	NEXT(testall, WORD, WORD, WORD, void *, WORD)(count, requests, flag, statuses, ierr);
}

static void
take_testany(WORD count, WORD requests, WORD index, WORD flag, void *status, WORD ierr)
{
	cs_icalls_drive();
	NEXT(testany, WORD, WORD, WORD, WORD, void *, WORD)(count, requests, index, flag, status,
							    ierr);
}

static void
take_testsome(WORD count, WORD requests, WORD done, WORD indices, void *statuses, WORD ierr)
{
	cs_icalls_drive();
	NEXT(testsome, WORD, WORD, WORD, WORD, void *, WORD)(count, requests, done, indices,
							     statuses, ierr);
}

static void
take_request_get_status_all(WORD count, WORD requests, WORD flag, void *statuses, WORD ierr)
{
	cs_icalls_drive();
	NEXT(request_get_status_all, WORD, WORD, WORD, void *, WORD)(count, requests, flag,
								     statuses, ierr);
}

static void
take_request_get_status_any(WORD count, WORD requests, WORD index, WORD flag, void *status,
			    WORD ierr)
{
	cs_icalls_drive();
	NEXT(request_get_status_any, WORD, WORD, WORD, WORD, void *, WORD)(count, requests, index,
									   flag, status, ierr);
}

static void
take_request_get_status_some(WORD count, WORD requests, WORD done, WORD indices, void *statuses,
			     WORD ierr)
{
	cs_icalls_drive();
	NEXT(request_get_status_some, WORD, WORD, WORD, WORD, void *, WORD)(count, requests, done,
									    indices, statuses,
									    ierr);
}

static bool
is_open(void)
{
	return atomic_load_explicit(&cs_icalls_open, memory_order_relaxed);
}

static void
take_wait(WORD request, void *status, WORD ierr)
{
	MPI_Fint flag = 0, error = MPI_SUCCESS;
	struct cs_wait wait = cs_icalls_patience();
	bool is_over = cs_icall_wait(*request);
	while (!is_over && is_open()) {
		take_test(request, &flag, status, &error);
		if (flag || error != MPI_SUCCESS) {
			cs_ierr(ierr, error);
			return;
		}
		cs_wait_turn(&wait);
	}
	NEXT(wait, WORD, void *, WORD)(request, status, ierr);
}

static void
take_waitall(WORD count, WORD requests, void *statuses, WORD ierr)
{
	MPI_Fint flag = 0, error = MPI_SUCCESS;
	struct cs_wait wait = cs_icalls_patience();
	while (is_open()) {
		take_testall(count, requests, &flag, statuses, &error);
		if (flag || error != MPI_SUCCESS) {
			cs_ierr(ierr, error);
			return;
		}
		cs_wait_turn(&wait);
	}
	NEXT(waitall, WORD, WORD, void *, WORD)(count, requests, statuses, ierr);
}

static void
take_waitany(WORD count, WORD requests, WORD index, void *status, WORD ierr)
{
	MPI_Fint flag = 0, error = MPI_SUCCESS;
	struct cs_wait wait = cs_icalls_patience();
	while (is_open()) {
		take_testany(count, requests, index, &flag, status, &error);
		if (flag || error != MPI_SUCCESS) {
			cs_ierr(ierr, error);
			return;
		}
		cs_wait_turn(&wait);
	}
	NEXT(waitany, WORD, WORD, WORD, void *, WORD)(count, requests, index, status, ierr);
}

static void
take_waitsome(WORD count, WORD requests, WORD done, WORD indices, void *statuses, WORD ierr)
{
	MPI_Fint error = MPI_SUCCESS;
	struct cs_wait wait = cs_icalls_patience();
	while (is_open()) {
		take_testsome(count, requests, done, indices, statuses, &error);
		if (*done || error != MPI_SUCCESS) {
			cs_ierr(ierr, error);
			return;
		}
		cs_wait_turn(&wait);
	}
	NEXT(waitsome, WORD, WORD, WORD, WORD, void *, WORD)(count, requests, done, indices,
							     statuses, ierr);
}

void
cs_fortran_entries(void **entries, bool is_ordered)
{
	entries[CS_CALL_mpi_init_f08_] = (void *)take_mpi_init_f08_;
	entries[CS_CALL_mpi_init_thread_f08_] = (void *)take_mpi_init_thread_f08_;
	entries[CS_CALL_mpi_barrier_f08_] = (void *)take_barrier;
	entries[CS_CALL_mpi_ibarrier_f08_] = (void *)take_ibarrier;
	entries[CS_CALL_mpi_barrier_init_f08_] = (void *)take_barrier_init;
	entries[CS_CALL_mpi_start_f08_] = (void *)take_mpi_start_f08_;
	entries[CS_CALL_mpi_startall_f08_] = (void *)take_mpi_startall_f08_;
	entries[CS_CALL_mpi_request_free_f08_] = (void *)take_mpi_request_free_f08_;
#define TAKE(name) entries[CS_CALL_mpi_##name##_f08_] = (void *)take_##name;
	TAKE(request_get_status) TAKE(request_get_status_all) TAKE(request_get_status_any)
	TAKE(request_get_status_some) TAKE(test) TAKE(testall) TAKE(testany) TAKE(testsome)
	TAKE(wait) TAKE(waitall) TAKE(waitany) TAKE(waitsome)
#undef TAKE
	entries[CS_CALL_mpi_comm_free_f08_] = (void *)take_mpi_comm_free_f08_;
	entries[CS_CALL_mpi_comm_disconnect_f08_] = (void *)take_mpi_comm_disconnect_f08_;
}

/* The Fortran layer calls the C names. */
void
cs_fortran_count(void **entries)
{
}
