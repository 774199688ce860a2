/* late/node_rma.h — what goes from nodes to nodes by a window (wire/rma_window.h), where its
 * readers are: nobody is waited for who has nothing to bring.
 *
 *   a node that brings    slot of the own window   --- written --->   slots of other nodes' windows
 *                             |  |  |                                     |  |  |
 *                           its ranks                                   their ranks, when they come
 *
 * Each rank reads for itself, and the last one to have read gives the slot back. So an early rank
 * is over when it has what it needs; whoever brings or passes on stays until that has left. */
#ifndef CS_ALGORITHMS_LATE_NODE_RMA_H
#define CS_ALGORITHMS_LATE_NODE_RMA_H

#include "algorithms/op.h"

#define CS_NODE_WINDOWS \
	{ "window", "1: written into the memory of nodes, where verbs can and what a node sends " \
		    "to another fits eight slots; 0: by messages", 1, 0, 1 }

/* Begins a broadcast along a tree of nodes of that radix, from the root's: the first arriver of a
 * node passes it on, in pieces that fill a slot each. False: there is no window, or the vector is
 * too long for half of the slots, on all ranks alike, and nothing has been begun. */
bool cs_node_rma_bcast(struct cs_op *op, int radix);

#endif
