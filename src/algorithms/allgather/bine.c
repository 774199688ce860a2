/* Allgather(v), Bine (De Sensi et al., SC '25): partners at negabinary distances (plans/bine.h)
 * exchange all that they have, the farthest first, so that most bytes go to the nearest.
 *
 *   p = 8, blocks of rank 0:   0   |   0 3   |   0 3 7 4   |   all: partners 3, 7, 1
 *
 * Blocks lie in CS_TMP in the order of keys (plans/bine_blocks.h) and are copied out at the end. p
 * not a power of two: of the first ranks each odd one gives its block to the even one below it and
 * gets all of them at the end.
 *
 * Cost: log2 p rounds, floor(log2 p) + 2 with a rest; each block received once, copied once. As
 * recursive-doubling, where the halves go p/2, p/4, .. ranks away and here p/3, p/6, .. */
#include "algorithms/plans/bine_blocks.h"
#include "algorithms/plans/packed_blocks.h"

/* Copy the others' blocks to OUT. */
static void
open_all(const struct cs_bine_blocks *blocks, struct cs_place all)
{
	struct cs_builder *builder = blocks->fly.builder;
	int self = builder->problem->rank;
	for (int piece = 0; piece < blocks->fly.size; piece++) {
		int first, count = cs_bine_blocks_ranks(blocks, piece, &first);
		struct cs_place from = cs_plus(all, cs_pieces_before(&blocks->fly.pieces, piece));
		if (self < first || self >= first + count) {
			cs_packed_unpack(builder, from, first, count);
		} else if (count > 1) {
			int other = self == first ? first + 1 : first;
			from = cs_plus(from, cs_pieces_bytes(&blocks->by_rank, first,
							     other - first));
			cs_packed_unpack(builder, from, other, 1);
		}
	}
}

static void
exchange(struct cs_bine_blocks *blocks, struct cs_place all)
{
	struct cs_butterfly *fly = &blocks->fly;
	struct cs_builder *builder = fly->builder;
	int self = builder->problem->rank;
	size_t own = cs_problem_size(builder->problem, self);
	if (fly->mate >= 0)
		cs_build_recv(builder, fly->mate,
			      cs_plus(all, cs_bine_blocks_at(blocks, fly->mate)),
			      cs_problem_size(builder->problem, fly->mate));
	cs_build_copy(builder, cs_plus(all, cs_bine_blocks_at(blocks, self)),
		      cs_build_own(builder), own);
	cs_build_wait_all(builder);
	fly->sum = all;
	cs_butterfly_allgather(fly);
	builder->note++;
	if (fly->mate >= 0)
		cs_build_send(builder, fly->mate, all, blocks->bytes);
}

static void
build(struct cs_builder *builder)
{
	struct cs_bine_blocks blocks;
	if (!cs_bine_blocks_init(&blocks, builder))
		return;
	struct cs_place all = cs_build_tmp(builder, blocks.bytes);
	cs_build_keep_own(builder);
	if (blocks.fly.number >= 0) {
		exchange(&blocks, all);
	} else {
		cs_build_send(builder, blocks.fly.mate, cs_build_own(builder),
			      cs_problem_size(builder->problem, builder->problem->rank));
		builder->note += (uint32_t)blocks.fly.levels + 1;
		cs_build_wait(builder,
			      cs_build_recv(builder, blocks.fly.mate, all, blocks.bytes));
	}
	open_all(&blocks, all);
	cs_bine_blocks_fini(&blocks);
}

const struct cs_algorithm cs_algorithm_allgather_bine = {
	.colls = CS_SET(CS_ALLGATHER) | CS_SET(CS_ALLGATHERV),
	.name = "bine",
	.summary = "partners at negabinary distances, the farthest first, exchange all they have",
	.build = build,
};
