/* late/first_come_nodes.h — broadcast among nodes that are handed the vector by who is there
 * (late/first_come.h); on a node its leader posts what comes, and the others copy it out.
 *
 *   node's first rank   "here" -> root | piece k: receives, posts, passes on |
 *   others, when they come                       copy pieces out, and leave
 *
 * Early ranks wait for the root and for nobody else, and a late one finds all in the node's memory.
 * If a message is longer than the leader's ring, the leader waits for the node's ranks (the ring's
 * slots are used again). */
#ifndef CS_ALGORITHMS_LATE_FIRST_COME_NODES_H
#define CS_ALGORITHMS_LATE_FIRST_COME_NODES_H

#include "algorithms/late/first_come.h"

struct cs_first_come_nodes_how {
	bool is_dynamic; /* a node's leader is who comes first, and not the same rank always */
	/* Nodes are a tree (plans/knomial.h, radix 1 + k): a leader tells all ranks of the node
	 * above, of which only the leader has use for it. Else each tells the root, which splits
	 * who is there. */
	bool is_tree;
};

/* `params`: those of late/first_come.h. */
void cs_first_come_nodes(struct cs_op *op, struct cs_first_come_nodes_how how,
			 const size_t *params);

#endif
