/* Reduce_scatter(_block), hierarchical (seed 002, 2.3.1): on one node each rank reduces its own
 * block out of all ranks' slots (one hop); on several, slices of all blocks in node memory, then
 * the leaders' host reduce_scatter; short vectors the leader reduces alone. */
#include "algorithms/algorithm.h"
#include "algorithms/hier/hier.h"
#include "algorithms/hier/node_reduce_scatter.h"

/* Parameters. */
enum { READ_ALL, CMA_MIN, SENDERS };

static void
run(struct cs_op *op, const size_t *params)
{
	cs_node_reduce_scatter(op, params[READ_ALL], params[CMA_MIN], params[SENDERS]);
}

static bool
fast(struct cs_op *op, const size_t *params)
{
	return cs_node_reduce_scatter_fast(op, params[CMA_MIN]);
}

const struct cs_algorithm cs_algorithm_reduce_scatter_hier_host = {
	.colls = CS_SET(CS_REDUCE_SCATTER) | CS_SET(CS_REDUCE_SCATTER_BLOCK),
	.name = "hier:host",
	.summary = "each rank reduces its block in node memory, host reduce_scatter between "
		   "leaders",
	.needs = { .several_per_node = true, .block_if_not_commutative = true },
	.params = { [READ_ALL] = CS_NODE_REDUCE_SCATTER_READ_ALL, [CMA_MIN] = CS_CMA_MIN,
		    [SENDERS] = CS_HIER_SENDERS },
	.composes = true,
	.fast = fast,
	.run = run,
};
