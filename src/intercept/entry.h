/* intercept/entry.h — the typed entry points of a module: where intercepted calls arrive.
 *
 * cs_entry_X has exactly the prototype of this MPI's MPI_X. What is not there (the _c calls under Open MPI 4) is
 * forwarded by the door and needs no entry. */
#ifndef CS_INTERCEPT_ENTRY_H
#define CS_INTERCEPT_ENTRY_H

#include "intercept/module_abi.h"

#include <mpi.h>

#define CALL(name, arguments) __typeof__(MPI_##name) cs_entry_##name;
#if MPI_VERSION >= 4
#define LARGE(name, arguments) __typeof__(MPI_##name) cs_entry_##name;
#endif
#include "intercept/calls.def"

/* MPI was initialised by a Fortran name that reaches no C name; may be called more than once. */
void cs_entry_after_init(void);

/* Fills the rows of Fortran names that this MPI's own Fortran layer does not bring to C names; the others stay as
 * they are. Makes no MPI call (fortran.c). */
void cs_fortran_entries(const struct cs_door *door, void **entries);

#endif
