/* comm/types/layout.h — layout of a derived datatype, and copying of its data without the host. */
#ifndef CS_COMM_TYPES_LAYOUT_H
#define CS_COMM_TYPES_LAYOUT_H

#include <mpi.h>
#include <stdbool.h>

/* Envelope and contents of a type (MPI_Type_get_envelope, MPI_Type_get_contents). */
struct cs_parts {
	int combiner, integer_count, address_count, type_count;
	int *integers;
	MPI_Aint *addresses;
	MPI_Datatype *types;
};

/* Fills in the combiner and the three counts. False if the host refuses. */
bool cs_parts_ask(MPI_Datatype handle, struct cs_parts *parts);
/* Fills in the arrays, to be freed by cs_parts_drop. False if there is no memory, or the host
 * refuses. */
bool cs_parts_take(MPI_Datatype handle, struct cs_parts *parts);
void cs_parts_drop(struct cs_parts *parts);

/* Copies `count` elements of the type from `user` to `packed` (is_pack), or back. False: the
 * combiner is unknown, sizes differ from the host's, or the host refused to pack a predefined type.
 * Ends the job if there is no memory. */
bool cs_layout_copy(MPI_Datatype handle, void *user, MPI_Count count, char *packed, bool is_pack);

#endif
