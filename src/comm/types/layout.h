/* comm/types/layout.h — a derived datatype taken apart: where its bytes lie, and their copying
 * without the host. */
#ifndef CS_COMM_TYPES_LAYOUT_H
#define CS_COMM_TYPES_LAYOUT_H

#include <mpi.h>
#include <stdbool.h>

/* What MPI_Type_get_contents says of a type. */
struct cs_parts {
	int combiner, integer_count, address_count, type_count;
	int *integers;
	MPI_Aint *addresses;
	MPI_Datatype *types;
};

/* Asks how the type was made, for the combiner and the three counts. False if the host refuses. */
bool cs_parts_ask(MPI_Datatype handle, struct cs_parts *parts);
/* Fills the rest, which is given back by cs_parts_drop. False if there is no memory, or the host
 * refuses. */
bool cs_parts_take(MPI_Datatype handle, struct cs_parts *parts);
void cs_parts_drop(struct cs_parts *parts);

/* Copies `count` elements of the type from where they lie to `packed`, or back. False: the type is
 * made in a way that is not known here, or its parts have not the size that the host says, or the
 * host refused to pack a type of its own. Without memory the job ends. */
bool cs_layout_copy(MPI_Datatype handle, void *user, MPI_Count count, char *packed, bool is_pack);

#endif
