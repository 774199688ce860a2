/* Alltoall, Bine (De Sensi et al., SC '25): blocks travel to the nearest partner at a negabinary
 * distance (plans/bine.h) whose side of the butterfly they are for, then to the next.
 *
 *   p = 8, rank 0 has blocks   of 0 for all   |   of 0 1 for 0 3 4 7   |   of 0 1 7 6 for 0 3   |
 *                              of all for 0:  partners 1, 7, 3
 *
 * CS_TMP has the blocks by receiver in the order of keys (plans/bine_blocks.h), and those for one
 * by sender in the order in which they came, so a step sends one run of bytes. p not a power of
 * two: of the first ranks each odd one gives all its blocks to the even one below it, and gets all
 * that are for it at the end.
 *
 * Cost: log2 p rounds of about p/2 blocks, floor(log2 p) + 2 with a rest, p more blocks then; all
 * blocks copied in each round. As bruck, with messages that go about two thirds as far. For small
 * blocks. */
#include "algorithms/plans/bine.h"
#include "algorithms/plans/bine_blocks.h"
#include "algorithms/plans/pairs.h"

struct state {
	struct cs_bine_blocks blocks;
	struct cs_builder *builder;
	size_t bytes;              /* of a block */
	struct cs_place kept;
	struct cs_place next;      /* kept after this step */
	struct cs_place taken;     /* received in this step */
	struct cs_place mates;     /* the mate's blocks, by rank: to all, at the end from all */
};

/* Number `index` of those whose blocks `number` has after `steps` steps. */
static int
sender_at(const struct state *state, int number, int steps, int index)
{
	while (steps--)
		if (index >> steps & 1)
			number = cs_bine_partner(state->blocks.fly.size, number, steps);
	return number;
}

/* Ranks whose blocks it has. */
static size_t
senders_of(const struct state *state, int number, int steps)
{
	size_t count = 0;
	int first;
	for (int i = 0; i < 1 << steps; i++)
		count += (size_t)cs_butterfly_ranks(&state->blocks.fly,
						    sender_at(state, number, steps, i), &first);
	return count;
}

/* Ranks of the pieces that a number keeps after so many steps. */
static size_t
receivers_of(const struct state *state, int number, int steps)
{
	const struct cs_butterfly *fly = &state->blocks.fly;
	struct cs_butterfly_range range = cs_butterfly_range(fly, number, steps);
	return cs_pieces_bytes(&fly->pieces, range.first, range.count) / state->bytes;
}

static void
take_memory(struct state *state)
{
	const struct cs_butterfly *fly = &state->blocks.fly;
	size_t most = 0, most_taken = 0;
	for (int steps = 0; steps <= fly->levels; steps++) {
		size_t kept = senders_of(state, fly->number, steps) *
			      receivers_of(state, fly->number, steps);
		most = kept > most ? kept : most;
		if (steps == fly->levels)
			break;
		int partner = cs_bine_partner(fly->size, fly->number, steps);
		size_t taken = senders_of(state, partner, steps) *
			       receivers_of(state, fly->number, steps + 1);
		most_taken = taken > most_taken ? taken : most_taken;
	}
	state->kept = cs_build_tmp(state->builder, most * state->bytes);
	state->next = cs_build_tmp(state->builder, most * state->bytes);
	state->taken = cs_build_tmp(state->builder, most_taken * state->bytes);
	if (fly->mate >= 0)
		state->mates = cs_build_tmp(state->builder,
					    (size_t)state->builder->problem->ranks * state->bytes);
}

/* Place of the block of rank `other` in what belongs to `rank`, this one or its mate: to the other,
 * or `is_out`, from it. */
static struct cs_place
block_of(const struct state *state, int rank, int other, bool is_out)
{
	const struct cs_problem *problem = state->builder->problem;
	if (rank != problem->rank)
		return cs_plus(state->mates, (size_t)other * state->bytes);
	return is_out ? cs_pairs_out(problem, other) : cs_pairs_in(problem, other);
}

/* Order the own blocks by receiver, those of the mate behind. */
static void
load(struct state *state)
{
	const struct cs_butterfly *fly = &state->blocks.fly;
	struct cs_place to = state->kept;
	int own_first, own = cs_butterfly_ranks(fly, fly->number, &own_first);
	for (int piece = 0; piece < fly->size; piece++) {
		int first, count = cs_bine_blocks_ranks(&state->blocks, piece, &first);
		for (int from = own_first; from < own_first + own; from++)
			for (int rank = first; rank < first + count; rank++) {
				cs_build_copy(state->builder, to,
					      block_of(state, from, rank, false), state->bytes);
				to = cs_plus(to, state->bytes);
			}
	}
}

static void
unload(struct state *state)
{
	const struct cs_butterfly *fly = &state->blocks.fly;
	struct cs_place from = state->kept;
	int own_first, own = cs_butterfly_ranks(fly, fly->number, &own_first);
	for (int i = 0; i < fly->size; i++) {
		int sender = sender_at(state, fly->number, fly->levels, i), first,
		    count = cs_butterfly_ranks(fly, sender, &first);
		for (int rank = first; rank < first + count; rank++)
			for (int to = own_first; to < own_first + own; to++) {
				cs_build_copy(state->builder, block_of(state, to, rank, true),
					      from, state->bytes);
				from = cs_plus(from, state->bytes);
			}
	}
}

static void
step(struct state *state, int bit)
{
	struct cs_builder *builder = state->builder;
	const struct cs_butterfly *fly = &state->blocks.fly;
	int partner = cs_bine_partner(fly->size, fly->number, bit), first, peer;
	struct cs_butterfly_range own = cs_butterfly_range(fly, fly->number, bit + 1),
				  other = cs_butterfly_range(fly, partner, bit + 1);
	bool is_lower = own.first < other.first;
	size_t mine = senders_of(state, fly->number, bit), theirs = senders_of(state, partner, bit);
	size_t receivers = receivers_of(state, fly->number, bit + 1) * state->bytes,
	       give = receivers_of(state, partner, bit + 1) * mine * state->bytes;
	struct cs_place kept = cs_plus(state->kept, is_lower ? 0 : give),
			given = cs_plus(state->kept, is_lower ? receivers * mine : 0),
			taken = state->taken, to = state->next;
	cs_butterfly_ranks(fly, partner, &peer); /* the first of two acts for both */
	cs_build_sendrecv(builder, peer, given, give, peer, taken, receivers * theirs);
	for (int piece = own.first; piece < own.first + own.count; piece++) {
		size_t count = (size_t)cs_bine_blocks_ranks(&state->blocks, piece, &first) *
			       state->bytes;
		cs_build_copy(builder, to, kept, mine * count);
		cs_build_copy(builder, cs_plus(to, mine * count), taken, theirs * count);
		to = cs_plus(to, (mine + theirs) * count);
		kept = cs_plus(kept, mine * count);
		taken = cs_plus(taken, theirs * count);
	}
	to = state->kept;
	state->kept = state->next;
	state->next = to;
	builder->note++;
}

static void
exchange(struct state *state)
{
	struct cs_builder *builder = state->builder;
	const struct cs_butterfly *fly = &state->blocks.fly;
	size_t all = (size_t)builder->problem->ranks * state->bytes;
	take_memory(state);
	if (fly->mate >= 0)
		cs_build_wait(builder, cs_build_recv(builder, fly->mate, state->mates, all));
	load(state);
	builder->note++;
	for (int bit = 0; bit < fly->levels; bit++)
		step(state, bit);
	unload(state);
	if (fly->mate >= 0)
		cs_build_send(builder, fly->mate, state->mates, all);
}

/* A rank that is folded away: its blocks to the mate, and those for it back. */
static void
hand_over(struct state *state)
{
	struct cs_builder *builder = state->builder;
	const struct cs_problem *problem = builder->problem;
	size_t all = (size_t)problem->ranks * state->bytes;
	struct cs_place packed = cs_build_tmp(builder, all);
	for (int rank = 0; rank < problem->ranks; rank++)
		cs_build_copy(builder, cs_plus(packed, (size_t)rank * state->bytes),
			      cs_pairs_in(problem, rank), state->bytes);
	cs_build_wait(builder, cs_build_send(builder, state->blocks.fly.mate, packed, all));
	builder->note += (uint32_t)state->blocks.fly.levels + 1;
	cs_build_wait(builder, cs_build_recv(builder, state->blocks.fly.mate, packed, all));
	for (int rank = 0; rank < problem->ranks; rank++)
		cs_build_copy(builder, cs_pairs_out(problem, rank),
			      cs_plus(packed, (size_t)rank * state->bytes), state->bytes);
}

static void
build(struct cs_builder *builder)
{
	struct state state = { .builder = builder, .bytes = builder->problem->bytes };
	if (!state.bytes || !cs_bine_blocks_init(&state.blocks, builder))
		return;
	if (state.blocks.fly.number >= 0)
		exchange(&state);
	else
		hand_over(&state);
	cs_bine_blocks_fini(&state.blocks);
}

const struct cs_algorithm cs_algorithm_alltoall_bine = {
	.colls = CS_SET(CS_ALLTOALL),
	.name = "bine",
	.summary = "blocks travel by negabinary distances, the nearest first, log p rounds",
	.build = build,
};
