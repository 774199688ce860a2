/* sim/sketch_bcast.c — broadcasts whose ranks may come late. */
#include "sim/sketch_tree.h"

static bool
is_patarasuk(const struct cs_sketch_state *state)
{
	return state->sketch->kind >= CS_SKETCH_PATARASUK &&
	       state->sketch->kind <= CS_SKETCH_PATARASUK_DYNAMIC;
}

static bool
is_dynamic(const struct cs_sketch_state *state)
{
	return state->sketch->kind == CS_SKETCH_DYNAMIC ||
	       state->sketch->kind == CS_SKETCH_PATARASUK_DYNAMIC;
}

static bool
has_barriers(const struct cs_sketch_state *state)
{
	return state->sketch->kind == CS_SKETCH_BARRIERS ||
	       state->sketch->kind == CS_SKETCH_PATARASUK_BARRIERS;
}

int
cs_sketch_bcast_roles(const struct cs_sketch_state *state)
{
	return is_dynamic(state) ? 1 : 0;
}

static void
copy(const struct cs_sketch_state *state, int rank)
{
	cs_sim_add_step(state->sim, rank, CS_NODE_COPY, 0, state->call->bytes);
}

static void
publish(const struct cs_sketch_state *state, int actor)
{
	cs_sim_add_step(state->sim, actor, CS_NODE_PUBLISH, 0, 0);
}

/* --- between nodes ---------------------------------------------------------------------------- */

/* With control messages the parent hears who leads here: all of its ranks do, but where it is the
 * root's node. */
static int
control_messages(const struct cs_sketch_state *state, int parent)
{
	bool is_controlled = state->sketch->kind == CS_SKETCH_DYNAMIC && state->sketch->control;
	return !is_controlled ? 0 : parent == state->root_node ? 1 : state->call->ppn;
}

/* The data from the parent. The next free request. */
static int
take(const struct cs_sketch_state *state, int node)
{
	int actor = state->tops[node], parent = cs_sketch_parent(state, node), request = 0;
	for (int i = control_messages(state, parent); i > 0; i--)
		cs_sim_add_message(state->sim, actor, CS_STEP_SEND, state->tops[parent],
				   CS_SKETCH_ID_BYTES, request++);
	cs_sim_add_message(state->sim, actor, CS_STEP_RECV, state->tops[parent],
			   state->call->bytes, request);
	cs_sim_add_message(state->sim, actor, CS_STEP_WAIT, 0, 0, request);
	return request + 1;
}

/* To the children, those with the largest subtrees first. */
static void
give(const struct cs_sketch_state *state, int node, int request)
{
	int children[CS_SKETCH_MOST_CHILDREN], actor = state->tops[node], first = request;
	int count = cs_sketch_children(state, node, children);
	int heard = control_messages(state, node);
	for (int i = 0; i < count * heard; i++)
		cs_sim_add_message(state->sim, actor, CS_STEP_RECV,
				   state->tops[children[count - 1 - i / heard]],
				   CS_SKETCH_ID_BYTES, request++);
	for (int i = count - 1; i >= 0; i--) {
		if (heard)
			cs_sim_add_message(state->sim, actor, CS_STEP_WAIT, 0, 0,
					   first + (count - 1 - i) * heard);
		cs_sim_add_message(state->sim, actor, CS_STEP_SEND, state->tops[children[i]],
				   state->call->bytes, request++);
	}
	for (int i = 0; i < count; i++)
		cs_sim_add_message(state->sim, actor, CS_STEP_WAIT, 0, 0, first + count * heard +
				   i);
}

/* --- a node ----------------------------------------------------------------------------------- */

static void
await_all(const struct cs_sketch_state *state, int node, int leader)
{
	for (int local = 0; has_barriers(state) && local < state->call->ppn; local++) {
		int rank = cs_sim_call_rank(state->call, node, local);
		if (rank != leader)
			cs_sim_add_step(state->sim, leader, CS_NODE_AWAIT, rank, 1);
	}
}

/* Adds the steps that bring the data to the node, or send it on; the node's flag goes up as soon as
 * the data is here, or after all of them if there are barriers. */
static void
add_between(const struct cs_sketch_state *state, int node)
{
	const struct cs_sim_call *call = state->call;
	int actor = state->tops[node], request = 0;
	bool is_root = node == state->root_node;
	if (!is_root && is_patarasuk(state))
		cs_sim_add_step(state->sim, actor, CS_NODE_ASK, call->root, 0);
	else if (!is_root)
		request = take(state, node);
	if (!has_barriers(state))
		publish(state, actor);
	if (!is_patarasuk(state))
		give(state, node, request);
	else if (!is_root)
		cs_sim_add_step(state->sim, actor, CS_NODE_FORWARD, 0, 0);
	else if (call->nodes > 1)
		cs_sim_add_serve(state->sim, call->root, (uint32_t)call->nodes - 1, call->bytes,
				 (uint32_t)state->sketch->group, state->sketch->splits);
	if (has_barriers(state))
		publish(state, actor);
}

/* The rank that leads where that is fixed, or the root. */
static void
add_leader(const struct cs_sketch_state *state, int node)
{
	int leader = cs_sketch_leader(state, node);
	bool is_root = node == state->root_node, is_alone = state->call->ppn == 1;
	if (is_root && !is_alone)
		copy(state, leader);
	await_all(state, node, leader);
	if (state->tops[node] != leader)
		cs_sim_add_step(state->sim, leader, CS_NODE_LEAD, state->tops[node], 0);
	add_between(state, node);
	if (!is_root && !is_alone)
		copy(state, leader);
}

static void
add_node(const struct cs_sketch_state *state, int node)
{
	const struct cs_sim_call *call = state->call;
	bool is_root = node == state->root_node, is_free = is_dynamic(state) && !is_root;
	int leader = is_free ? -1 : cs_sketch_leader(state, node);
	if (is_free)
		add_between(state, node);
	else
		add_leader(state, node);
	for (int local = 0; local < call->ppn; local++) {
		int rank = cs_sim_call_rank(call, node, local);
		if (rank == leader)
			continue;
		if (is_free)
			cs_sim_add_step(state->sim, rank, CS_NODE_FIRST, state->tops[node], 0);
		if (has_barriers(state))
			publish(state, rank);
		cs_sim_add_step(state->sim, rank, CS_NODE_AWAIT, state->tops[node], 1);
		copy(state, rank);
	}
}

static void
add_flat(const struct cs_sketch_state *state)
{
	const struct cs_sim_call *call = state->call;
	if (call->ranks > 1)
		cs_sim_add_serve(state->sim, call->root, (uint32_t)call->ranks - 1, call->bytes,
				 (uint32_t)state->sketch->group, state->sketch->splits);
	for (int rank = 0; rank < call->ranks; rank++) {
		if (rank == call->root)
			continue;
		cs_sim_add_step(state->sim, rank, CS_NODE_ASK, call->root, 0);
		cs_sim_add_step(state->sim, rank, CS_NODE_FORWARD, 0, 0);
	}
}

void
cs_sketch_bcast(struct cs_sketch_state *state)
{
	if (state->sketch->kind == CS_SKETCH_PATARASUK) {
		add_flat(state);
		return;
	}
	for (int node = 0; node < state->call->nodes; node++)
		state->tops[node] = is_dynamic(state) ? cs_sketch_role(state, node, 0)
						      : cs_sketch_leader(state, node);
	/* With PATARASUK_DYNAMIC the root itself is the top of its node; its steps come first. */
	if (is_patarasuk(state) && is_dynamic(state))
		state->tops[state->root_node] = state->call->root;
	add_node(state, state->root_node);
	for (int node = 0; node < state->call->nodes; node++)
		if (node != state->root_node)
			add_node(state, node);
}
