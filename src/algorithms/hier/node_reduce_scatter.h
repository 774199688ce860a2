/* hier/node_reduce_scatter.h — reduce_scatter(_block), on one node and over several. */
#ifndef CS_ALGORITHMS_HIER_NODE_REDUCE_SCATTER_H
#define CS_ALGORITHMS_HIER_NODE_REDUCE_SCATTER_H

#include "algorithms/op.h"

/* Begins a reduce_scatter; counts from call->counts, or equal. Several nodes: vectors up to
 * `read_all` bytes are reduced by one rank of a node. One node: vectors of `single_copy_from` bytes
 * and more (0: as measured) are read by single copy. `senders`: ranks of a node that drive the plan
 * between nodes, the one that adds among them. */
void cs_node_reduce_scatter(struct cs_op *op, size_t read_all, size_t single_copy_from,
			    size_t senders);
/* Makes one of a small vector at once. False: it is not, or several nodes. */
bool cs_node_reduce_scatter_fast(struct cs_op *op, size_t single_copy_from);

#define CS_NODE_REDUCE_SCATTER_READ_ALL \
	{ "read_all", "vectors up to this are reduced by the leader alone (several nodes)", \
	  1 << 10, 0, 64 << 20, \
	  .role = CS_ROLE_READ_ALL }

#endif
