/* Barrier: everybody says that it is here. Up to 16 ranks on a node all read all (one hop); beyond, the leader collects
 * and releases (two hops, 2m lines instead of m^2). Several nodes: the leaders' host barrier in between. */
#include "algorithms/algorithm.h"
#include "algorithms/between.h"
#include "algorithms/op.h"

#define ALL_READ_ALL 16

static void
run(struct cs_op *op, const size_t *params)
{
	struct cs_team *team = op->team;
	struct cs_node_op *node = &op->node;
	int locals = node->node->shape.size;
	cs_node_begin(node);
	struct cs_line *line = cs_node_line(node);
	cs_node_publish(node, line, 1);
	if (team->shape.nodes == 1 && locals <= ALL_READ_ALL) {
		for (int i = 1; i < locals; i++)
			cs_node_await(node, (node->node->shape.local + i) % locals, 1);
	} else if (cs_team_is_leader(team)) {
		for (int local = 0; local < locals; local++)
			cs_node_await(node, local, 1);
		if (team->shape.nodes > 1)
			cs_between_barrier(op);
		cs_node_publish(node, line, 2);
	} else {
		cs_node_await(node, cs_team_leader(team), 2);
	}
	cs_node_end(node);
}

const struct cs_algorithm cs_algorithm_barrier_hier_host = {
	.colls = CS_SET(CS_BARRIER),
	.name = "hier:host",
	.summary = "flags on the node, host barrier between leaders",
	.needs = { .several_per_node = true },
	.composes = true,
	.run = run,
};
