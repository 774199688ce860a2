/* hier/aggregated.h — gatherv and scatterv over several nodes by aggregated messages. A rank knows
 * its own size and the root all: nothing is agreed.
 *
 *   message of a node   | size of each rank's block, 8 B | the blocks up to `most` bytes |
 *
 *   scatterv   root --aggregated--> first rank of each node --node memory--> its ranks
 *              root --larger block--> its rank
 *   gatherv    ranks --node memory--> first rank of each node --aggregated--> root
 *              rank --larger block--> root
 *
 * The root's node needs no message. A larger block goes by itself; its receiver knows from the
 * aggregated message that it comes, so ranks that disagree about a size neither hang nor receive
 * another call's message. */
#ifndef CS_ALGORITHMS_HIER_AGGREGATED_H
#define CS_ALGORITHMS_HIER_AGGREGATED_H

#include "algorithms/op.h"

/* For several nodes. `bytes` of blocks per aggregated message, cut to a quarter of a slot with the
 * sizes; a rank's share is `most`. */
void cs_aggregated_gather(struct cs_op *op, size_t bytes);
void cs_aggregated_scatter(struct cs_op *op, size_t bytes);

#define CS_AGGREGATE_BYTES \
	{ "aggregate", "most bytes of blocks that go together to or from a node; blocks above a " \
		       "rank's share of it go alone", \
	  16 << 10, 0, 1 << 20 }

#endif
