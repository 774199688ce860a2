/* plans/bine_blocks.h — ranks' blocks as the pieces of a Bine butterfly: in the order of its keys,
 * so that what a step moves is one run of bytes (the paper's permuted blocks).
 *
 *   8 ranks, order of blocks:   5 2 6 1 4 7 3 0    rank 0 keeps   4 7 3 0   |   3 0   |   0
 *
 * A number that stands for two ranks has a piece of both blocks. */
#ifndef CS_ALGORITHMS_PLANS_BINE_BLOCKS_H
#define CS_ALGORITHMS_PLANS_BINE_BLOCKS_H

#include "algorithms/plans/butterfly.h"

struct cs_bine_blocks {
	struct cs_butterfly fly;  /* pieces: by key */
	struct cs_pieces by_rank;
	int *number_at;           /* by piece: whose it is */
	size_t bytes;             /* of all */
};

/* Join a Bine butterfly and order the blocks. False: no memory, the builder knows; else
 * cs_bine_blocks_fini. */
bool cs_bine_blocks_init(struct cs_bine_blocks *blocks, struct cs_builder *builder);
void cs_bine_blocks_fini(struct cs_bine_blocks *blocks);

/* Ranks of piece `index`, and *first of them. */
static inline int
cs_bine_blocks_ranks(const struct cs_bine_blocks *blocks, int index, int *first)
{
	return cs_butterfly_ranks(&blocks->fly, blocks->number_at[index], first);
}
/* Index of the number's piece. */
static inline int
cs_bine_blocks_piece(const struct cs_bine_blocks *blocks, int number)
{
	return cs_butterfly_range(&blocks->fly, number, blocks->fly.levels).first;
}
/* Offset of the block of `rank`, one of this number's ranks, in the pieces. */
size_t cs_bine_blocks_at(const struct cs_bine_blocks *blocks, int rank);

#endif
