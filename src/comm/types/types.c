/* comm/types/types.c — the host's datatypes and operations: a table of the predefined ones, and
 * queries for others. */
#include "comm/types/types.h"

#include "comm/host/flavour.h"
#include "comm/host/pmpi.h"
#include "kernels/reduce.h"

#include <stdlib.h>
#include <string.h>

MPI_Comm cs_self = MPI_COMM_NULL;

struct cs_type cs_type_table[CS_TYPE_SLOTS];

/* Is it a committed type? Tried by packing nothing, which returns an error on cs_self. An mpi.h has
 * names for types that the MPI may lack (Fortran's, if it was built without), and to ask for their
 * size may end the program. */
static bool
is_there(MPI_Datatype handle)
{
	char nothing[8] = "";
	int position = 0;
	return handle && handle != MPI_DATATYPE_NULL &&
	       !cs_pmpi.Pack(nothing, 0, handle, nothing, sizeof nothing, &position, cs_self);
}

static void
add(MPI_Datatype handle, enum cs_type_class class, int number)
{
	MPI_Count size;
	MPI_Aint lb, extent;
	if (!is_there(handle) || cs_pmpi.Type_size_x(handle, &size) ||
	    cs_pmpi.Type_get_extent(handle, &lb, &extent) || size <= 0)
		return;
	unsigned slot = cs_type_hash((uintptr_t)handle);
	while (cs_type_table[slot].size && cs_type_table[slot].handle != handle)
		slot = (slot + 1) % CS_TYPE_SLOTS;
	if (cs_type_table[slot].size)
		return;
	cs_type_table[slot] = (struct cs_type){
		.handle = handle, .size = (size_t)size, .extent = extent, .is_predefined = true,
		.is_contiguous = lb == 0 && extent == size,
		.class = class, .number = number,
	};
}

static int
integer_number(size_t bytes, bool is_signed)
{
	return bytes == 4 ? (is_signed ? CS_I32 : CS_U32)
			  : bytes == 8 ? (is_signed ? CS_I64 : CS_U64) : -1;
}

static void
add_integer(MPI_Datatype handle, size_t bytes, bool is_signed, enum cs_type_class class)
{
	add(handle, class, integer_number(bytes, is_signed));
}

static void
add_sized(MPI_Datatype handle, enum cs_type_class class)
{
	MPI_Count size = 0;
	if (!is_there(handle) || cs_pmpi.Type_size_x(handle, &size))
		return;
	int number = -1;
	if (class == CS_CLASS_FORTRAN_INTEGER)
		number = integer_number((size_t)size, true);
	else if (class == CS_CLASS_FLOAT)
		number = size == 4 ? CS_F32 : size == 8 ? CS_F64 : -1;
	add(handle, class, number);
}

/* Predefined operations; few, so the list is searched. */
static struct {
	MPI_Op handle;
	const char *name;
	struct cs_operation operation;
} operations[16];
static int operation_count;

#define add_operation(handle, classes, op) add_named(handle, #handle, classes, op)

static void
add_named(MPI_Op handle, const char *name, uint32_t classes, int op)
{
	operations[operation_count].handle = handle;
	operations[operation_count].name = name;
	operations[operation_count].operation =
		(struct cs_operation){ .is_predefined = true, .is_commutative = true,
				       .classes = classes, .op = op,
				       .number = operation_count + 1 };
	operation_count++;
}

void
cs_types_init(void)
{
#define C_INTEGER(handle, type) \
	add_integer(handle, sizeof(type), (type)-1 < (type)1, CS_CLASS_INTEGER)
	C_INTEGER(MPI_INT, int);
	C_INTEGER(MPI_LONG, long);
	C_INTEGER(MPI_SHORT, short);
	C_INTEGER(MPI_UNSIGNED_SHORT, unsigned short);
	C_INTEGER(MPI_UNSIGNED, unsigned);
	C_INTEGER(MPI_UNSIGNED_LONG, unsigned long);
	C_INTEGER(MPI_LONG_LONG, long long);
	C_INTEGER(MPI_LONG_LONG_INT, long long);
	C_INTEGER(MPI_UNSIGNED_LONG_LONG, unsigned long long);
	C_INTEGER(MPI_SIGNED_CHAR, signed char);
	C_INTEGER(MPI_UNSIGNED_CHAR, unsigned char);
	C_INTEGER(MPI_INT8_T, int8_t);
	C_INTEGER(MPI_INT16_T, int16_t);
	C_INTEGER(MPI_INT32_T, int32_t);
	C_INTEGER(MPI_INT64_T, int64_t);
	C_INTEGER(MPI_UINT8_T, uint8_t);
	C_INTEGER(MPI_UINT16_T, uint16_t);
	C_INTEGER(MPI_UINT32_T, uint32_t);
	C_INTEGER(MPI_UINT64_T, uint64_t);
	add_integer(MPI_AINT, sizeof(MPI_Aint), true, CS_CLASS_FORTRAN_INTEGER);
	add_integer(MPI_OFFSET, sizeof(MPI_Offset), true, CS_CLASS_FORTRAN_INTEGER);
	add_integer(MPI_COUNT, sizeof(MPI_Count), true, CS_CLASS_FORTRAN_INTEGER);
	add(MPI_FLOAT, CS_CLASS_FLOAT, CS_F32);
	add(MPI_DOUBLE, CS_CLASS_FLOAT, CS_F64);
	add(MPI_LONG_DOUBLE, CS_CLASS_FLOAT, -1);
	add(MPI_C_BOOL, CS_CLASS_LOGICAL, -1);
	add(MPI_C_FLOAT_COMPLEX, CS_CLASS_COMPLEX, -1);
	add(MPI_C_DOUBLE_COMPLEX, CS_CLASS_COMPLEX, -1);
	add(MPI_C_LONG_DOUBLE_COMPLEX, CS_CLASS_COMPLEX, -1);
	add(MPI_BYTE, CS_CLASS_BYTE, -1);
	add(MPI_CHAR, CS_CLASS_NONE, -1);
	add(MPI_WCHAR, CS_CLASS_NONE, -1);
	add(MPI_PACKED, CS_CLASS_NONE, -1);
	add_sized(MPI_INTEGER, CS_CLASS_FORTRAN_INTEGER);
	add_sized(MPI_INTEGER1, CS_CLASS_FORTRAN_INTEGER);
	add_sized(MPI_INTEGER2, CS_CLASS_FORTRAN_INTEGER);
	add_sized(MPI_INTEGER4, CS_CLASS_FORTRAN_INTEGER);
	add_sized(MPI_INTEGER8, CS_CLASS_FORTRAN_INTEGER);
	add_sized(MPI_REAL, CS_CLASS_FLOAT);
	add_sized(MPI_REAL4, CS_CLASS_FLOAT);
	add_sized(MPI_REAL8, CS_CLASS_FLOAT);
	add_sized(MPI_DOUBLE_PRECISION, CS_CLASS_FLOAT);
	add_sized(MPI_LOGICAL, CS_CLASS_LOGICAL);
	add_sized(MPI_COMPLEX, CS_CLASS_COMPLEX);
	add_sized(MPI_DOUBLE_COMPLEX, CS_CLASS_COMPLEX);
	add_sized(MPI_CHARACTER, CS_CLASS_NONE);
	add(MPI_FLOAT_INT, CS_CLASS_PAIR, -1);
	add(MPI_DOUBLE_INT, CS_CLASS_PAIR, -1);
	add(MPI_LONG_INT, CS_CLASS_PAIR, -1);
	add(MPI_2INT, CS_CLASS_PAIR, -1);
	add(MPI_SHORT_INT, CS_CLASS_PAIR, -1);
	add(MPI_LONG_DOUBLE_INT, CS_CLASS_PAIR, -1);
	add_sized(MPI_2INTEGER, CS_CLASS_PAIR);
	add_sized(MPI_2REAL, CS_CLASS_PAIR);
	add_sized(MPI_2DOUBLE_PRECISION, CS_CLASS_PAIR);

	const uint32_t integer = 1u << CS_CLASS_INTEGER, fortran = 1u << CS_CLASS_FORTRAN_INTEGER;
	const uint32_t real = 1u << CS_CLASS_FLOAT, logical = 1u << CS_CLASS_LOGICAL;
	const uint32_t complex = 1u << CS_CLASS_COMPLEX, byte = 1u << CS_CLASS_BYTE;
	const uint32_t pair = 1u << CS_CLASS_PAIR;
	add_operation(MPI_SUM, integer | fortran | real | complex, CS_SUM);
	add_operation(MPI_PROD, integer | fortran | real | complex, -1);
	add_operation(MPI_MIN, integer | fortran | real, CS_MIN);
	add_operation(MPI_MAX, integer | fortran | real, CS_MAX);
	add_operation(MPI_LAND, integer | logical, -1);
	add_operation(MPI_LOR, integer | logical, -1);
	add_operation(MPI_LXOR, integer | logical, -1);
	add_operation(MPI_BAND, integer | fortran | byte, CS_BAND);
	add_operation(MPI_BOR, integer | fortran | byte, CS_BOR);
	add_operation(MPI_BXOR, integer | fortran | byte, CS_BXOR);
	add_operation(MPI_MINLOC, pair, -1);
	add_operation(MPI_MAXLOC, pair, -1);
}

const char *
cs_reduction_operation(const struct cs_reduction *reduction)
{
	unsigned number = (reduction->kind & CS_KIND_OPERATION) / (CS_KIND_CLASS + 1);
	return number && number <= (unsigned)operation_count ? operations[number - 1].name : NULL;
}

/* --- derived types ---------------------------------------------------------------------------- */

static bool is_plain(MPI_Datatype handle, int depth);

bool
cs_parts_ask(MPI_Datatype handle, struct cs_parts *parts)
{
	return !cs_pmpi.Type_get_envelope(handle, &parts->integer_count, &parts->address_count,
					  &parts->type_count, &parts->combiner);
}

bool
cs_parts_take(MPI_Datatype handle, struct cs_parts *parts)
{
	size_t integers = (size_t)parts->integer_count * sizeof(int);
	size_t addresses = (size_t)parts->address_count * sizeof(MPI_Aint);
	char *room = malloc(addresses + (size_t)parts->type_count * sizeof(MPI_Datatype) +
			    integers);
	if (!room)
		return false;
	parts->addresses = (MPI_Aint *)(void *)room;
	parts->types = (MPI_Datatype *)(void *)(room + addresses);
	parts->integers = (int *)(void *)(parts->types + parts->type_count);
	if (!cs_pmpi.Type_get_contents(handle, parts->integer_count, parts->address_count,
				       parts->type_count, parts->integers, parts->addresses,
				       parts->types))
		return true;
	free(room);
	return false;
}

/* Frees the parts: derived types from MPI_Type_get_contents are the caller's to free (MPI 4.0,
 * 5.1.13). */
void
cs_parts_drop(struct cs_parts *parts)
{
	for (int i = 0; i < parts->type_count; i++) {
		struct cs_parts inner;
		if (!cs_type_find(parts->types[i]) && cs_parts_ask(parts->types[i], &inner) &&
		    !cs_parts_is_named(inner.combiner))
			cs_pmpi.Type_free(&parts->types[i]);
	}
	free(parts->addresses);
}

/* Are the struct's blocks plain, one after another, the first at 0? */
static bool
is_plain_struct(const struct cs_parts *parts, int depth)
{
	MPI_Aint at = 0;
	for (int i = 0; i < parts->type_count; i++) {
		MPI_Count size;
		if (parts->integers[1 + i] == 0)
			continue;
		if (parts->addresses[i] != at || !is_plain(parts->types[i], depth) ||
		    cs_pmpi.Type_size_x(parts->types[i], &size))
			return false;
		at += parts->integers[1 + i] * (MPI_Aint)size;
	}
	return true;
}

/* Are the type's elements bytes in order without gaps, from 0 on? May be false for such a type, but
 * is true for common ones: rows, structs without gaps, and more elements than an int counts. */
static bool
is_plain(MPI_Datatype handle, int depth)
{
	MPI_Count size;
	MPI_Aint lb, extent;
	struct cs_parts parts;
	const struct cs_type *known = cs_type_find(handle);
	if (known)
		return known->is_contiguous;
	if (depth > 8 || cs_pmpi.Type_size_x(handle, &size) ||
	    cs_pmpi.Type_get_extent(handle, &lb, &extent) || lb != 0 || extent != size ||
	    !cs_parts_ask(handle, &parts))
		return false;
	bool is_one = parts.combiner == MPI_COMBINER_DUP ||
		      parts.combiner == MPI_COMBINER_CONTIGUOUS || parts.combiner ==
		      MPI_COMBINER_VECTOR || parts.combiner == MPI_COMBINER_HVECTOR ||
		      parts.combiner == MPI_COMBINER_RESIZED;
	if ((!is_one && parts.combiner != MPI_COMBINER_STRUCT) || !cs_parts_take(handle, &parts))
		return false;
	/* A vector that begins at 0, and whose extent is its size, has no gaps. */
	bool plain = is_one ? is_plain(parts.types[0], depth + 1)
			    : is_plain_struct(&parts, depth + 1);
	cs_parts_drop(&parts);
	return plain;
}

const struct cs_type *
cs_type_look_slow(MPI_Datatype handle, struct cs_type *room)
{
	MPI_Count size;
	MPI_Aint lb, extent;
	/* is_there comes first: errors of the other functions would be MPI_COMM_WORLD's. */
	if (!is_there(handle) || cs_pmpi.Type_size_x(handle, &size) || size < 0 ||
	    cs_pmpi.Type_get_extent(handle, &lb, &extent))
		return NULL;
	*room = (struct cs_type){ .handle = handle, .size = (size_t)size, .extent = extent,
				  .number = -1 };
	/* is_plain takes some 50 ns; packing and unpacking take 400 for 1 KiB, and as long as the
	 * call for 1 MiB. */
	if (lb == 0 && extent == size)
		room->is_contiguous = is_plain(handle, 0);
	return room;
}

/* False if the handle is certainly no operation: a query would be an error on MPI_COMM_WORLD. */
static bool
is_plausible(MPI_Op handle)
{
	return handle != MPI_OP_NULL && handle != MPI_REPLACE && handle != MPI_NO_OP &&
	       cs_handle_is_op(cs_flavour.handles, (uintptr_t)handle);
}

bool
cs_operation_look(MPI_Op handle, struct cs_operation *operation)
{
	for (int i = 0; i < operation_count; i++)
		if (operations[i].handle == handle) {
			*operation = operations[i].operation;
			return true;
		}
	int is_commutative;
	if (!is_plausible(handle) || !cs_pmpi.Op_commutative ||
	    cs_pmpi.Op_commutative(handle, &is_commutative))
		return false;
	*operation = (struct cs_operation){ .is_commutative = is_commutative, .op = -1 };
	return true;
}
