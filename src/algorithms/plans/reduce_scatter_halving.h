/* plans/reduce_scatter_halving.h — reduce_scatter by recursive halving: ranks are cut in two,
 * and each rank gives its partner in the other part the blocks of that part, until each is alone
 * with its own block.
 *
 *   p = 5, blocks that ranks have sums of:      0      1      2      3      4
 *   before                                  01234  01234  01234  01234  01234
 *   0 1 2 . 3 4:   0-3  1-4, 2 gives to 4     012    012    012     34     34
 *   0 1 . 2, 3 . 4:   0-2, 1 gives to 2        01     01      2      3      4
 *   0 . 1                                       0      1
 *
 * The odd rank of a larger part has no partner: the last rank of the other part gets its blocks
 * (plans/halving.h), and the odd rank goes on with the sums that it has. So every p takes ceil(log2
 * p) rounds, and a message is one piece of memory, however uneven blocks are. Partners are far away
 * first, so the order of ranks is not kept; operations that are not commutative are refused. */
#ifndef CS_ALGORITHMS_PLANS_REDUCE_SCATTER_HALVING_H
#define CS_ALGORITHMS_PLANS_REDUCE_SCATTER_HALVING_H

#include "algorithms/algorithm.h"
#include "plan/build.h"

void cs_reduce_scatter_halving_build(struct cs_builder *builder);

#endif
