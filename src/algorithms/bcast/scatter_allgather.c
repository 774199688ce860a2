/* Broadcast, scatter and allgather (seed 002, 3.7.4: MPICH's for large sizes): the root gives each rank a piece of the
 * vector, then all give their pieces to all. The scatter is the recursive splitting of seed 000, 5.1.3, for any p.
 *
 *   p = 4, root 0, pieces:    0 1 2 3 | . . . . | . . . . | . . . .
 *      0 -> 2                 0 1 2 3 | . . . . | . . 2 3 | . . . .
 *      0 -> 1, 2 -> 3         0 1 2 3 | . 1 . . | . . 2 3 | . . . 3
 *      ring, 3 rounds: each rank hands the piece that it got last to the next; none goes to a rank that has it
 *      or doubling, 2 rounds: partners exchange all that they have (patterns/halves.h)
 *
 * Ranks and pieces are counted from the root. With fewer bytes than ranks the last pieces are empty.
 *
 * Price: ring: p - 1 rounds (who gets a piece late from the scatter gets it early in the ring), the root sends the
 * vector almost twice, the others receive it once. Doubling: up to 2 ceil(log2 p) rounds. The ring for large vectors,
 * doubling for medium ones; both where the root sending it log2 p times takes longer. */
#include "algorithms/algorithm.h"
#include "algorithms/patterns/halves.h"
#include "algorithms/patterns/pieces.h"
#include "plan/build.h"

struct work {
	struct cs_builder *builder;
	struct cs_pieces pieces;
	struct cs_place data;
	int self; /* from the root */
};

static int
rank_of(const struct work *work, int relative)
{
	return (relative + work->builder->problem->root) % work->builder->problem->ranks;
}

static int
give(const struct work *work, int to, int first, int count)
{
	struct cs_place from = cs_plus(work->data, cs_pieces_before(&work->pieces, first));
	return cs_build_send(work->builder, rank_of(work, to), from, cs_pieces_bytes(&work->pieces, first, count));
}

static int
take(const struct work *work, int from, int first, int count)
{
	struct cs_place to = cs_plus(work->data, cs_pieces_before(&work->pieces, first));
	return cs_build_recv(work->builder, rank_of(work, from), to, cs_pieces_bytes(&work->pieces, first, count));
}

/* The first rank of what is cut has all its pieces, and gives those of the upper part to the first rank there. Result:
 * the cuts on the way to this rank. */
static int
scatter(const struct work *work, struct cs_halves *cuts)
{
	int depth = 0;
	for (int first = 0, count = work->builder->problem->ranks; count > 1; depth++) {
		struct cs_halves cut = cs_halves_cut(first, count, work->self);
		work->builder->note = (uint32_t)depth;
		if (work->self == first)
			give(work, cut.other_first, cut.other_first, cut.other_count);
		if (work->self == cut.own_first && work->self != first)
			cs_build_wait(work->builder, take(work, first, cut.own_first, cut.own_count));
		cuts[depth] = cut;
		first = cut.own_first;
		count = cut.own_count;
	}
	return depth;
}

/* The first ranks of both parts are partners; the one of the lower part has the other part already. */
static void
double_up(const struct work *work, const struct cs_halves *cut)
{
	bool has_other = work->self == cut->first, is_odd = cut->partner < 0;
	bool is_wanted = !is_odd && cut->partner != cut->first;
	int requests[3] = { CS_NO_REQUEST, CS_NO_REQUEST, CS_NO_REQUEST };
	if (!has_other)
		requests[0] = take(work, is_odd ? cut->also : cut->partner, cut->other_first, cut->other_count);
	if (is_wanted)
		requests[1] = give(work, cut->partner, cut->own_first, cut->own_count);
	if (!is_odd && cut->also >= 0)
		requests[2] = give(work, cut->also, cut->own_first, cut->own_count);
	for (int i = 0; i < 3; i++)
		cs_build_wait(work->builder, requests[i]);
}

/* How many pieces, from its own on, the scatter leaves with a rank. */
static int
held_by(int relative, int ranks)
{
	int first = 0, count = ranks;
	while (first != relative) {
		struct cs_halves cut = cs_halves_cut(first, count, relative);
		first = cut.own_first;
		count = cut.own_count;
	}
	return count;
}

static void
go_round(const struct work *work)
{
	int p = work->builder->problem->ranks, right = (work->self + 1) % p, left = (work->self + p - 1) % p;
	int to_give = p - held_by(right, p), to_take = p - held_by(work->self, p);
	for (int round = 0; round < to_give || round < to_take; round++) {
		work->builder->note++;
		int recv = round < to_take ? take(work, left, (left + p - round) % p, 1) : CS_NO_REQUEST;
		int send = round < to_give ? give(work, right, (work->self + p - round) % p, 1) : CS_NO_REQUEST;
		cs_build_wait(work->builder, recv);
		cs_build_wait(work->builder, send);
	}
}

static void
build(struct cs_builder *builder)
{
	const struct cs_problem *problem = builder->problem;
	int p = problem->ranks;
	struct work work = { .builder = builder, .pieces = cs_pieces_of_vector(problem, p),
			     .self = (problem->rank - problem->root + p) % p };
	struct cs_halves cuts[CS_HALVES_MOST];
	work.data = work.self ? cs_out(0) : cs_in(0);
	int depth = scatter(&work, cuts);
	if (!problem->params[0]) {
		go_round(&work);
		return;
	}
	while (depth--) {
		builder->note++;
		double_up(&work, &cuts[depth]);
	}
}

/* Ring: the root sends all pieces but its own in the scatter, and all but rank 1's in the ring. */
static void
price(const struct cs_problem *problem, struct cs_price *price)
{
	int p = problem->ranks;
	struct cs_pieces pieces = cs_pieces_of_vector(problem, p);
	if (problem->params[0]) {
		*price = CS_PRICE_NONE;
		return;
	}
	price->rounds = problem->bytes ? (uint64_t)p - 1 : 0;
	price->bytes = p > 1 ? 2 * problem->bytes - cs_pieces_bytes(&pieces, 0, 2) : 0;
}

const struct cs_algorithm cs_algorithm_bcast_scatter_allgather = {
	.colls = CS_SET(CS_BCAST),
	.name = "scatter-allgather",
	.summary = "a piece of the vector to each rank, then all pieces to all",
	.params = { { "doubling", "1: the pieces are exchanged by doubling; 0: in a ring", 0, 0, 1 } },
	.build = build,
	.price = price,
};
