#include "comm/types.h"

#include "base/float_guard.h"
#include "base/log.h"
#include "comm/layout.h"
#include "comm/pmpi.h"
#include "kernels/reduce.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

MPI_Comm cs_self = MPI_COMM_NULL;

struct cs_type cs_type_table[CS_TYPE_SLOTS];

/* The standard ABI has names for types that an MPI need not have (Fortran's, where it was built without). To ask for their size
 * may end the program; this is asked on cs_self, which returns errors. */
static bool
is_there(MPI_Datatype handle)
{
#ifdef CS_STANDARD_ABI
	char nothing[8] = "";
	int position = 0;
	return !cs_pmpi.Pack(nothing, 0, handle, nothing, sizeof nothing, &position, cs_self);
#else
	return handle != MPI_DATATYPE_NULL;
#endif
}

static void
add(MPI_Datatype handle, enum cs_type_class class, int number)
{
	MPI_Count size;
	MPI_Aint lb, extent;
	if (!is_there(handle) || cs_pmpi.Type_size_x(handle, &size) || cs_pmpi.Type_get_extent(handle, &lb, &extent) ||
	    size <= 0)
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
	return bytes == 4 ? (is_signed ? CS_I32 : CS_U32) : bytes == 8 ? (is_signed ? CS_I64 : CS_U64) : -1;
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

/* Operations are few: a list is searched. */
static struct {
	MPI_Op handle;
	struct cs_operation operation;
} operations[16];
static int operation_count;

static void
add_operation(MPI_Op handle, uint32_t classes, int op)
{
	operations[operation_count].handle = handle;
	operations[operation_count].operation =
		(struct cs_operation){ .is_predefined = true, .is_commutative = true, .classes = classes, .op = op,
				       .number = operation_count + 1 };
	operation_count++;
}

void
cs_types_init(void)
{
#define C_INTEGER(handle, type) add_integer(handle, sizeof(type), (type)-1 < (type)1, CS_CLASS_INTEGER)
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

/* --- derived types -------------------------------------------------------------------------------------------------- */

#define PACK_MOST ((size_t)INT_MAX / 2) /* bytes for one call of the host's packing, which counts in int */

static bool is_plain(MPI_Datatype handle, int depth);

/* Blocks one after another, the first at 0. */
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

/* Are its elements bytes in order without gaps, from 0 on? True for the ways in which programs make types of rows and of structs
 * without gaps, and for more elements than an int counts; a "no" is never wrong. */
static bool
is_plain(MPI_Datatype handle, int depth)
{
	MPI_Count size;
	MPI_Aint lb, extent;
	struct cs_parts parts;
	const struct cs_type *known = cs_type_find(handle);
	if (known)
		return known->is_contiguous;
	if (depth > 8 || cs_pmpi.Type_size_x(handle, &size) || cs_pmpi.Type_get_extent(handle, &lb, &extent) || lb != 0 ||
	    extent != size || !cs_parts_ask(handle, &parts))
		return false;
	bool is_one = parts.combiner == MPI_COMBINER_DUP || parts.combiner == MPI_COMBINER_CONTIGUOUS ||
		      parts.combiner == MPI_COMBINER_VECTOR || parts.combiner == MPI_COMBINER_HVECTOR ||
		      parts.combiner == MPI_COMBINER_RESIZED;
	if ((!is_one && parts.combiner != MPI_COMBINER_STRUCT) || !cs_parts_take(handle, &parts))
		return false;
	/* A vector whose extent is its size, and begins at 0, has no gaps. */
	bool plain = is_one ? is_plain(parts.types[0], depth + 1) : is_plain_struct(&parts, depth + 1);
	cs_parts_drop(&parts);
	return plain;
}

const struct cs_type *
cs_type_look_slow(MPI_Datatype handle, struct cs_type *room)
{
	MPI_Count size;
	MPI_Aint lb, extent;
	char nothing[8] = "";
	int position = 0;
	/* Nothing packed: asks whether it is a type, and committed. First, since its errors stay on cs_self, which returns
	 * them; those of the functions below would be MPI_COMM_WORLD's. */
	if (!handle || handle == MPI_DATATYPE_NULL ||
	    cs_pmpi.Pack(nothing, 0, handle, nothing, sizeof nothing, &position, cs_self))
		return NULL;
	if (cs_pmpi.Type_size_x(handle, &size) || size < 0 || cs_pmpi.Type_get_extent(handle, &lb, &extent))
		return NULL;
	*room = (struct cs_type){ .handle = handle, .size = (size_t)size, .extent = extent, .number = -1 };
	/* The questions take some 50 ns, packing and unpacking 400 of 1 KiB and as long as the call of 1 MiB. */
	if (lb == 0 && extent == size)
		room->is_contiguous = is_plain(handle, 0);
	return room;
}

/* False for what is certainly no operation: to ask about it would be an error on MPI_COMM_WORLD. */
static bool
is_plausible(MPI_Op handle)
{
	if (!handle || handle == MPI_OP_NULL || handle == MPI_REPLACE || handle == MPI_NO_OP)
		return false;
#if defined(CS_STANDARD_ABI)
	return (uintptr_t)handle > CS_ABI_MOST; /* the others are in the list */
#elif defined(OPEN_MPI)
	return true;
#else
	/* MPICH: as in member.c, of kind 6. */
	return ((unsigned)handle >> 26 & 0xf) == 6 && (unsigned)handle >> 30 != 0;
#endif
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
	if (!is_plausible(handle) || cs_pmpi.Op_commutative(handle, &is_commutative))
		return false;
	*operation = (struct cs_operation){ .is_commutative = is_commutative, .op = -1 };
	return true;
}

/* --- our loops and the host's ---------------------------------------------------------------------------------------- */

enum { SAMPLES = 67 }; /* elements: the hosts' vector code and what is left over for their scalar code */

struct samples {
	uint64_t a[SAMPLES], b[SAMPLES], ours[SAMPLES];
};

/* Of floating types: numbers of moderate size (bits at random would be full of NaN), and from FIRST_SPECIAL on, where the hosts'
 * vector code and their scalar code see them, what does not compare or has no sum: each with each. Two NaN of one sign, since
 * which of two is handed on nobody says. */
enum { FIRST_SPECIAL = 24, SPECIALS = 6 };

static void
make_numbers(struct samples *samples, bool is_double)
{
	static const double special[SPECIALS] = { 0.0, -0.0, __builtin_inf(), -__builtin_inf(), __builtin_nan(""), 1.0 };
	for (int i = 0; i < SAMPLES; i++) {
		double x = (double)(int32_t)(samples->a[i] >> 20) * 0x1p-9, y = (double)(int32_t)(samples->b[i] >> 20) * 0x1p-7;
		int number = i - FIRST_SPECIAL;
		if (number >= 0 && number < SPECIALS * SPECIALS) {
			x = special[number / SPECIALS];
			y = special[number % SPECIALS];
		}
		if (is_double) {
			((double *)(void *)samples->a)[i] = x * (1 + 0x1p-50);
			((double *)(void *)samples->b)[i] = y;
		} else {
			((float *)(void *)samples->a)[i] = (float)x;
			((float *)(void *)samples->b)[i] = (float)y;
		}
	}
}

static __attribute__((noinline)) bool
compare_with_host(MPI_Datatype handle, const struct cs_type *known, MPI_Op op_handle, cs_kernel *kernel)
{
	struct samples samples;
	uint64_t word = 88172645463325252u;
	for (int i = 0; i < 2 * SAMPLES; i++) {
		word ^= word << 13;
		word ^= word >> 7;
		word ^= word << 17;
		(i < SAMPLES ? samples.a : samples.b)[i % SAMPLES] = word;
	}
	if (known->number == CS_F32 || known->number == CS_F64)
		make_numbers(&samples, known->number == CS_F64);
	kernel(samples.ours, samples.a, samples.b, SAMPLES);
	return !cs_pmpi.Reduce_local(samples.a, samples.b, SAMPLES, handle, op_handle) &&
	       !memcmp(samples.ours, samples.b, SAMPLES * known->size);
}

/* Does the kernel give what the host gives for this very type? Both hosts of Debian 12 compare MPI_UNSIGNED_LONG as signed
 * in MPI_MAX and MPI_MIN (seen with MPICH 4.0.2 and Open MPI 4.1.4), and theirs is the answer a program has without us. */
static bool
is_like_host(MPI_Datatype handle, struct cs_type *known, MPI_Op op_handle, int op, cs_kernel *kernel)
{
	uint32_t bit = 1u << op;
	struct cs_float_state floats;
	if (atomic_load_explicit(&known->compared, memory_order_acquire) & bit)
		return !(atomic_load_explicit(&known->differs, memory_order_relaxed) & bit);
	cs_float_hold(&floats); /* the sums are not the program's */
	bool is_equal = compare_with_host(handle, known, op_handle, kernel);
	cs_float_release(&floats);
	if (!is_equal)
		atomic_fetch_or(&known->differs, bit);
	atomic_fetch_or_explicit(&known->compared, bit, memory_order_release);
	return is_equal;
}

/* Which of two types of one size is it? C's and Fortran's integers are one kind: some programs mix them. */
static unsigned
kind_of(const struct cs_type *type, const struct cs_operation *operation)
{
	unsigned class = type->class == CS_CLASS_FLOAT || type->class == CS_CLASS_COMPLEX || type->class == CS_CLASS_PAIR
				 ? type->class : 0;
	return operation->is_predefined ? (unsigned)operation->number << 4 | class : 0;
}

bool
cs_reduction_make(MPI_Datatype type_handle, const struct cs_type *type, MPI_Op op_handle,
		  const struct cs_operation *operation, struct cs_reduction *reduction)
{
	if (operation->is_predefined && !(operation->classes & 1u << type->class))
		return false;
	*reduction = (struct cs_reduction){ .op = (uintptr_t)op_handle, .type = (uintptr_t)type_handle };
	reduction->kind = kind_of(type, operation);
	if (type->is_contiguous) {
		reduction->unit = type->size;
		reduction->kind += (unsigned)type->size << 9;
		if (operation->op >= 0 && type->number >= 0)
			reduction->kernel = cs_kernel_find((enum cs_op)operation->op, (enum cs_number)type->number);
		struct cs_type *known = (struct cs_type *)cs_type_find(type_handle);
		if (reduction->kernel &&
		    !is_like_host(type_handle, known, op_handle, operation->op, reduction->kernel))
			reduction->kernel = NULL;
		return true;
	}
	/* Elements with gaps keep their shape in our buffers, so that the operation finds what it expects. */
	MPI_Aint lb, extent, true_lb, true_extent;
	if (cs_pmpi.Type_get_extent(type_handle, &lb, &extent) ||
	    cs_pmpi.Type_get_true_extent(type_handle, &true_lb, &true_extent))
		return false;
	if (type->size == 0 || lb < 0 || true_lb < 0 || extent <= 0 || true_lb + true_extent > extent)
		return false;
	reduction->unit = (size_t)extent;
	reduction->kind += (unsigned)extent << 9;
	return true;
}

bool
cs_reduction_order(const struct cs_type *type, MPI_Op op_handle, struct cs_reduction *reduction)
{
	const uint32_t integer = 1u << CS_CLASS_INTEGER | 1u << CS_CLASS_FORTRAN_INTEGER;
	const uint32_t exact = integer | 1u << CS_CLASS_LOGICAL | 1u << CS_CLASS_BYTE;
	struct cs_operation operation;
	bool is_predefined = cs_operation_look(op_handle, &operation) && operation.is_predefined;
	if (is_predefined && type->is_predefined && exact >> type->class & 1)
		return false;
	reduction->kernel = NULL;
	if (is_predefined && operation.op >= 0 && type->number >= 0 && type->is_contiguous)
		reduction->kernel = cs_kernel_find_ordered((enum cs_op)operation.op, (enum cs_number)type->number);
	return true;
}

/* Elements that one call of the host's packing can take; at least one, which may then be too large for it. */
static MPI_Count
batch(const struct cs_type *type)
{
	MPI_Count most = (MPI_Count)(PACK_MOST / type->size);
	return most > 0 ? most : 1;
}

/* As many bytes as a batch has: MPI_BYTE `*count` times, or for one element that is larger a type of that size. */
static bool
byte_type(size_t bytes, MPI_Datatype *type, int *count)
{
	*type = MPI_BYTE;
	*count = (int)bytes;
	if (bytes <= PACK_MOST)
		return true;
	enum { BLOCK = 1 << 20 };
	MPI_Datatype block = MPI_DATATYPE_NULL, parts[2] = { MPI_DATATYPE_NULL, MPI_BYTE };
	int lengths[2] = { 1, (int)(bytes % BLOCK) };
	MPI_Aint at[2] = { 0, (MPI_Aint)(bytes - bytes % BLOCK) };
	*count = 1;
	bool is_made = bytes / BLOCK <= INT_MAX && !cs_pmpi.Type_contiguous(BLOCK, MPI_BYTE, &block) &&
		       !cs_pmpi.Type_contiguous((int)(bytes / BLOCK), block, &parts[0]) &&
		       !cs_pmpi.Type_create_struct(2, lengths, at, parts, type);
	if (block != MPI_DATATYPE_NULL)
		cs_pmpi.Type_free(&block);
	if (parts[0] != MPI_DATATYPE_NULL)
		cs_pmpi.Type_free(&parts[0]);
	return is_made && !cs_pmpi.Type_commit(type);
}

/* From one layout to another by a message to ourselves. Each has a tag of its own, since other threads may be doing the
 * same: not 1, which is host.c's, and no more than any MPI allows. */
static bool
send_to_self(const void *from, int from_count, MPI_Datatype from_type, void *to, int to_count, MPI_Datatype to_type)
{
	static _Atomic unsigned last_tag;
	struct cs_float_state floats;
	int tag = 2 + (int)(atomic_fetch_add_explicit(&last_tag, 1, memory_order_relaxed) % 32000);
	cs_float_hold(&floats); /* UCX rounds numbers when it connects */
	int result = cs_pmpi.Sendrecv(from, from_count, from_type, 0, tag, to, to_count, to_type, 0, tag, cs_self,
				      MPI_STATUS_IGNORE);
	cs_float_release(&floats);
	return !result;
}

static bool
convert_by_message(const struct cs_type *type, void *user, int count, void *packed, bool is_pack)
{
	MPI_Datatype bytes;
	int length;
	if (!byte_type((size_t)count * type->size, &bytes, &length))
		return false;
	bool is_done = is_pack ? send_to_self(user, count, type->handle, packed, length, bytes)
			       : send_to_self(packed, length, bytes, user, count, type->handle);
	if (bytes != MPI_BYTE)
		cs_pmpi.Type_free(&bytes);
	return is_done;
}

/* One batch. MPI_BOTTOM is a null pointer, which MPICH's MPI_Pack refuses (4.0.2; MPI 4.0, 5.1.12 allows it), and of a type
 * whose elements have no gaps but do not begin at 0 it may pack too little (tests/mpi/many_types.c), and it counts bytes
 * in int; a message to ourselves does the same. */
static bool
convert_batch(const struct cs_type *type, void *user, int count, void *packed, bool is_pack)
{
	if (user && type->size <= PACK_MOST) {
		int bytes = count * (int)type->size, position = 0;
		if (is_pack ? cs_pmpi.Pack(user, count, type->handle, packed, bytes, &position, cs_self)
			    : cs_pmpi.Unpack(packed, bytes, &position, user, count, type->handle, cs_self))
			return false;
		if (position == bytes)
			return true;
	}
	return convert_by_message(type, user, count, packed, is_pack);
}

enum { PROBED = 3 }; /* numbers in the type that packing is tried with */

/* Does the host pack and unpack numbers of this type that are apart by one and a half of them, as those of an array of
 * struct { float complex z; int i; }? */
static __attribute__((noinline)) bool
packs_odd_stride(MPI_Datatype number, size_t size)
{
	_Alignas(64) char spread[2 * PROBED * 16], packed[PROBED * 16], back[sizeof spread], right[sizeof spread];
	MPI_Datatype type = MPI_DATATYPE_NULL;
	MPI_Count size_there = 0;
	if (number == MPI_DATATYPE_NULL || cs_pmpi.Type_size_x(number, &size_there) || size_there != (MPI_Count)size)
		return true;
	size_t step = size + size / 2;
	int position = 0, bytes = PROBED * (int)size;
	for (size_t i = 0; i < sizeof spread; i++)
		spread[i] = (char)(0x21 + i % 29); /* numbers in any case, and none that is known to trap */
	memset(back, 0, sizeof back);
	memset(right, 0, sizeof right);
	bool is_made = !cs_pmpi.Type_create_hvector(PROBED, 1, (MPI_Aint)step, number, &type) && !cs_pmpi.Type_commit(&type);
	bool is_right = is_made && !cs_pmpi.Pack(spread, 1, type, packed, bytes, &position, cs_self) && position == bytes;
	for (size_t i = 0; i < PROBED; i++) {
		is_right = is_right && !memcmp(packed + i * size, spread + i * step, size);
		memcpy(right + i * step, spread + i * step, size);
		memcpy(packed + i * size, spread + i * step, size);
	}
	position = 0;
	is_right = is_right && !cs_pmpi.Unpack(packed, bytes, &position, back, 1, type, cs_self) &&
		   !memcmp(back, right, sizeof back);
	if (type != MPI_DATATYPE_NULL)
		cs_pmpi.Type_free(&type);
	return is_right;
}

/* Is the host's packing right? Open MPI 5.0.7 goes from one complex number to the next by whole numbers of them, whatever the
 * stride is. Asked when the first type with gaps is packed in the process. */
static bool
packs_rightly(void)
{
	static _Atomic int known; /* 1: it is; -1: it is not */
	int answer = atomic_load_explicit(&known, memory_order_relaxed);
	struct cs_float_state floats;
	if (__builtin_expect(answer != 0, 1))
		return answer > 0;
	cs_float_hold(&floats);
	answer = packs_odd_stride(MPI_C_FLOAT_COMPLEX, 8) && packs_odd_stride(MPI_C_DOUBLE_COMPLEX, 16) ? 1 : -1;
	cs_float_release(&floats);
	if (answer < 0 && cs_log_is_speaker())
		cs_info("types: this MPI packs types of odd strides wrongly; they are packed without it");
	atomic_store_explicit(&known, answer, memory_order_relaxed);
	return answer > 0;
}

static bool
convert(const struct cs_type *type, void *user, MPI_Count count, char *packed, bool is_pack)
{
	if (!type->size || !count)
		return true;
	/* Known types with gaps are the host's own. */
	if (!type->is_predefined && !packs_rightly() && cs_layout_copy(type->handle, user, count, packed, is_pack))
		return true;
	for (MPI_Count done = 0, most = batch(type); done < count; done += most) {
		int now = (int)(count - done < most ? count - done : most);
		/* An address and not a sum of pointers: MPI_BOTTOM is null. */
		void *at = (void *)((uintptr_t)user + (uintptr_t)(done * type->extent));
		if (!convert_batch(type, at, now, packed, is_pack))
			return false;
		packed += (size_t)now * type->size;
	}
	return true;
}

bool
cs_type_pack(const struct cs_type *type, const void *user, MPI_Count count, char *packed)
{
	if (!type->is_contiguous)
		return convert(type, (void *)user, count, packed, true);
	memcpy(packed, user, (size_t)count * type->size);
	return true;
}

bool
cs_type_unpack(const struct cs_type *type, void *user, MPI_Count count, const char *packed)
{
	if (!type->is_contiguous)
		return convert(type, user, count, (char *)packed, false);
	memcpy(user, packed, (size_t)count * type->size);
	return true;
}
