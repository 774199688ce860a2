/* Allreduce, ring (seed 000, 5.3.2, ring, once for sums and once for results): the sum of each
 * piece goes once round the ring and grows, then once more to be copied.
 *
 *   p = 3, ranks in the sums of pieces 0 1 2:   rank 0         1          2
 *                                               0 0 0    |  1 1 1   |  2 2 2
 *       sums: piece r - 1 to rank r + 1         0 20 0   |  1 1 01  |  12 2 2
 *                                               120 . .  |  . 201 . |  . . 012
 *       results                                 012 . 012, ..   then all
 *
 * Commutative operations only: a sum begins behind the owner of its piece. Every rank has the same
 * result to the bit: the sum of an element is made along one way, and copied.
 *
 * Cost: 2 (p - 1) rounds; a rank sends and receives almost two vectors, the least there is. For
 * large vectors: only neighbours talk, and each link carries the same. */
#include "algorithms/algorithm.h"
#include "algorithms/plans/pieces.h"
#include "plan/build.h"

struct ring {
	struct cs_builder *builder;
	int p, self, right, left;
	struct cs_pieces pieces;
	struct cs_place spare;
};

static size_t
before(const struct ring *ring, int piece)
{
	return cs_pieces_before(&ring->pieces, piece);
}

static size_t
bytes_of(const struct ring *ring, int piece)
{
	return cs_pieces_bytes(&ring->pieces, piece, 1);
}

/* Sum up round the ring: this rank sends its own piece in round 0, later the one it added to
 * last. */
static void
sum_up(const struct ring *ring)
{
	struct cs_builder *builder = ring->builder;
	int p = ring->p;
	for (int round = 0; round < p - 1; round++, builder->note++) {
		int give = (ring->self + 2 * p - 1 - round) % p,
		    take = (ring->left + 2 * p - 1 - round) % p;
		struct cs_place own = cs_in(before(ring, take)), sum = cs_out(before(ring, take));
		cs_build_sendrecv(builder, ring->right, round ? cs_out(before(ring, give))
							      : cs_in(before(ring, give)),
				  bytes_of(ring, give), ring->left, ring->spare,
				  bytes_of(ring, take));
		cs_build_reduce(builder, sum, ring->spare, own, bytes_of(ring, take));
	}
}

static void
hand_round(const struct ring *ring)
{
	struct cs_builder *builder = ring->builder;
	int p = ring->p;
	for (int round = 0; round < p - 1; round++, builder->note++) {
		int give = (ring->self + p - round) % p, take = (ring->left + p - round) % p;
		cs_build_sendrecv(builder, ring->right, cs_out(before(ring, give)),
				  bytes_of(ring, give), ring->left, cs_out(before(ring, take)),
				  bytes_of(ring, take));
	}
}

static void
build(struct cs_builder *builder)
{
	const struct cs_problem *problem = builder->problem;
	int p = problem->ranks, self = problem->rank;
	struct ring ring = { .builder = builder, .p = p, .self = self, .right = (self + 1) % p,
			     .left = (self + p - 1) % p,
			     .pieces = cs_pieces_of_vector(problem, p) };
	if (!problem->is_commutative) {
		cs_build_refuse(builder, CS_NOT_COMMUTATIVE);
		return;
	}
	if (p == 1 && !problem->is_in_place)
		cs_build_copy(builder, cs_out(0), cs_in(0), problem->bytes);
	ring.spare = cs_build_tmp(builder, bytes_of(&ring, 0));
	sum_up(&ring);
	hand_round(&ring);
}

/* A rank does not send its own piece the first time and the next rank's the second time; the last
 * pieces are the shortest. */
static void
cost(const struct cs_problem *problem, struct cs_cost *cost)
{
	int p = problem->ranks;
	struct cs_pieces pieces = cs_pieces_of_vector(problem, p);
	cost->rounds = problem->bytes ? 2 * ((uint64_t)p - 1) : 0;
	cost->bytes = p > 1 ? 2 * problem->bytes - cs_pieces_bytes(&pieces, p - 2, 2) : 0;
}

const struct cs_algorithm cs_algorithm_allreduce_ring = {
	.colls = CS_SET(CS_ALLREDUCE),
	.name = "ring",
	.summary = "pieces go round, once for the sum and once for the result",
	.needs = { .commutative = true },
	.build = build,
	.cost = cost,
};
