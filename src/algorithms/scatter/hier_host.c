/* Scatter, hierarchical (seed 002, 2.3.1): the root writes all blocks into its node's memory, the leaders' host scatterv
 * brings each node its own, everybody copies its block out. One node: straight out of the root's ring. */
#include "algorithms/algorithm.h"
#include "algorithms/patterns/rooted.h"

static void
run(struct cs_op *op, const size_t *params)
{
	cs_rooted_scatter(op, true, params[0]);
}

const struct cs_algorithm cs_algorithm_scatter_hier_host = {
	.coll = CS_SCATTER,
	.name = "hier:host",
	.summary = "blocks through the root's node memory, host scatterv between leaders",
	.needs = { .several_per_node = true },
	.params = { CS_CMA_MIN },
	.between = CS_SCATTERV + 1,
	.run = run,
};
