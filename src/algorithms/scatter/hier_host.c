/* Scatter(v), hierarchical (seed 002, 2.3.1): the root writes all blocks into its node's memory,
 * the leaders' host scatterv sends each node its own, each rank copies its block out. One node:
 * straight out of the root's ring. In scatterv the leaders scatter the sizes first, which only the
 * root knows. */
#include "algorithms/algorithm.h"
#include "algorithms/hier/hier.h"
#include "algorithms/hier/rooted.h"

/* Parameters. */
enum { CMA_MIN, SENDERS };

static void
run(struct cs_op *op, const size_t *params)
{
	cs_rooted_scatter(op, op->call.coll == CS_SCATTER, params[CMA_MIN], params[SENDERS]);
}

static bool
fast(struct cs_op *op, const size_t *params)
{
	return cs_rooted_scatter_fast(op, params[CMA_MIN]);
}

const struct cs_algorithm cs_algorithm_scatter_hier_host = {
	.colls = CS_SET(CS_SCATTER) | CS_SET(CS_SCATTERV),
	.name = "hier:host",
	.summary = "blocks through the root's node memory, host scatterv between leaders",
	.needs = { .several_per_node = true },
	.params = { [CMA_MIN] = CS_CMA_MIN, [SENDERS] = CS_HIER_SENDERS },
	.composes = true,
	.fast = fast,
	.run = run,
};
