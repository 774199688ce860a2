#include "algorithms/plans/bine_blocks.h"

#include <stdlib.h>

bool
cs_bine_blocks_init(struct cs_bine_blocks *blocks, struct cs_builder *builder)
{
	const struct cs_problem *problem = builder->problem;
	struct cs_butterfly *fly = &blocks->fly;
	cs_butterfly_join(fly, builder, CS_BUTTERFLY_BINE, 0);
	size_t size = (size_t)fly->size, before = 0;
	bool has_ranks = cs_pieces_of_blocks(&blocks->by_rank, problem) == CS_OK;
	blocks->number_at = malloc(size * sizeof *blocks->number_at);
	fly->pieces = (struct cs_pieces){ .before = malloc((size + 1) * sizeof(size_t)) };
	if (!has_ranks || !blocks->number_at || !fly->pieces.before) {
		cs_build_no_memory(builder);
		cs_bine_blocks_fini(blocks);
		return false;
	}
	for (int number = 0; number < fly->size; number++)
		blocks->number_at[cs_bine_blocks_piece(blocks, number)] = number;
	for (int piece = 0; piece < fly->size; piece++) {
		int first, count = cs_bine_blocks_ranks(blocks, piece, &first);
		fly->pieces.before[piece] = before;
		before += cs_pieces_bytes(&blocks->by_rank, first, count);
	}
	fly->pieces.before[size] = blocks->bytes = before;
	return true;
}

void
cs_bine_blocks_fini(struct cs_bine_blocks *blocks)
{
	cs_pieces_fini(&blocks->by_rank);
	cs_pieces_fini(&blocks->fly.pieces);
	free(blocks->number_at);
}

size_t
cs_bine_blocks_at(const struct cs_bine_blocks *blocks, int rank)
{
	int first, piece = cs_bine_blocks_piece(blocks, blocks->fly.number);
	cs_bine_blocks_ranks(blocks, piece, &first);
	return cs_pieces_before(&blocks->fly.pieces, piece) +
	       cs_pieces_bytes(&blocks->by_rank, first, rank - first);
}
