/* Allgather, recursive doubling (seed 000, 5.3.2): in round i ranks 2^i apart exchange all their
 * blocks.
 *
 *   p = 8, rank 0:   0 . . . . . . .  |  0 1 . . . . . .  |  0 1 2 3 . . . .  |  0 1 2 3 4 5 6 7
 *
 * p not a power of two: q is the largest that fits in, and of the first 2 (p - q) ranks each odd
 * one gives its block to the even one below it, which acts for both and hands back all other blocks
 * at the end:
 *
 *   p = 5:   1 -> 0  |  01 <-> 2, 3 <-> 4  |  012 <-> 34 (0 with 3, 2 with 4)  |  0 -> 1: 0, 2 3 4
 *
 * A rank's blocks are always a run of ranks' without a wrap: no copies unless OUT has holes.
 *
 * Cost: log2 p rounds, floor(log2 p) + 2 with a rest; each block received once, but an even rank of
 * the rest sends everything once more. For small blocks on a power of two. */
#include "algorithms/algorithm.h"
#include "algorithms/plans/packed_blocks.h"
#include "algorithms/plans/pieces.h"

struct halves {
	int q;    /* ranks that take part in the doubling: a power of two */
	int rest; /* ranks that do not */
};

static struct halves
halve(int p)
{
	int q = 1;
	while (q <= p / 2)
		q *= 2;
	return (struct halves){ q, p - q };
}

/* Rank of member `index` of the doubling; the blocks of all members before it are those of lower
 * ranks. */
static int
member(struct halves halves, int index)
{
	return index < halves.rest ? 2 * index : index + halves.rest;
}

/* Blocks that member `index` has before the round of `mask`. */
static int
held(struct halves halves, int index, int mask, int *count)
{
	int low = index & ~(mask - 1), first = member(halves, low);
	*count = member(halves, low + mask) - first;
	return first;
}

static void
swap_all(struct cs_builder *builder, struct halves halves, int index)
{
	struct cs_packed_blocks give = { 0 }, take = { 0 };
	for (int mask = 1; mask < halves.q; mask *= 2) {
		int peer = member(halves, index ^ mask), count,
		    first = held(halves, index, mask, &count);
		builder->note++;
		cs_packed_lay(builder, &give, first, count);
		first = held(halves, index ^ mask, mask, &count);
		cs_packed_lay(builder, &take, first, count);
		cs_packed_recv(builder, &take, peer);
		cs_packed_send(builder, &give, peer);
		cs_build_wait_all(builder);
		cs_packed_open(builder, &take);
	}
}

/* Send all blocks but that of `odd` to it from the rank below, in two messages. */
static void
hand_back(struct cs_builder *builder, int odd)
{
	const struct cs_problem *problem = builder->problem;
	bool is_odd = problem->rank == odd;
	struct cs_packed_blocks packs[2] = { 0 };
	builder->note++;
	cs_packed_lay(builder, &packs[0], 0, odd);
	cs_packed_lay(builder, &packs[1], odd + 1, problem->ranks - odd - 1);
	for (int i = 0; i < 2; i++)
		if (is_odd)
			cs_packed_recv(builder, &packs[i], odd - 1);
		else
			cs_packed_send(builder, &packs[i], odd);
	cs_build_wait_all(builder);
	for (int i = 0; is_odd && i < 2; i++)
		cs_packed_open(builder, &packs[i]);
}

static void
build(struct cs_builder *builder)
{
	const struct cs_problem *problem = builder->problem;
	int self = problem->rank;
	struct halves halves = halve(problem->ranks);
	bool is_folded = self < 2 * halves.rest;
	size_t own = cs_problem_size(problem, self);
	cs_build_keep_own(builder);
	if (is_folded && self % 2) {
		cs_build_wait(builder,
			      cs_build_send(builder, self - 1, cs_build_own(builder), own));
		hand_back(builder, self);
		return;
	}
	if (is_folded)
		cs_build_wait(builder,
			      cs_build_recv(builder, self + 1, cs_build_block(builder, self + 1),
						     cs_problem_size(problem, self + 1)));
	swap_all(builder, halves, is_folded ? self / 2 : self - halves.rest);
	if (is_folded)
		hand_back(builder, self + 1);
}

const struct cs_algorithm cs_algorithm_allgather_recursive_doubling = {
	.colls = CS_SET(CS_ALLGATHER),
	.name = "recursive-doubling",
	.summary = "ranks 1, 2, 4 .. apart exchange all that they have",
	.build = build,
};
