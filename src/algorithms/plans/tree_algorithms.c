/* plans/tree_algorithms.c — scatter(v) and gather(v) along a tree: linear, binomial, k-nomial,
 * split for LogGP, multi-sender (seed 000, 5.1.2, 5.1.3 and 5.2.2; seed 002, 2.3.1 and 2.3.2), Bine
 * (De Sensi et al., SC '25). One row per tree: gather is its scatter backwards.
 *
 *   linear        p = 4:         0123 . . .  |  0 1 2 3
 *   binomial      p = 8:         01234567 . . . . . . . | 0123 . . . 4567 . . . |
 *                                01 . 23 . 45 . 67 . | 0 1 2 3 4 5 6 7
 *   knomial       p = 9, k = 2:  012345678 . . . . . . . . | 012 . . 345 . . 678 . . |
 *                                0 1 2 3 4 5 6 7 8
 *   multi-sender  p = 6 on 3 nodes, k = 2:  012345 . . . . . | 0 123 . . 45 . | 0 1 23 . 4 5 |
 *                                0 1 2 3 4 5
 *
 * linear: one round, none if no block has bytes; nothing is copied but the own block, each byte
 * crosses the network once, and a rank needs no size but its own. For large blocks, few ranks, and
 * sizes that differ much.
 *
 * binomial, knomial: the first rank of a part cuts the part into k + 1 equal ones (binomial: 2) and
 * passes the blocks of k of them on, all at once. At most ceil(log_(k + 1) p) rounds, fewer if
 * blocks are empty. For small blocks of similar sizes (ranks are divided, not bytes); k above 1
 * where several messages at once cost a rank little more than one (LogfP).
 *
 * split ("LogGP Optimal Algorithm"): the binomial tree with a child's part of less than half (more,
 * if g is above L'), so that both sides end at the same time. With L' = o + L + o and blocks of s
 * bytes on average the best cut c is that of
 *
 *   t(1) = 0,  t(n) = min over c of  c (s - 1) G + max(L' + t(c), g + t(n - c))
 *
 *   scatter, p = 8, root 0, L' = 3, g = 1, G = 0:  0 -> 6, 4, 3, 2, 1, one after another;
 *                                                  6 -> 7; 4 -> 5; time 7; halves would take 9
 *
 * From 1 round (L' large) to p - 1 (g large). For many ranks and small blocks, with L' well above
 * g. Parts above 2048 ranks are halved.
 *
 * multi-sender: a k-ary tree of nodes, in which up to k ranks of each node send (gather: receive)
 * at the same time. The first rank of a node cuts the nodes that it has blocks of into k + 1 equal
 * parts, keeps one, sends one off and hands one to each of k - 1 other ranks of its node, which
 * send them off. The paper's senders share the memory that the blocks are in; here a message on the
 * node takes them there, or back. A node of fewer than k ranks has as many senders as ranks. If
 * nodes are not known the tree is the k-nomial one. At most 2 ceil(log_(k + 1) nodes) + 1 rounds,
 * ceil(log_(k + 1) nodes) of them between nodes. For blocks so large that one rank cannot fill a
 * node's links.
 *
 * bine: halves as binomial, but the rank that gets one is in its middle and mirrors the one that
 * gives (plans/bine.h): ceil(log2 p) rounds over about two thirds of the distance. A part may wrap
 * around the last rank; the root then packs it. For networks whose nodes are in groups with fewer
 * links between them.
 *
 * With several senders (plan/senders.h) a child's message has a port, and so a sender, of its own
 * at both ends; k is their number at least.
 *
 * All: the root moves each block but its own. But for linear, CS_TMP is as large as the subtree's
 * blocks. */
#include "algorithms/plans/tree_scatter.h"

/* Parameters of knomial and multi-sender. */
enum { K };

static void
flat(struct cs_partition *partition, const struct cs_problem *problem)
{
	cs_partition_even(partition, CS_PARTITION_FLAT);
}

static void
halves(struct cs_partition *partition, const struct cs_problem *problem)
{
	cs_partition_even(partition, 1);
}

static void
bine(struct cs_partition *partition, const struct cs_problem *problem)
{
	cs_partition_bine(partition);
}

static void
k_parts(struct cs_partition *partition, const struct cs_problem *problem)
{
	int k = (int)problem->params[K];
	int senders = problem->senders ? problem->senders->count : 1;
	cs_partition_even(partition, k < senders ? senders : k);
}

/* Name in C and in tuning files, partition, senders, further members of both algorithms; then for
 * each of scatter and gather its summary and further members. */
#define TREES \
	TREE(linear, "linear", flat, 0, , \
	     "the root sends each rank its block, all at once", , \
	     "all send their block to the root at once", ) \
	TREE(binomial, "binomial", halves, 0, ALL_SIZES, \
	     "binomial tree: who has several blocks passes half of them on", , \
	     "binomial tree: each rank collects the blocks of its subtree", ) \
	TREE(bine, "bine", bine, 0, ALL_SIZES, \
	     "binomial tree around the middle of a part, by negabinary distances", , \
	     "binomial tree around the middle of a part, by negabinary distances", ) \
	TREE(knomial, "knomial", k_parts, 0, ALL_SIZES KNOMIAL_PARAMS, \
	     "n-way binomial tree: who has several blocks passes on k parts at once", , \
	     "n-way binomial tree: each rank collects k parts at once", ) \
	TREE(split, "split", cs_partition_split_by, 0, ALL_SIZES SPLIT_PARAMS, \
	     "tree cut so that all parts end at the same time in the LogGP model", , \
	     "tree cut so that all parts end at the same time in the LogGP model", ) \
	TREE(multi_sender, "multi-sender", k_parts, (int)problem->params[K], BY_NODES, \
	     "k-ary tree of nodes, k ranks of a node send at once", SENDER_PARAMS("sent"), \
	     "k-ary tree of nodes, k ranks of a node receive at once", SENDER_PARAMS("heard"))

#define ALL_SIZES .needs = { .all_sizes = true },
#define BY_NODES .needs = { .several_per_node = true, .all_sizes = true }, .alone = "knomial",
#define KNOMIAL_PARAMS \
	.params = { [K] = { "k", "parts that a rank cuts off at once", 4, 2, 1024 } },
#define SPLIT_PARAMS .params = { CS_PARTITION_SPLIT_PARAMS },
#define SENDER_PARAMS(verb) \
	.params = { [K] = { "k", "parts cut off at once, each " verb " by another rank of the " \
				 "node if it has so many", 4, 1, 1024 } },

#define TREE(tree, word, cut, senders, both, scatter_says, of_scatter, gather_says, of_gather) \
	ONE_WAY(scatter, CS_SCATTER, CS_SCATTERV, cs_tree_scatter, tree, word, cut, senders, \
		scatter_says, both of_scatter) \
	ONE_WAY(gather, CS_GATHER, CS_GATHERV, cs_tree_gather, tree, word, cut, senders, \
		gather_says, both of_gather)

#define ONE_WAY(coll, blocks, blocks_v, write, tree, word, cut, senders, says, ...) \
	static void build_##coll##_##tree(struct cs_builder *builder) \
	{ \
		const struct cs_problem *problem = builder->problem; \
		struct cs_partition partition; \
		cut(&partition, problem); \
		write(builder, &partition, senders); \
	} \
	const struct cs_algorithm cs_algorithm_##coll##_##tree = { \
		.colls = CS_SET(blocks) | CS_SET(blocks_v), \
		.name = word, .summary = says, __VA_ARGS__ \
		.build = build_##coll##_##tree, \
		.has_ports = true, \
	};

TREES
