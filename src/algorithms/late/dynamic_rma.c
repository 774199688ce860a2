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

void
cs_dynamic_rma_join(struct cs_op *op, struct cs_dynamic *state, int parent)
{
	const struct cs_shape *shape = &op->team->shape;
	bool is_to_all = cs_dynamic_is_to_all(op);
	uint64_t parts = count_parts(op, state), down = is_to_all ? parts : 0;
	int root = is_to_all ? -1 : shape->node_of[op->call.root];
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

static uint64_t
place_of(const struct cs_dynamic *state, uint64_t round, int part)
{
	return round * (uint64_t)state->parts + (uint64_t)part;
}

/* Source node of an inbox's messages: a child; of number `children`, the parent or the top. */
static int
source(const struct cs_op *op, const struct cs_dynamic *state, int child)
{
	return child < state->children ? cs_dynamic_child(op, state, child)
	       : cs_dynamic_is_to_all(op)
		       ? op->team->shape.node_of[state->parent] : state->top;
}

bool
cs_dynamic_rma_has_come(struct cs_op *op, uint64_t round, int part, int child)
{
	const struct cs_dynamic *state = cs_dynamic_of(op);
	int node = source(op, state, child);
	uint64_t number = neighbour(state, node)->received + place_of(state, round, part);
	if (cs_rma_has_come(state->window, node, number))
		return true;
	op->node.awaited.local = CS_AWAITS_MESSAGE;
	return false;
}

const char *
cs_dynamic_rma_message(struct cs_op *op, uint64_t round, int part, int child)
{
	const struct cs_dynamic *state = cs_dynamic_of(op);
	int node = source(op, state, child);
	return cs_rma_message(state->window, node,
				 neighbour(state, node)->received + place_of(state, round, part));
}

bool
cs_dynamic_rma_give_back(struct cs_op *op, uint64_t round, int part, int child)
{
	const struct cs_dynamic *state = cs_dynamic_of(op);
	int node = source(op, state, child);
	uint64_t number = neighbour(state, node)->received + place_of(state, round, part);
	if (state->window->give_back(state->window, node, number))
		return true;
	op->node.awaited.local = CS_AWAITS_MESSAGE;
	return false;
}

bool
cs_dynamic_rma_may_put(struct cs_op *op, uint64_t round, int part, int node)
{
	const struct cs_dynamic *state = cs_dynamic_of(op);
	uint64_t number = neighbour(state, node)->sent + place_of(state, round, part);
	if (cs_rma_may_put(state->window, node, number))
		return true;
	op->node.awaited.local = CS_AWAITS_MESSAGE;
	return false;
}

void
cs_dynamic_rma_put(struct cs_op *op, struct cs_request *request, uint64_t round, int part,
		      int node)
{
	const struct cs_dynamic *state = cs_dynamic_of(op);
	state->window->put(state->window, request, node,
			   neighbour(state, node)->sent + place_of(state, round, part), NULL,
			   cs_dynamic_own_part(op, round, part),
			   cs_dynamic_bytes(op, state, round, part));
}
