/* comm/types/layout.h — layout of a derived datatype, and copying of its data without the host. */
#ifndef CS_COMM_TYPES_LAYOUT_H
#define CS_COMM_TYPES_LAYOUT_H

#include <mpi.h>
#include <stdbool.h>

/* Copies `count` elements of the type from `user` to `packed` (is_pack), or back. False: the
 * combiner is unknown, sizes differ from the host's, or the host refused to pack a predefined type.
 * Ends the job if there is no memory. */
bool cs_layout_copy(MPI_Datatype handle, void *user, MPI_Count count, char *packed, bool is_pack);

#endif
