/* late/node_barriers.h — a script between two barriers of the node: the plain hierarchical
 * algorithms that seed 002 compares with (tables 3.6 and 3.7, "Hier."), in which all ranks of a
 * node wait for each other before and after what its static leader does. */
#ifndef CS_ALGORITHMS_LATE_NODE_BARRIERS_H
#define CS_ALGORITHMS_LATE_NODE_BARRIERS_H

#include "algorithms/op.h"

#define CS_NODE_BARRIERS \
	{ "barrier", "1: the ranks of a node wait for each other before and after, as in seed " \
		     "002's plain hierarchical algorithms", 0, 0, 1 }

/* Puts the barriers before and behind the script that has just been started and not been stepped;
 * all ranks alike. It must be one without words of shm/arrive.h. A rank that makes another call is
 * not noticed in the first barrier. */
void cs_node_barriers(struct cs_op *op);

#endif
