/* Scan and exscan, pipelined chain (plans/prefix_chain.h): each rank adds its own vector to that of
 * the rank before it, and sends the sum on, by segments.
 *
 * Cost: each segment takes p - 1 rounds, and the last one starts when the others are on their way:
 * the time is that of p - 2 + segments messages. A rank sends and receives each byte once. For few
 * ranks, and for vectors that are long against p segments. */
#include "algorithms/plans/prefix_chain.h"

const struct cs_algorithm cs_algorithm_scan_chain = {
	.colls = CS_SET(CS_SCAN) | CS_SET(CS_EXSCAN),
	.name = "chain",
	.summary = "each rank adds its own and passes the sum to the next in segments",
	.params = CS_PREFIX_CHAIN_PARAMS,
	.build = cs_prefix_chain_build,
	.cost = cs_prefix_chain_cost,
};
