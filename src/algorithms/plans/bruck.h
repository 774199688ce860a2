/* plans/bruck.h — Bruck's alltoall, alltoallv and alltoallw: blocks travel by the digits of their
 * distance, in the rounds that alltoall/bruck.c shows.
 *
 * With sizes each block takes the place of the largest one that any two ranks exchange,
 * problem->bytes, which all ranks have agreed on (needs.largest): a rank that passes a block on
 * does not know how long it is. Only a block's own bytes are copied out of IN and to OUT; the
 * padding in CS_TMP travels along unread. */
#ifndef CS_ALGORITHMS_PLANS_BRUCK_H
#define CS_ALGORITHMS_PLANS_BRUCK_H

#include "algorithms/algorithm.h"
#include "plan/build.h"

/* Build the plan, with up to `ports` messages of a round at once. */
void cs_bruck(struct cs_builder *builder, size_t ports);
void cs_bruck_cost(const struct cs_problem *problem, size_t ports, struct cs_cost *cost);

/* The same, if all blocks, each as long as the largest, are `room` bytes at most; else
 * cs_pairs_scattered. */
void cs_bruck_within(struct cs_builder *builder, size_t ports, size_t room);
void cs_bruck_within_cost(const struct cs_problem *problem, size_t ports, size_t room,
			  struct cs_cost *cost);

#endif
