/* plans/knomial.h — a tree of ranks by the digits of their numbers in base `radix` (seed 000,
 * 5.1.3, n-way binomial tree: radix k + 1). A rank's parent is the rank with the lowest digit other
 * than 0 made 0:
 *
 *   radix 3, p = 9:    0 - 1, 2, 3, 6        radix 2, p = 6:    0 - 1, 2, 4
 *                      3 - 4, 5                                 2 - 3
 *                      6 - 7, 8                                 4 - 5
 *
 * A rank and all below it are consecutive, so sums made along the tree keep the order of ranks.
 * Ranks are counted from the root of the tree. */
#ifndef CS_ALGORITHMS_PLANS_KNOMIAL_H
#define CS_ALGORITHMS_PLANS_KNOMIAL_H

#include "algorithms/algorithm.h"
#include "plan/build.h"

#include <stdint.h>

#define CS_KNOMIAL_MOST 64

/* Weight of the lowest digit that is not 0. At the root: the first weight not below `ranks`. */
static inline int64_t
cs_knomial_weight(int relative, int ranks, int radix)
{
	int64_t weight = 1;
	while (weight < ranks && relative % (weight * radix) == 0)
		weight *= radix;
	return weight;
}

/* Most messages from the root to a rank. */
int cs_knomial_depth(int ranks, int radix);
/* Children of the root, which has the most. */
int cs_knomial_children(int ranks, int radix);

/* Reduce along the tree; radix <= CS_KNOMIAL_MOST. */
void cs_knomial_reduce_build(struct cs_builder *builder, int radix);
void cs_knomial_reduce_cost(const struct cs_problem *problem, int radix, struct cs_cost *cost);

#endif
