/* comm/pmpi.h — the host MPI's own functions, found at run time.
 *
 * Resolved by name in the MPI that the door found, so that a module never drags in an MPI of its own and a tool
 * between us and the MPI is not asked about our internal traffic. */
#ifndef CS_COMM_PMPI_H
#define CS_COMM_PMPI_H

#include <mpi.h>
#include <stdbool.h>

struct cs_pmpi {
#define P(name) __typeof__(&PMPI_##name) name;
#include "comm/pmpi.def"
};

extern struct cs_pmpi cs_pmpi;

/* Fills the table; false (and one line) if a function is missing. */
bool cs_pmpi_load(void *(*lookup)(const char *name));

#endif
