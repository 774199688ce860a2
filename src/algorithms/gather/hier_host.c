/* Gather, hierarchical (seed 002, 2.3.1): blocks side by side in node memory, the leaders' host gatherv brings the nodes
 * to the root's memory, the root copies out. One node: the root reads the others' rings; they do not wait for it. */
#include "algorithms/algorithm.h"
#include "algorithms/patterns/rooted.h"

static void
run(struct cs_op *op, const size_t *params)
{
	cs_rooted_gather(op, true, params[0]);
}

const struct cs_algorithm cs_algorithm_gather_hier_host = {
	.coll = CS_GATHER,
	.name = "hier:host",
	.summary = "blocks side by side in node memory, host gatherv between leaders, the root copies out",
	.needs = { .several_per_node = true },
	.params = { CS_CMA_MIN },
	.between = CS_GATHERV + 1,
	.run = run,
};
