/* Allreduce, hierarchical with dynamic leader selection (seed 002, 3.7.1): the last arriver of a
 * node leads; its sum goes up a tree of nodes, and the result down again.
 *
 * Cost: all wait for the last rank; then ceil(log2 m) vectors to add on its node of m ranks, and
 * the messages of a k-nomial tree of nodes, twice. */
#include "algorithms/algorithm.h"
#include "algorithms/late/dynamic_leader.h"
#include "algorithms/hier/node_reduce.h"

/* Parameters. */
enum { SEGMENT, RADIX, RMA };

static void
run(struct cs_op *op, const size_t *params)
{
	const struct cs_dynamic_leader_params given = { .segment = params[SEGMENT],
							.radix = params[RADIX],
							.rma = params[RMA] };
	op->call.root = -1;
	if (!cs_dynamic_leader(op, &given))
		cs_node_reduce(op, &cs_node_reduce_usual);
}

const struct cs_algorithm cs_algorithm_allreduce_hier_dynamic = {
	.colls = CS_SET(CS_ALLREDUCE),
	.name = "hier:dynamic",
	.summary = "the last arriver of a node leads, up and down a tree of nodes",
	.needs = { .several_per_node = true, .block_if_not_commutative = true, .everyone = true },
	.params = { [SEGMENT] = CS_DYNAMIC_LEADER_SEGMENT, [RADIX] = CS_DYNAMIC_LEADER_RADIX,
		    [RMA] = CS_DYNAMIC_LEADER_RMA },
	.run = run,
};
