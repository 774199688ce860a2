/* Gatherv, hierarchical: as gather; the sizes, which only the root knows, are published on each node (seed 002, SharedCnts)
 * and the leaders agree on the number of rounds. */
#include "algorithms/algorithm.h"
#include "algorithms/patterns/rooted.h"
#include "base/parse.h"

static void
run(struct cs_team *team, struct cs_call *call, const size_t *params)
{
	cs_rooted_gather(team, call, false, params[0]);
}

const struct cs_algorithm cs_algorithm_gatherv_hier_host = {
	.coll = CS_GATHERV,
	.name = "hier:host",
	.summary = "as gather, sizes shared on the node first",
	.needs = { .several_per_node = true },
	.params = { { "cma_min", "blocks from this size are read from their owner's memory by single copy", CS_INF,
		      4 << 10, CS_INF } },
	.between = CS_GATHERV + 1,
	.run = run,
};
