/* comm/types/types.h — descriptions of the host MPI's datatypes and operations for the core. */
#ifndef CS_COMM_TYPES_TYPES_H
#define CS_COMM_TYPES_TYPES_H

#include "wire/host.h"

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Class of a basic type, by its valid operations (MPI 4.0, 6.9.2). */
enum cs_type_class {
	CS_CLASS_NONE,    /* characters, derived types: no predefined operation */
	CS_CLASS_INTEGER, /* C integers: all but the location operations */
	CS_CLASS_FORTRAN_INTEGER, /* and MPI_AINT, MPI_OFFSET, MPI_COUNT: no logical operations */
	CS_CLASS_FLOAT,
	CS_CLASS_LOGICAL,
	CS_CLASS_COMPLEX,
	CS_CLASS_BYTE,
	CS_CLASS_PAIR,
};

struct cs_type {
	MPI_Datatype handle;
	size_t size;          /* bytes of data in one element */
	MPI_Aint extent;      /* bytes from one element to the next */
	bool is_contiguous;   /* elements are `size` bytes, in order, without gaps, from the address
			       * given */
	bool is_predefined;
	enum cs_type_class class;
	int number; /* enum cs_number for the kernels, or -1 */
	/* Predefined types: a bit per enum cs_reduce_op, for kernels that were compared with the
	 * host's operation, and for those that differ. */
	_Atomic uint32_t compared, differs;
};

struct cs_operation {
	bool is_predefined, is_commutative;
	uint32_t classes; /* predefined: bit per class it is defined on */
	int op;           /* enum cs_reduce_op for the kernels, or -1 */
	int number;       /* predefined: from 1 on; else 0 */
};

/* Builds the tables, once per process; MPI must be initialised. */
void cs_types_init(void);

/* Hash table of predefined types by handle: open addressing, filled by cs_types_init; in an unused
 * place size is 0. */
#define CS_TYPE_SLOTS 256
extern struct cs_type cs_type_table[CS_TYPE_SLOTS];

static inline unsigned
cs_type_hash(uintptr_t handle)
{
	return (unsigned)((uint64_t)handle * 0x9e3779b97f4a7c15u >> 56);
}

/* The predefined type of that handle, or NULL. */
static inline const struct cs_type *
cs_type_find(MPI_Datatype handle)
{
	unsigned slot = cs_type_hash((uintptr_t)handle);
	while (cs_type_table[slot].size) {
		if (cs_type_table[slot].handle == handle)
			return &cs_type_table[slot];
		slot = (slot + 1) % CS_TYPE_SLOTS;
	}
	return NULL;
}

/* Describes any datatype: the table's entry, or *room, filled. NULL if it is null, not committed or
 * unknown to the host: the call then goes to the host, which reports the error. */
const struct cs_type *cs_type_look_slow(MPI_Datatype handle, struct cs_type *room);
static inline const struct cs_type *
cs_type_look(MPI_Datatype handle, struct cs_type *room)
{
	const struct cs_type *known = cs_type_find(handle);
	return known ? known : cs_type_look_slow(handle, room);
}

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
/* Is it the combiner of a predefined type, or of one that MPI_Type_create_f90_* returns? */
static inline bool
cs_parts_is_named(int combiner)
{
	return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
	       combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
}

/* Describes an operation; false for MPI_OP_NULL and operations that no collective accepts. */
bool cs_operation_look(MPI_Op handle, struct cs_operation *operation);

/* Fields of a reduction's kind: the number of a predefined operation, and the class of a type whose
 * results depend on the order; both 0 for an operation of the program. */
#define CS_KIND_CLASS 0xfu
#define CS_KIND_OPERATION 0x1f0u

/* Does the reduction give the same bits in any order? Predefined operations do on integers, logical
 * values and bytes. By its kind, so the same on all ranks. */
static inline bool
cs_reduction_is_exact(const struct cs_reduction *reduction)
{
	return reduction->is_exact;
}

/* "MPI_SUM"; NULL: an operation of the program's. */
const char *cs_reduction_operation(const struct cs_reduction *reduction);

/* Fills *reduction for elements of this type, reduction->unit bytes apart. False if the pair of
 * type and operation is not valid or not served (negative lower bound, elements that overlap). The
 * same on all ranks, as type and op are (MPI 4.0, 6.9.1). */
bool cs_reduction_make(MPI_Datatype type_handle, const struct cs_type *type, MPI_Op op_handle,
		       const struct cs_operation *operation, struct cs_reduction *reduction);

/* Sets *reduction's kernel for a fixed order, with the same results under every host. False: any
 * order gives the same bits anyway. */
bool cs_reduction_order(const struct cs_type *type, MPI_Op op_handle,
			struct cs_reduction *reduction);

/* Copy `count` elements at `user` to count * type->size bytes at `packed`, and back. False if the
 * host refuses. */
bool cs_type_pack(const struct cs_type *type, const void *user, MPI_Count count, char *packed);
bool cs_type_unpack(const struct cs_type *type, void *user, MPI_Count count, const char *packed);

/* Private communicator of this process alone, for packing and progress; made by comm/engine.c. */
extern MPI_Comm cs_self;

#endif
