#include "algorithms/patterns/bruck.h"

#include "algorithms/patterns/pairs.h"

#define AT_ONCE 32 /* messages where blocks are too large */

struct work {
	struct cs_builder *builder;
	int self, p;
	size_t bytes;                  /* from one block to the next in CS_TMP */
	struct cs_place kept;          /* by distance: blocks on their way; in place those that have not left, too */
	struct cs_place given, taken;  /* packed */
};

static int
smaller(int a, int b)
{
	return a < b ? a : b;
}

/* Distances below p whose digit of weight w is v. */
static int
count_of(int p, int w, int base, int v)
{
	int64_t cycle = (int64_t)w * base, rest = p % cycle - (int64_t)v * w;
	return (int)(p / cycle * w + (rest < 0 ? 0 : rest > w ? w : rest));
}

/* Blocks that a rank sends in the round of weight w. */
static int
count_moving(int p, int w, int base)
{
	int count = 0;
	for (int v = 1; v < base && (int64_t)v * w < p; v++)
		count += count_of(p, w, base, v);
	return count;
}

static struct cs_place
kept_at(const struct work *work, int64_t distance)
{
	return cs_plus(work->kept, (size_t)distance * work->bytes);
}

static void
copy_input(const struct work *work, struct cs_place to, int distance)
{
	const struct cs_problem *problem = work->builder->problem;
	int rank = (work->self + distance) % work->p;
	cs_build_copy(work->builder, to, cs_pairs_in(problem, rank), cs_problem_size(problem, rank));
}

/* The first of a run of distances with the same digits from w upwards has none below; the others have moved before. */
static void
pack(const struct work *work, struct cs_place to, int w, int base, int v)
{
	for (int64_t first = (int64_t)v * w; first < work->p; first += (int64_t)w * base) {
		int run = smaller(w, work->p - (int)first), moved = !work->builder->problem->is_in_place;
		if (moved)
			copy_input(work, to, (int)first);
		cs_build_copy(work->builder, cs_plus(to, (size_t)moved * work->bytes), kept_at(work, first + moved),
			      (size_t)(run - moved) * work->bytes);
		to = cs_plus(to, (size_t)run * work->bytes);
	}
}

/* The first run has no higher digits: its blocks have arrived. */
static void
unpack(const struct work *work, struct cs_place from, int w, int base, int v)
{
	const struct cs_problem *problem = work->builder->problem;
	int first_run = smaller(w, work->p - v * w);
	for (int distance = v * w; distance < v * w + first_run; distance++) {
		int rank = (work->self + work->p - distance) % work->p;
		cs_build_copy(work->builder, cs_pairs_out(problem, rank), from, cs_pairs_recv_size(problem, rank));
		from = cs_plus(from, work->bytes);
	}
	for (int64_t first = (int64_t)v * w + (int64_t)w * base; first < work->p; first += (int64_t)w * base) {
		size_t run = (size_t)smaller(w, work->p - (int)first) * work->bytes;
		cs_build_copy(work->builder, kept_at(work, first), from, run);
		from = cs_plus(from, run);
	}
}

static void
exchange(const struct work *work, int w, int base)
{
	size_t at = 0;
	for (int v = 1; v < base && (int64_t)v * w < work->p; v++) {
		size_t bytes = (size_t)count_of(work->p, w, base, v) * work->bytes;
		int to = (work->self + v * w) % work->p, from = (work->self + work->p - v * w) % work->p;
		pack(work, cs_plus(work->given, at), w, base, v);
		cs_build_recv(work->builder, from, cs_plus(work->taken, at), bytes);
		cs_build_send(work->builder, to, cs_plus(work->given, at), bytes);
		at += bytes;
	}
	cs_build_wait_all(work->builder);
	at = 0;
	for (int v = 1; v < base && (int64_t)v * w < work->p; v++) {
		unpack(work, cs_plus(work->taken, at), w, base, v);
		at += (size_t)count_of(work->p, w, base, v) * work->bytes;
	}
}

void
cs_bruck(struct cs_builder *builder, size_t ports)
{
	const struct cs_problem *problem = builder->problem;
	struct work work = { .builder = builder, .self = problem->rank, .p = problem->ranks, .bytes = problem->bytes };
	int base = (int)ports + 1, most = 0;
	for (int64_t w = 1; w < work.p; w *= base)
		if (count_moving(work.p, (int)w, base) > most)
			most = count_moving(work.p, (int)w, base);
	work.kept = cs_build_tmp(builder, (size_t)work.p * work.bytes);
	work.given = cs_build_tmp(builder, (size_t)most * work.bytes);
	work.taken = cs_build_tmp(builder, (size_t)most * work.bytes);
	for (int distance = 1; problem->is_in_place && distance < work.p; distance++)
		copy_input(&work, kept_at(&work, distance), distance);
	cs_pairs_keep_own(builder);
	for (int64_t w = 1; w < work.p; w *= base) {
		exchange(&work, (int)w, base);
		builder->note++;
	}
}

void
cs_bruck_price(const struct cs_problem *problem, size_t ports, struct cs_price *price)
{
	int base = (int)ports + 1;
	uint64_t blocks = 0, rounds = 0;
	for (int64_t w = 1; w < problem->ranks; w *= base) {
		blocks += (uint64_t)count_moving(problem->ranks, (int)w, base);
		rounds++;
	}
	price->rounds = problem->bytes ? rounds : 0;
	price->bytes = blocks * problem->bytes;
}

/* Alike on all ranks: they agree on bytes. */
static bool
is_within(const struct cs_problem *problem, size_t room)
{
	return problem->bytes <= room / (size_t)problem->ranks;
}

void
cs_bruck_within(struct cs_builder *builder, size_t ports, size_t room)
{
	if (is_within(builder->problem, room))
		cs_bruck(builder, ports);
	else
		cs_pairs_spread(builder, AT_ONCE);
}

void
cs_bruck_within_price(const struct cs_problem *problem, size_t ports, size_t room, struct cs_price *price)
{
	if (is_within(problem, room))
		cs_bruck_price(problem, ports, price);
	else
		cs_pairs_spread_price(problem, AT_ONCE, price);
}
