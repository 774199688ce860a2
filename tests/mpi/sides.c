/* A side of a call: how its blocks lie in memory, and the buffers behind them. */
#include "hosts.h"
#include "sides.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GUARD_LEAST 64

void *
allocate(size_t bytes)
{
	void *memory = malloc(bytes ? bytes : 1);
	if (!memory) {
		fprintf(stderr, "differential: out of memory (%zu bytes)\n", bytes);
		PMPI_Abort(MPI_COMM_WORLD, 1);
	}
	return memory;
}

static void
side_arrays(struct side *side, int blocks)
{
	side->is_used = true;
	side->blocks = blocks;
	side->counts = allocate((size_t)blocks * sizeof *side->counts);
	side->displs = allocate((size_t)blocks * sizeof *side->displs);
	side->counts_c = allocate((size_t)blocks * sizeof *side->counts_c);
	side->displs_c = allocate((size_t)blocks * sizeof *side->displs_c);
}

static struct layout *
layout_of(const struct side *side, int block)
{
	return &side->layouts[side->layout_count == 1 ? 0 : block];
}

/* Lowest and highest byte of block b, relative to the buffer's address; false if the block has
 * none. */
static bool
block_range(const struct side *side, int b, long *low, long *high)
{
	const struct layout *layout = layout_of(side, b);
	int size;
	PMPI_Type_size(layout->type, &size);
	if (side->counts[b] == 0 || size == 0)
		return false;
	long at = side->layout_count == 1 ? side->displs[b] * layout->extent : side->displs[b];
	*low = at + layout->true_lb;
	*high = at + (side->counts[b] - 1) * layout->extent + layout->true_lb + layout->true_extent;
	return true;
}

/* The same type with the address of `set`'s buffer built in, to go with MPI_BOTTOM. */
static MPI_Datatype
absolute(MPI_Datatype type, MPI_Aint address)
{
	MPI_Datatype made;
	int one = 1;
	PMPI_Type_create_struct(1, &one, &address, &type, &made);
	PMPI_Type_commit(&made);
	return made;
}

static void
side_allocate(struct side *side, size_t align, bool may_be_bottom, struct rng *rng)
{
	long low = 0, high = 0, block_low, block_high;
	bool is_any = false;
	for (int b = 0; b < side->blocks; b++) {
		if (!block_range(side, b, &block_low, &block_high))
			continue;
		low = !is_any || block_low < low ? block_low : low;
		high = !is_any || block_high > high ? block_high : high;
		is_any = true;
	}
	/* malloc aligns to 16; any multiple of the type's own alignment is as good. */
	size_t before = GUARD_LEAST + (size_t)rng_below(rng, 9) * align;
	before = (before + align - 1) / align * align;
	low = low < 0 ? low : 0;
	high = high > 0 ? high : 0;
	side->zero = before + ((size_t)-low + align - 1) / align * align;
	side->bytes = side->zero + (size_t)high + GUARD_LEAST;
	for (int w = 0; w < SETS; w++) {
		side->alloc[w] = allocate(side->bytes);
		side->buffer[w] = side->alloc[w] + side->zero;
		side->type[w] = side->layouts[0].type;
	}
	if (!is_any && rng_chance(rng, 30)) {
		for (int w = 0; w < SETS; w++)
			side->buffer[w] = NULL;
	} else if (is_any && may_be_bottom && rng_chance(rng, 8)) {
		side->is_bottom = true;
		for (int w = 0; w < SETS; w++) {
			MPI_Aint address;
			PMPI_Get_address(side->buffer[w], &address);
			side->type[w] = side->bottom_types[w] =
				absolute(side->layouts[0].type, address);
			side->buffer[w] = MPI_BOTTOM;
		}
	}
	for (int b = 0; b < side->blocks; b++) {
		side->counts_c[b] = side->counts[b];
		side->displs_c[b] = side->displs[b];
	}
}

static void
make_layout(struct layout *layout, const struct call *call, int units, long capacity, bool is_plain,
	    struct rng *rng)
{
	if (is_plain || call->is_all_plain)
		layout_make_plain(layout, &call->unit, units);
	else
		layout_make(layout, &call->unit, units, capacity, rng);
}

int
divisor_of(int units, struct rng *rng)
{
	static const int tries[] = {1, 1, 2, 3, 4, 5, 7, 8, 16, 64};
	for (int i = 0; i < 4; i++) {
		int guess = tries[rng_below(rng, 10)];
		if (units % guess == 0)
			return guess;
	}
	return units ? units : 1;
}

/* Equal blocks one after the other. `is_nothing_typed`: blocks of nothing are some elements of a
 * type without bytes rather than no elements. All ranks of a call do the same there: both hosts'
 * gather and scatter leave out the message of a rank that says 0 and wait for it at one that says 4
 * of a type of no bytes. */
void
side_fixed(struct side *side, const struct call *call, int blocks, int units, bool is_nothing_typed,
	   struct rng *rng)
{
	const struct unit *unit = &call->unit;
	side_arrays(side, blocks);
	side->layouts = allocate(sizeof *side->layouts);
	side->layout_count = 1;
	if (units == 0 && !call->per && (is_nothing_typed || rng_chance(rng, 30))) {
		layout_make_empty(side->layouts, unit, rng);
		side->count = is_nothing_typed ? rng_between(rng, 1, 4) : 0;
	} else {
		int per = call->per ? call->per : divisor_of(units, rng);
		side->count = units / per;
		make_layout(side->layouts, call, per, (long)blocks * side->count,
			    call->is_sent_plain && blocks == 1, rng);
	}
	for (int b = 0; b < blocks; b++) {
		side->counts[b] = side->count;
		side->displs[b] = b * side->count;
	}
	side_allocate(side, unit->align, call->may_be_bottom, rng);
}

/* Uneven blocks anywhere, in any order, with holes, also below the buffer's address. */
void
side_uneven(struct side *side, const struct call *call, int blocks, const int *units, int step,
	    struct rng *rng)
{
	const struct unit *unit = &call->unit;
	side_arrays(side, blocks);
	side->layouts = allocate(sizeof *side->layouts);
	side->layout_count = 1;
	int per = rng_between(rng, 1, step), *order = allocate((size_t)blocks * sizeof *order);
	while (step % per)
		per--;
	per = call->per ? call->per : per;
	bool is_at_zero = host_ignores_displacement(blocks), has_holes = rng_chance(rng, 50) &&
									 !is_at_zero;
	if (rng_chance(rng, 50))
		rng_permute(rng, order, blocks);
	else
		for (int b = 0; b < blocks; b++)
			order[b] = b;
	int at = has_holes ? rng_below(rng, 5) : 0;
	for (int i = 0; i < blocks; i++) {
		int b = order[i];
		side->counts[b] = units[b] / per;
		side->displs[b] = at;
		at += side->counts[b] + (has_holes ? rng_below(rng, 4) : 0);
	}
	struct rng same = rng_from(call->seed, 3, 3);
	make_layout(side->layouts, call, per, at, false,
		    host_needs_equal_layouts(call) ? &same : rng);
	if (rng_chance(rng, 20) && !is_at_zero) {
		int shift = rng_between(rng, 0, at);
		for (int b = 0; b < blocks; b++)
			side->displs[b] -= shift;
	}
	free(order);
	side_allocate(side, unit->align, call->may_be_bottom, rng);
}

/* Every block with a type and a byte displacement of its own (alltoallw). */
void
side_typed(struct side *side, const struct call *call, int blocks, const int *units, int step,
	   struct rng *rng)
{
	const struct unit *unit = &call->unit;
	side_arrays(side, blocks);
	side->layouts = allocate((size_t)blocks * sizeof *side->layouts);
	side->layout_count = blocks;
	int *order = allocate((size_t)blocks * sizeof *order);
	rng_permute(rng, order, blocks);
	long at = rng_below(rng, 3) * (long)unit->align, low, high, align = (long)unit->align;
	for (int i = 0; i < blocks; i++) {
		int b = order[i], per = rng_between(rng, 1, step);
		while (step % per)
			per--;
		if (units[b] == 0 && rng_chance(rng, 30)) {
			layout_make_empty(&side->layouts[b], unit, rng);
			side->counts[b] = rng_below(rng, 3);
		} else {
			side->counts[b] = units[b] / per;
			make_layout(&side->layouts[b], call, per, side->counts[b], false, rng);
		}
		side->displs[b] = 0;
		if (!host_ignores_displacement(blocks) && block_range(side, b, &low, &high)) {
			side->displs[b] = (int)(at + (-low + align - 1) / align * align);
			at = side->displs[b] + (high + align - 1) / align * align + align *
			     rng_below(rng, 3);
		}
	}
	free(order);
	side_allocate(side, unit->align, false, rng);
	for (int w = 0; w < SETS; w++) {
		side->types[w] = allocate((size_t)blocks * sizeof(MPI_Datatype));
		for (int b = 0; b < blocks; b++)
			side->types[w][b] = side->layouts[b].type;
	}
	if (side->buffer[HOST] && call->may_be_bottom && rng_chance(rng, 8)) {
		side->is_bottom = true;
		for (int w = 0; w < SETS; w++) {
			side->bottom_lists[w] = allocate((size_t)blocks * sizeof(MPI_Datatype));
			for (int b = 0; b < blocks; b++) {
				MPI_Aint address;
				PMPI_Get_address(side->buffer[w], &address);
				side->bottom_lists[w][b] =
					absolute(side->layouts[b].type, address + side->displs[b]);
				side->types[w][b] = side->bottom_lists[w][b];
			}
			side->buffer[w] = MPI_BOTTOM;
		}
		for (int b = 0; b < blocks; b++)
			side->displs_c[b] = side->displs[b] = 0;
	}
}

/* `count` elements of the reduction's type. */
void
side_reduced(struct side *side, struct call *call, long count, struct rng *rng)
{
	side_arrays(side, 1);
	side->layouts = allocate(sizeof *side->layouts);
	side->layout_count = 1;
	side->layouts[0] = call->reduction.layout;
	side->layouts[0].is_owned = false;
	side->count = side->counts[0] = (int)count;
	side->displs[0] = 0;
	side->reduce_count = count;
	side_allocate(side, call->reduction.basic ? call->reduction.basic->align : 8, false, rng);
}

void
side_in_place(struct side *side)
{
	side->is_in_place = true;
	for (int w = 0; w < SETS; w++) {
		side->buffer[w] = MPI_IN_PLACE;
		/* not looked at, and that is part of the test; a valid handle all the same */
		side->type[w] = MPI_INT;
	}
}

/* What a rank passes where the argument is not significant for it. Between groups both hosts look
 * at some of it. */
void
side_ignored(struct side *side, const struct call *call, struct rng *rng)
{
	static char nothing[8]; /* not NULL: MPICH's reduce between groups refuses that at the
				 * root */
	bool is_junk = rng_chance(rng, 50) && !call->comm->remote;
	for (int w = 0; w < SETS; w++) {
		side->buffer[w] = nothing;
		side->type[w] = is_junk ? MPI_DATATYPE_NULL : MPI_BYTE;
	}
	side->count = is_junk ? -3 : 0;
}

void
side_fill(struct side *side, struct rng *rng)
{
	if (side->is_used)
		rng_fill(rng, side->alloc[FIRST], side->bytes);
}

void
side_spread(struct side *side)
{
	if (!side->is_used)
		return;
	memcpy(side->alloc[HOST], side->alloc[FIRST], side->bytes);
	memcpy(side->alloc[OURS], side->alloc[FIRST], side->bytes);
}

void
side_free(struct side *side)
{
	for (int i = 0; i < side->layout_count; i++)
		layout_free(&side->layouts[i]);
	for (int w = 0; w < SETS; w++) {
		if (side->is_bottom && side->bottom_lists[w])
			for (int b = 0; b < side->blocks; b++)
				PMPI_Type_free(&side->bottom_lists[w][b]);
		else if (side->is_bottom)
			PMPI_Type_free(&side->bottom_types[w]);
		free(side->bottom_lists[w]);
		free(side->types[w]);
		free(side->alloc[w]);
	}
	free(side->layouts);
	free(side->counts);
	free(side->displs);
	free(side->counts_c);
	free(side->displs_c);
}
