/* late/dynamic_tree.c — the tree of nodes of late/dynamic_leader.h, and sends by any transport. */
#include "algorithms/late/dynamic_parts.h"

#include <string.h>

/* --- the tree of nodes ------------------------------------------------------------------------ */

/* Number of a node, counted from the top. */
static int
from_top(const struct cs_op *op, const struct cs_dynamic *state, int node)
{
	int nodes = op->team->shape.nodes;
	return (node - state->top + nodes) % nodes;
}

int
cs_dynamic_child(const struct cs_op *op, const struct cs_dynamic *state, int i)
{
	int nodes = op->team->shape.nodes, own = from_top(op, state, op->team->shape.node);
	int radix = state->radix;
	for (long span = 1; span < nodes && own % (span * radix) == 0; span *= radix)
		for (int k = 1; k < radix && own + k * span < nodes; k++)
			if (i-- == 0)
				return (int)(own + k * span + state->top) % nodes;
	return -1;
}

static int
parent_of(const struct cs_op *op, const struct cs_dynamic *state)
{
	int own = from_top(op, state, op->team->shape.node), radix = state->radix;
	long span = 1;
	while (own % (span * radix) == 0)
		span *= radix;
	return (int)(own - own % (span * radix) + state->top) % op->team->shape.nodes;
}

int
cs_dynamic_taker(const struct cs_op *op, const struct cs_dynamic *state, int node)
{
	const struct cs_shape *shape = &op->team->shape;
	if (!cs_dynamic_is_to_all(op) && node == state->top &&
	    shape->node_of[op->call.root] == node &&
	    op->call.is_commutative)
		return op->call.root;
	return shape->order[shape->first[node + 1] - 1];
}

/* --- messages --------------------------------------------------------------------------------- */

/* Index of a send's request behind those of receives: for each part of `ahead` rounds, `fan`. */
static int
send_at(const struct cs_dynamic *state, uint64_t round, int part, int i)
{
	return ((int)(round % state->ahead) * state->parts + part) * state->fan + i;
}

static struct cs_request *
send_request(const struct cs_dynamic *state, int at)
{
	return &state->requests[cs_dynamic_receive_at(state, state->parts, 0) + at];
}

static bool
is_over(struct cs_op *op, struct cs_request *request)
{
	const struct cs_dynamic *state = cs_dynamic_of(op);
	if (!state->transport->test(state, request)) {
		op->node.awaited.local = CS_AWAITS_MESSAGE;
		return false;
	}
	cs_op_note(op, request->told & CS_TOLD_MORE);
	return true;
}

bool
cs_dynamic_is_received(struct cs_op *op, int part, int child)
{
	const struct cs_dynamic *state = cs_dynamic_of(op);
	return is_over(op, &state->requests[cs_dynamic_receive_at(state, part, child)]);
}

void
cs_dynamic_send(struct cs_op *op, uint64_t round, int part, int i, int peer, bool is_down)
{
	const struct cs_dynamic *state = cs_dynamic_of(op);
	int at = send_at(state, round, part, i);
	state->is_sending[at] = true;
	state->transport->send(op, send_request(state, at), round, part, peer, is_down);
}

bool
cs_dynamic_have_left(struct cs_op *op, uint64_t round, int part, int parts)
{
	struct cs_dynamic *state = cs_dynamic_of(op);
	if (!state->requests)
		return true;
	int last = send_at(state, round, part + parts - 1, state->fan - 1);
	for (int at = send_at(state, round, part, 0); at <= last; at++) {
		if (state->is_sending[at] && !is_over(op, send_request(state, at)))
			return false;
		state->is_sending[at] = false;
	}
	return true;
}

void
cs_dynamic_send_down(struct cs_op *op, uint64_t round, int part)
{
	const struct cs_dynamic *state = cs_dynamic_of(op);
	for (int i = 0; i < state->children; i++)
		cs_dynamic_send(op, round, part, i,
				cs_dynamic_taker(op, state, cs_dynamic_child(op, state, i)), true);
}

bool
cs_dynamic_may_send(struct cs_op *op, uint64_t round, int part, int peer)
{
	return cs_dynamic_of(op)->transport->may_send(op, round, part,
						      op->team->shape.node_of[peer]);
}

bool
cs_dynamic_may_send_down(struct cs_op *op, uint64_t round, int part)
{
	const struct cs_dynamic *state = cs_dynamic_of(op);
	for (int i = 0; i < state->children; i++)
		if (!state->transport->may_send(op, round, part, cs_dynamic_child(op, state, i)))
			return false;
	return true;
}

/* --- joining ---------------------------------------------------------------------------------- */

void
cs_dynamic_join(struct cs_op *op, struct cs_dynamic *state,
		const struct cs_dynamic_leader_params *params)
{
	const struct cs_shape *shape = &op->team->shape;
	bool is_at_root = !cs_dynamic_is_to_all(op) && op->call.is_commutative;
	state->radix = (int)params->radix;
	state->top = is_at_root ? shape->node_of[op->call.root] : 0;
	state->parent = -1;
	if (shape->nodes == 1)
		return;
	int parent = shape->node != state->top ? parent_of(op, state) : -1;
	if (parent >= 0)
		state->parent = cs_dynamic_taker(op, state, parent);
	while (cs_dynamic_child(op, state, state->children) >= 0)
		state->children++;
	state->fan = cs_dynamic_is_to_all(op) && state->children > 1 ? state->children : 1;
	size_t sends = (size_t)state->fan * (size_t)state->parts * state->ahead;
	size_t receives = (size_t)cs_dynamic_receive_at(state, state->parts, 0);
	state->requests = cs_op_memory(op, CS_OP_REQUESTS,
				       (receives + sends) * sizeof *state->requests + sends);
	state->is_sending = (unsigned char *)(state->requests + receives + sends);
	memset(state->is_sending, 0, sends);
	state->transport->join(op, state, parent, params->control);
}
