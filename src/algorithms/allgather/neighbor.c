/* Allgather, neighbor exchange (seed 000, 5.3.2): ranks exchange with one neighbour and then the
 * other in turn, first their own block, then two at a time.
 *
 *   p = 6, rank 0's blocks:   0 . . . . .  |  0 1 . . . .  |  0 1 . . 4 5  |  0 1 2 3 4 5
 *   with                                     1               5               1
 *
 * Ranks 2j and 2j + 1 make the pair j and so do their blocks. From round 1 on each rank sends the
 * pair that it got last, so a pair moves one rank a round, down from 2j and up from 2j + 1. The two
 * blocks are one message, packed where they are not one after the other.
 *
 * p odd: the same among p + 1 ranks. The last has no block and is played by the last real one,
 * which then exchanges with both its neighbours in every odd round and with nobody in the even
 * ones. Two of its messages in the last round would be the same pair if (p - 1) / 2 is odd: that
 * from rank 0 is left out.
 *
 * Cost: ceil(p / 2) rounds; each rank receives every block but its own once. For large blocks: half
 * the start-ups of the ring. */
#include "algorithms/algorithm.h"
#include "algorithms/plans/packed_blocks.h"

struct circle {
	int ranks; /* of the call */
	int q;     /* and with the one that is played */
	int last;  /* round; pairs move in 1 .. last */
};

static struct circle
circle_of(int p)
{
	int q = p + p % 2;
	return (struct circle){ p, q, q / 2 - 1 };
}

static int
partner(struct circle circle, int rank, int round)
{
	return ((rank + round) % 2 ? rank - 1 + circle.q : rank + 1) % circle.q;
}

/* The pair that `rank` gets in a round from 1 on. */
static int
taken(struct circle circle, int rank, int round)
{
	int half = circle.q / 2, away = (round + 1) / 2;
	return (rank / 2 + ((rank + round) % 2 ? half - away : away)) % half;
}

/* Does `rank` get a message in this round? The played rank gets none from its player, and not the
 * same pair twice. */
static bool
is_served(struct circle circle, int rank, int round)
{
	bool is_played = rank == circle.ranks, is_odd = circle.q != circle.ranks;
	if (is_odd && rank >= circle.ranks - 1 && round % 2 == 0)
		return false;
	return !(is_played && round == circle.last);
}

/* Lay out the blocks that `rank` gets in the round. */
static void
lay(struct cs_builder *builder, struct circle circle, struct cs_packed_blocks *packed, int rank,
    int round)
{
	int pair = round ? taken(circle, rank, round) : 0, p = circle.ranks;
	cs_packed_lay(builder, packed, round ? 2 * pair : partner(circle, rank, 0),
		      round && 2 * pair + 1 < p ? 2 : 1);
}

/* Start one round for `rank`, this one or the one that it plays. */
static void
start(struct cs_builder *builder, struct circle circle, int rank, int round,
      struct cs_packed_blocks *give, struct cs_packed_blocks *take)
{
	int other = partner(circle, rank, round),
	    peer = other < circle.ranks ? other : circle.ranks - 1;
	builder->note = (uint32_t)round;
	if (is_served(circle, rank, round)) {
		lay(builder, circle, take, rank, round);
		cs_packed_recv(builder, take, peer);
	}
	if (is_served(circle, other, round)) {
		lay(builder, circle, give, other, round);
		cs_packed_send(builder, give, peer);
	}
}

static void
build(struct cs_builder *builder)
{
	const struct cs_problem *problem = builder->problem;
	struct circle circle = circle_of(problem->ranks);
	struct cs_packed_blocks give[2] = { 0 }, take[2] = { 0 };
	int self = problem->rank, sides = self == circle.ranks - 1 && circle.q != circle.ranks
					  ? 2 : 1;
	cs_build_keep_own(builder);
	for (int round = 0; round <= circle.last; round++) {
		for (int side = 0; side < sides; side++)
			start(builder, circle, self + side, round, &give[side], &take[side]);
		cs_build_wait_all(builder);
		for (int side = 0; side < sides; side++)
			if (is_served(circle, self + side, round))
				cs_packed_open(builder, &take[side]);
	}
}

const struct cs_algorithm cs_algorithm_allgather_neighbor = {
	.colls = CS_SET(CS_ALLGATHER),
	.name = "neighbor",
	.summary = "exchanges with the two neighbours in turn, two blocks at a time",
	.build = build,
};
