/* comm/types/layout.c — decodes how a datatype was made, and copies its data without the host. */
#include "comm/types/layout.h"

#include "base/log.h"
#include "comm/host/host.h"
#include "comm/host/pmpi.h"
#include "comm/types/types.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* --- a type as blocks of others, which are blocks of others ----------------------------------- */

/* Datatype as blocks. Block i is lengths[i] elements of `child` (or of children[i]), one after
 * another, at[i] bytes from the begin of this type's element; without `lengths` each block has
 * `length`, without `at` blocks are `stride` bytes apart. Blocks are in the order in which their
 * data is packed. */
struct layout {
	size_t size;     /* bytes of data in one element */
	MPI_Aint extent; /* from one element to the next */
	bool is_plain;   /* no blocks: elements are `size` bytes in order, without gaps, from 0
			  * on */
	bool is_host;    /* no blocks: a predefined type with gaps (MPI_SHORT_INT), which the host
			  * packs rightly */
	MPI_Datatype handle;
	int blocks, length;
	MPI_Aint stride;
	int *lengths;
	MPI_Aint *at;
	struct layout *child;  /* of all blocks; owned */
	struct layout *children; /* or one for each */
};

/* Most types nested in types: the recursion is on the program's stack */
#define DEEPEST 200

static void
fini(struct layout *layout)
{
	for (int i = 0; layout->children && i < layout->blocks; i++)
		fini(&layout->children[i]);
	if (layout->child)
		fini(layout->child);
	free(layout->children);
	free(layout->child);
	free(layout->lengths);
	free(layout->at);
}

/* State of decoding one type. */
struct making {
	int depth;
	bool is_unknown; /* it failed, but not for lack of memory */
};

static bool make(struct layout *layout, MPI_Datatype handle, struct making *making);

static bool
want_arrays(struct layout *layout, bool has_lengths)
{
	size_t blocks = layout->blocks ? (size_t)layout->blocks : 1;
	layout->at = malloc(blocks * sizeof *layout->at);
	if (has_lengths)
		layout->lengths = malloc(blocks * sizeof *layout->lengths);
	return layout->at && (!has_lengths || layout->lengths);
}

static bool
make_regular(struct layout *layout, int blocks, int length, MPI_Aint stride)
{
	layout->blocks = blocks;
	layout->length = length;
	layout->stride = stride;
	return true;
}

/* Displacements are in elements (`displacements`), or in bytes if NULL (parts->addresses). */
static bool
make_indexed(struct layout *layout, const struct cs_parts *parts, const int *lengths,
	     const int *displacements)
{
	layout->blocks = parts->integers[0];
	if (!want_arrays(layout, lengths != NULL))
		return false;
	for (int i = 0; i < layout->blocks; i++)
		layout->at[i] = displacements ? displacements[i] * layout->child->extent
					      : parts->addresses[i];
	if (lengths)
		memcpy(layout->lengths, lengths, (size_t)layout->blocks * sizeof *lengths);
	else
		layout->length = parts->integers[1];
	return true;
}

static bool
make_struct(struct layout *layout, const struct cs_parts *parts, struct making *making)
{
	layout->children = calloc(parts->type_count ? (size_t)parts->type_count : 1,
				  sizeof *layout->children);
	layout->blocks = layout->children ? parts->type_count : 0;
	if (!layout->children || !want_arrays(layout, true))
		return false;
	for (int i = 0; i < layout->blocks; i++) {
		layout->lengths[i] = parts->integers[1 + i];
		layout->at[i] = parts->addresses[i];
		if (!make(&layout->children[i], parts->types[i], making))
			return false;
	}
	return true;
}

/* Dimension of an array, and its part that belongs to the type: blocks of `length` from `first` on,
 * `apart` from one to the next, up to `end`; in elements of the next faster dimension. */
struct dimension {
	MPI_Aint size, first, length, apart, end;
};

static bool
make_dimension(struct layout *layout, struct layout *inner, const struct dimension *dimension,
	       MPI_Aint step)
{
	MPI_Aint left = dimension->end - dimension->first;
	layout->child = malloc(sizeof *layout->child);
	if (!layout->child) {
		fini(inner);
		return false;
	}
	*layout->child = *inner;
	layout->child->extent = step;
	layout->blocks = left <= 0 ? 0 : (int)((left + dimension->apart - 1) / dimension->apart);
	if (!want_arrays(layout, true))
		return false;
	for (int i = 0; i < layout->blocks; i++) {
		MPI_Aint first = dimension->first + i * dimension->apart;
		layout->lengths[i] = (int)(dimension->end - first < dimension->length
					   ? dimension->end - first
					   : dimension->length);
		layout->at[i] = first * step;
	}
	return true;
}

static size_t
count_size(const struct layout *layout)
{
	size_t size = 0;
	for (int i = 0; i < layout->blocks; i++)
		size += (size_t)(layout->lengths ? layout->lengths[i] : layout->length) *
			(layout->children ? layout->children[i].size : layout->child->size);
	return size;
}

/* Makes an array of layout->child. Dimensions are ordered from the slowest (C), or the fastest. */
static bool
make_array(struct layout *layout, const struct dimension *dimensions, int count, bool is_c)
{
	struct layout inner = *layout->child;
	MPI_Aint step = inner.extent;
	free(layout->child);
	layout->child = NULL;
	for (int i = 0; i < count; i++) {
		const struct dimension *dimension = &dimensions[is_c ? count - 1 - i : i];
		struct layout outer = { 0 };
		if (!make_dimension(&outer, &inner, dimension, step)) {
			fini(&outer);
			return false;
		}
		outer.size = count_size(&outer);
		inner = outer;
		step *= dimension->size;
	}
	inner.extent = layout->extent;
	*layout = inner;
	return true;
}

static bool
make_subarray(struct layout *layout, const struct cs_parts *parts)
{
	int count = parts->integers[0];
	const int *sizes = parts->integers + 1, *parts_of = sizes + count,
		  *starts = parts_of + count;
	struct dimension *dimensions = malloc((size_t)count * sizeof *dimensions);
	if (!dimensions)
		return false;
	for (int i = 0; i < count; i++)
		dimensions[i] = (struct dimension){ sizes[i], starts[i], parts_of[i], parts_of[i],
						    starts[i] + parts_of[i] };
	bool is_made = make_array(layout, dimensions, count, starts[count] == MPI_ORDER_C);
	free(dimensions);
	return is_made;
}

/* Part of a dimension that process `at` of `processes` has (MPI 4.0, 5.1.4). */
static struct dimension
dealt(int size, int how, int by, int processes, int at)
{
	if (how == MPI_DISTRIBUTE_NONE || processes == 1)
		return (struct dimension){ size, 0, size, size, size };
	MPI_Aint block = by != MPI_DISTRIBUTE_DFLT_DARG ? by
			 : how == MPI_DISTRIBUTE_BLOCK   ? (size + processes - 1) / processes
							: 1;
	MPI_Aint first = at * block;
	if (how == MPI_DISTRIBUTE_BLOCK)
		return (struct dimension){ size, first, block, block,
					   first + block < size ? first + block : size };
	return (struct dimension){ size, first, block, block * processes, size };
}

static bool
make_darray(struct layout *layout, const struct cs_parts *parts)
{
	int count = parts->integers[2], processes = parts->integers[0], rank = parts->integers[1];
	const int *sizes = parts->integers + 3, *how = sizes + count, *by = how + count,
		  *grid = by + count;
	struct dimension *dimensions = malloc((size_t)count * sizeof *dimensions);
	if (!dimensions)
		return false;
	for (int i = 0; i < count; i++) { /* ranks of the grid are in C's order in any case */
		processes /= grid[i];
		dimensions[i] = dealt(sizes[i], how[i], by[i], grid[i], rank / processes);
		rank %= processes;
	}
	bool is_made = make_array(layout, dimensions, count, grid[count] == MPI_ORDER_C);
	free(dimensions);
	return is_made;
}

static bool
make_of_one(struct layout *layout, const struct cs_parts *parts, struct making *making)
{
	const int *integers = parts->integers;
	layout->child = calloc(1, sizeof *layout->child);
	if (!layout->child || !make(layout->child, parts->types[0], making))
		return false;
	MPI_Aint each = layout->child->extent;
	switch (parts->combiner) {
	case MPI_COMBINER_DUP:
	case MPI_COMBINER_RESIZED: return make_regular(layout, 1, 1, 0);
	case MPI_COMBINER_CONTIGUOUS: return make_regular(layout, 1, integers[0], 0);
	case MPI_COMBINER_VECTOR: return make_regular(layout, integers[0], integers[1],
						      integers[2] * each);
	case MPI_COMBINER_HVECTOR: return make_regular(layout, integers[0], integers[1],
						       parts->addresses[0]);
	case MPI_COMBINER_INDEXED: return make_indexed(layout, parts, integers + 1,
						       integers + 1 + integers[0]);
	case MPI_COMBINER_HINDEXED: return make_indexed(layout, parts, integers + 1, NULL);
	case MPI_COMBINER_INDEXED_BLOCK: return make_indexed(layout, parts, NULL, integers + 2);
	case MPI_COMBINER_HINDEXED_BLOCK: return make_indexed(layout, parts, NULL, NULL);
	case MPI_COMBINER_SUBARRAY: return make_subarray(layout, parts);
	case MPI_COMBINER_DARRAY: return make_darray(layout, parts);
	default: making->is_unknown = true; return false;
	}
}

/* Replaces blocks without gaps by plain bytes, which are copied at once. */
static void
smooth(struct layout *layout, MPI_Aint lb)
{
	const struct layout *child = layout->child;
	if (layout->at || layout->lengths || !child || !child->is_plain || lb != 0 ||
	    layout->extent != (MPI_Aint)layout->size)
		return;
	MPI_Aint block = layout->length * child->extent;
	if (layout->blocks > 1 && layout->stride != block)
		return;
	free(layout->child);
	layout->child = NULL;
	layout->blocks = 0;
	layout->is_plain = true;
}

static bool
make_blocks(struct layout *layout, struct cs_parts *parts, struct making *making)
{
	if (!cs_parts_take(layout->handle, parts))
		return false;
	making->depth++;
	bool is_made = parts->combiner == MPI_COMBINER_STRUCT ? make_struct(layout, parts, making)
							       : make_of_one(layout, parts, making);
	making->depth--;
	cs_parts_drop(parts);
	return is_made;
}

/* Decodes a type. After a failure, too, fini(layout) must be called. */
static bool
make(struct layout *layout, MPI_Datatype handle, struct making *making)
{
	MPI_Count size;
	MPI_Aint lb;
	struct cs_parts parts;
	*layout = (struct layout){ .handle = handle };
	making->is_unknown = making->depth > DEEPEST || cs_pmpi.Type_size_x(handle, &size) ||
			     size < 0 || cs_pmpi.Type_get_extent(handle, &lb, &layout->extent) ||
			     !cs_parts_ask(handle, &parts);
	if (making->is_unknown)
		return false;
	layout->size = (size_t)size;
	if (cs_parts_is_named(parts.combiner)) {
		layout->is_plain = lb == 0 && layout->extent == size;
		layout->is_host = !layout->is_plain;
		return true;
	}
	making->is_unknown = parts.combiner != MPI_COMBINER_STRUCT && parts.type_count != 1;
	if (making->is_unknown || !make_blocks(layout, &parts, making))
		return false;
	making->is_unknown = count_size(layout) != (size_t)size;
	layout->size = (size_t)size;
	smooth(layout, lb);
	return !making->is_unknown;
}

/* --- copying ---------------------------------------------------------------------------------- */

/* Copies elements of a predefined type by the host. */
static bool
copy_by_host(const struct layout *layout, void *user, MPI_Count count, char *packed, bool is_pack)
{
	for (MPI_Count done = 0, now; done < count; done += now) {
		now = count - done < 1 << 20 ? count - done : 1 << 20;
		void *at = (char *)user + done * layout->extent;
		char *bytes = packed + (size_t)done * layout->size;
		int length = (int)((size_t)now * layout->size), position = 0;
		if (is_pack ? cs_pmpi.Pack(at, (int)now, layout->handle, bytes, length, &position,
					   cs_self)
			    : cs_pmpi.Unpack(bytes, length, &position, at, (int)now, layout->handle,
					     cs_self))
			return false;
	}
	return true;
}

/* Copies a block. Most are single numbers, for which a call of memcpy would take longer than the
 * rest. */
static inline void
move(char *user, char *packed, size_t bytes, bool is_pack)
{
	char *to = is_pack ? packed : user;
	const char *from = is_pack ? user : packed;
	switch (bytes) {
	case 4: memcpy(to, from, 4); break;
	case 8: memcpy(to, from, 8); break;
	case 16: memcpy(to, from, 16); break;
	default: memcpy(to, from, bytes);
	}
}

static bool copy(const struct layout *layout, uintptr_t user, MPI_Count count, char **packed,
		 bool is_pack);

/* Copies one element that has blocks. Addresses are numbers: MPI_BOTTOM is null. */
static bool
copy_blocks(const struct layout *layout, uintptr_t user, char **packed, bool is_pack)
{
	bool is_done = true, is_plain = layout->child && layout->child->is_plain;
	for (int i = 0; i < layout->blocks; i++) {
		uintptr_t at = user + (uintptr_t)(layout->at ? layout->at[i] : i * layout->stride);
		int length = layout->lengths ? layout->lengths[i] : layout->length;
		if (is_plain) {
			size_t bytes = (size_t)length * layout->child->size;
			move((char *)at, *packed, bytes, is_pack);
			*packed += bytes;
		} else {
			const struct layout *child = layout->children
						     ? &layout->children[i] : layout->child;
			is_done = copy(child, at, length, packed, is_pack) && is_done;
		}
	}
	return is_done;
}

static bool
copy(const struct layout *layout, uintptr_t user, MPI_Count count, char **packed, bool is_pack)
{
	size_t bytes = (size_t)count * layout->size;
	bool is_done = true;
	if (bytes == 0)
		return true;
	if (layout->is_plain) {
		move((char *)user, *packed, bytes, is_pack);
		*packed += bytes;
	} else if (layout->is_host) {
		is_done = copy_by_host(layout, (void *)user, count, *packed, is_pack);
		*packed += bytes;
	} else {
		for (MPI_Count e = 0; e < count; e++, user += (uintptr_t)layout->extent)
			is_done = copy_blocks(layout, user, packed, is_pack) && is_done;
	}
	return is_done;
}

bool
cs_layout_copy(MPI_Datatype handle, void *user, MPI_Count count, char *packed, bool is_pack)
{
	struct layout layout;
	struct making making = { 0 };
	bool is_made = make(&layout, handle, &making);
	if (!is_made && !making.is_unknown) {
		cs_warn_local("no memory to take a datatype apart; ending the job");
		cs_host_mpi.abort("out of memory");
	}
	bool is_done = is_made && copy(&layout, (uintptr_t)user, count, &packed, is_pack);
	fini(&layout);
	return is_done;
}
