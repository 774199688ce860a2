/* Gatherv, hierarchical: as gather; the sizes, which only the root knows, are published on each node (seed 002, SharedCnts)
 * and the leaders agree on the number of rounds. */
#include "algorithms/algorithm.h"
#include "algorithms/patterns/rooted.h"

static void
run(struct cs_op *op, const size_t *params)
{
	cs_rooted_gather(op, false, params[0]);
}

const struct cs_algorithm cs_algorithm_gatherv_hier_host = {
	.coll = CS_GATHERV,
	.name = "hier:host",
	.summary = "as gather, sizes shared on the node first",
	.needs = { .several_per_node = true },
	.params = { CS_CMA_MIN },
	.between = CS_GATHERV + 1,
	.run = run,
};
