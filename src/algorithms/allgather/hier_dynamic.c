/* Allgather(v), hierarchical with dynamic leader selection (seed 002, 3.7.1): the last arriver of a
 * node sends what its node has to each of the others, and nothing waits for a leader to notice.
 *
 *   node 0: | a | b |  whoever comes last of a, b  -- to a rank of each node -->  | a | b | c | d |
 *   node 1: | c | d |  whoever comes last of c, d  -- to a rank of each node -->  | a | b | c | d |
 *
 * Who receives is known, and another rank for each node; every rank copies the result out. With
 * verbs nobody receives: what a node has is written into the memory of the others, if it fits
 * (late/node_rma.h).
 *
 * Cost: the last rank of a node sends a message to each other node, at once. For ranks that come at
 * different times, on few nodes. */
#include "algorithms/algorithm.h"
#include "algorithms/hier/node_allgather.h"
#include "algorithms/late/node_rma.h"

/* Parameters. */
enum { WIRE_CHUNK, WINDOW };

static void
run(struct cs_op *op, const size_t *params)
{
	if (!params[WINDOW] || !cs_node_rma_allgather(op))
		cs_node_allgather_dynamic(op, params[WIRE_CHUNK]);
}

const struct cs_algorithm cs_algorithm_allgather_hier_dynamic = {
	.colls = CS_SET(CS_ALLGATHER) | CS_SET(CS_ALLGATHERV),
	.name = "hier:dynamic",
	.summary = "the last arriver of a node sends what its node has to each of the others",
	.needs = { .several_per_node = true, .several_nodes = true, .everyone = true },
	.params = { [WIRE_CHUNK] = CS_SPREAD_BETWEEN, [WINDOW] = CS_NODE_WINDOWS },
	.run = run,
};
