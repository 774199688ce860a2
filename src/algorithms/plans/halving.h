/* plans/halving.h — ranks cut in two, each part in two again, until each is alone (seed 000,
 * 5.1.3, recursive splitting for any number of ranks).
 *
 *   p = 7:  0 1 2 3 4 5 6  |  0 1 2 3 . 4 5 6  |  0 1 . 2 3 . 4 5 . 6  |  0 . 1 . 2 . 3 . 4 . 5 . 6
 *
 * The lower part is the larger one if they differ, by one rank. The first ranks of both parts are
 * partners, the second ones, and so on; the odd one, last of a larger lower part, has none, and the
 * last rank of all acts for it too:
 *
 *   0 1 2 3 . 4 5 6:   0-4   1-5   2-6   and 3-6
 *
 * So ceil(log2 p) rounds serve every p, where an exchange by bits would need two more for all but
 * powers of two. */
#ifndef CS_ALGORITHMS_PLANS_HALVING_H
#define CS_ALGORITHMS_PLANS_HALVING_H

#define CS_HALVING_MOST 32 /* cuts: int has no more bits */

struct cs_halving {
	int first, count;             /* what is cut */
	int own_first, own_count;     /* the part that `rank` is in */
	int other_first, other_count; /* the other one */
	int partner;                  /* -1: rank is the odd one */
	int also;                     /* of the odd one: the rank that acts for it; of that rank:
				       * the odd one; else -1 */
};

static inline struct cs_halving
cs_halving_cut(int first, int count, int rank)
{
	int upper = count / 2, lower = count - upper, middle = first + lower,
	    last = first + count - 1;
	struct cs_halving cut = { .first = first, .count = count, .partner = -1, .also = -1 };
	if (rank < middle) {
		cut.own_first = first;
		cut.own_count = lower;
		cut.other_first = middle;
		cut.other_count = upper;
		if (rank + lower <= last)
			cut.partner = rank + lower;
		else
			cut.also = last;
	} else {
		cut.own_first = middle;
		cut.own_count = upper;
		cut.other_first = first;
		cut.other_count = lower;
		cut.partner = rank - lower;
		if (rank == last && lower > upper)
			cut.also = middle - 1;
	}
	return cut;
}

#endif
