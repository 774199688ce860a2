/* intercept/fortran_layer.c — functions of Open MPI, sentinels and arrays of datatypes, for the
 * entries of Fortran names. */
#include "intercept/fortran_layer.h"

#include "base/log.h"

#include <stdlib.h>

struct cs_fortran cs_fortran;
const char *cs_fortran_missing;

/* --- sentinels -------------------------------------------------------------------------------- */

struct cs_sentinel cs_fortran_in_place, cs_fortran_bottom;
_Atomic int cs_fortran_sentinels_state;

static void
find_sentinel(struct cs_sentinel *sentinel, const char *const *names, size_t count)
{
	size_t room = sizeof sentinel->places / sizeof *sentinel->places;
	for (size_t i = 0; i < count; i++)
		sentinel->count += cs_engine.door->lookup_all(names[i], sentinel->places +
							       sentinel->count,
							       room - sentinel->count);
}

void
cs_fortran_find_sentinels(void)
{
	static const char *const in_place_names[] =
		{"mpi_fortran_in_place_", "mpi_fortran_in_place__",
						     "mpi_fortran_in_place",
						     "MPI_FORTRAN_IN_PLACE"};
	static const char *const bottom_names[] = {"mpi_fortran_bottom_", "mpi_fortran_bottom__",
						   "mpi_fortran_bottom", "MPI_FORTRAN_BOTTOM"};
	int unknown = 0;
	if (atomic_compare_exchange_strong(&cs_fortran_sentinels_state, &unknown, 1)) {
		find_sentinel(&cs_fortran_in_place, in_place_names, 4);
		find_sentinel(&cs_fortran_bottom, bottom_names, 4);
		if (cs_fortran_missing && cs_log_is_speaker())
			cs_info("the MPI has no %s: Fortran calls that need it are left to it",
				cs_fortran_missing);
		atomic_store_explicit(&cs_fortran_sentinels_state, 2, memory_order_release);
	}
	while (atomic_load_explicit(&cs_fortran_sentinels_state, memory_order_acquire) != 2)
		; /* another thread is at it, for less than a millisecond */
}

/* --- datatypes -------------------------------------------------------------------------------- */

/* Number of datatypes in each array of an alltoallw; 0 if the communicator is none, for the host to
 * refuse. */
static size_t
partners(MPI_Comm comm)
{
	int is_inter = 0, size = 0;
	if (comm == NULL || comm == MPI_COMM_NULL || cs_fortran.comm_test_inter(comm, &is_inter) !=
	    MPI_SUCCESS ||
	    (is_inter ? cs_fortran.comm_remote_size : cs_fortran.comm_size)(comm, &size) !=
	    MPI_SUCCESS)
		return 0;
	return (size_t)size;
}

bool
cs_fortran_open_types(struct cs_fortran_types *types, MPI_Comm comm, const MPI_Fint *sendtypes,
		      const MPI_Fint *recvtypes, MPI_Fint *ierr)
{
	size_t count = partners(comm);
	types->send = types->few;
	if (count > 64) {
		types->send = malloc(2 * count * sizeof *types->send);
		if (types->send == NULL) {
			cs_fortran.comm_call_errhandler(comm, MPI_ERR_NO_MEM);
			cs_ierr(ierr, MPI_ERR_NO_MEM);
			return false;
		}
	}
	types->recv = types->send + count;
	for (size_t i = 0; i < count; i++) {
		types->send[i] = sendtypes == NULL ? MPI_DATATYPE_NULL : cs_type_f2c(sendtypes[i]);
		types->recv[i] = cs_type_f2c(recvtypes[i]);
	}
	return true;
}

void
cs_fortran_close_types(struct cs_fortran_types *types)
{
	if (types->send != types->few)
		free(types->send);
}
