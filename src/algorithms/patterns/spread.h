/* patterns/spread.h — allgather and allgatherv share everything but the sizes. */
#ifndef CS_ALGORITHMS_PATTERNS_SPREAD_H
#define CS_ALGORITHMS_PATTERNS_SPREAD_H

#include "algorithms/op.h"

/* What both take. */
#define CS_SPREAD_PARAMS                                                                           \
	{ { "chunk", "bytes of a block per round on one node", 128 << 10, 4 << 10, 64 << 20 },     \
	  { "wire_chunk", "bytes of all blocks per round between nodes", 4 << 20, 4 << 10, 64 << 20 }, \
	  { "lanes", "ranks of a node that drive the wire with large messages; " CS_LANES_ZERO, 1, 0, CS_LANES }, \
	  CS_CMA_MIN }

/* Every rank's block to every rank; sizes from call->recv. `params` as CS_SPREAD_PARAMS has them. */
void cs_spread(struct cs_op *op, const size_t *params);
bool cs_spread_fast(struct cs_op *op, const size_t *params);

#endif
