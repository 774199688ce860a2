/* Allgatherv, pipelined ring node by node (seed 001, 2.2 and 2.3, figure 1).
 *
 *   ranks     0 1 2 3 4 5            ring   0 2 4 | 1 3 5 |
 *   on nodes  0 1 0 1 0 1                   between nodes: 4 -> 1, 5 -> 0
 *
 * Each node is entered by one link and left by one, so that in a round one message comes in and one
 * goes out, as many as in a ring of one rank on each node. On a node the ranks without data come
 * first: the last one sends its own at once, so that links between nodes are busy from the start.
 * Without node_of the order is that of the ranks.
 *
 * Cost: that of the pipelined ring. */
#include "algorithms/plans/node_ranks.h"
#include "algorithms/plans/ring.h"

#include <stdlib.h>

/* Append the node's ranks that have data, or have none; returns the ring's new length. */
static int
append(const struct cs_problem *problem, const struct cs_node_ranks *nodes, int node, bool has_data,
       int *order, int count)
{
	for (int place = 0; place < cs_node_size(nodes, node); place++) {
		int rank = cs_node_rank(nodes, node, place);
		if ((cs_problem_size(problem, rank) != 0) == has_data)
			order[count++] = rank;
	}
	return count;
}

static bool
order_by_node(const struct cs_problem *problem, int *order)
{
	struct cs_node_ranks nodes;
	int count = 0;
	if (!cs_node_ranks_init(&nodes, problem))
		return false;
	for (int node = 0; node < nodes.nodes; node++) {
		count = append(problem, &nodes, node, false, order, count);
		count = append(problem, &nodes, node, true, order, count);
	}
	cs_node_ranks_fini(&nodes);
	return true;
}

static void
build(struct cs_builder *builder)
{
	const struct cs_problem *problem = builder->problem;
	int *order = malloc((size_t)problem->ranks * sizeof *order);
	if (order && order_by_node(problem, order))
		cs_ring_build_by(builder, order);
	else
		cs_build_no_memory(builder);
	free(order);
}

const struct cs_algorithm cs_algorithm_allgatherv_node_ring = {
	.colls = CS_SET(CS_ALLGATHERV),
	.name = "node-ring",
	.summary = "pipelined ring that enters and leaves each node once",
	.params = CS_RING_PARAMS,
	.build = build,
	.cost = cs_ring_cost,
	.alone = "pipelined-ring",
};
