/* late/first_come_nodes.h — broadcast to nodes in the order of arrival (late/first_come.h); on a
 * node the leader posts the pieces, and the others copy them out.
 *
 *   node's first rank   "here" -> root | piece k: receives, posts, passes on |
 *   others, when they come                       copy pieces out, and leave
 *
 * Early ranks wait for the root only, and a late one finds all pieces in the node's memory.
 * If a message is longer than the leader's ring, the leader waits for the node's ranks (the ring's
 * slots are used again). */
#ifndef CS_ALGORITHMS_LATE_FIRST_COME_NODES_H
#define CS_ALGORITHMS_LATE_FIRST_COME_NODES_H

#include "algorithms/late/first_come.h"

struct cs_first_come_nodes_how {
	bool is_dynamic; /* a node's leader is its first arriver, not a fixed rank */
	/* Nodes form a tree (plans/knomial.h, radix 1 + k): a leader tells all ranks of the node
	 * above, and its leader alone uses the word. False: each tells the root, which splits the
	 * leaders that are there. */
	bool is_tree;
};

/* Begins a broadcast. `params`: of late/first_come.h. */
void cs_first_come_nodes(struct cs_op *op, struct cs_first_come_nodes_how how,
			 const size_t *params);

#endif
