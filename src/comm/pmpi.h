/* comm/pmpi.h — the host MPI's own functions, found at run time.
 *
 * Resolved by name in the MPI that the door found, so that a module never drags in an MPI of its own and a tool
 * between us and the MPI is not asked about our internal traffic. */
#ifndef CS_COMM_PMPI_H
#define CS_COMM_PMPI_H

#include <mpi.h>
#include <stdbool.h>

/* MPI_Type_size_x is deprecated since MPI 4.1, but what takes its place, MPI_Type_size_c, older MPIs have not: and the one that
 * is met at run time may be older than these headers. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
struct cs_pmpi {
#define P(name) __typeof__(&PMPI_##name) name;
#include "comm/pmpi.def"
};
#pragma GCC diagnostic pop

extern struct cs_pmpi cs_pmpi;

/* Fills the table; false (and one line) if a function is missing. */
bool cs_pmpi_load(void *(*lookup)(const char *name));

#endif
