/* Scatterv, hierarchical: as scatter; the leaders scatter the sizes first, which only the root knows. */
#include "algorithms/algorithm.h"
#include "algorithms/patterns/rooted.h"
#include "base/parse.h"

static void
run(struct cs_team *team, struct cs_call *call, const size_t *params)
{
	cs_rooted_scatter(team, call, false, params[0]);
}

const struct cs_algorithm cs_algorithm_scatterv_hier_host = {
	.coll = CS_SCATTERV,
	.name = "hier:host",
	.summary = "as scatter, sizes between leaders first",
	.needs = { .several_per_node = true },
	.params = { { "cma_min", "blocks from this size are read from their owner's memory by single copy", CS_INF,
		      4 << 10, CS_INF } },
	.between = CS_SCATTERV + 1,
	.run = run,
};
