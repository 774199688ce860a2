/* Datatypes: the predefined ones, signatures made of them, and many layouts for one signature. */
#include "diff.h"
#include "hosts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
rng_fill(struct rng *rng, void *bytes, size_t n)
{
	unsigned char *to = bytes;
	for (; n >= 8; n -= 8, to += 8) {
		uint64_t word = rng_next(rng);
		memcpy(to, &word, 8);
	}
	uint64_t word = rng_next(rng);
	memcpy(to, &word, n);
}

void
rng_permute(struct rng *rng, int *order, int n)
{
	for (int i = 0; i < n; i++) {
		int j = rng_below(rng, i + 1);
		order[i] = order[j];
		order[j] = i;
	}
}

#define BASIC_MAX 80
struct basic basics[BASIC_MAX];
int basic_count;

static void
add(MPI_Datatype type, const char *name, enum kind kind, size_t align)
{
	/* A host without this (Fortran) type names it MPI_DATATYPE_NULL, or gives it no size. */
	int size = 0;
	MPI_Aint lb, extent;
	if (type == MPI_DATATYPE_NULL || PMPI_Type_size(type, &size) != MPI_SUCCESS || size <= 0)
		return;
	PMPI_Type_get_extent(type, &lb, &extent);
	basics[basic_count++] = (struct basic){.type = type, .name = name, .kind = kind,
					       .size = (size_t)size,
		.extent = (size_t)extent, .align = align ? align : (size_t)size};
}

static void
add_pair(MPI_Datatype type, const char *name, enum kind value_kind, size_t value_size,
	 enum kind index_kind, size_t index_size, size_t align)
{
	int before = basic_count;
	add(type, name, K_PAIR, align);
	if (basic_count == before)
		return;
	struct basic *basic = &basics[before];
	basic->value_kind = value_kind;
	basic->value_size = value_size;
	basic->index_kind = index_kind;
	basic->index_size = index_size;
	basic->index_offset = (value_size + index_size - 1) / index_size * index_size;
}

#define ADD(type, kind) add(type, #type, kind, 0)

void
basics_init(void)
{
	ADD(MPI_CHAR, K_CHAR);
	ADD(MPI_SIGNED_CHAR, K_INT);
	ADD(MPI_UNSIGNED_CHAR, K_UINT);
	ADD(MPI_SHORT, K_INT);
	ADD(MPI_UNSIGNED_SHORT, K_UINT);
	ADD(MPI_INT, K_INT);
	ADD(MPI_UNSIGNED, K_UINT);
	ADD(MPI_LONG, K_INT);
	ADD(MPI_UNSIGNED_LONG, K_UINT);
	ADD(MPI_LONG_LONG, K_INT);
	ADD(MPI_UNSIGNED_LONG_LONG, K_UINT);
	ADD(MPI_WCHAR, K_CHAR);
	ADD(MPI_FLOAT, K_FLOAT);
	ADD(MPI_DOUBLE, K_FLOAT);
	ADD(MPI_LONG_DOUBLE, K_FLOAT);
	add(MPI_C_FLOAT_COMPLEX, "MPI_C_FLOAT_COMPLEX", K_COMPLEX, 4);
	add(MPI_C_DOUBLE_COMPLEX, "MPI_C_DOUBLE_COMPLEX", K_COMPLEX, 8);
	add(MPI_C_LONG_DOUBLE_COMPLEX, "MPI_C_LONG_DOUBLE_COMPLEX", K_COMPLEX, 16);
	ADD(MPI_C_BOOL, K_BOOL);
	ADD(MPI_INT8_T, K_INT);
	ADD(MPI_INT16_T, K_INT);
	ADD(MPI_INT32_T, K_INT);
	ADD(MPI_INT64_T, K_INT);
	ADD(MPI_UINT8_T, K_UINT);
	ADD(MPI_UINT16_T, K_UINT);
	ADD(MPI_UINT32_T, K_UINT);
	ADD(MPI_UINT64_T, K_UINT);
	ADD(MPI_BYTE, K_BYTE);
	ADD(MPI_AINT, K_MULTI);
	ADD(MPI_COUNT, K_MULTI);
	ADD(MPI_OFFSET, K_MULTI);
	ADD(MPI_CHARACTER, K_CHAR);
	ADD(MPI_INTEGER, K_FORTRAN_INT);
	ADD(MPI_REAL, K_FLOAT);
	ADD(MPI_DOUBLE_PRECISION, K_FLOAT);
	add(MPI_COMPLEX, "MPI_COMPLEX", K_COMPLEX, 4);
	add(MPI_DOUBLE_COMPLEX, "MPI_DOUBLE_COMPLEX", K_COMPLEX, 8);
	ADD(MPI_LOGICAL, K_LOGICAL);
	ADD(MPI_INTEGER1, K_FORTRAN_INT);
	ADD(MPI_INTEGER2, K_FORTRAN_INT);
	ADD(MPI_INTEGER4, K_FORTRAN_INT);
	ADD(MPI_INTEGER8, K_FORTRAN_INT);
	ADD(MPI_REAL4, K_FLOAT);
	ADD(MPI_REAL8, K_FLOAT);
	add(MPI_COMPLEX8, "MPI_COMPLEX8", K_COMPLEX, 4);
	add(MPI_COMPLEX16, "MPI_COMPLEX16", K_COMPLEX, 8);
	add_pair(MPI_FLOAT_INT, "MPI_FLOAT_INT", K_FLOAT, 4, K_INT, 4, 4);
	add_pair(MPI_DOUBLE_INT, "MPI_DOUBLE_INT", K_FLOAT, 8, K_INT, 4, 8);
	add_pair(MPI_LONG_INT, "MPI_LONG_INT", K_INT, 8, K_INT, 4, 8);
	add_pair(MPI_SHORT_INT, "MPI_SHORT_INT", K_INT, 2, K_INT, 4, 4);
	add_pair(MPI_2INT, "MPI_2INT", K_INT, 4, K_INT, 4, 4);
	add_pair(MPI_LONG_DOUBLE_INT, "MPI_LONG_DOUBLE_INT", K_FLOAT, 16, K_INT, 4, 16);
	add_pair(MPI_2REAL, "MPI_2REAL", K_FLOAT, 4, K_FLOAT, 4, 4);
	add_pair(MPI_2DOUBLE_PRECISION, "MPI_2DOUBLE_PRECISION", K_FLOAT, 8, K_FLOAT, 8, 8);
	add_pair(MPI_2INTEGER, "MPI_2INTEGER", K_INT, 4, K_INT, 4, 4);
	bool is_even = host_misses_odd_strides();
	for (int i = 0; i < basic_count && is_even; i++)
		if (basics[i].kind == K_COMPLEX)
			basics[i].align = basics[i].size;
	/* There that host leaves out the bytes of a long double that say nothing, and the library
	 * does not. */
	for (int i = 0; i < basic_count && is_even; i++)
		if (basics[i].type == MPI_C_LONG_DOUBLE_COMPLEX)
			basics[i] = basics[--basic_count];
}

void
unit_make(struct unit *unit, struct rng *rng)
{
	*unit = (struct unit){0};
	unit->is_mixed = rng_chance(rng, 20);
	unit->elements = rng_chance(rng, 60) ? 1 : rng_between(rng, 1, UNIT_MAX);
	if (unit->is_mixed && unit->elements < 2)
		unit->elements = 2;
	const struct basic *common = &basics[rng_below(rng, basic_count)];
	size_t used = 0;
	for (int i = 0; i < unit->elements; i++) {
		const struct basic *basic = unit->is_mixed ? &basics[rng_below(rng, basic_count)]
							   : common;
		unit->basic[i] = basic;
		unit->bytes += basic->size;
		if (basic->align > unit->align)
			unit->align = basic->align;
		if ((i == 0 || unit->is_mixed) && used < sizeof unit->text)
			used += (size_t)snprintf(unit->text + used, sizeof unit->text - used,
						 "%s%s", i ? "," : "", basic->name);
	}
	if (!unit->is_mixed && unit->elements > 1 && used < sizeof unit->text)
		snprintf(unit->text + used, sizeof unit->text - used, "*%d", unit->elements);
}

void
layout_describe(struct layout *layout)
{
	MPI_Aint lb;
	PMPI_Type_get_extent(layout->type, &lb, &layout->extent);
	PMPI_Type_get_true_extent(layout->type, &layout->true_lb, &layout->true_extent);
}

static int
divisor(struct rng *rng, int n)
{
	for (int tries = 0; tries < 6; tries++) {
		int d = rng_between(rng, 1, n < 12 ? n : 12);
		if (n % d == 0)
			return d;
	}
	return rng_chance(rng, 50) ? 1 : n;
}

/* The unit as one struct whose members lie in another order than they are named, with gaps. */
static MPI_Datatype
mixed_element(const struct unit *unit, struct rng *rng)
{
	int order[UNIT_MAX], lengths[UNIT_MAX];
	MPI_Aint displs[UNIT_MAX], end = 0;
	MPI_Datatype types[UNIT_MAX], made, resized;
	rng_permute(rng, order, unit->elements);
	for (int i = 0; i < unit->elements; i++) {
		const struct basic *basic = unit->basic[order[i]];
		MPI_Aint align = (MPI_Aint)basic->align;
		end = (end + align - 1) / align * align + align * rng_below(rng, 2);
		displs[order[i]] = end;
		end += (MPI_Aint)basic->extent;
	}
	for (int i = 0; i < unit->elements; i++) {
		types[i] = unit->basic[i]->type;
		lengths[i] = 1;
	}
	MPI_Aint align = (MPI_Aint)unit->align;
	PMPI_Type_create_struct(unit->elements, lengths, displs, types, &made);
	PMPI_Type_create_resized(made, 0, (end + align - 1) / align * align, &resized);
	PMPI_Type_free(&made);
	return resized;
}

#define PIECES 12

/* n elements in at most PIECES pieces, in another order in memory, with gaps between. Returns how
 * many. */
static int
pieces(struct rng *rng, int n, int *lengths, int *displs, bool is_equal, int *equal_length)
{
	int count = 0, order[PIECES];
	if (is_equal) {
		int length = divisor(rng, n);
		while (n / length > PIECES)
			length = n;
		*equal_length = length;
		for (int left = n; left > 0; left -= length)
			lengths[count++] = length;
	} else {
		for (int left = n; left > 0; count++) {
			lengths[count] = count == PIECES - 1
					 ? left : rng_between(rng, 1, (left + 1) / 2);
			left -= lengths[count];
		}
	}
	rng_permute(rng, order, count);
	int at = rng_chance(rng, 30) ? rng_below(rng, 4) : 0;
	for (int i = 0; i < count; i++) {
		displs[order[i]] = at;
		at += lengths[order[i]] + (rng_chance(rng, 60) ? rng_between(rng, 1, 3) : 0);
	}
	return count;
}

static MPI_Datatype
resize(MPI_Datatype *type, MPI_Aint lb, MPI_Aint extent)
{
	MPI_Datatype made;
	PMPI_Type_create_resized(*type, lb, extent, &made);
	if (*type != MPI_DATATYPE_NULL)
		PMPI_Type_free(type);
	return made;
}

static MPI_Datatype
arrange(MPI_Datatype element, int n, long capacity, MPI_Aint align, struct rng *rng, char *text,
	size_t room)
{
	MPI_Datatype made = MPI_DATATYPE_NULL, inner;
	MPI_Aint lb, extent, bytes[PIECES];
	int lengths[PIECES], displs[PIECES], count, length = n;
	PMPI_Type_get_extent(element, &lb, &extent);
	int kind = rng_below(rng, 13);
	switch (kind) {
	case 0:
	case 1:
		PMPI_Type_contiguous(n, element, &made);
		snprintf(text, room, "contiguous(%d)", n);
		break;
	case 2: {
		int gap = rng_between(rng, 0, 3);
		length = divisor(rng, n);
		PMPI_Type_vector(n / length, length, length + gap, element, &made);
		snprintf(text, room, "vector(%d,%d,%d)", n / length, length, length + gap);
		break;
	}
	case 3: {
		length = divisor(rng, n);
		MPI_Aint stride = length * extent + align * rng_between(rng, 0, 5);
		PMPI_Type_create_hvector(n / length, length, stride, element, &made);
		snprintf(text, room, "hvector(%d,%d,%ld)", n / length, length, (long)stride);
		break;
	}
	case 4:
		count = pieces(rng, n, lengths, displs, false, &length);
		PMPI_Type_indexed(count, lengths, displs, element, &made);
		snprintf(text, room, "indexed(%d pieces of %d)", count, n);
		break;
	case 5:
		count = pieces(rng, n, lengths, displs, true, &length);
		PMPI_Type_create_indexed_block(count, length, displs, element, &made);
		snprintf(text, room, "indexed_block(%d,%d)", count, length);
		break;
	case 6: {
		count = pieces(rng, n, lengths, displs, false, &length);
		MPI_Aint shift = align * rng_between(rng, -40, 8);
		for (int i = 0; i < count; i++)
			bytes[i] = displs[i] * extent + shift;
		PMPI_Type_create_hindexed(count, lengths, bytes, element, &made);
		snprintf(text, room, "hindexed(%d pieces of %d, from %ld)", count, n, (long)shift);
		break;
	}
	case 7: {
		MPI_Aint larger = n * extent + align * rng_between(rng, 1, 6);
		PMPI_Type_contiguous(n, element, &made);
		made = resize(&made, 0, larger);
		snprintf(text, room, "resized(contiguous(%d),0,%ld)", n, (long)larger);
		break;
	}
	case 8: { /* the column of a matrix: instances interleave */
		int stride = (int)capacity + rng_below(rng, 3);
		stride = stride < 1 ? 1 : stride;
		PMPI_Type_vector(n, 1, stride, element, &made);
		made = resize(&made, 0, extent);
		snprintf(text, room, "resized(vector(%d,1,%d),0,%ld)", n, stride, (long)extent);
		break;
	}
	case 9: {
		MPI_Aint below = align * rng_between(rng, 1, 5), above = align * rng_below(rng, 3);
		PMPI_Type_contiguous(n, element, &made);
		made = resize(&made, -below, n * extent + below + above);
		snprintf(text, room, "resized(contiguous(%d),%ld,%ld)", n, -(long)below,
			 (long)(n * extent + below + above));
		break;
	}
	case 10: {
		int rows = divisor(rng, n), columns = n / rows;
		int sizes[2] = {rows + rng_below(rng, 3), columns + rng_below(rng, 3)},
		    sub[2] = {rows, columns};
		int starts[2] = {rng_below(rng, sizes[0] - rows + 1),
				 rng_below(rng, sizes[1] - columns + 1)};
		int order = rng_chance(rng, 50) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
		PMPI_Type_create_subarray(2, sizes, sub, starts, order, element, &made);
		snprintf(text, room, "subarray(%dx%d at %d,%d of %dx%d, %s)", rows, columns,
			 starts[0], starts[1], sizes[0], sizes[1],
			 order == MPI_ORDER_C ? "C" : "Fortran");
		break;
	}
	case 11:
		PMPI_Type_contiguous(n, element, &inner);
		PMPI_Type_dup(inner, &made);
		PMPI_Type_free(&inner);
		snprintf(text, room, "dup(contiguous(%d))", n);
		break;
	default: { /* a struct of two parts, the second one before the first, and a hole */
		int first = n / 2;
		int parts[2] = {first, n - first};
		MPI_Aint at[2] = {(n - first) * extent + 2 * align, 0};
		MPI_Datatype types[2] = {element, element};
		PMPI_Type_create_struct(2, parts, at, types, &made);
		made = resize(&made, 0, n * extent + 2 * align + align * rng_below(rng, 2));
		snprintf(text, room, "struct(%d after %d)", parts[0], parts[1]);
		break;
	}
	}
	return made;
}

void
layout_make(struct layout *layout, const struct unit *unit, int units, long capacity,
	    struct rng *rng)
{
	*layout = (struct layout){.units = units};
	int n = unit->is_mixed ? units : units * unit->elements;
	char text[120] = "";
	if (!unit->is_mixed && n == 1 && rng_chance(rng, 50)) {
		layout->type = unit->basic[0]->type;
	} else {
		MPI_Datatype element = unit->is_mixed ? mixed_element(unit, rng)
						      : unit->basic[0]->type;
		layout->type = arrange(element, n, capacity, (MPI_Aint)unit->align, rng, text,
				       sizeof text);
		if (unit->is_mixed)
			PMPI_Type_free(&element);
		layout->is_owned = true;
		PMPI_Type_commit(&layout->type);
	}
	layout_describe(layout);
	snprintf(layout->text, sizeof layout->text, "%s of %.60s", text[0] ? text : "one",
		 unit->text);
}

void
layout_make_plain(struct layout *layout, const struct unit *unit, int units)
{
	*layout = (struct layout){.units = units, .is_owned = true};
	PMPI_Type_contiguous(units * unit->elements, unit->basic[0]->type, &layout->type);
	PMPI_Type_commit(&layout->type);
	layout_describe(layout);
	snprintf(layout->text, sizeof layout->text, "plain contiguous(%d) of %.60s",
		 units * unit->elements, unit->text);
}

/* A type of no bytes, for blocks of nothing. */
void
layout_make_empty(struct layout *layout, const struct unit *unit, struct rng *rng)
{
	*layout = (struct layout){.is_owned = true};
	if (rng_chance(rng, 50) || host_dies_of_extents()) {
		PMPI_Type_contiguous(0, unit->basic[0]->type, &layout->type);
		snprintf(layout->text, sizeof layout->text, "contiguous(0) of %.60s",
			 unit->basic[0]->name);
	} else {
		MPI_Datatype type = unit->basic[0]->type, inner;
		int length = 0;
		MPI_Aint displ = 0;
		PMPI_Type_create_struct(1, &length, &displ, &type, &inner);
		PMPI_Type_create_resized(inner, 0, 16, &layout->type);
		PMPI_Type_free(&inner);
		snprintf(layout->text, sizeof layout->text, "resized(struct of nothing,0,16)");
	}
	PMPI_Type_commit(&layout->type);
	layout_describe(layout);
}

void
layout_free(struct layout *layout)
{
	if (layout->is_owned)
		PMPI_Type_free(&layout->type);
	layout->is_owned = false;
}
