/* comm/host/pmpi.h — the host MPI's own functions, found at run time.
 *
 * Resolved by name in the MPI that the door found, so that a module never drags in an MPI of its
 * own and a tool between us and the MPI is not asked about our internal traffic. One that the MPI
 * lacks takes away what needs it. */
#ifndef CS_COMM_HOST_PMPI_H
#define CS_COMM_HOST_PMPI_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

/* MPI_Type_size_x is deprecated since MPI 4.1, but what takes its place, MPI_Type_size_c, older
 * MPIs have not: and the one that is met at run time may be older than these headers. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
struct cs_pmpi {
#define P(name) __typeof__(&PMPI_##name) name;
#include "comm/host/pmpi.def"
};
#pragma GCC diagnostic pop

extern struct cs_pmpi cs_pmpi;

/* Fills the table, as far as there are functions. False, and one line, if nothing can be served
 * without one that there is not. */
bool cs_pmpi_load(void *(*lookup)(const char *name));

/* Collectives, a bit for each, that are the MPI's for want of a function; `is_on_nodes`: of a team
 * on several nodes. */
#define CS_PMPI_LACKS "the MPI lacks what it takes"
uint32_t cs_pmpi_left(bool is_on_nodes);

/* What is not there: for what all ranks must have alike; and as lines of COLLSHIM_VERBOSE and facts
 * of the report. */
uint64_t cs_pmpi_digest(uint64_t hash);
void cs_pmpi_tell(bool is_reporting);

#endif
