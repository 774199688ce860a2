/* hier/prefix.h — scan and exscan, by the memory of nodes whose ranks follow each other.
 *
 *   short      each rank publishes its vector, and sums up those before its own: one hop
 *   doubling   in step k a rank adds the sum of the rank 2^k before it: sums of 1, 2, 4, ... ranks,
 *              log2 hops
 *   long       a chain: piece by piece, each rank adds its own to the sum of the rank before it, a
 *              hop for each rank, with the next piece meanwhile
 *   links      a non-blocking call on one node whose vectors fit into the slots: the same sums,
 *              made by the ranks that are there (hier/slices.h)
 *
 * Several nodes: short or long on each node; besides, the node's whole sum goes into the area,
 * where the leaders' exscan replaces it by the sum of all nodes before, the left operand of each
 * rank's result. The first node's ranks do not wait for this exscan.
 *
 * On one node a result is ((x0 op x1) op x2) ... to the bit, but not by doubling. */
#ifndef CS_ALGORITHMS_HIER_PREFIX_H
#define CS_ALGORITHMS_HIER_PREFIX_H

#include "algorithms/op.h"

enum { CS_PREFIX_READ_ALL, CS_PREFIX_DOUBLING, CS_PREFIX_CHUNK, CS_PREFIX_WIRE_CHUNK,
       CS_PREFIX_LANES };
#define CS_PREFIX_PARAMS \
	{ [CS_PREFIX_READ_ALL] = \
	  { "read_all", "a rank reads at most so many bytes of the vectors before its own, all " \
			"together", 16 << 10, 0, 64 << 20, \
	    .role = CS_ROLE_READ_ALL }, \
	  [CS_PREFIX_DOUBLING] = \
	  { "doubling", "beyond that, on nodes of so many ranks, sums double from step to step; " \
			"0: never", \
	    12, 0, 1 << 20, .role = CS_ROLE_DOUBLING }, \
	  [CS_PREFIX_CHUNK] = \
	  { "chunk", "bytes per piece of longer vectors, at most", 32 << 10, 4 << 10, 64 << 20 }, \
	  [CS_PREFIX_WIRE_CHUNK] = \
	  { "wire_chunk", "bytes that leaders scan at once", 4 << 20, 4 << 10, 64 << 20 }, \
	  [CS_PREFIX_LANES] = \
	  { "lanes", "ranks of a node that drive the wire with long vectors; " CS_LANES_ZERO, 2, \
	    0, CS_LANES } }

/* Begins call->coll: CS_SCAN or CS_EXSCAN. `params`: of CS_PREFIX_PARAMS. */
void cs_prefix(struct cs_op *op, const size_t *params);
/* Makes one of small vectors at once. False: they are not, or several nodes. */
bool cs_prefix_fast(struct cs_op *op, const size_t *params);

#endif
