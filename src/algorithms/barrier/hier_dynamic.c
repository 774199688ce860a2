/* Barrier, hierarchical with dynamic leader selection: the last arriver of a node says so, to its
 * node or up a tree of nodes, and word comes down again.
 *
 * Cost: all wait for the last rank; then ceil(log2 m) words on its node of m ranks, and the
 * messages of a k-nomial tree of nodes, twice. */
#include "algorithms/algorithm.h"
#include "algorithms/late/dynamic_leader.h"

/* Parameters. */
enum { RADIX, WINDOW };

static void
run(struct cs_op *op, const size_t *params)
{
	const struct cs_dynamic_leader_params given = { .radix = params[RADIX],
							.window = params[WINDOW] };
	cs_dynamic_leader(op, &given); /* which refuses no barrier: nothing is to fit anywhere */
}

const struct cs_algorithm cs_algorithm_barrier_hier_dynamic = {
	.colls = CS_SET(CS_BARRIER),
	.name = "hier:dynamic",
	.summary = "the last arriver of a node leads, up and down a tree of nodes",
	.needs = { .several_per_node = true, .everyone = true },
	.params = { [RADIX] = CS_DYNAMIC_LEADER_RADIX, [WINDOW] = CS_DYNAMIC_LEADER_WINDOW },
	.run = run,
};
