/* Broadcast led by the first rank to come on each node (seed 002, 3.7.2), which receives the vector
 * before others come; these find it in the node's memory (late/first_come_nodes.h).
 *
 * With verbs a vector that half of a window has room for is written into the memory of each node,
 * along a tree in which the first ranks pass it on (late/node_rma.h): there are no control
 * messages, and the root waits for no rank.
 *
 * By messages, the first ranks signal the root, which splits those that are there. With control=1
 * it is the paper's form, for comparison: a tree of nodes, where a first rank signals all ranks of
 * the node above, since it does not know which of them leads; all of them have to receive it.
 *
 * Cost: one more word than hier:host for each node, and the root stays until each node has a rank
 * here. For ranks that come at very different times. */
#include "algorithms/algorithm.h"
#include "algorithms/late/first_come_nodes.h"
#include "algorithms/late/node_rma.h"

enum { CONTROL = CS_FIRST_COME_COUNT, RMA };

static void
run(struct cs_op *op, const size_t *params)
{
	if (params[RMA] && !params[CONTROL] &&
	    cs_node_rma_bcast(op, 1 + (int)params[CS_FIRST_COME_K]))
		return;
	cs_first_come_nodes(op, (struct cs_first_come_nodes_how){ .is_dynamic = true,
							    .is_tree = params[CONTROL] != 0 },
			 params);
}

const struct cs_algorithm cs_algorithm_bcast_hier_dynamic = {
	.colls = CS_SET(CS_BCAST),
	.name = "hier:dynamic",
	.summary = "the first rank of a node leads, and the root splits the nodes whose first has "
		   "come",
	.needs = { .several_per_node = true, .several_nodes = true, .everyone = true },
	.params = { CS_FIRST_COME_PARAMS,
		    [CONTROL] = { "control", "1: a tree, and words to all of the node above", 0, 0,
				  1 },
		    [RMA] = CS_NODE_RMA },
	.run = run,
};
