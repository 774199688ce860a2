/* plans/tree_scatter.h — plans of scatter(v) and gather(v) along a tree
 * (plans/tree_partition.h).
 *
 * The members of the row are groups of ranks: each rank is one of its own, from the root on; or,
 * with `senders`, the ranks of a node are one, the root's node first. The first rank of a group is
 * its head: it has, or collects, the blocks of all groups of its part, side by side in CS_TMP. The
 * root uses the blocks where they are in the program's memory if they are one run there, else it
 * packs them; a head whose part has its own block only uses IN or OUT.
 *
 * A message carries the blocks of a child's part. With `senders` it goes through a rank of the
 * parent's group: child i through rank i modulo the senders, the head being rank 0. So a node with
 * data for k others has up to k ranks that send at the same time; messages of a head to its senders
 * stay on the node:
 *
 *   nodes {0 1} {2 3} {4 5}, 2 senders, scatter:  0 -> 4; 0 -> 1 -> 2; then 4 -> 5, 0 -> 1, 2 -> 3
 *
 * Gather is scatter backwards. With any tree the root moves each block but its own, and no rank
 * moves more. */
#ifndef CS_ALGORITHMS_PLANS_TREE_SCATTER_H
#define CS_ALGORITHMS_PLANS_TREE_SCATTER_H

#include "algorithms/plans/tree_partition.h"
#include "plan/build.h"

/* `senders`: 0: each rank is a group; else the most of a node, and nodes are groups if
 * problem->node_of is known. A rank uses the sizes of its group's part only, the root all. */
void cs_tree_scatter(struct cs_builder *builder, const struct cs_partition *partition, int senders);
void cs_tree_gather(struct cs_builder *builder, const struct cs_partition *partition, int senders);

#endif
