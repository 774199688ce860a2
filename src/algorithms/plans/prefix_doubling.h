/* plans/prefix_doubling.h — scan and exscan between equal ranks by sums that double (Hillis and
 * Steele's, with messages): in round k a rank sends the sum of the 2^k ranks up to itself to the
 * rank 2^k above it.
 *
 *   p = 6, ranks in each one's sum:   0 | 1   2    3     4     5
 *                                     0 | 01  12   23    34    45
 *                                     0 | 01  012  0123  1234  2345
 *                                     0 | 01  012  0123  01234 012345
 *
 * For an exscan a rank also keeps the sum of received vectors, without its own: two additions in a
 * round, but for ranks that send nothing more. Any number of ranks, anywhere; operations that are
 * not commutative too, since a received sum is of the ranks just before those of the own sum. */
#ifndef CS_ALGORITHMS_PLANS_PREFIX_DOUBLING_H
#define CS_ALGORITHMS_PLANS_PREFIX_DOUBLING_H

#include "algorithms/algorithm.h"
#include "plan/build.h"

/* builder->problem->coll is CS_SCAN, or CS_EXSCAN. */
void cs_prefix_doubling_build(struct cs_builder *builder);

/* Cost: the first rank sends in each round, and the last receives. A chain has a message of each
 * distance, so it is shorter if there are not ranks for all distances. */
void cs_prefix_doubling_cost(const struct cs_problem *problem, struct cs_cost *cost);

#endif
