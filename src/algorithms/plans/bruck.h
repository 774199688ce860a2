/* plans/bruck.h — blocks for all other ranks that travel by the digits of their distance
 * (Bruck): alltoall, alltoallv and alltoallw. Which block goes when is in alltoall/bruck.c.
 *
 * With sizes each block takes the place of the largest one that any two ranks exchange,
 * problem->bytes, which all ranks have agreed on (needs.largest): a rank that passes a block on
 * does not know how long it is. Only as much as there is is copied out of IN and to OUT; what lies
 * behind it in CS_TMP travels along unread. */
#ifndef CS_ALGORITHMS_PLANS_BRUCK_H
#define CS_ALGORITHMS_PLANS_BRUCK_H

#include "algorithms/algorithm.h"
#include "plan/build.h"

/* Up to `ports` messages of a round at once. */
void cs_bruck(struct cs_builder *builder, size_t ports);
void cs_bruck_cost(const struct cs_problem *problem, size_t ports, struct cs_cost *cost);

/* So, if all blocks, each as long as the largest, are `room` bytes at most; else each goes by
 * itself (pairs.h: scattered). */
void cs_bruck_within(struct cs_builder *builder, size_t ports, size_t room);
void cs_bruck_within_cost(const struct cs_problem *problem, size_t ports, size_t room,
			  struct cs_cost *cost);

#endif
