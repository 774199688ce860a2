#include "algorithms/plans/pairs.h"

size_t
cs_pairs_recv_size(const struct cs_problem *problem, int rank)
{
	return problem->recv_sizes ? problem->recv_sizes[rank] : cs_problem_size(problem, rank);
}

struct cs_place
cs_pairs_in(const struct cs_problem *problem, int rank)
{
	return cs_in(cs_problem_at(problem, rank));
}

struct cs_place
cs_pairs_out(const struct cs_problem *problem, int rank)
{
	size_t before = 0;
	if (problem->recv_at)
		return cs_out(problem->recv_at[rank]);
	if (!problem->recv_sizes)
		return cs_out(cs_problem_before(problem, rank));
	for (int r = 0; r < rank; r++)
		before += problem->recv_sizes[r];
	return cs_out(before);
}

void
cs_pairs_keep_own(struct cs_builder *builder)
{
	const struct cs_problem *problem = builder->problem;
	int self = problem->rank;
	if (!problem->is_in_place)
		cs_build_copy(builder, cs_pairs_out(problem, self), cs_pairs_in(problem, self),
			      cs_problem_size(problem, self));
}

struct cs_place
cs_pairs_save(struct cs_builder *builder)
{
	const struct cs_problem *problem = builder->problem;
	int self = problem->rank, p = problem->ranks;
	size_t bytes = cs_problem_total(problem) - cs_problem_size(problem, self), at = 0;
	struct cs_place saved = cs_build_tmp(builder, bytes);
	for (int i = 1; i < p; i++) {
		int to = (self + i) % p;
		cs_build_copy(builder, cs_plus(saved, at), cs_pairs_in(problem, to),
			      cs_problem_size(problem, to));
		at += cs_problem_size(problem, to);
	}
	return saved;
}

/* Bytes that the rank sends or receives, the larger. */
static uint64_t
most_bytes(const struct cs_problem *problem)
{
	size_t own = cs_problem_size(problem, problem->rank),
	       sent = cs_problem_total(problem) - own, received = 0;
	for (int rank = 0; problem->recv_sizes && rank < problem->ranks; rank++)
		received += rank == problem->rank ? 0 : problem->recv_sizes[rank];
	return received > sent ? received : sent;
}

/* The last peer distance from which a block comes, 0 for none. */
static uint64_t
last_coming(const struct cs_problem *problem)
{
	int self = problem->rank, p = problem->ranks;
	for (int distance = p - 1; distance > 0; distance--)
		if (cs_pairs_recv_size(problem, (self + p - distance) % p))
			return (uint64_t)distance;
	return 0;
}

/* --- scattered -------------------------------------------------------------------------------- */

/* Messages of one direction that were started last, as many as may be under way. */
struct window {
	size_t width, started; /* width 0: all may */
	int requests[CS_PAIRS_WINDOW];
};

static void
make_room(struct cs_builder *builder, const struct window *window)
{
	if (window->width && window->started >= window->width)
		cs_build_wait(builder, window->requests[window->started % window->width]);
}

static void
keep(struct window *window, int request)
{
	if (window->width)
		window->requests[window->started++ % window->width] = request;
}

/* No deadlock: a rank waits only for messages of smaller distance than the one it starts next. */
void
cs_pairs_scattered(struct cs_builder *builder, size_t width)
{
	const struct cs_problem *problem = builder->problem;
	struct window sends = { .width = width }, recvs = { .width = width };
	int self = problem->rank, p = problem->ranks;
	struct cs_place saved = cs_tmp(0);
	if (problem->is_in_place)
		saved = cs_pairs_save(builder);
	for (int i = 1; i < p; i++) {
		int to = (self + i) % p, from = (self + p - i) % p;
		size_t give = cs_problem_size(problem, to),
		       take = cs_pairs_recv_size(problem, from);
		struct cs_place block = problem->is_in_place ? saved : cs_pairs_in(problem, to);
		builder->note = width ? (uint32_t)((size_t)(i - 1) / width) : 0;
		builder->port = i - 1;
		if (take) {
			make_room(builder, &recvs);
			keep(&recvs,
			     cs_build_recv(builder, from, cs_pairs_out(problem, from), take));
		}
		if (give) {
			make_room(builder, &sends);
			keep(&sends, cs_build_send(builder, to, block, give));
		}
		saved = cs_plus(saved, give);
	}
	builder->port = 0;
	cs_pairs_keep_own(builder);
}

void
cs_pairs_scattered_cost(const struct cs_problem *problem, size_t width, struct cs_cost *cost)
{
	uint64_t last = last_coming(problem);
	cost->bytes = most_bytes(problem);
	cost->rounds = !last ? 0 : width ? (last + width - 1) / width : 1;
}

/* --- pairwise --------------------------------------------------------------------------------- */

/* Partner of `rank` in a round of a round-robin tournament, so that both name each other: their sum
 * is the round modulo an odd number; a rank that would meet itself meets the last of an even number
 * of ranks, or rests (-1). */
static int
partner_of(int rank, int round, int p)
{
	int odd = p % 2 ? p : p - 1;
	if (rank == odd) /* the last: it meets the one whose double is the round */
		return (int)((int64_t)round * ((odd + 1) / 2) % odd);
	int partner = (round + odd - rank) % odd;
	if (partner == rank)
		return p % 2 ? -1 : odd;
	return partner;
}

struct round {
	int to, from; /* -1: rests */
};

static struct round
round_of(const struct cs_problem *problem, int round)
{
	int self = problem->rank, p = problem->ranks;
	if (problem->is_in_place) {
		int partner = partner_of(self, round, p);
		return (struct round){ partner, partner };
	}
	if ((p & (p - 1)) == 0)
		return (struct round){ self ^ (round + 1), self ^ (round + 1) };
	return (struct round){ (self + round + 1) % p, (self + p - round - 1) % p };
}

static int
count_rounds(const struct cs_problem *problem)
{
	int p = problem->ranks;
	return problem->is_in_place && p > 1 && p % 2 ? p : p - 1;
}

static size_t
largest_coming(const struct cs_problem *problem)
{
	size_t most = 0;
	for (int rank = 0; rank < problem->ranks; rank++)
		if (rank != problem->rank && cs_pairs_recv_size(problem, rank) > most)
			most = cs_pairs_recv_size(problem, rank);
	return most;
}

void
cs_pairs_pairwise(struct cs_builder *builder)
{
	const struct cs_problem *problem = builder->problem;
	bool is_in_place = problem->is_in_place;
	struct cs_place block = cs_build_tmp(builder, is_in_place ? largest_coming(problem) : 0);
	cs_pairs_keep_own(builder);
	for (int i = 0; i < count_rounds(problem); i++) {
		struct round round = round_of(problem, i);
		builder->note = (uint32_t)i;
		builder->port = i;
		if (round.to < 0)
			continue;
		struct cs_place to = cs_pairs_out(problem, round.from),
				into = is_in_place ? block : to;
		size_t take = cs_pairs_recv_size(problem, round.from);
		cs_build_sendrecv(builder, round.to, cs_pairs_in(problem, round.to),
				  cs_problem_size(problem, round.to), round.from, into, take);
		cs_build_copy(builder, to, into, take);
	}
	builder->port = 0;
}

/* Rounds: all if blocks have one size, though the rank may rest in the last; else up to its last
 * block. */
void
cs_pairs_pairwise_cost(const struct cs_problem *problem, struct cs_cost *cost)
{
	int rounds = count_rounds(problem);
	for (; problem->recv_sizes && rounds; rounds--) {
		int from = round_of(problem, rounds - 1).from;
		if (from >= 0 && cs_pairs_recv_size(problem, from))
			break;
	}
	cost->bytes = most_bytes(problem);
	cost->rounds = cost->bytes ? (uint64_t)rounds : 0;
}
