/* Scatter(v), multi-sender (seed 002, 2.3.2): a k-ary tree of nodes, in which up to k ranks of
 * each node send at the same time. In each step the first rank of a node that has the blocks of
 * several nodes cuts these into k + 1 equal parts, keeps one, sends one off and hands one to each
 * of k - 1 other ranks of the node, which send them off: to the first ranks of those parts' nodes.
 * In the end it gives each rank of its node its block.
 *
 *   p = 6 on 3 nodes, k = 2:  012345 . . . . . | 0 123 . . 45 . | 0 1 23 . 4 5 | 0 1 2 3 4 5
 *
 * The paper's senders share the memory that the blocks are in; here a message on the node takes
 * them there, or back. A node of fewer than k ranks has as many senders as it has ranks. Where
 * nodes are not known it is the k-nomial tree.
 *
 * Cost: at most 2 ceil(log_(k + 1) nodes) + 1 rounds, ceil(log_(k + 1) nodes) of them between
 * nodes; the root sends each block but its own. CS_TMP as large as what a rank passes on, or the
 * root packs. For blocks so large that one rank cannot fill a node's links. */
#include "algorithms/plans/tree_scatter.h"

/* Parameters. */
enum { K };

static void
build(struct cs_builder *builder)
{
	struct cs_partition partition;
	cs_partition_even(&partition, (int)builder->problem->params[K]);
	cs_tree_scatter(builder, &partition, (int)builder->problem->params[K]);
}

const struct cs_algorithm cs_algorithm_scatter_multi_sender = {
	.colls = CS_SET(CS_SCATTER) | CS_SET(CS_SCATTERV),
	.name = "multi-sender",
	.summary = "k-ary tree of nodes, k ranks of a node send at once",
	.needs = { .several_per_node = true, .all_sizes = true },
	.params = { [K] = { "k",
			    "parts cut off at once, each sent by another rank of the "
			    "node if it has so many", 4, 1, 1024 } },
	.build = build,
	.alone = "knomial",
};
