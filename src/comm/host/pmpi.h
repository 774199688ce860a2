/* comm/host/pmpi.h — the host MPI's own functions, found at run time.
 *
 * Resolved by name in the MPI that the door found, so that a module never loads an MPI of its own
 * and a tool between us and the MPI does not see our internal traffic. If the MPI lacks a function,
 * features that need it are off. */
#ifndef CS_COMM_HOST_PMPI_H
#define CS_COMM_HOST_PMPI_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

/* MPI_Type_size_x is deprecated since MPI 4.1, but older MPIs have no MPI_Type_size_c: and the MPI
 * at run time may be older than these headers. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
struct cs_pmpi {
#define P(name) __typeof__(&PMPI_##name) name;
#include "comm/host/pmpi.def"
};
#pragma GCC diagnostic pop

extern struct cs_pmpi cs_pmpi;

/* Fills the table; NULL for functions that the MPI lacks. False, with a warning, if it lacks one
 * without which nothing can be served. */
bool cs_pmpi_load(void *(*lookup)(const char *name));

/* Collectives, a bit for each, that are left to the MPI as it lacks a function; `is_on_nodes`: of a
 * team on several nodes. */
#define CS_PMPI_LACKS "the MPI lacks what it takes"
uint32_t cs_pmpi_left(bool is_on_nodes);

/* Missing functions: added to the digest of settings that all ranks must have alike; and logged for
 * COLLSHIM_VERBOSE, and as facts of the report. */
uint64_t cs_pmpi_digest(uint64_t hash);
void cs_pmpi_tell(bool is_reporting);

#endif
