/* plans/butterfly.h — an exchange by the bits of rank numbers for reductions that keep the order
 * of ranks, or by Bine distances (plans/bine.h) for those that need not.
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
 * not empty.
 *
 * The Bine ways have other partners, and bits of cs_bine_key in place of those of the number. Step
 * k keeps the bits below k, not those above: the pieces of a range belong to numbers that are near
 * each other on the circle of ranks, and their sums are in no order. */
#ifndef CS_ALGORITHMS_PLANS_BUTTERFLY_H
#define CS_ALGORITHMS_PLANS_BUTTERFLY_H

#include "algorithms/algorithm.h"
#include "algorithms/plans/pieces.h"
#include "plan/build.h"

enum cs_butterfly_way {
	CS_BUTTERFLY_BINARY,
	CS_BUTTERFLY_BINE,
	CS_BUTTERFLY_MIRRORED, /* Bine with number i as -i: each step in the other direction */
};

struct cs_butterfly {
	struct cs_builder *builder;
	enum cs_butterfly_way way;
	int levels, size, folds;
	int keep;   /* the rank that stays if folded; the pivot is its number */
	int flip;
	int number; /* -1: folded away */
	int mate;   /* the rank that this one is folded with, or -1 */
	struct cs_pieces pieces;
	struct cs_place sum;   /* what this rank has: IN at first, then `into` */
	struct cs_place into;  /* the whole vector's place */
	struct cs_place spare; /* for received vectors */
	int requests[2];       /* of a step: receive, send */
	struct cs_butterfly *beside; /* one with other pieces whose steps go on at the same time, or
				      * NULL */
};

struct cs_butterfly_range {
	int first, count;
};

/* Fill in the shape only; functions of a rank need cs_butterfly_join or _begin. `keep`: the root,
 * or 0. */
void cs_butterfly_shape(struct cs_butterfly *fly, const struct cs_problem *problem,
			enum cs_butterfly_way way, int keep);
/* Fill in the shape and the rank: `sum` is IN, `into` OUT, without spare memory. */
void cs_butterfly_join(struct cs_butterfly *fly, struct cs_builder *builder,
		       enum cs_butterfly_way way, int keep);
/* Begin a reduction: the same, take the memory (`into` becomes OUT, or CS_TMP if the rank has no
 * result), send the vectors of folded ranks to their mates, which add them, and copy the vector of
 * a rank that is alone. `halves`: spare memory is for halves of the vector. False: refused, since
 * this way adds in no order and the operation needs one. */
bool cs_butterfly_begin(struct cs_butterfly *fly, struct cs_builder *builder,
			enum cs_butterfly_way way, int keep, bool halves);
/* Cut the vector in two halves, the second for `second`, mirrored and beside. After
 * cs_butterfly_begin; spare memory must be for the whole vector. */
void cs_butterfly_split(struct cs_butterfly *fly, struct cs_butterfly *second);

/* Pieces that `number` has after `level` halvings. */
struct cs_butterfly_range cs_butterfly_range(const struct cs_butterfly *fly, int number, int level);
/* Ranks that `number` stands for, from *first on. */
int cs_butterfly_ranks(const struct cs_butterfly *fly, int number, int *first);

/* Send the result to the folded ranks. */
void cs_butterfly_unfold(struct cs_butterfly *fly);
/* Exchange whole vectors: all numbers have the sum. */
void cs_butterfly_combine(struct cs_butterfly *fly);
/* Exchange halves: each number has the sum of its pieces. */
void cs_butterfly_scatter(struct cs_butterfly *fly);
/* After cs_butterfly_scatter: send all pieces to all numbers, or to the pivot. */
void cs_butterfly_allgather(struct cs_butterfly *fly);
void cs_butterfly_gather(struct cs_butterfly *fly);
/* Send the pivot's pieces, in `sum`, to all numbers: scattered, then all to all. */
void cs_butterfly_spread(struct cs_butterfly *fly);

#endif
