/* plans/prefix_chain.h — scan and exscan down a chain: each rank adds its own vector to that of the
 * rank before, and sends the sum to the next, by segments.
 *
 *   p = 4, segments a b:   x0a -> 1                       a rank sends and receives the vector once
 *                          x0b -> 1    x01a -> 2
 *                                      x01b -> 2    x012a -> 3
 *
 * The order is that of the ranks, wherever they are. */
#ifndef CS_ALGORITHMS_PLANS_PREFIX_CHAIN_H
#define CS_ALGORITHMS_PLANS_PREFIX_CHAIN_H

#include "algorithms/algorithm.h"
#include "plan/build.h"

#define CS_PREFIX_CHAIN_WINDOW 16

enum { CS_PREFIX_CHAIN_SEGMENT, CS_PREFIX_CHAIN_AHEAD };
#define CS_PREFIX_CHAIN_PARAMS \
	{ [CS_PREFIX_CHAIN_SEGMENT] = { "segment", "bytes of a message", 65536, 64, 1 << 30 }, \
	  [CS_PREFIX_CHAIN_AHEAD] = { "window", "segments under way to a rank", 4, 1, \
				      CS_PREFIX_CHAIN_WINDOW } }

/* builder->problem->coll is CS_SCAN, or CS_EXSCAN. */
void cs_prefix_chain_build(struct cs_builder *builder);
void cs_prefix_chain_cost(const struct cs_problem *problem, struct cs_cost *cost);

#endif
