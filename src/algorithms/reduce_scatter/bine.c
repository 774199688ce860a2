/* Reduce_scatter(_block), Bine (De Sensi et al., SC '25): partners at negabinary distances
 * (plans/bine.h), the nearest first, give each other the blocks that the other's side needs.
 *
 *   p = 8, blocks that rank 0 has sums of:   all   |   0 3 4 7   |   0 3   |   0: partners 1, 7, 3
 *
 * Blocks are copied to CS_TMP in the order of keys (plans/bine_blocks.h). p not a power of two: of
 * the first ranks each odd one gives its vector to the even one below it, which sends its block
 * back.
 *
 * Cost: log2 p rounds, floor(log2 p) + 2 with a rest; n (p - 1) / p bytes of n in all if p is a
 * power of two, a copy of all n. As halving, with messages that go about two thirds as far, the
 * longest to the nearest. Commutative operations only. */
#include "algorithms/plans/bine_blocks.h"

/* Put the input, the mate's with it, in the order of keys. */
static void
order(struct cs_bine_blocks *blocks)
{
	struct cs_butterfly *fly = &blocks->fly;
	struct cs_builder *builder = fly->builder;
	if (fly->mate >= 0)
		cs_build_wait(builder,
			      cs_build_recv(builder, fly->mate, fly->spare, blocks->bytes));
	for (int piece = 0; piece < fly->size; piece++) {
		int first, count = cs_bine_blocks_ranks(blocks, piece, &first);
		size_t bytes = cs_pieces_bytes(&blocks->by_rank, first, count),
		       at = cs_pieces_before(&blocks->by_rank, first);
		struct cs_place to = cs_plus(fly->into, cs_pieces_before(&fly->pieces, piece));
		if (fly->mate >= 0)
			cs_build_reduce(builder, to, cs_in(at), cs_plus(fly->spare, at), bytes);
		else
			cs_build_copy(builder, to, cs_in(at), bytes);
	}
	fly->sum = fly->into;
}

static void
exchange(struct cs_bine_blocks *blocks)
{
	struct cs_butterfly *fly = &blocks->fly;
	struct cs_builder *builder = fly->builder;
	const struct cs_problem *problem = builder->problem;
	struct cs_butterfly_range half = cs_butterfly_range(fly, fly->number, 1);
	fly->into = cs_build_tmp(builder, blocks->bytes);
	fly->spare = cs_build_tmp(builder, fly->mate >= 0 ? blocks->bytes
				  : cs_pieces_bytes(&fly->pieces, half.first, half.count));
	order(blocks);
	cs_butterfly_scatter(fly);
	builder->note++;
	if (fly->mate >= 0)
		cs_build_send(builder, fly->mate,
			      cs_plus(fly->into, cs_bine_blocks_at(blocks, fly->mate)),
			      cs_problem_size(problem, fly->mate));
	cs_build_copy(builder, cs_out(0),
		      cs_plus(fly->into, cs_bine_blocks_at(blocks, problem->rank)),
		      cs_problem_size(problem, problem->rank));
}

static void
build(struct cs_builder *builder)
{
	const struct cs_problem *problem = builder->problem;
	struct cs_bine_blocks blocks;
	if (!problem->is_commutative) {
		cs_build_refuse(builder, CS_NOT_COMMUTATIVE);
		return;
	}
	if (problem->ranks == 1) {
		cs_build_copy(builder, cs_out(0), cs_in(0), cs_problem_size(problem, 0));
		return;
	}
	if (!cs_bine_blocks_init(&blocks, builder))
		return;
	if (blocks.fly.number >= 0) {
		exchange(&blocks);
	} else {
		cs_build_wait(builder,
			      cs_build_send(builder, blocks.fly.mate, cs_in(0), blocks.bytes));
		builder->note += (uint32_t)blocks.fly.levels + 1;
		cs_build_recv(builder, blocks.fly.mate, cs_out(0),
			      cs_problem_size(problem, problem->rank));
	}
	cs_bine_blocks_fini(&blocks);
}

const struct cs_algorithm cs_algorithm_reduce_scatter_bine = {
	.colls = CS_SET(CS_REDUCE_SCATTER) | CS_SET(CS_REDUCE_SCATTER_BLOCK),
	.name = "bine",
	.summary = "partners at negabinary distances, the nearest first, halve their sums",
	.needs = { .commutative = true },
	.build = build,
};
