/* comm/under.h — which MPI is underneath, where MPICH and Open MPI differ in what a module must do.
 *
 * A module that is made for one of them knows; that of the standard ABI is told when it is loaded. */
#ifndef CS_COMM_UNDER_H
#define CS_COMM_UNDER_H

#include <mpi.h>
#include <stdbool.h>

#ifdef CS_STANDARD_ABI

extern bool cs_is_open_mpi;

/* By what the MPI says of itself. A wrapper of the ABI names the MPI in it further down; whatever else there may be is taken for a
 * relative of MPICH, of which less is expected. */
void cs_under_learn(const char *library);

static inline bool
cs_under_open_mpi(void)
{
	return cs_is_open_mpi;
}

#else

static inline void
cs_under_learn(const char *library)
{
	(void)library;
}

/* No functions: gcc then lays out the paths of calls otherwise, and not better. */
#ifdef OPEN_MPI
#define cs_under_open_mpi() true
#else
#define cs_under_open_mpi() false
#endif

#endif
#endif
