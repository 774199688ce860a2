/* Broadcast, scatter and allgather (seed 002, 3.7.4: MPICH's for large sizes): the root gives each
 * rank a piece of the vector, then all give their pieces to all. The scatter is the recursive
 * splitting of seed 000, 5.1.3, for any p.
 *
 *   p = 4, root 0, pieces:    0 1 2 3 | . . . . | . . . . | . . . .
 *      0 -> 2                 0 1 2 3 | . . . . | . . 2 3 | . . . .
 *      0 -> 1, 2 -> 3         0 1 2 3 | . 1 . . | . . 2 3 | . . . 3
 *      ring, 3 rounds: each rank hands the piece that it got last to the next; none goes to a rank
 *      that has it or doubling, 2 rounds: partners exchange all that they have (plans/halving.h)
 *
 * Ranks and pieces are counted from the root. With fewer bytes than ranks the last pieces are
 * empty.
 *
 * Cost: ring: p - 1 rounds (a rank that gets a piece late from the scatter gets it early in the
 * ring), the root sends the vector almost twice, the others receive it once. Doubling: up to 2
 * ceil(log2 p) rounds. The ring for large vectors, doubling for medium ones; both where the root
 * sending it log2 p times takes longer. */
#include "algorithms/algorithm.h"
#include "algorithms/plans/halving.h"
#include "algorithms/plans/pieces.h"
#include "plan/build.h"

struct state {
	struct cs_builder *builder;
	struct cs_pieces pieces;
	struct cs_place data;
	int self; /* from the root */
};

static int
rank_of(const struct state *state, int relative)
{
	return (relative + state->builder->problem->root) % state->builder->problem->ranks;
}

static int
give(const struct state *state, int to, int first, int count)
{
	struct cs_place from = cs_plus(state->data, cs_pieces_before(&state->pieces, first));
	return cs_build_send(state->builder, rank_of(state, to), from,
			     cs_pieces_bytes(&state->pieces, first, count));
}

static int
take(const struct state *state, int from, int first, int count)
{
	struct cs_place to = cs_plus(state->data, cs_pieces_before(&state->pieces, first));
	return cs_build_recv(state->builder, rank_of(state, from), to,
			     cs_pieces_bytes(&state->pieces, first, count));
}

/* Scatter by cuts: the first rank of a part has its pieces, and sends those of the upper half to
 * the first rank there. Returns the number of `cuts` on the way to this rank. */
static int
scatter(const struct state *state, struct cs_halving *cuts)
{
	int depth = 0;
	for (int first = 0, count = state->builder->problem->ranks; count > 1; depth++) {
		struct cs_halving cut = cs_halving_cut(first, count, state->self);
		state->builder->note = (uint32_t)depth;
		if (state->self == first)
			give(state, cut.other_first, cut.other_first, cut.other_count);
		if (state->self == cut.own_first && state->self != first)
			cs_build_wait(state->builder,
				      take(state, first, cut.own_first, cut.own_count));
		cuts[depth] = cut;
		first = cut.own_first;
		count = cut.own_count;
	}
	return depth;
}

/* Exchange the parts of a cut. The first rank of the lower part has the other part already. */
static void
double_up(const struct state *state, const struct cs_halving *cut)
{
	bool has_other = state->self == cut->first, is_odd = cut->partner < 0;
	bool is_wanted = !is_odd && cut->partner != cut->first;
	int requests[3] = { CS_NO_REQUEST, CS_NO_REQUEST, CS_NO_REQUEST };
	if (!has_other)
		requests[0] = take(state, is_odd ? cut->also : cut->partner, cut->other_first,
				   cut->other_count);
	if (is_wanted)
		requests[1] = give(state, cut->partner, cut->own_first, cut->own_count);
	if (!is_odd && cut->also >= 0)
		requests[2] = give(state, cut->also, cut->own_first, cut->own_count);
	for (int i = 0; i < 3; i++)
		cs_build_wait(state->builder, requests[i]);
}

/* Number of pieces, from its own on, that a rank has after the scatter. */
static int
held_by(int relative, int ranks)
{
	int first = 0, count = ranks;
	while (first != relative) {
		struct cs_halving cut = cs_halving_cut(first, count, relative);
		first = cut.own_first;
		count = cut.own_count;
	}
	return count;
}

static void
go_round(const struct state *state)
{
	int p = state->builder->problem->ranks, right = (state->self + 1) % p,
	    left = (state->self + p - 1) % p;
	int to_give = p - held_by(right, p), to_take = p - held_by(state->self, p);
	for (int round = 0; round < to_give || round < to_take; round++) {
		state->builder->note++;
		int recv = round < to_take ? take(state, left, (left + p - round) % p, 1)
					   : CS_NO_REQUEST;
		int send = round < to_give ? give(state, right, (state->self + p - round) % p, 1)
					   : CS_NO_REQUEST;
		cs_build_wait(state->builder, recv);
		cs_build_wait(state->builder, send);
	}
}

/* Parameters. */
enum { DOUBLING };

static void
build(struct cs_builder *builder)
{
	const struct cs_problem *problem = builder->problem;
	int p = problem->ranks;
	struct state state = { .builder = builder, .pieces = cs_pieces_of_vector(problem, p),
			       .self = (problem->rank - problem->root + p) % p };
	struct cs_halving cuts[CS_HALVING_MOST];
	state.data = state.self ? cs_out(0) : cs_in(0);
	int depth = scatter(&state, cuts);
	if (!problem->params[DOUBLING]) {
		go_round(&state);
		return;
	}
	while (depth--) {
		builder->note++;
		double_up(&state, &cuts[depth]);
	}
}

/* Ring: the root sends all pieces but its own in the scatter, and all but rank 1's in the ring. */
static void
cost(const struct cs_problem *problem, struct cs_cost *cost)
{
	int p = problem->ranks;
	struct cs_pieces pieces = cs_pieces_of_vector(problem, p);
	if (problem->params[DOUBLING]) {
		*cost = CS_PRICE_NONE;
		return;
	}
	cost->rounds = problem->bytes ? (uint64_t)p - 1 : 0;
	cost->bytes = p > 1 ? 2 * problem->bytes - cs_pieces_bytes(&pieces, 0, 2) : 0;
}

const struct cs_algorithm cs_algorithm_bcast_scatter_allgather = {
	.colls = CS_SET(CS_BCAST),
	.name = "scatter-allgather",
	.summary = "a piece of the vector to each rank, then all pieces to all",
	.params = { [DOUBLING] = { "doubling",
			    "1: the pieces are exchanged by doubling; 0: in a ring", 0, 0, 1 } },
	.build = build,
	.cost = cost,
};
