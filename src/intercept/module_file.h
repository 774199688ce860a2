/* intercept/module_file.h — which module fits the MPI, and its file. The door's; libc only. */
#ifndef CS_INTERCEPT_MODULE_FILE_H
#define CS_INTERCEPT_MODULE_FILE_H

#include "intercept/module_abi.h"

/* MPICH's MPI_MAX_LIBRARY_VERSION_STRING is 8192, the largest of the MPIs in use. */
#define CS_LIBRARY_VERSION_BYTES 16384

/* The MPI's library version text; "" before it is asked, or if it cannot be. Set by door.c. */
extern char cs_door_library[CS_LIBRARY_VERSION_BYTES];

/* The module for the MPI that was found, or NULL and the reason, for a line that names it by `%s`.
 * Both MPIs have a library of the standard ABI, which names itself as their own does, and there are
 * wrappers of it that do not: so a library with that ABI is not judged by its name. A library that
 * claims the ABI by halves has no handles that we know: the first libraries of the ABI had no
 * MPI_Abi_get_version. */
const char *cs_module_file_flavour(const char **reason);

/* The entries of the module, or NULL. Keeps the line that says why there is none, unless the module
 * itself declined. */
const struct cs_module *cs_module_file_open(const char *flavour, const struct cs_door *door);

#endif
