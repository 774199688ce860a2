/* comm/host/flavour.h — differences between MPIs, as facts that are known when a module is loaded.
 *
 * A fact is named for the behaviour and not for the MPI that has it. The facts are set by the text
 * of MPI_Get_library_version, not by the mpi.h that a module was built with: a module of the
 * standard ABI may run with any MPI. Seen with MPICH 4.0.2 and Open MPI 4.1.4, unless noted
 * otherwise. Usual served calls read none of them. */
#ifndef CS_COMM_HOST_FLAVOUR_H
#define CS_COMM_HOST_FLAVOUR_H

#include "comm/host/handles.h"

#include <stdbool.h>

struct cs_flavour {
	/* Name of the MPI in tuning files (`mpi:`). */
	const char *name;
	/* Kind of handles of the module's mpi.h. */
	enum cs_handles handles;
	/* Most communicators that we make. */
	int most_comms;
	/* Its blocking calls give the core up while they wait. */
	bool yields_in_waits;
	/* Making a communicator may hang while a rank has an MPI_Comm_idup pending. */
	bool may_hang_in_idup;
	/* MPI_Comm_split_type reports that no rank shares memory with another. */
	bool splits_type_wrongly;
	/* Calls on a freed communicator may crash, while others return an error. */
	bool follows_stale_handles;

	/* Handling of a program's errors, by which it is decided which calls go to the host. */

	/* One buffer may be both sides, but not in MPI_Reduce, nor in MPI_Allreduce of several
	 * elements. */
	bool takes_aliases;
	/* MPI_IN_PLACE is accepted in any argument, if nothing is to be moved. */
	bool takes_idle_in_place;
	/* Alltoalls check that a rank sends itself as much as it receives from itself. */
	bool compares_own_blocks;
	/* MPI_Exscan checks the first rank's receive buffer, though that rank has no result. */
	bool checks_idle_result;
	/* MPI_Bcast of less than a rank expects is an error. */
	bool tells_of_less;
};

extern struct cs_flavour cs_flavour;

/* Sets cs_flavour. `library`: text of MPI_Get_library_version, or NULL. A wrapper of the standard
 * ABI names the MPI further down in it; any other MPI is taken for a relative of MPICH, of which
 * less is expected. */
void cs_flavour_learn(const char *library);

#endif
