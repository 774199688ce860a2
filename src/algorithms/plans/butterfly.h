/* plans/butterfly.h — an exchange by the bits of rank numbers for reductions that keep the order
 * of ranks.
 *
 * If p is not a power of two the first ranks are folded: of each pair of neighbours one sends its
 * vector to the other and waits for the result. The others are numbered, in order:
 *
 *   p = 6:   rank     0-1   2-3   4   5        folds 2
 *            number    0     1    2   3        size 4
 *
 * Step k is an exchange between numbers that differ in bit k. Before it the partners have sums of
 * neighbouring groups of 2^k numbers, so the lower one's is the left operand.
 *
 * If the vector is halved on the way, a number keeps in step k the lower half of its pieces if bit
 * k of (number xor flip) is 0:
 *
 *   size 4, flip 3, pieces    number 0   1   2   3        before   0123  0123  0123  0123
 *                                                         step 0     23  01      23  01
 *                                                         step 1      3   1       2   0
 *
 * Number `pivot` gets the last piece, the number farthest from it the first, which is never empty:
 * so the longest chain, from a folded pivot and back to it, is the same for all vectors that are
 * not empty. */
#ifndef CS_ALGORITHMS_PLANS_BUTTERFLY_H
#define CS_ALGORITHMS_PLANS_BUTTERFLY_H

#include "algorithms/algorithm.h"
#include "algorithms/plans/pieces.h"
#include "plan/build.h"

struct cs_butterfly {
	struct cs_builder *builder;
	int levels, size, folds;
	int keep;   /* the rank that stays if folded; the pivot is its number */
	int flip;
	int number; /* -1: folded away */
	int mate;   /* the rank that this one is folded with, or -1 */
	struct cs_pieces pieces;
	struct cs_place sum;   /* what this rank has: IN at first, then `into` */
	struct cs_place into;  /* the whole vector's place */
	struct cs_place spare; /* for received vectors */
};

struct cs_butterfly_range {
	int first, count;
};

/* Fill in the shape only; functions of a rank need cs_butterfly_begin. `keep`: the root, or 0. */
void cs_butterfly_shape(struct cs_butterfly *fly, const struct cs_problem *problem, int keep);
/* Fill in the shape and take the memory. `into` becomes OUT, or CS_TMP if the rank has no result.
 * `halves`: spare memory is for halves of the vector. */
void cs_butterfly_begin(struct cs_butterfly *fly, struct cs_builder *builder, int keep,
			bool halves);

/* Pieces that `number` has after `level` halvings. */
struct cs_butterfly_range cs_butterfly_range(const struct cs_butterfly *fly, int number, int level);
/* The same of its partner in the last halving: the other half. */
struct cs_butterfly_range cs_butterfly_sibling(const struct cs_butterfly *fly, int number,
					       int level);

/* Send the vectors of folded ranks to their mates, which add them. */
void cs_butterfly_fold(struct cs_butterfly *fly);
/* Send the result to the folded ranks. */
void cs_butterfly_unfold(struct cs_butterfly *fly);
/* Exchange whole vectors: all numbers have the sum. */
void cs_butterfly_combine(struct cs_butterfly *fly);
/* Exchange halves: each number has the sum of its pieces. */
void cs_butterfly_scatter(struct cs_butterfly *fly);
/* After cs_butterfly_scatter: send all pieces to all numbers, or to the pivot. */
void cs_butterfly_allgather(struct cs_butterfly *fly);
void cs_butterfly_gather(struct cs_butterfly *fly);

#endif
