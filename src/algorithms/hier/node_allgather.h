/* hier/node_allgather.h — allgather and allgatherv, on one node and over several. */
#ifndef CS_ALGORITHMS_HIER_NODE_ALLGATHER_H
#define CS_ALGORITHMS_HIER_NODE_ALLGATHER_H

#include "algorithms/hier/copy_out.h"
#include "algorithms/hier/hier.h"

/* Parameters. */
enum { CS_SPREAD_CHUNK, CS_SPREAD_WIRE_CHUNK, CS_SPREAD_LANES, CS_SPREAD_CMA_MIN,
       CS_SPREAD_SENDERS, CS_SPREAD_OUT };
#define CS_NODE_ALLGATHER_PARAMS \
	{ [CS_SPREAD_CHUNK] = { "chunk", "bytes of a block per round on one node", 128 << 10, \
				4 << 10, 64 << 20 }, \
	  [CS_SPREAD_WIRE_CHUNK] = { "wire_chunk", "bytes of all blocks per round between nodes", \
				     4 << 20, 4 << 10, 64 << 20 }, \
	  [CS_SPREAD_LANES] = { "lanes", "ranks of a node that drive the wire with large " \
					 "messages; " CS_LANES_ZERO, 1, 0, \
				CS_LANES }, \
	  [CS_SPREAD_CMA_MIN] = CS_CMA_MIN, \
	  [CS_SPREAD_SENDERS] = CS_HIER_SENDERS, [CS_SPREAD_OUT] = CS_COPY_OUT }

/* Begins an allgather(v), sizes from call->recv. `params`: of CS_NODE_ALLGATHER_PARAMS. */
void cs_node_allgather(struct cs_op *op, const size_t *params);
/* Makes one of small blocks at once. False: they are not, or several nodes. */
bool cs_node_allgather_fast(struct cs_op *op, const size_t *params);

#endif
