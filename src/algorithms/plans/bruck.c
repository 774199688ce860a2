#include "algorithms/plans/bruck.h"

#include "algorithms/plans/pairs.h"

#define AT_ONCE 32 /* messages, if blocks are too large */

struct state {
	struct cs_builder *builder;
	int self, p;
	size_t bytes;                  /* from one block to the next in CS_TMP */
	struct cs_place kept;          /* by distance: blocks on their way; in place those that have
					* not left, too */
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
kept_at(const struct state *state, int64_t distance)
{
	return cs_plus(state->kept, (size_t)distance * state->bytes);
}

static void
copy_input(const struct state *state, struct cs_place to, int distance)
{
	const struct cs_problem *problem = state->builder->problem;
	int rank = (state->self + distance) % state->p;
	cs_build_copy(state->builder, to, cs_pairs_in(problem, rank),
		      cs_problem_size(problem, rank));
}

/* Pack the blocks of digit v. The first of a run of distances with the same digits from w upwards
 * has no lower digits; the others have moved before. */
static void
pack(const struct state *state, struct cs_place to, int w, int base, int v)
{
	for (int64_t first = (int64_t)v * w; first < state->p; first += (int64_t)w * base) {
		int run = smaller(w, state->p - (int)first),
		    moved = !state->builder->problem->is_in_place;
		if (moved)
			copy_input(state, to, (int)first);
		cs_build_copy(state->builder, cs_plus(to, (size_t)moved * state->bytes),
			      kept_at(state, first + moved), (size_t)(run - moved) * state->bytes);
		to = cs_plus(to, (size_t)run * state->bytes);
	}
}

/* Unpack the blocks of digit v. The first run has no higher digits: its blocks have arrived. */
static void
unpack(const struct state *state, struct cs_place from, int w, int base, int v)
{
	const struct cs_problem *problem = state->builder->problem;
	int first_run = smaller(w, state->p - v * w);
	for (int distance = v * w; distance < v * w + first_run; distance++) {
		int rank = (state->self + state->p - distance) % state->p;
		cs_build_copy(state->builder, cs_pairs_out(problem, rank), from,
			      cs_pairs_recv_size(problem, rank));
		from = cs_plus(from, state->bytes);
	}
	for (int64_t first = (int64_t)v * w + (int64_t)w * base; first < state->p;
	     first += (int64_t)w * base) {
		size_t run = (size_t)smaller(w, state->p - (int)first) * state->bytes;
		cs_build_copy(state->builder, kept_at(state, first), from, run);
		from = cs_plus(from, run);
	}
}

static void
exchange(const struct state *state, int w, int base)
{
	size_t at = 0;
	for (int v = 1; v < base && (int64_t)v * w < state->p; v++) {
		size_t bytes = (size_t)count_of(state->p, w, base, v) * state->bytes;
		int to = (state->self + v * w) % state->p, from = (state->self + state->p - v * w) %
								  state->p;
		pack(state, cs_plus(state->given, at), w, base, v);
		cs_build_recv(state->builder, from, cs_plus(state->taken, at), bytes);
		cs_build_send(state->builder, to, cs_plus(state->given, at), bytes);
		at += bytes;
	}
	cs_build_wait_all(state->builder);
	at = 0;
	for (int v = 1; v < base && (int64_t)v * w < state->p; v++) {
		unpack(state, cs_plus(state->taken, at), w, base, v);
		at += (size_t)count_of(state->p, w, base, v) * state->bytes;
	}
}

void
cs_bruck(struct cs_builder *builder, size_t ports)
{
	const struct cs_problem *problem = builder->problem;
	struct state state = { .builder = builder, .self = problem->rank, .p = problem->ranks,
			       .bytes = problem->bytes };
	int base = (int)ports + 1, most = 0;
	for (int64_t w = 1; w < state.p; w *= base)
		if (count_moving(state.p, (int)w, base) > most)
			most = count_moving(state.p, (int)w, base);
	state.kept = cs_build_tmp(builder, (size_t)state.p * state.bytes);
	state.given = cs_build_tmp(builder, (size_t)most * state.bytes);
	state.taken = cs_build_tmp(builder, (size_t)most * state.bytes);
	for (int distance = 1; problem->is_in_place && distance < state.p; distance++)
		copy_input(&state, kept_at(&state, distance), distance);
	cs_pairs_keep_own(builder);
	for (int64_t w = 1; w < state.p; w *= base) {
		exchange(&state, (int)w, base);
		builder->note++;
	}
}

void
cs_bruck_cost(const struct cs_problem *problem, size_t ports, struct cs_cost *cost)
{
	int base = (int)ports + 1;
	uint64_t blocks = 0, rounds = 0;
	for (int64_t w = 1; w < problem->ranks; w *= base) {
		blocks += (uint64_t)count_moving(problem->ranks, (int)w, base);
		rounds++;
	}
	cost->rounds = problem->bytes ? rounds : 0;
	cost->bytes = blocks * problem->bytes;
}

/* Alike on all ranks, which agree on problem->bytes. */
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
		cs_pairs_scattered(builder, AT_ONCE);
}

void
cs_bruck_within_cost(const struct cs_problem *problem, size_t ports, size_t room,
		     struct cs_cost *cost)
{
	if (is_within(problem, room))
		cs_bruck_cost(problem, ports, cost);
	else
		cs_pairs_scattered_cost(problem, AT_ONCE, cost);
}
