/* sim/sketch_reduce.c — reduces whose ranks may come late. */
#include "sim/sketch_tree.h"

static bool
is_dynamic(const struct cs_sketch_state *state)
{
	return state->sketch->kind == CS_SKETCH_DYNAMIC ||
	       state->sketch->kind == CS_SKETCH_HALF_DYNAMIC;
}

int
cs_sketch_reduce_roles(const struct cs_sketch_state *state)
{
	/* One for each bracket of the node's sum, and one for the sum of children. */
	return is_dynamic(state) ? state->call->ppn : 0;
}

static void
fold(const struct cs_sketch_state *state, int actor)
{
	cs_sim_add_step(state->sim, actor, CS_NODE_REDUCE, 0, state->call->bytes);
}

/* --- between nodes ---------------------------------------------------------------------------- */

/* Receives from the children, `speaks` for them, requests from `request` on; folds into the sum so
 * far, or with `is_first` begins with the first of them. Returns the next free request. */
static int
take_children(const struct cs_sketch_state *state, int actor, int node, const int *speaks,
	      int request, bool is_first)
{
	int children[CS_SKETCH_MOST_CHILDREN];
	int count = cs_sketch_children(state, node, children);
	for (int i = 0; i < count; i++)
		cs_sim_add_message(state->sim, actor, CS_STEP_RECV, speaks[children[i]],
				   state->call->bytes, request + i);
	for (int i = 0; i < count; i++) {
		cs_sim_add_message(state->sim, actor, CS_STEP_WAIT, 0, 0, request + i);
		if (i || !is_first)
			fold(state, actor);
	}
	return request + count;
}

static void
send_up(const struct cs_sketch_state *state, int actor, int parent, int request)
{
	cs_sim_add_message(state->sim, actor, CS_STEP_SEND, parent, state->call->bytes, request);
	cs_sim_add_message(state->sim, actor, CS_STEP_WAIT, 0, 0, request);
}

/* The leader tells all ranks of its child nodes who it is; those that do not lead there never look
 * at it. */
static int
tell_children(const struct cs_sketch_state *state, int node, int request)
{
	int children[CS_SKETCH_MOST_CHILDREN], ppn = state->call->ppn;
	int count = cs_sketch_children(state, node, children);
	for (int i = 0; i < count; i++)
		for (int k = 0; k < ppn; k++)
			cs_sim_add_message(state->sim, state->tops[node], CS_STEP_SEND,
					   state->tops[children[i]], CS_SKETCH_ID_BYTES, request++);
	return request;
}

static int
learn_parent(const struct cs_sketch_state *state, int node, int parent, int request)
{
	for (int k = 0; k < state->call->ppn; k++)
		cs_sim_add_message(state->sim, state->tops[node], CS_STEP_RECV,
				   state->tops[parent], CS_SKETCH_ID_BYTES, request + k);
	cs_sim_add_message(state->sim, state->tops[node], CS_STEP_WAIT, 0, 0, request);
	return request + state->call->ppn;
}

/* --- leaders that are fixed ------------------------------------------------------------------- */

static void
add_static_node(const struct cs_sketch_state *state, int node)
{
	const struct cs_sim_call *call = state->call;
	bool has_barriers = state->sketch->kind == CS_SKETCH_BARRIERS;
	int leader = state->tops[node], parent = cs_sketch_parent(state, node);
	for (int local = 0; local < call->ppn; local++) {
		int rank = cs_sim_call_rank(call, node, local);
		if (rank == leader)
			continue;
		cs_sim_add_step(state->sim, rank, CS_NODE_COPY, 0, call->bytes);
		cs_sim_add_step(state->sim, rank, CS_NODE_PUBLISH, 0, 0);
		cs_sim_add_step(state->sim, leader, CS_NODE_AWAIT, rank, 1);
		fold(state, leader);
	}
	int request = take_children(state, leader, node, state->tops, 0, false);
	if (parent >= 0)
		send_up(state, leader, state->tops[parent], request);
	cs_sim_add_step(state->sim, leader, CS_NODE_PUBLISH, 0, 0);
	for (int local = 0; has_barriers && local < call->ppn; local++) {
		int rank = cs_sim_call_rank(call, node, local);
		if (rank != leader)
			cs_sim_add_step(state->sim, rank, CS_NODE_AWAIT, leader, 1);
	}
}

/* --- leaders that come last ------------------------------------------------------------------- */

/* The sum of local ranks from `low` to below `high`: by the second to come of the two actors that
 * have its halves. Returns the actor that has it in the end. */
static int
add_bracket(const struct cs_sketch_state *state, int node, int low, int high, int *next_role)
{
	if (high - low == 1)
		return cs_sim_call_rank(state->call, node, low);
	int middle = low + (high - low + 1) / 2;
	int left = add_bracket(state, node, low, middle, next_role);
	int right = add_bracket(state, node, middle, high, next_role);
	int role = cs_sketch_role(state, node, (*next_role)++);
	cs_sim_add_step(state->sim, left, CS_NODE_LAST, role, 2);
	cs_sim_add_step(state->sim, right, CS_NODE_LAST, role, 2);
	fold(state, role);
	return role;
}

/* The node's own sum, and who has it. */
static int
add_node_sum(const struct cs_sketch_state *state, int node, int *next_role)
{
	const struct cs_sim_call *call = state->call;
	for (int local = 0; call->ppn > 1 && local < call->ppn; local++)
		cs_sim_add_step(state->sim, cs_sim_call_rank(call, node, local), CS_NODE_COPY, 0,
				call->bytes);
	return add_bracket(state, node, 0, call->ppn, next_role);
}

static void
add_root_node(const struct cs_sketch_state *state, const int *speaks, int sum)
{
	int root = state->call->root;
	if (sum != root) {
		cs_sim_add_step(state->sim, sum, CS_NODE_PUBLISH, 0, 0);
		cs_sim_add_step(state->sim, root, CS_NODE_AWAIT, sum, 1);
	}
	take_children(state, root, state->root_node, speaks, 0, false);
	if (sum != root) /* out of the node's memory */
		cs_sim_add_step(state->sim, root, CS_NODE_COPY, 0, state->call->bytes);
}

static void
add_dynamic_node(const struct cs_sketch_state *state, int node)
{
	int top = state->tops[node], parent = cs_sketch_parent(state, node);
	bool is_controlled = state->sketch->control;
	int request = is_controlled ? tell_children(state, node, 0) : 0;
	request = take_children(state, top, node, state->tops, request, false);
	if (is_controlled && parent != state->root_node)
		request = learn_parent(state, node, parent, request);
	send_up(state, top, state->tops[parent], request);
}

/* A node's lowest rank takes what its children send, as one more contributor, and leaves. */
static void
add_half_dynamic_node(const struct cs_sketch_state *state, int node)
{
	int children[CS_SKETCH_MOST_CHILDREN], fixed = cs_sketch_leader(state, node);
	int parent = cs_sketch_leader(state, cs_sketch_parent(state, node));
	int top = state->tops[node];
	bool has_children = cs_sketch_children(state, node, children) > 0;
	int request = has_children ? take_children(state, fixed, node, state->tops, 0,
						   top != fixed)
				   : 0;
	if (has_children && top != fixed)
		cs_sim_add_step(state->sim, fixed, CS_NODE_LAST, top, 2);
	send_up(state, top, parent, top == fixed ? request : 0);
}

/* Returns the actor that sends for the node: it has the sum of its ranks and of its children. */
static int
add_contributor(const struct cs_sketch_state *state, int node, int sum, int *next_role)
{
	int children[CS_SKETCH_MOST_CHILDREN], fixed = cs_sketch_leader(state, node);
	if (!cs_sketch_children(state, node, children) || sum == fixed)
		return sum;
	int role = cs_sketch_role(state, node, (*next_role)++);
	cs_sim_add_step(state->sim, sum, CS_NODE_LAST, role, 2);
	fold(state, role);
	return role;
}

void
cs_sketch_reduce(struct cs_sketch_state *state)
{
	int nodes = state->call->nodes;
	bool is_half = state->sketch->kind == CS_SKETCH_HALF_DYNAMIC;
	for (int node = 0; node < nodes; node++) {
		int next_role = 0;
		state->tops[node] = cs_sketch_leader(state, node);
		if (!is_dynamic(state))
			continue;
		int sum = add_node_sum(state, node, &next_role);
		if (node == state->root_node)
			state->tops[node] = sum;
		else
			state->tops[node] = is_half ? add_contributor(state, node, sum, &next_role)
						    : sum;
	}
	if (is_dynamic(state)) {
		int sum = state->tops[state->root_node];
		state->tops[state->root_node] = state->call->root;
		add_root_node(state, state->tops, sum);
	}
	for (int node = 0; node < nodes; node++) {
		if (!is_dynamic(state))
			add_static_node(state, node);
		else if (node != state->root_node && is_half)
			add_half_dynamic_node(state, node);
		else if (node != state->root_node)
			add_dynamic_node(state, node);
	}
}
