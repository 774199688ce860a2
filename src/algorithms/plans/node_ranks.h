/* plans/node_ranks.h — the ranks of a problem by node. */
#ifndef CS_ALGORITHMS_PLANS_NODE_RANKS_H
#define CS_ALGORITHMS_PLANS_NODE_RANKS_H

#include "coll/problem.h"

/* Ranks by node. Nodes are numbered 0, 1, ... in the order of problem->node_of's numbers; without
 * these each rank is a node. Ranks of a node are sorted. */
struct cs_node_ranks {
	int nodes;
	int *node_of, *place_of; /* by rank: its node, and its place there */
	int *first;              /* by node: index of its ranks in `ranks`; one more */
	int *ranks;
};

/* False: no memory. */
bool cs_node_ranks_init(struct cs_node_ranks *nodes, const struct cs_problem *problem);
void cs_node_ranks_fini(struct cs_node_ranks *nodes);

/* Sort the ranks by the numbers of their nodes into `order`, those of a node from rank `start` on.
 * False: no memory. */
bool cs_node_ranks_sort(const int *node_of, int ranks, int start, int *order);

static inline int
cs_node_size(const struct cs_node_ranks *nodes, int node)
{
	return nodes->first[node + 1] - nodes->first[node];
}

static inline int
cs_node_rank(const struct cs_node_ranks *nodes, int node, int place)
{
	return nodes->ranks[nodes->first[node] + place];
}

#endif
