/* intercept/stand_in.h — the agreement at MPI_Init in a process without a module.
 *
 * A module that is missing, broken or of another version on one node only must not hang the job:
 * the others wait for this process in the agreement at MPI_Init (base/agreement.h). So the door
 * takes part in it, without mpi.h, as one that cannot. */
#ifndef CS_INTERCEPT_STAND_IN_H
#define CS_INTERCEPT_STAND_IN_H

#include <stdint.h>

/* Call once per process, when MPI is initialised; collective over MPI_COMM_WORLD. `flavour`: the
 * missing module. `lookup`, `lookup_data`: a function of the MPI, and a variable of it. `troubles`:
 * the digest of the lines that are kept, and that are told or forgotten here. `seconds`: how long
 * to wait for the others. */
void cs_stand_in(const char *flavour, void *(*lookup)(const char *name),
		 void *(*lookup_data)(const char *name), uint64_t troubles, int seconds);

#endif
