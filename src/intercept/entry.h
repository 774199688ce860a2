/* intercept/entry.h — the typed entry points of a module: where intercepted calls arrive.
 *
 * cs_entry_X has exactly the prototype of this MPI's MPI_X. What is not there (the _c calls under Open MPI 4) is
 * forwarded by the door and needs no entry. */
#ifndef CS_INTERCEPT_ENTRY_H
#define CS_INTERCEPT_ENTRY_H

#include "intercept/module_abi.h"

#include <mpi.h>
#include <stdbool.h>

#define CALL(name, arguments) __typeof__(MPI_##name) cs_entry_##name;
#if MPI_VERSION >= 4
#define LARGE(name, arguments) __typeof__(MPI_##name) cs_entry_##name;
#endif
#include "intercept/calls.def"

/* In the place of cs_entry_X where COLLSHIM_REPRODUCIBLE is set. */
#define CS_ORDERED(ORDERED)                                                                        \
	ORDERED(Allreduce)                                                                         \
	ORDERED(Reduce)                                                                            \
	ORDERED(Reduce_scatter)                                                                    \
	ORDERED(Reduce_scatter_block)
#define DECLARE(name) __typeof__(MPI_##name) cs_entry_ordered_##name;
CS_ORDERED(DECLARE)
#if MPI_VERSION >= 4
#define DECLARE_LARGE(name) DECLARE(name##_c)
CS_ORDERED(DECLARE_LARGE)
#undef DECLARE_LARGE
#endif
#undef DECLARE

/* MPI was initialised by a Fortran name that reaches no C name; may be called more than once. */
void cs_entry_after_init(void);

/* Fills the rows of Fortran names that this MPI's own Fortran layer does not bring to C names; the others stay as
 * they are. Makes no MPI call (fortran.c). `is_ordered`: as for C. */
void cs_fortran_entries(const struct cs_door *door, void **entries, bool is_ordered);

#endif
