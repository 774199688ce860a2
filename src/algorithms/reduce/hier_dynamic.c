/* Reduce, hierarchical with dynamic leader selection (seed 002, 3.7.1): the last arriver of a node
 * leads, and early ranks leave their vectors in the node's memory and return at once.
 *
 * Cost: for the last of m ranks of a node ceil(log2 m) vectors to add, and then the messages of a
 * k-nomial tree of nodes. If all come at once, a hop more for each of those sums than hier:host
 * needs. */
#include "algorithms/algorithm.h"
#include "algorithms/late/dynamic_leader.h"
#include "algorithms/hier/node_reduce.h"

/* Parameters. */
enum { SEGMENT, RADIX, CONTROL, RMA };

static void
run(struct cs_op *op, const size_t *params)
{
	const struct cs_dynamic_leader_params given = { .segment = params[SEGMENT],
							.radix = params[RADIX],
							.control = params[CONTROL],
							.rma = params[RMA] };
	if (!cs_dynamic_leader(op, &given))
		cs_node_reduce(op, &cs_node_reduce_usual);
}

const struct cs_algorithm cs_algorithm_reduce_hier_dynamic = {
	.colls = CS_SET(CS_REDUCE),
	.name = "hier:dynamic",
	.summary = "the last arriver of a node leads, early ranks leave at once",
	.needs = { .several_per_node = true, .block_if_not_commutative = true, .everyone = true },
	.params = { [SEGMENT] = CS_DYNAMIC_LEADER_SEGMENT, [RADIX] = CS_DYNAMIC_LEADER_RADIX,
		    [CONTROL] = CS_DYNAMIC_LEADER_CONTROL,
		    [RMA] = CS_DYNAMIC_LEADER_RMA },
	.run = run,
};
