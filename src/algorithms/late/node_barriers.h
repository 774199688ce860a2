/* late/node_barriers.h — a script between two barriers of the node: the plain hierarchical
 * algorithms that seed 002 compares with (tables 3.6 and 3.7, "Hier."), in which all ranks of a
 * node wait for each other before and after its static leader's work. */
#ifndef CS_ALGORITHMS_LATE_NODE_BARRIERS_H
#define CS_ALGORITHMS_LATE_NODE_BARRIERS_H

#include "algorithms/op.h"

#define CS_NODE_BARRIERS \
	{ "barrier", "1: the ranks of a node wait for each other before and after, as in seed " \
		     "002's plain hierarchical algorithms", 0, 0, 1 }

/* Puts barriers before and behind a script that has just been started and not been stepped, on all
 * ranks alike. The script may not use words of shm/arrive.h. A rank that makes another call is not
 * noticed in the first barrier. */
void cs_node_barriers(struct cs_op *op);

#endif
