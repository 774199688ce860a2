/* Alltoall(v,w), hierarchical (seed 002, 2.3.1): blocks in node-contiguous order in node memory,
 * one message for each pair of nodes by the leaders' host alltoallv, copy-out. With several lanes
 * (seed 002, 3.7.3) the other nodes are dealt to them. One node: each rank reads its pieces out of
 * its peers' rings. */
#include "algorithms/algorithm.h"
#include "algorithms/hier/hier.h"
#include "algorithms/hier/node_alltoall.h"

/* Parameters. */
enum { CMA_MIN, LANES, SENDERS };

static void
run(struct cs_op *op, const size_t *params)
{
	cs_node_alltoall(op, params[CMA_MIN], params[LANES], params[SENDERS]);
}

static bool
fast(struct cs_op *op, const size_t *params)
{
	return cs_node_alltoall_fast(op, params[CMA_MIN]);
}

const struct cs_algorithm cs_algorithm_alltoall_hier_host = {
	.colls = CS_SET(CS_ALLTOALL) | CS_SET(CS_ALLTOALLV) | CS_SET(CS_ALLTOALLW),
	.name = "hier:host",
	.summary = "node-contiguous blocks in node memory, host alltoallv between leaders",
	.needs = { .several_per_node = true },
	.params = { [CMA_MIN] = CS_CMA_MIN,
		    [LANES] = { "lanes", "ranks of a node that send to, and hear, the other "
					 "nodes; " CS_LANES_ZERO, 1, 0,
				CS_LANES },
		    [SENDERS] = CS_HIER_SENDERS },
	.composes = true,
	.fast = fast,
	.run = run,
};
