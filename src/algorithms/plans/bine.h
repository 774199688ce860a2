/* plans/bine.h — Bine (binomial negabinary) trees and butterflies: partners at the distances of
 * negabinary numbers (De Sensi et al., SC '25, arXiv 2508.17311; as an exchange first in Swing, De
 * Sensi et al., NSDI '24).
 *
 * A negabinary number has the base -2; k ones are (1 - (-2)^k) / 3: 1, -1, 3, -5, 11, -21, 43, ..
 * In step s of the butterfly of a power of two of ranks on a circle, even ranks find their partner
 * at the distance of s + 1 ones, odd ones at its negative:
 *
 *   8 ranks:   step 0: 0-1 2-3 4-5 6-7   step 1: 0-7 1-2 3-4 5-6   step 2: 0-3 2-5 4-7 6-1
 *
 * A distance is about a third of the ranks that have been met, where recursive doubling has a half:
 * fewer partners are in another group of nodes.
 *
 * The tree from the longest distance to the shortest is a cut of an arc of ranks in two, in which
 * the head of the other half mirrors the own one:
 *
 *   8 ranks from head 0:  6 7 0 1 . 2 3 4 5   0 -> 3   |   6 7 . 0 1   0 -> 7   |   0 -> 1, 7 -> 6
 *                                                      |   2 3 . 4 5   3 -> 4   |   3 -> 2, 4 -> 5
 *
 * It begins with the head at a third of the circle, and a head stays at about a third or two thirds
 * of its arc. So the same tree serves any number of ranks (plans/tree_partition.h); the butterfly
 * needs ranks to be folded (plans/butterfly.h). */
#ifndef CS_ALGORITHMS_PLANS_BINE_H
#define CS_ALGORITHMS_PLANS_BINE_H

#include <stdint.h>

/* The value of `step` + 1 ones in negabinary; step below 30. */
static inline int
cs_bine_distance(int step)
{
	int power = 2 << step;
	return (1 + (step % 2 ? -power : power)) / 3;
}

/* `size`: a power of two up to 2^30. */
static inline int
cs_bine_partner(int size, int number, int step)
{
	int64_t distance = cs_bine_distance(step);
	return (int)((number + size + (number % 2 ? -distance : distance)) % size);
}

/* Negabinary digits of value modulo size; exact where these are enough for value. */
static inline uint32_t
cs_bine_digits(int size, int value)
{
	const uint32_t odd = 0xaaaaaaaau; /* places whose weight is negative */
	return (((uint32_t)value + odd) ^ odd) & ((uint32_t)size - 1);
}

/* Bits that tell the numbers apart in the order of steps: partners of step s have different bits s,
 * and the same ones below. The Gray code of the distance from 0, seen from the number if it is
 * even (the paper's nu, bits in the other order). */
static inline int
cs_bine_key(int size, int number)
{
	uint32_t digits = cs_bine_digits(size, number % 2 ? number : -number);
	return (int)(digits ^ digits >> 1);
}

/* Position of the head on the arc of all `ranks`. */
static inline int
cs_bine_head(int ranks)
{
	int steps = 0;
	while (steps < 31 && ranks > 1 << steps)
		steps++;
	return (int)((int64_t)ranks * (steps % 2 ? 1 : 2) / 3);
}

#endif
