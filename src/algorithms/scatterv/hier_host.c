/* Scatterv, hierarchical: as scatter; the leaders scatter the sizes first, which only the root knows. */
#include "algorithms/algorithm.h"
#include "algorithms/patterns/rooted.h"

static void
run(struct cs_op *op, const size_t *params)
{
	cs_rooted_scatter(op, false, params[0]);
}

const struct cs_algorithm cs_algorithm_scatterv_hier_host = {
	.coll = CS_SCATTERV,
	.name = "hier:host",
	.summary = "as scatter, sizes between leaders first",
	.needs = { .several_per_node = true },
	.params = { CS_CMA_MIN },
	.between = CS_SCATTERV + 1,
	.run = run,
};
