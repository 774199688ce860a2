/* plans/reduce_scatter_pairwise.h — reduce_scatter as p - 1 exchanges: in round k each rank sends
 * the rank k above it that rank's block of its own vector, and adds the block from the rank k
 * below.
 *
 *   p = 4, rank 1, block 1 of ranks:   round 1 gets 0's   round 2 gets 3's   round 3 gets 2's
 *                                          0+1                0+1, 3             0+1, 2+3 -> all
 *
 * Ranks below come in falling order, so two sums keep the order of any operation
 * (plans/cyclic_sum.h). All that is sent is input; while a block is added the next is under way.
 * CS_TMP is three blocks at most.
 *
 * With several senders (plan/senders.h) one adds, and exchanges are the others', in turn (seed 002,
 * 2.3.2). CS_TMP is then twice their number of blocks, and one. */
#ifndef CS_ALGORITHMS_PLANS_REDUCE_SCATTER_PAIRWISE_H
#define CS_ALGORITHMS_PLANS_REDUCE_SCATTER_PAIRWISE_H

#include "algorithms/algorithm.h"
#include "plan/build.h"

void cs_reduce_scatter_pairwise_build(struct cs_builder *builder);

/* A rank sends all blocks but its own, and receives its own from all others. Rounds: p - 1 if no
 * block is empty; if some are, CS_PRICE_NONE, as a rank without a block does not wait. */
void cs_reduce_scatter_pairwise_cost(const struct cs_problem *problem, struct cs_cost *cost);

#endif
