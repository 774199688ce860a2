/* Gather(v), hierarchical (seed 002, 2.3.1): blocks side by side in node memory, the leaders' host
 * gatherv collects them at the root's node, the root copies out. One node: the root reads the
 * others' rings; they do not wait for it.
 *
 * In gatherv only the root knows all sizes: each rank publishes its own on its node (seed 002,
 * SharedCnts), and the leaders agree on the number of rounds. */
#include "algorithms/algorithm.h"
#include "algorithms/hier/hier.h"
#include "algorithms/hier/rooted.h"

/* Parameters. */
enum { CMA_MIN, SENDERS };

static void
run(struct cs_op *op, const size_t *params)
{
	cs_rooted_gather(op, op->call.coll == CS_GATHER, params[CMA_MIN], params[SENDERS]);
}

static bool
fast(struct cs_op *op, const size_t *params)
{
	return cs_rooted_gather_fast(op, params[CMA_MIN]);
}

const struct cs_algorithm cs_algorithm_gather_hier_host = {
	.colls = CS_SET(CS_GATHER) | CS_SET(CS_GATHERV),
	.name = "hier:host",
	.summary = "blocks side by side in node memory, host gatherv between leaders, the root "
		   "copies out",
	.needs = { .several_per_node = true },
	.params = { [CMA_MIN] = CS_CMA_MIN, [SENDERS] = CS_HIER_SENDERS },
	.composes = true,
	.fast = fast,
	.run = run,
};
