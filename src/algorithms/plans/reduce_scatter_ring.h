/* plans/reduce_scatter_ring.h — reduce_scatter round a ring: a block's sum starts at the rank
 * above its owner and goes from rank to rank up to the owner; each adds its own.
 *
 *   p = 4, block 0:   1   ->   1+2   ->   1+2+3   ->   1+2+3+0      rank 1, 2, 3, 0
 *   rank 0 sends:     block 3          block 2          block 1     in rounds 0, 1, 2
 *
 * A block goes in pieces, so that one is added while the next comes: a piece is sent on as soon as
 * it is added. The order of ranks is that of the ring: operations that are not commutative are
 * refused. */
#ifndef CS_ALGORITHMS_PLANS_REDUCE_SCATTER_RING_H
#define CS_ALGORITHMS_PLANS_REDUCE_SCATTER_RING_H

#include "algorithms/algorithm.h"
#include "plan/build.h"

#define CS_REDUCE_SCATTER_RING_PIECES 32 /* most of a block */

enum { CS_REDUCE_SCATTER_RING_SEGMENT };
#define CS_REDUCE_SCATTER_RING_PARAMS \
	{ [CS_REDUCE_SCATTER_RING_SEGMENT] = \
	  { "segment", "bytes of a message, more if a block would be over 32 messages; 0: whole " \
		       "blocks", 128 << 10, 0, \
	    (size_t)1 << 40 } }

void cs_reduce_scatter_ring_build(struct cs_builder *builder);

/* A rank sends all blocks but its own, and receives all but that of the rank before. */
void cs_reduce_scatter_ring_cost(const struct cs_problem *problem, struct cs_cost *cost);

#endif
