/* Barrier, hierarchical: each rank raises its flag. Up to `all_read` ranks on a node all read all
 * (one hop); beyond, the leader collects and releases (two hops, 2m lines instead of m^2). Several
 * nodes: the leaders' host barrier in between. */
#include "algorithms/algorithm.h"
#include "algorithms/hier/between.h"
#include "algorithms/op.h"
#include "algorithms/hier/hier.h"

struct state {
	struct cs_line *line;
	int next; /* local rank to look at next, counted from the own one */
	bool all_read_all;
};

/* Parameters. */
enum { READ_ALL, SENDERS };

static void
open_state(struct cs_op *op, const size_t *params)
{
	struct state *state = CS_OP_STATE(struct state, op);
	state->next = 1;
	state->all_read_all = (size_t)op->team->node.shape.size <= params[READ_ALL];
}

static enum cs_status
come(struct cs_op *op)
{
	struct state *state = CS_OP_STATE(struct state, op);
	if (!(state->line = cs_node_try_line(&op->node)))
		return CS_AGAIN;
	cs_node_publish(&op->node, state->line, 1);
	return CS_OK;
}

static enum cs_status
hear(struct cs_op *op)
{
	struct state *state = CS_OP_STATE(struct state, op);
	struct cs_node_op *node = &op->node;
	bool hears_all = state->all_read_all || cs_team_is_leader(op->team);
	int locals = op->team->node.shape.size, self = op->team->node.shape.local;
	for (; hears_all && state->next < locals; state->next++)
		if (!cs_node_look(node, (self + state->next) % locals, 1))
			return CS_AGAIN;
	if (!hears_all && !cs_node_look(node, cs_team_leader(op->team), 2))
		return CS_AGAIN;
	if (!state->all_read_all && hears_all)
		cs_node_publish(node, state->line, 2);
	cs_node_end(node);
	return CS_OK;
}

static cs_phase *const one_node[] = { come, hear, NULL };

static bool
fast(struct cs_op *op, const size_t *params)
{
	if (op->team->shape.nodes > 1)
		return false;
	open_state(op, params);
	cs_node_begin(&op->node);
	cs_op_wait_in(op, come);
	cs_op_wait_in(op, hear);
	return true;
}

static enum cs_status
bring(struct cs_op *op)
{
	cs_hier_is_here(op);
	return CS_OK;
}

static void
between(struct cs_op *op, struct cs_hier_round *round)
{
	(void)round;
	cs_between_barrier(op);
}

static const struct cs_hier_kind several_nodes = { .bring = bring, .grow = cs_hier_grow,
						   .between = between };

static void
run(struct cs_op *op, const size_t *params)
{
	if (op->team->shape.nodes > 1) {
		const struct cs_hier_senders senders =
			{ .count = cs_hier_senders(op, params[SENDERS], 0, 1), .are_heard = true };
		cs_hier_of(op)->rounds = 1;
		cs_hier_start_by_senders(op, &several_nodes, &senders, cs_hier_script,
					 CS_HIER_SCRIPT_ROUND);
		return;
	}
	open_state(op, params);
	/* The leader may compute for long, and its answer is not there from the start. */
	if (op->node.extras & CS_OP_NONBLOCKING)
		CS_OP_STATE(struct state, op)->all_read_all = true;
	cs_op_start(op, one_node);
}

const struct cs_algorithm cs_algorithm_barrier_hier_host = {
	.colls = CS_SET(CS_BARRIER),
	.name = "hier:host",
	.summary = "flags on the node, host barrier between leaders",
	.needs = { .several_per_node = true },
	.params = { [READ_ALL] = { "all_read", "ranks of a node that read each other's flags; of "
					       "more the leader reads all and answers", 16, 2,
				   CS_INF },
		    [SENDERS] = CS_HIER_SENDERS },
	.composes = true,
	.fast = fast,
	.run = run,
};
