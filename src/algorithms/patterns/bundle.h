/* patterns/bundle.h — gatherv and scatterv between nodes where a rank knows its own size and the root all: nothing is agreed.
 *
 *   bundle of a node   | size of each of its ranks' blocks, 8 B | the blocks of up to `most` bytes, one after the other |
 *
 *   scatterv   root --bundle--> first rank of each node --node memory--> its ranks       root --larger block--> its rank
 *   gatherv    ranks --node memory--> first rank of each node --bundle--> root           rank --larger block--> root
 *
 * The root's node does without the message. What is long goes as the host would send it; who waits for it has learnt from the
 * bundle that it comes, so ranks that disagree about a size neither hang nor take another call's message. */
#ifndef CS_ALGORITHMS_PATTERNS_BUNDLE_H
#define CS_ALGORITHMS_PATTERNS_BUNDLE_H

#include "algorithms/op.h"

/* Several nodes. `bytes` of a bundle: a rank's share of it is `most`. At most a quarter of a slot. */
void cs_bundle_gather(struct cs_op *op, size_t bytes);
void cs_bundle_scatter(struct cs_op *op, size_t bytes);

#define CS_BUNDLE_BYTES \
	{ "aggregate", "most bytes of blocks that go together to or from a node; blocks above a rank's share of it go alone", \
	  16 << 10, 0, 1 << 20 }

#endif
