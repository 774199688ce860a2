/* late/node_rma.h — broadcast by windows of nodes (wire/rma_window.h), where their ranks read: no
 * rank waits for one that has no data.
 *
 *   a node that brings    slot of the own window   --- written --->   slots of other nodes' windows
 *                             |  |  |                                     |  |  |
 *                           its ranks                                   their ranks, when they come
 *
 * Each rank reads for itself, and the last reader gives the slots back. So an early rank is over
 * when it has the vector; the root and the ranks that pass it on stay until they have sent. */
#ifndef CS_ALGORITHMS_LATE_NODE_RMA_H
#define CS_ALGORITHMS_LATE_NODE_RMA_H

#include "algorithms/op.h"

#define CS_NODE_WINDOWS \
	{ "window", "1: written into the memory of nodes, where verbs can and what a node sends " \
		    "to another fits eight slots; 0: by messages", 1, 0, 1 }

/* Begins a broadcast along a k-nomial tree of nodes, k = radix: a node's first arriver passes it
 * on, in pieces of a slot. False, on all ranks alike: no window, or the vector is too long for half
 * of the slots; nothing has been begun. */
bool cs_node_rma_bcast(struct cs_op *op, int radix);

#endif
