/* Gatherv between nodes: the short blocks of a node come in one message, with the sizes of all of
 * them; longer blocks come by themselves, as the host would send them. No size is agreed
 * (hier/aggregated.h).
 *
 * Cost: a message for each node and for each long block, one copy-in, one copy-out of short ones.
 * Wins where blocks are short and nodes have several ranks; long ones cost the root one short
 * message for each node. */
#include "algorithms/algorithm.h"
#include "algorithms/hier/aggregated.h"

/* Parameters. */
enum { AGGREGATE };

static void
run(struct cs_op *op, const size_t *params)
{
	cs_aggregated_gather(op, params[AGGREGATE]);
}

const struct cs_algorithm cs_algorithm_gatherv_hier_aggregated = {
	.colls = CS_SET(CS_GATHERV),
	.name = "hier:aggregated",
	.summary = "short blocks of a node in one message, long ones alone; no size is agreed",
	.needs = { .several_per_node = true, .several_nodes = true, .everyone = true },
	.params = { [AGGREGATE] = CS_AGGREGATE_BYTES },
	.run = run,
};
