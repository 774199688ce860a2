/* intercept/entry.h — the typed entry points of a module: where intercepted calls arrive.
 *
 * cs_entry_X has exactly the prototype of MPI_X. Calls that the process's MPI lacks (the _c calls
 * under Open MPI 4 and 5) do not arrive: the door asks which symbols are there, whatever headers
 * the module was built with. */
#ifndef CS_INTERCEPT_ENTRY_H
#define CS_INTERCEPT_ENTRY_H

#include "intercept/module_abi.h"
#include "intercept/signatures.h"

#include <mpi.h>
#include <stdbool.h>

#ifdef CS_STANDARD_ABI
#define WINDOW(name, arguments)
#endif
#define CALL(name, arguments) __typeof__(MPI_##name) cs_entry_##name;
#include "intercept/calls.def"

/* MPI 4.0's, which the headers may not have. */
#define DECLARE(name, lower, UPPER, shape) int cs_entry_##name##_c(CS_ARGS_##shape(CS_C_LARGE));
#define DECLARE_BOTH(name, lower, UPPER, shape) \
	DECLARE(name, lower, UPPER, shape) \
	int cs_entry_I##lower##_c(CS_ARGS_##shape(CS_C_LARGE), MPI_Request *request);
CS_SERVED(DECLARE_BOTH)
#define DECLARE_SMALL(name, shape) \
	int cs_entry_##name##_init(CS_ARGS_##shape(CS_C), MPI_Info info, MPI_Request *request);
#define DECLARE_INIT(name, lower, UPPER, shape) \
	DECLARE_SMALL(name, shape) \
	int cs_entry_##name##_init_c(CS_ARGS_##shape(CS_C_LARGE), MPI_Info info, \
				     MPI_Request *request);
CS_SERVED(DECLARE_INIT)
DECLARE_SMALL(Barrier, BARRIER)
#undef DECLARE_INIT
#undef DECLARE_SMALL
#undef DECLARE_BOTH
/* MPI 4.1's, which the headers may not have. */
#define DECLARE_STATUS(name, ...) \
	int cs_entry_Request_get_status_##name(int count, const MPI_Request requests[], \
					       __VA_ARGS__);
DECLARE_STATUS(all, int *flag, MPI_Status statuses[])
DECLARE_STATUS(any, int *index, int *flag, MPI_Status *status)
DECLARE_STATUS(some, int *done, int indices[], MPI_Status statuses[])
#undef DECLARE_STATUS
/* These only count, so that they are the module's only where a report is wanted. */
CS_NEIGHBORS(DECLARE)
#undef DECLARE

/* In the place of cs_entry_X where COLLSHIM_REPRODUCIBLE is set. */
#define DECLARE(name, lower, UPPER, shape) \
	int cs_entry_ordered_##name(CS_ARGS_##shape(CS_C)); \
	int cs_entry_ordered_##name##_c(CS_ARGS_##shape(CS_C_LARGE));
CS_REDUCTIONS(DECLARE)
#undef DECLARE

/* Leaves the functions of requests to the host until the first non-blocking call is served
 * (requests.c). */
void cs_requests_leave(void **entries);
/* The same of MPI_Start and its kin until the first persistent request is ours (persistent.c). */
void cs_persistent_leave(void **entries);

/* MPI was initialised by a Fortran name that reaches no C name; may be called more than once. */
void cs_entry_after_init(void);

/* Fills the rows of Fortran names that this MPI's own Fortran layer does not bring to C names; the
 * others stay as they are. Makes no MPI call (fortran.c). `is_ordered`: as for C. */
void cs_fortran_entries(void **entries, bool is_ordered);
/* The same of what only counts; behind the former. */
void cs_fortran_count(void **entries);
/* Has all Fortran names note where they are called, for the report's call sites; behind the former
 * two (fortran_sites.c). */
void cs_fortran_note_callers(void **entries);

#endif
