/* comm/host/flavour.h — what MPIs do differently, as facts that are known when a module is loaded.
 *
 * A fact is named for the behaviour and not for the MPI that has it. Which are true follows from
 * what the library says of itself, whatever mpi.h a module was made with: one of the standard
 * ABI may meet any MPI. Seen with MPICH 4.0.2 and Open MPI 4.1.4, where nothing else is said. No
 * path of a served call reads any of them, as long as the call is a usual one. */
#ifndef CS_COMM_HOST_FLAVOUR_H
#define CS_COMM_HOST_FLAVOUR_H

#include "comm/host/handles.h"

#include <stdbool.h>

struct cs_flavour {
	/* The tuning calls the MPI so, in `mpi:`. */
	const char *name;
	/* The module's mpi.h has handles of this kind. */
	enum cs_handles handles;
	/* The MPI can spare so many communicators for us. */
	int most_comms;
	/* Its blocking calls give the core up while they wait. */
	bool yields_in_waits;
	/* Making a communicator may hang while a rank has an MPI_Comm_idup pending. */
	bool may_hang_in_idup;
	/* MPI_Comm_split_type says that no rank shares memory with another. */
	bool splits_type_wrongly;
	/* A question about a communicator that was freed may crash, where others refuse it. */
	bool follows_stale_handles;

	/* What the MPI makes of a program's errors decides whether that goes to it unseen. */

	/* One buffer may be both sides, but not in MPI_Reduce, nor in MPI_Allreduce of several. */
	bool takes_aliases;
	/* MPI_IN_PLACE may stand where it means nothing, if nothing is to be moved. */
	bool takes_idle_in_place;
	/* Alltoalls look whether a rank sends itself as much as it receives from itself. */
	bool compares_own_blocks;
	/* MPI_Exscan looks at the first rank's memory for a result, which it has none for. */
	bool checks_idle_result;
	/* MPI_Bcast of less than a rank expects is an error there. */
	bool tells_of_less;
};

extern struct cs_flavour cs_flavour;

/* Fills it. `library`: what the MPI says of itself (MPI_Get_library_version), or NULL. A wrapper
 * of the standard ABI names the MPI in it further down; whatever else there may be is taken for
 * a relative of MPICH, of which less is expected. */
void cs_flavour_learn(const char *library);

#endif
