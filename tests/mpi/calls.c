/* Makes one random call: who sends what to whom follows from the call's seed, the layout of it in
 * memory from the seed and the rank, so that types of one signature differ from rank to rank. */
#include "hosts.h"
#include "sides.h"

#include <stdlib.h>

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
		bytes = (1L << rng_between(rng, 3, high)) + rng_between(rng, -1, 1) *
			rng_between(rng, 0, 9);
	} else {
		bytes = rng_between(rng, 1, most);
	}
	return bytes < 1 ? 1 : bytes > most ? most : bytes;
}

/* ---- the calls ---- */

static bool
is_rooted(enum coll coll)
{
	return coll == BCAST || coll == GATHER || coll == GATHERV || coll == REDUCE ||
	       coll == SCATTER ||
		coll == SCATTERV;
}

static void
make_moved(struct call *call, struct amounts *amounts, bool in_place, struct rng *mine)
{
	struct comm *comm = call->comm;
	int n = comm->remote ? comm->remote : comm->size, me = comm->rank;
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
			side_typed(&call->send, call, n, out, amounts->step, mine);
		side_typed(&call->recv, call, n, in, amounts->step, mine);
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
	/* The first rank of an exscan has no result; whoever looks at its buffer all the same wants
	 * one. */
	if (call->coll == EXSCAN && me == 0 && !in_place && !host_wants_result(call))
		is_receiver = rng_chance(mine, 50);
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
	/* MPI 4.0, 6.2.3: those with equal blocks suffice between groups, where the library has no
	 * part; and reduce_scatter there has rules of its own about the two groups' totals. */
	static const bool between_groups[COLL_COUNT] = {[ALLGATHER] = true, [ALLREDUCE] = true,
							[ALLTOALL] = true,
		[BARRIER] = true, [BCAST] = true, [GATHER] = true, [REDUCE] = true,
		[SCATTER] = true};
	for (;;) {
		enum coll coll = (enum coll)rng_below(rng, COLL_COUNT);
		if (limits->is_coll_wanted[coll] && (!comm->remote || between_groups[coll]))
			return coll;
		if (comm->remote && !limits->is_coll_wanted[coll] && rng_chance(rng, 2))
			return BARRIER;
	}
}

static void
fill(struct call *call, struct rng *mine)
{
	side_fill(&call->send, mine);
	side_fill(&call->recv, mine);
	if (call->has_reduction) {
		/* two groups contribute to each other: ranks of both are told apart */
		int rank = call->comm->rank;
		struct side *input = call->send.is_in_place ? &call->recv : &call->send;
		if (input->is_used)
			reduction_fill(&call->reduction, input->alloc[FIRST] + input->zero,
				       input->reduce_count, call->seed, rank);
	}
	side_spread(&call->send);
	side_spread(&call->recv);
}

void
call_make(struct call *call, struct comm *comm, uint64_t seed, const struct limits *limits)
{
	struct rng shared = rng_from(seed, 1, 1);
	/* the two halves of a split are told apart by no rank: the same seed, other sizes */
	struct rng mine = rng_from(seed, 2, (uint64_t)comm->rank +
				   (comm->remote ? (uint64_t)comm->size << 20 : 0));
	*call = (struct call){.comm = comm, .seed = seed};
	call->coll = draw_coll(&shared, comm, limits);
	call->is_large_form = rng_chance(&shared, 15);
	/* so that both groups of an intercommunicator draw the same */
	int all = comm->size + comm->remote, larger = comm->size > comm->remote
						      ? comm->size : comm->remote;
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
	bool is_one_block = call->coll == BCAST || call->coll == ALLREDUCE ||
			    call->coll == REDUCE ||
		call->coll == SCAN || call->coll == EXSCAN;
	long bytes = draw_bytes(&shared, is_one_block ? limits->bytes : limits->bytes /
				(comm->remote ? all : larger));
	bool is_uneven = call->coll == ALLGATHERV || call->coll == ALLTOALLV ||
			 call->coll == ALLTOALLW ||
		call->coll == GATHERV || call->coll == SCATTERV || call->coll == REDUCE_SCATTER;
	unit_make(&call->unit, &shared);
	call->is_sent_plain = host_misplaces_gaps(call->coll);
	call->may_be_bottom = !host_misses_bottom(call->coll, bytes);
	call->is_all_plain = host_loses_elements(call->coll, bytes);
	while ((call->is_sent_plain || call->is_all_plain) &&
	       (call->unit.is_mixed || call->unit.basic[0]->kind == K_PAIR))
		unit_make(&call->unit, &shared);
	in_place = in_place && !host_truncates_in_place(call);
	amounts.is_symmetric = in_place;
	int blocks = comm->remote ? all : larger;
	if (host_cuts_elements(&call->unit) && bytes * blocks > HOST_FRAGMENT)
		bytes = HOST_FRAGMENT / blocks;
	size_t unit_bytes = call->unit.bytes;
	if (call->coll == ALLREDUCE || call->coll == REDUCE || call->coll == REDUCE_SCATTER ||
	    call->coll == REDUCE_SCATTER_BLOCK || call->coll == SCAN || call->coll == EXSCAN) {
		reduction_make(&call->reduction, call->coll, &shared);
		call->has_reduction = true;
		unit_bytes = (size_t)call->reduction.layout.extent;
		amounts.step = 1;
	}
	amounts.units = (int)((bytes + (long)unit_bytes - 1) / (long)unit_bytes);
	if (is_uneven)
		amounts.units = amounts.units / amounts.step * amounts.step;
	/* Between groups: where the library has no part, and MPICH's scatter loses data for types
	 * that differ. */
	if (comm->remote || host_needs_equal_types(call->coll, bytes))
		call->per = is_uneven ? (amounts.step % 2 ? 1 : 2)
				      : divisor_of(amounts.units, &shared);
	if (call->reduction.comparison == CMP_NEAR && amounts.units > 3000)
		amounts.units = 3000;
	if (call->coll == BARRIER)
		return;
	long sum = amounts.units;
	for (int i = 0; i < all && is_uneven; i++)
		sum = (i ? sum : 0) + amount(&amounts, i, 0);
	call->is_empty = sum == 0;
	if (call->has_reduction)
		make_reduced(call, &amounts, in_place, &mine);
	else
		make_moved(call, &amounts, in_place, &mine);
	fill(call, &mine);
}

void
call_refill(struct call *call, uint64_t seed)
{
	struct rng mine = rng_from(seed, 2, (uint64_t)call->comm->rank);
	call->seed = seed;
	fill(call, &mine);
}

void
call_free(struct call *call)
{
	side_free(&call->send);
	side_free(&call->recv);
	if (call->has_reduction)
		reduction_free(&call->reduction);
}
