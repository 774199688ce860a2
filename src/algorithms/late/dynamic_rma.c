/* late/dynamic_rma.c — the messages of late/dynamic_leader.h by a window (wire/rma_window.h): a
 * node's leader writes into the memory of the next node, whose leader finds them there. */
#include "algorithms/late/dynamic_parts.h"

/* Number of parts of the call: messages between two nodes in one direction. */
static uint64_t
count_parts(const struct cs_op *op, const struct cs_dynamic *state)
{
	uint64_t last = 0;
	for (int part = 0; part < state->parts; part++)
		last += cs_dynamic_is_part(op, state, state->rounds - 1, part);
	return (state->rounds - 1) * (uint64_t)state->parts + last;
}

/* Finds or adds a neighbour; a node may be one as parent or child, and as the root's or the top. */
static struct cs_dynamic_neighbour *
meet(struct cs_dynamic *state, int node)
{
	struct cs_dynamic_neighbour *all = state->neighbours;
	int i = 0;
	while (i < state->neighbour_count && all[i].node != node)
		i++;
	if (i == state->neighbour_count) {
		state->neighbour_count++;
		all[i] = (struct cs_dynamic_neighbour){ node, state->window->sent[node],
							state->window->received[node] };
	}
	return &all[i];
}

static void
expect(struct cs_dynamic *state, int node, uint64_t sent, uint64_t received)
{
	meet(state, node);
	state->window->sent[node] += sent;
	state->window->received[node] += received;
}

static void
join(struct cs_op *op, struct cs_dynamic *state, int parent, bool control)
{
	(void)control; /* a window needs no words */
	const struct cs_shape *shape = &op->team->shape;
	bool is_to_all = cs_dynamic_is_to_all(op);
	uint64_t parts = count_parts(op, state), down = is_to_all ? parts : 0;
	int root = is_to_all ? -1 : shape->node_of[op->call.root];
	bool is_roots = !is_to_all && shape->node_of[op->call.root] == state->top &&
			shape->node == state->top;
	state->leads_nodes = state->children && !is_roots;
	state->takes_nodes = state->children && is_roots && cs_dynamic_is_root(op);
	state->neighbours = cs_op_memory(op, CS_OP_PART, (size_t)(state->children + 2) *
							 sizeof *state->neighbours);
	for (int i = 0; i < state->children; i++)
		expect(state, cs_dynamic_child(op, state, i), down, parts);
	if (parent >= 0)
		expect(state, parent, parts, down);
	if (root < 0 || root == state->top)
		return;
	if (shape->node == state->top)
		expect(state, root, parts, 0);
	if (shape->node == root)
		expect(state, state->top, 0, parts);
}

static const struct cs_dynamic_neighbour *
neighbour(const struct cs_dynamic *state, int node)
{
	const struct cs_dynamic_neighbour *at = state->neighbours;
	while (at->node != node)
		at++;
	return at;
}

/* Source node of an inbox's messages: a child; of number `children`, the parent or the top. */
static int
source(const struct cs_op *op, const struct cs_dynamic *state, int child)
{
	return child < state->children ? cs_dynamic_child(op, state, child)
	       : cs_dynamic_is_to_all(op)
		       ? op->team->shape.node_of[state->parent] : state->top;
}

static bool
has_come(struct cs_op *op, uint64_t round, int part, int child)
{
	const struct cs_dynamic *state = cs_dynamic_of(op);
	int node = source(op, state, child);
	uint64_t number = neighbour(state, node)->received + cs_dynamic_place(state, round, part);
	if (cs_rma_has_come(state->window, node, number))
		return true;
	op->node.awaited.local = CS_AWAITS_MESSAGE;
	return false;
}

static const char *
message(struct cs_op *op, uint64_t round, int part, int child)
{
	const struct cs_dynamic *state = cs_dynamic_of(op);
	int node = source(op, state, child);
	return cs_rma_message(state->window, node,
			      neighbour(state, node)->received +
				      cs_dynamic_place(state, round, part));
}

static bool
give_back(struct cs_op *op, uint64_t round, int part, int child)
{
	const struct cs_dynamic *state = cs_dynamic_of(op);
	int node = source(op, state, child);
	uint64_t number = neighbour(state, node)->received + cs_dynamic_place(state, round, part);
	if (state->window->give_back(state->window, node, number))
		return true;
	op->node.awaited.local = CS_AWAITS_MESSAGE;
	return false;
}

static bool
may_send(struct cs_op *op, uint64_t round, int part, int node)
{
	const struct cs_dynamic *state = cs_dynamic_of(op);
	uint64_t number = neighbour(state, node)->sent + cs_dynamic_place(state, round, part);
	if (cs_rma_may_put(state->window, node, number))
		return true;
	op->node.awaited.local = CS_AWAITS_MESSAGE;
	return false;
}

static void
send(struct cs_op *op, struct cs_request *request, uint64_t round, int part, int peer, bool is_down)
{
	const struct cs_dynamic *state = cs_dynamic_of(op);
	int node = op->team->shape.node_of[peer];
	(void)is_down;
	state->window->put(state->window, request, node,
			   neighbour(state, node)->sent + cs_dynamic_place(state, round, part),
			   NULL, cs_dynamic_own_part(op, round, part),
			   cs_dynamic_bytes(op, state, round, part));
}

/* Posts nothing: ranks of other nodes write into the window. */
static void
receive(struct cs_op *op, uint64_t round, int part, int child, bool is_down)
{
	(void)op, (void)round, (void)part, (void)child, (void)is_down;
}

static bool
test(const struct cs_dynamic *state, struct cs_request *request)
{
	return state->window->test(state->window, request);
}

const struct cs_dynamic_transport cs_dynamic_rma = {
	.join = join, .receive = receive, .has_come = has_come, .message = message,
	.give_back = give_back, .may_send = may_send, .send = send, .test = test,
};
