/* Makes one random call: who sends what to whom follows from the call's seed, the layout of it in memory from the
 * seed and the rank, so that types of one signature differ from rank to rank. */
#include "diff.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GUARD_LEAST 64

static void *
allocate(size_t bytes)
{
	void *memory = malloc(bytes ? bytes : 1);
	if (!memory) {
		fprintf(stderr, "differential: out of memory (%zu bytes)\n", bytes);
		PMPI_Abort(MPI_COMM_WORLD, 1);
	}
	return memory;
}

/* ---- how many units ---- */

enum spread { EQUAL, RANDOM, SPARSE, ONE_BIG, NOTHING };

struct amounts {
	uint64_t seed;
	enum spread spread;
	int units; /* the most in a block */
	int step;  /* every block is a multiple of it */
	bool is_symmetric;
};

static int
amount(const struct amounts *a, int from, int to)
{
	if (a->is_symmetric && from > to) {
		int swap = from;
		from = to;
		to = swap;
	}
	struct rng rng = rng_from(a->seed, (uint64_t)from, (uint64_t)to);
	int most = a->units / a->step, n = most;
	switch (a->spread) {
	case EQUAL:
		break;
	case RANDOM:
		n = rng_between(&rng, 0, most);
		break;
	case SPARSE:
		n = rng_chance(&rng, 30) ? rng_between(&rng, 0, most) : 0;
		break;
	case ONE_BIG:
		n = rng_chance(&rng, 20) ? most : rng_between(&rng, 0, most < 3 ? most : 3);
		break;
	case NOTHING:
		n = 0;
	}
	return n * a->step;
}

/* Bytes of one block when `blocks` of them lie in a rank's buffer. */
static long
draw_bytes(struct rng *rng, long most)
{
	int kind = rng_below(rng, 100);
	long bytes;
	if (kind < 8)
		return 0;
	if (kind < 25)
		return rng_between(rng, 1, 16);
	if (kind < 50)
		return rng_between(rng, 1, 700);
	if (kind < 85) {
		int high = 4;
		while (high < 30 && 1L << (high + 1) <= most)
			high++;
		bytes = (1L << rng_between(rng, 3, high)) + rng_between(rng, -1, 1) * rng_between(rng, 0, 9);
	} else {
		bytes = rng_between(rng, 1, most);
	}
	return bytes < 1 ? 1 : bytes > most ? most : bytes;
}

/* ---- a side: blocks, their layout, the buffer ---- */

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

/* Lowest and highest byte of block b, relative to the buffer's address; false if the block has none. */
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
			side->type[w] = side->bottom_types[w] = absolute(side->layouts[0].type, address);
			side->buffer[w] = MPI_BOTTOM;
		}
	}
	for (int b = 0; b < side->blocks; b++) {
		side->counts_c[b] = side->counts[b];
		side->displs_c[b] = side->displs[b];
	}
}

/* Open MPI 4.1.4's binomial gather into MPI_BOTTOM puts blocks where they do not belong. */
static bool
host_misplaces_bottom(const struct call *call, int blocks)
{
#ifdef OPEN_MPI
	return call->coll == GATHER && blocks > 1;
#else
	return false;
#endif
}

static int
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

/* Equal blocks one after the other. `is_nothing_typed`: blocks of nothing are some elements of a type without bytes
 * rather than no elements. All ranks of a call do the same there: both hosts' gather and scatter leave out the
 * message of a rank that says 0 and wait for it at one that says 4 of a type of no bytes. */
static void
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
		layout_make(side->layouts, unit, per, (long)blocks * side->count, rng);
	}
	for (int b = 0; b < blocks; b++) {
		side->counts[b] = side->count;
		side->displs[b] = b * side->count;
	}
	side_allocate(side, unit->align, !host_misplaces_bottom(call, blocks), rng);
}

/* Must every rank's type hold the same number of units? By the standard never. But both hosts cut large messages into
 * pieces of a whole number of the caller's elements (MPICH's ring allgatherv; Open MPI 4.1.4's bcast, gather and
 * scatter), and Open MPI's allgatherv takes its algorithm by the size of the caller's type: they hang or truncate. */
#define HOST_SEGMENT 1000

static bool
host_needs_equal_types(enum coll coll, long bytes)
{
#ifdef MPICH_VERSION
	return coll == ALLGATHERV && bytes > HOST_SEGMENT;
#else
	return coll == ALLGATHERV ||
		(bytes > HOST_SEGMENT && (coll == BCAST || coll == GATHER || coll == SCATTER));
#endif
}

/* MPICH's ring allgatherv even counts its pieces by the extent of the type. */
static bool
host_needs_equal_layouts(const struct call *call)
{
#ifdef MPICH_VERSION
	return call->coll == ALLGATHERV && call->per;
#else
	return false;
#endif
}

/* MPICH 4.0.2 leaves out the displacement of the only block in a communicator of one rank (allgatherv, alltoallv and
 * alltoallw with MPI_COMM_SELF copy to and from the address itself). */
static bool
host_ignores_displacement(int blocks)
{
#ifdef MPICH_VERSION
	return blocks == 1;
#else
	return false;
#endif
}

/* Uneven blocks anywhere, in any order, with holes, also below the buffer's address. */
static void
side_uneven(struct side *side, const struct call *call, int blocks, const int *units, int step, struct rng *rng)
{
	const struct unit *unit = &call->unit;
	side_arrays(side, blocks);
	side->layouts = allocate(sizeof *side->layouts);
	side->layout_count = 1;
	int per = rng_between(rng, 1, step), *order = allocate((size_t)blocks * sizeof *order);
	while (step % per)
		per--;
	per = call->per ? call->per : per;
	bool is_at_zero = host_ignores_displacement(blocks), has_holes = rng_chance(rng, 50) && !is_at_zero;
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
	layout_make(side->layouts, unit, per, at, host_needs_equal_layouts(call) ? &same : rng);
	if (rng_chance(rng, 20) && !is_at_zero) {
		int shift = rng_between(rng, 0, at);
		for (int b = 0; b < blocks; b++)
			side->displs[b] -= shift;
	}
	free(order);
	side_allocate(side, unit->align, true, rng);
}

/* Every block with a type and a byte displacement of its own (alltoallw). */
static void
side_typed(struct side *side, const struct unit *unit, int blocks, const int *units, int step, struct rng *rng)
{
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
			layout_make(&side->layouts[b], unit, per, side->counts[b], rng);
		}
		side->displs[b] = 0;
		if (!host_ignores_displacement(blocks) && block_range(side, b, &low, &high)) {
			side->displs[b] = (int)(at + (-low + align - 1) / align * align);
			at = side->displs[b] + (high + align - 1) / align * align + align * rng_below(rng, 3);
		}
	}
	free(order);
	side_allocate(side, unit->align, false, rng);
	for (int w = 0; w < SETS; w++) {
		side->types[w] = allocate((size_t)blocks * sizeof(MPI_Datatype));
		for (int b = 0; b < blocks; b++)
			side->types[w][b] = side->layouts[b].type;
	}
	if (side->buffer[HOST] && rng_chance(rng, 8)) {
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
static void
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

static void
side_in_place(struct side *side)
{
	side->is_in_place = true;
	for (int w = 0; w < SETS; w++) {
		side->buffer[w] = MPI_IN_PLACE;
		/* not looked at, and that is part of the test; a valid handle all the same */
		side->type[w] = MPI_INT;
	}
}

/* What a rank passes where the argument is not significant for it. Between groups both hosts look at some of it. */
static void
side_ignored(struct side *side, const struct call *call, struct rng *rng)
{
	static char nothing[8]; /* not NULL: MPICH's reduce between groups refuses that at the root */
	bool is_junk = rng_chance(rng, 50) && !call->comm->remote;
	for (int w = 0; w < SETS; w++) {
		side->buffer[w] = nothing;
		side->type[w] = is_junk ? MPI_DATATYPE_NULL : MPI_BYTE;
	}
	side->count = is_junk ? -3 : 0;
}

static void
side_fill(struct side *side, struct rng *rng)
{
	if (side->is_used)
		rng_fill(rng, side->alloc[FIRST], side->bytes);
}

static void
side_spread(struct side *side)
{
	if (!side->is_used)
		return;
	memcpy(side->alloc[HOST], side->alloc[FIRST], side->bytes);
	memcpy(side->alloc[OURS], side->alloc[FIRST], side->bytes);
}

static void
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

/* ---- the calls ---- */

static bool
is_rooted(enum coll coll)
{
	return coll == BCAST || coll == GATHER || coll == GATHERV || coll == REDUCE || coll == SCATTER ||
		coll == SCATTERV;
}

static void
make_moved(struct call *call, struct amounts *amounts, bool in_place, struct rng *mine)
{
	struct comm *comm = call->comm;
	int n = comm->remote ? comm->remote : comm->size, me = comm->rank;
	const struct unit *unit = &call->unit;
	int *out = allocate((size_t)n * sizeof *out), *in = allocate((size_t)n * sizeof *in);
	int most = amounts->units;
	/* In an intercommunicator only calls with equal blocks are made: see call_make. */
	for (int i = 0; i < n; i++) {
		out[i] = amount(amounts, me, i);
		in[i] = amount(amounts, i, me);
	}
	bool is_root = call->is_root;
	switch (call->coll) {
	case ALLGATHER:
	case GATHER:
		if (in_place && is_root)
			side_in_place(&call->send);
		else if (comm->remote && call->coll == GATHER && !call->is_far_root)
			side_ignored(&call->send, call, mine);
		else
			side_fixed(&call->send, call, 1, most, call->is_nothing_typed, mine);
		if (is_root)
			side_fixed(&call->recv, call, n, most, call->is_nothing_typed, mine);
		else
			side_ignored(&call->recv, call, mine);
		break;
	case ALLGATHERV:
	case GATHERV:
		/* what rank i contributes is amount(i, 0) */
		for (int i = 0; i < n; i++)
			in[i] = amount(amounts, i, 0);
		if (in_place && is_root)
			side_in_place(&call->send);
		else
			side_fixed(&call->send, call, 1, in[me], false, mine);
		if (is_root)
			side_uneven(&call->recv, call, n, in, amounts->step, mine);
		else
			side_ignored(&call->recv, call, mine);
		break;
	case ALLTOALL:
		if (in_place)
			side_in_place(&call->send);
		else
			side_fixed(&call->send, call, n, most, call->is_nothing_typed, mine);
		side_fixed(&call->recv, call, n, most, call->is_nothing_typed, mine);
		break;
	case ALLTOALLV:
		if (in_place)
			side_in_place(&call->send);
		else
			side_uneven(&call->send, call, n, out, amounts->step, mine);
		side_uneven(&call->recv, call, n, in, amounts->step, mine);
		break;
	case ALLTOALLW:
		if (in_place)
			side_in_place(&call->send);
		else
			side_typed(&call->send, unit, n, out, amounts->step, mine);
		side_typed(&call->recv, unit, n, in, amounts->step, mine);
		break;
	case BCAST:
		if (comm->remote && !is_root && !call->is_far_root)
			side_ignored(&call->recv, call, mine);
		else
			side_fixed(&call->recv, call, 1, most, call->is_nothing_typed, mine);
		break;
	case SCATTER:
		if (is_root)
			side_fixed(&call->send, call, n, most, call->is_nothing_typed, mine);
		else
			side_ignored(&call->send, call, mine);
		if (in_place && is_root)
			side_in_place(&call->recv);
		else if (comm->remote && !call->is_far_root)
			side_ignored(&call->recv, call, mine);
		else
			side_fixed(&call->recv, call, 1, most, call->is_nothing_typed, mine);
		break;
	default: /* SCATTERV */
		for (int i = 0; i < n; i++)
			out[i] = amount(amounts, i, 0);
		if (is_root)
			side_uneven(&call->send, call, n, out, amounts->step, mine);
		else
			side_ignored(&call->send, call, mine);
		if (in_place && is_root)
			side_in_place(&call->recv);
		else
			side_fixed(&call->recv, call, 1, out[me], false, mine);
	}
	free(out);
	free(in);
}

/* MPICH 4.0.2 crashes in MPI_Reduce with MPI_IN_PLACE at a root other than 0 from 2 KiB on (it copies from the
 * address MPI_IN_PLACE in its reduce-scatter-gather). */
static bool
host_crashes_in_place(const struct call *call, long bytes)
{
#ifdef MPICH_VERSION
	return call->coll == REDUCE && call->root != 0 && bytes > 2048;
#else
	return false;
#endif
}

/* Long messages are cut into pieces that end anywhere. Where a basic element does not have a power of two as its size
 * (pairs, mixed structs) or is a long double, MPICH 4.0.2 over UCX then reports a truncation if the receiver's type
 * has gaps; and Open MPI 4.1.4's unpack overruns a stack buffer for a C long double complex in two pieces. So the
 * host can answer such calls only while they are short. */
#define HOST_FRAGMENT 4000

static bool
host_cuts_elements(const struct unit *unit)
{
#ifdef MPICH_VERSION
	return unit->is_mixed || unit->basic[0]->kind == K_PAIR || unit->align == 16;
#else
	for (int i = 0; i < unit->elements; i++)
		if (unit->basic[i]->size > 16)
			return true;
	return false;
#endif
}

/* MPICH 4.0.2's alltoalls in place (sendrecv_replace inside) report a truncation for types of several basic
 * types, pairs among them. */
static bool
host_truncates_in_place(const struct call *call)
{
#ifdef MPICH_VERSION
	return (call->unit.is_mixed || call->unit.basic[0]->kind == K_PAIR) &&
		(call->coll == ALLTOALL || call->coll == ALLTOALLV || call->coll == ALLTOALLW);
#else
	return false;
#endif
}

static void
make_reduced(struct call *call, struct amounts *amounts, bool in_place, struct rng *mine)
{
	struct comm *comm = call->comm;
	int n = comm->size, me = comm->rank;
	long all = amounts->units, own = all, first = 0;
	int *counts = allocate((size_t)n * sizeof *counts);
	if (call->coll == REDUCE_SCATTER) {
		all = 0;
		for (int i = 0; i < n; i++) {
			counts[i] = amount(amounts, i, 0);
			if (i == me)
				first = all;
			all += counts[i];
		}
		own = counts[me];
	} else if (call->coll == REDUCE_SCATTER_BLOCK) {
		all = own * n;
		first = own * me;
	}
	call->reduce_first = first;
	if (host_crashes_in_place(call, all * (long)call->reduction.layout.extent))
		in_place = false;
	bool is_sender = !comm->remote || call->coll != REDUCE || call->is_far_root;
	bool is_receiver = call->coll != REDUCE || call->is_root;
	if (in_place && is_receiver)
		side_in_place(&call->send);
	else if (is_sender)
		side_reduced(&call->send, call, all, mine);
	else
		side_ignored(&call->send, call, mine);
	if (is_receiver)
		/* in place the receive buffer holds the whole input */
		side_reduced(&call->recv, call, in_place ? all : own, mine);
	else
		side_ignored(&call->recv, call, mine);
	/* these are significant on all ranks, and arguments of the call rather than of a side */
	call->recv.count = (int)own;
	for (int w = 0; w < SETS; w++)
		call->recv.type[w] = call->reduction.layout.type;
	if (call->coll == REDUCE_SCATTER) {
		free(call->recv.counts_c);
		free(call->recv.counts);
		call->recv.counts = counts;
		call->recv.counts_c = allocate((size_t)n * sizeof *call->recv.counts_c);
		for (int i = 0; i < n; i++)
			call->recv.counts_c[i] = counts[i];
	} else {
		free(counts);
	}
}

static enum coll
draw_coll(struct rng *rng, const struct comm *comm, const struct limits *limits)
{
	/* MPI 4.0, 6.2.3: those with equal blocks suffice between groups, where the library has no part; and
	 * reduce_scatter there has rules of its own about the two groups' totals. */
	static const bool between_groups[COLL_COUNT] = {[ALLGATHER] = true, [ALLREDUCE] = true, [ALLTOALL] = true,
		[BARRIER] = true, [BCAST] = true, [GATHER] = true, [REDUCE] = true, [SCATTER] = true};
	for (;;) {
		enum coll coll = (enum coll)rng_below(rng, COLL_COUNT);
		if (limits->is_coll_wanted[coll] && (!comm->remote || between_groups[coll]))
			return coll;
		if (comm->remote && !limits->is_coll_wanted[coll] && rng_chance(rng, 2))
			return BARRIER;
	}
}

void
call_make(struct call *call, struct comm *comm, uint64_t seed, const struct limits *limits)
{
	struct rng shared = rng_from(seed, 1, 1);
	/* the two halves of a split are told apart by no rank: the same seed, other sizes */
	struct rng mine = rng_from(seed, 2, (uint64_t)comm->rank + (comm->remote ? (uint64_t)comm->size << 20 : 0));
	*call = (struct call){.comm = comm, .seed = seed};
	call->coll = draw_coll(&shared, comm, limits);
	call->is_large_form = rng_chance(&shared, 15);
	/* so that both groups of an intercommunicator draw the same */
	int all = comm->size + comm->remote, larger = comm->size > comm->remote ? comm->size : comm->remote;
	int root = rng_below(&shared, 1 << 20);
	bool in_place = rng_chance(&shared, 25) && !comm->remote;
	call->is_nothing_typed = rng_chance(&shared, 50);
	if (comm->remote && is_rooted(call->coll)) {
		/* the group of the lower ranks of MPI_COMM_WORLD has the root, or the other */
		int world;
		PMPI_Comm_rank(MPI_COMM_WORLD, &world);
		bool is_low = world == comm->rank, is_here = is_low == (root & 1);
		int root_rank = (root >> 1) % (is_here ? comm->size : comm->remote);
		call->is_root = is_here && root_rank == comm->rank;
		call->is_far_root = !is_here;
		call->root = is_here ? (call->is_root ? MPI_ROOT : MPI_PROC_NULL) : root_rank;
	} else {
		call->root = root % comm->size;
		call->is_root = !is_rooted(call->coll) || call->root == comm->rank;
	}
	struct amounts amounts = {.seed = seed};
	static const int steps[] = {1, 1, 1, 2, 3, 4, 6, 12};
	amounts.step = steps[rng_below(&shared, 8)];
	amounts.spread = (enum spread)rng_below(&shared, 4);
	if (rng_chance(&shared, 4))
		amounts.spread = NOTHING;
	bool is_one_block = call->coll == BCAST || call->coll == ALLREDUCE || call->coll == REDUCE;
	long bytes = draw_bytes(&shared, is_one_block ? limits->bytes : limits->bytes / (comm->remote ? all : larger));
	bool is_uneven = call->coll == ALLGATHERV || call->coll == ALLTOALLV || call->coll == ALLTOALLW ||
		call->coll == GATHERV || call->coll == SCATTERV || call->coll == REDUCE_SCATTER;
	unit_make(&call->unit, &shared);
	in_place = in_place && !host_truncates_in_place(call);
	amounts.is_symmetric = in_place;
	int blocks = comm->remote ? all : larger;
	if (host_cuts_elements(&call->unit) && bytes * blocks > HOST_FRAGMENT)
		bytes = HOST_FRAGMENT / blocks;
	size_t unit_bytes = call->unit.bytes;
	if (call->coll == ALLREDUCE || call->coll == REDUCE || call->coll == REDUCE_SCATTER ||
	    call->coll == REDUCE_SCATTER_BLOCK) {
		reduction_make(&call->reduction,
			       call->coll == REDUCE_SCATTER || call->coll == REDUCE_SCATTER_BLOCK, &shared);
		call->has_reduction = true;
		unit_bytes = (size_t)call->reduction.layout.extent;
		amounts.step = 1;
	}
	amounts.units = (int)((bytes + (long)unit_bytes - 1) / (long)unit_bytes);
	if (is_uneven)
		amounts.units = amounts.units / amounts.step * amounts.step;
	/* Between groups: where the library has no part, and MPICH's scatter loses data for types that differ. */
	if (comm->remote || host_needs_equal_types(call->coll, bytes))
		call->per = is_uneven ? (amounts.step % 2 ? 1 : 2) : divisor_of(amounts.units, &shared);
	if (call->reduction.comparison == CMP_NEAR && amounts.units > 3000)
		amounts.units = 3000;
	if (call->coll == BARRIER)
		return;
	if (call->has_reduction)
		make_reduced(call, &amounts, in_place, &mine);
	else
		make_moved(call, &amounts, in_place, &mine);
	side_fill(&call->send, &mine);
	side_fill(&call->recv, &mine);
	if (call->has_reduction) {
		/* two groups contribute to each other: ranks of both are told apart */
		int rank = comm->rank;
		struct side *input = call->send.is_in_place ? &call->recv : &call->send;
		if (input->is_used)
			reduction_fill(&call->reduction, input->alloc[FIRST] + input->zero, input->reduce_count, seed,
				       rank);
	}
	side_spread(&call->send);
	side_spread(&call->recv);
}

void
call_free(struct call *call)
{
	side_free(&call->send);
	side_free(&call->recv);
	if (call->has_reduction)
		reduction_free(&call->reduction);
}
