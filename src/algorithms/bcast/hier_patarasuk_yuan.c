/* Broadcast of Patarasuk and Yuan between the nodes' leaders, which are the same ranks always (seed
 * 002, 3.9.2): each signals the root when it comes (late/first_come_nodes.h). A late leader delays
 * its node, which hier:dynamic does not. */
#include "algorithms/algorithm.h"
#include "algorithms/late/first_come_nodes.h"

static void
run(struct cs_op *op, const size_t *params)
{
	cs_first_come_nodes(op, (struct cs_first_come_nodes_how){ .is_dynamic = false }, params);
}

const struct cs_algorithm cs_algorithm_bcast_hier_patarasuk_yuan = {
	.colls = CS_SET(CS_BCAST),
	.name = "hier:patarasuk-yuan",
	.summary = "leaders say to the root that they are there, and it splits those who are",
	.needs = { .several_per_node = true, .several_nodes = true, .everyone = true },
	.params = { CS_FIRST_COME_PARAMS },
	.run = run,
};
