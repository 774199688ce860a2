/* intercept/fortran_ts.c — takes the names by which Open MPI 6.0's `use mpi_f08` passes buffers as
 * descriptors, and makes of each descriptor what C has: memory, a count and a datatype. */
#include "intercept/fortran_layer.h"

#include "intercept/descriptor.h"

#include <limits.h>

static _Atomic int descriptors_state; /* 0 unknown, 1 they can be read, 2 not */

/* All processes of the job that use mpi_f08 have the same descriptors, as a rule: an executable has
 * one compiler's MPI. */
static __attribute__((noinline)) bool
find_descriptors(void)
{
	bool is_known = cs_descriptor_is_known(cs_engine.door);
	atomic_store_explicit(&descriptors_state, is_known ? 1 : 2, memory_order_release);
	return is_known;
}

static inline bool
is_readable(void)
{
	int state = atomic_load_explicit(&descriptors_state, memory_order_acquire);
	return state ? state == 1 : find_descriptors();
}

/* One side of a call, for C. */
struct part {
	void *memory;
	MPI_Count count;
	MPI_Datatype type;
	bool is_made; /* the type, for this call */
};

/* False in all of these: for the host. */
static bool
open_whole(struct part *part, const struct cs_descriptor *array, MPI_Count count, MPI_Fint type)
{
	if (!is_readable() || !cs_descriptor_is_whole(array))
		return false;
	*part = (struct part){ .memory = cs_buffer_f2c(array->base), .count = count,
			       .type = cs_type_f2c(type) };
	return true;
}

/* Does what lies on the root alone matter here? Elsewhere it may be anything. */
static bool
is_root(MPI_Fint root, MPI_Fint comm)
{
	MPI_Comm c_comm = cs_comm_f2c(comm);
	int is_inter = 0, rank = root;
	if (c_comm == NULL || c_comm == MPI_COMM_NULL ||
	    cs_fortran.comm_test_inter(c_comm, &is_inter) != MPI_SUCCESS)
		return true;
	if (is_inter)
		return root == MPI_ROOT;
	return cs_fortran.comm_rank(c_comm, &rank) != MPI_SUCCESS || rank == root;
}

static bool
open_on_root(struct part *part, const struct cs_descriptor *array, MPI_Count count, MPI_Fint type,
	     MPI_Fint root, MPI_Fint comm)
{
	if (open_whole(part, array, count, type))
		return true;
	*part = (struct part){ .memory = array->base, .count = count, .type = cs_type_f2c(type) };
	return is_readable() && !is_root(root, comm);
}

/* `count` elements of part->type in the array's order as one element of another type. The others
 * may have theirs whole, and are served: this must not be left to the host. */
static __attribute__((noinline)) bool
make_type(struct part *part, const struct cs_descriptor *array)
{
	MPI_Datatype type = part->type, next;
	MPI_Count below = 1; /* elements in one of `type` */
	bool is_done = false, is_good = part->count > 0;
	for (int i = 0; is_good && !is_done && i < array->rank; i++) {
		MPI_Count extent = cs_descriptor_extent(array, i), wanted = part->count / below;
		is_done = wanted <= extent;
		is_good = part->count % below == 0 && extent > 0 && extent <= INT_MAX &&
			  cs_fortran.type_create_hvector((int)(is_done ? wanted : extent), 1,
							 cs_descriptor_step(array, i), type,
							 &next) == MPI_SUCCESS;
		if (!is_good)
			break;
		if (type != part->type)
			cs_fortran.type_free(&type);
		type = next;
		below *= extent;
	}
	if (is_good && is_done && cs_fortran.type_commit(&type) == MPI_SUCCESS) {
		*part = (struct part){ .memory = part->memory, .count = 1, .type = type,
				       .is_made = true };
		return true;
	}
	if (type != part->type)
		cs_fortran.type_free(&type);
	return false;
}

static bool
open_section(struct part *part, const struct cs_descriptor *array, MPI_Count count, MPI_Fint type)
{
	if (!is_readable())
		return false;
	*part = (struct part){ .memory = cs_buffer_f2c(array->base), .count = count,
			       .type = cs_type_f2c(type) };
	return cs_descriptor_is_whole(array) || count == 0 || make_type(part, array);
}

static void
close_part(struct part *part)
{
	if (part->is_made)
		cs_fortran.type_free(&part->type);
}

/* The parameter of a kind, and its argument for C: `out` is the side that sends, `in` the other, or
 * the only one. */
#define ARRAYS(kind) ARRAYS_##kind
#define ARRAYS_BUFFER const struct cs_descriptor *buffer
#define ARRAYS_SEND const struct cs_descriptor *send
#define ARRAYS_RECV const struct cs_descriptor *recv
#define ARRAYS_COUNT COUNT *count
#define ARRAYS_COUNTS COUNT *counts
#define ARRAYS_TYPE MPI_Fint *type
#define ARRAYS_OP MPI_Fint *op
#define ARRAYS_ROOT MPI_Fint *root
#define ARRAYS_COMM MPI_Fint *comm
#define ARRAYS_SEND_COUNT COUNT *send_count
#define ARRAYS_SEND_COUNTS COUNT *send_counts
#define ARRAYS_SEND_DISPLS DISPL *send_displs
#define ARRAYS_SEND_TYPE MPI_Fint *send_type
#define ARRAYS_SEND_TYPES MPI_Fint *send_types
#define ARRAYS_RECV_COUNT COUNT *recv_count
#define ARRAYS_RECV_COUNTS COUNT *recv_counts
#define ARRAYS_RECV_DISPLS DISPL *recv_displs
#define ARRAYS_RECV_TYPE MPI_Fint *recv_type
#define ARRAYS_RECV_TYPES MPI_Fint *recv_types
#define PARTS(kind) PARTS_##kind
#define PARTS_BUFFER in.memory
#define PARTS_SEND out.memory
#define PARTS_RECV in.memory
#define PARTS_COUNT (COUNT)in.count
#define PARTS_COUNTS counts
#define PARTS_TYPE in.type
#define PARTS_OP cs_op_f2c(*op)
#define PARTS_ROOT *root
#define PARTS_COMM cs_comm_f2c(*comm)
#define PARTS_SEND_COUNT (COUNT)out.count
#define PARTS_SEND_COUNTS send_counts
#define PARTS_SEND_DISPLS send_displs
#define PARTS_SEND_TYPE out.type
#define PARTS_RECV_COUNT (COUNT)in.count
#define PARTS_RECV_COUNTS recv_counts
#define PARTS_RECV_DISPLS recv_displs
#define PARTS_RECV_TYPE in.type

#define COUNT MPI_Fint
#define DISPL MPI_Fint
#define TAKE(name) take_ts_##name
#define ENTRY(name) cs_entry_##name
#define CALL_OF(name) CS_CALL_mpi_##name##_f08ts_
#include "intercept/fortran_ts_calls.h"

#define COUNT MPI_Count
#define DISPL MPI_Aint
#define TAKE(name) take_ts_c_##name
#define ENTRY(name) cs_entry_##name##_c
#define CALL_OF(name) CS_CALL_mpi_##name##_c_f08ts_
#include "intercept/fortran_ts_calls.h"

void
cs_fortran_ts_entries(void **entries, bool is_ordered)
{
#define ENTRY(way, lower) \
	entries[CS_CALL_mpi_##lower##_f08ts_] = (void *)take_ts_##way##lower; \
	entries[CS_CALL_mpi_##lower##_c_f08ts_] = (void *)take_ts_c_##way##lower;
#define USUAL(Name, lower, UPPER, shape) ENTRY(, lower)
#define BEGUN(Name, lower, UPPER, shape) ENTRY(, i##lower)
#define ORDERED(Name, lower, UPPER, shape) ENTRY(ordered_, lower)
	CS_SERVED(USUAL)
	if (cs_fortran.request_c2f) {
		CS_SERVED(BEGUN)
	}
	if (is_ordered) {
		CS_REDUCTIONS(ORDERED)
	}
#undef ENTRY
#undef USUAL
#undef BEGUN
#undef ORDERED
}
