/* Gather(v), multi-sender (seed 002, 2.3.2, whose scatter this is backwards): a k-ary tree of
 * nodes, in which up to k ranks of each node receive at the same time. The first rank of a node
 * collects the blocks of its node, and in each step those of k parts of the nodes: one from the
 * first rank of that part itself, and one each through k - 1 other ranks of its node.
 *
 *   p = 6 on 3 nodes, k = 2:  0 1 2 3 4 5 | 01 . 23 . 45 . | 0145 23 . . . . | 012345 . . . . .
 *
 * The paper's senders share the memory that the blocks are in; here a message on the node takes
 * them there, or back. A node of fewer than k ranks has as many senders as it has ranks. Where
 * nodes are not known it is the k-nomial tree.
 *
 * Cost: at most 2 ceil(log_(k + 1) nodes) + 1 rounds, ceil(log_(k + 1) nodes) of them between
 * nodes; the root receives each block but its own. CS_TMP as large as what a rank passes on, or the
 * root packs. For blocks so large that one rank cannot fill a node's links. */
#include "algorithms/plans/tree_scatter.h"

/* Parameters. */
enum { K };

static void
build(struct cs_builder *builder)
{
	struct cs_partition partition;
	cs_partition_even(&partition, (int)builder->problem->params[K]);
	cs_tree_gather(builder, &partition, (int)builder->problem->params[K]);
}

const struct cs_algorithm cs_algorithm_gather_multi_sender = {
	.colls = CS_SET(CS_GATHER) | CS_SET(CS_GATHERV),
	.name = "multi-sender",
	.summary = "k-ary tree of nodes, k ranks of a node receive at once",
	.needs = { .several_per_node = true, .all_sizes = true },
	.params = { [K] = { "k",
			    "parts cut off at once, each heard by another rank of the "
			    "node if it has so many", 4, 1, 1024 } },
	.build = build,
	.alone = "knomial",
};
