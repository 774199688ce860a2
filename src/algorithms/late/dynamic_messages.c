/* late/dynamic_messages.c — the tree of nodes of late/dynamic_leader.h, and its messages. */
#include "algorithms/late/posted_receives.h"
#include "algorithms/late/dynamic_parts.h"

#include <string.h>

_Static_assert(CS_POSTED_RECEIVES > (CS_ARRIVE_ROUNDS + 1) * CS_ARRIVE_PARTS,
	       "a place is not taken again while its word is needed");

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

static uint64_t
place_of(const struct cs_dynamic *state, uint64_t round, int part)
{
	return round * (uint64_t)state->parts + (uint64_t)part;
}

/* Kinds of numbers of a part: up; down or to the root; words of leaders. */
enum { UP, DOWN, WORDS };

static uint64_t
number_of(const struct cs_dynamic *state, uint64_t round, int part, int kind)
{
	return state->number + CS_NUMBER_KINDS * place_of(state, round, part) + (uint64_t)kind;
}

static bool
is_over(struct cs_op *op, struct cs_request *request)
{
	const struct cs_dynamic *state = cs_dynamic_of(op);
	if (!(state->window ? state->window->test(state->window, request)
			    : state->wire->test(state->wire, request))) {
		op->node.awaited.local = CS_AWAITS_MESSAGE;
		return false;
	}
	cs_op_note(op, request->told & CS_TOLD_MORE);
	return true;
}

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

void
cs_dynamic_receive(struct cs_op *op, uint64_t round, int part, int child, bool is_down)
{
	const struct cs_dynamic *state = cs_dynamic_of(op);
	struct cs_request *request = &state->requests[cs_dynamic_receive_at(state, part, child)];
	if (state->window)
		return;
	state->wire->recv_any(state->wire, request,
			      number_of(state, round, part, is_down ? DOWN : UP),
			      cs_dynamic_inbox(state, part, child),
			      CS_DYNAMIC_HEAD + cs_dynamic_bytes(op, state, round, part));
}

void
cs_dynamic_send(struct cs_op *op, uint64_t round, int part, int i, int peer, bool is_down)
{
	const struct cs_dynamic *state = cs_dynamic_of(op);
	char *from = cs_dynamic_own_part(op, round, part) - CS_DYNAMIC_HEAD;
	struct cs_dynamic_head *head = (struct cs_dynamic_head *)(void *)from;
	int at = send_at(state, round, part, i);
	state->is_sending[at] = true;
	if (state->window) {
		cs_dynamic_rma_put(op, send_request(state, at), round, part,
				      op->team->shape.node_of[peer]);
		return;
	}
	head->node = (uint64_t)op->team->shape.node;
	state->wire->send_to(state->wire, send_request(state, at), peer,
			     number_of(state, round, part, is_down ? DOWN : UP), from,
			     CS_DYNAMIC_HEAD + cs_dynamic_bytes(op, state, round, part));
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
	return !cs_dynamic_of(op)->window ||
	       cs_dynamic_rma_may_put(op, round, part, op->team->shape.node_of[peer]);
}

bool
cs_dynamic_may_send_down(struct cs_op *op, uint64_t round, int part)
{
	const struct cs_dynamic *state = cs_dynamic_of(op);
	for (int i = 0; state->window && i < state->children; i++)
		if (!cs_dynamic_rma_may_put(op, round, part, cs_dynamic_child(op, state, i)))
			return false;
	return true;
}

bool
cs_dynamic_has_come(struct cs_op *op, uint64_t round, int part, int child)
{
	const struct cs_dynamic *state = cs_dynamic_of(op);
	return state->window
	       ? cs_dynamic_rma_has_come(op, round, part, child)
	       : is_over(op, &state->requests[cs_dynamic_receive_at(state, part, child)]);
}

/* Messages of children arrive in any order; their heads name the node. */
const char *
cs_dynamic_message(struct cs_op *op, uint64_t round, int part, int child)
{
	const struct cs_dynamic *state = cs_dynamic_of(op);
	int found = child;
	if (state->window)
		return cs_dynamic_rma_message(op, round, part, child);
	for (int i = 0; child < state->children && i < state->children; i++) {
		const struct cs_dynamic_head *head =
			(const void *)cs_dynamic_inbox(state, part, i);
		if (head->node == (uint64_t)cs_dynamic_child(op, state, child))
			found = i;
	}
	return cs_dynamic_inbox(state, part, found) + CS_DYNAMIC_HEAD;
}

bool
cs_dynamic_give_back(struct cs_op *op, uint64_t round, int part, int child)
{
	return !cs_dynamic_of(op)->window || cs_dynamic_rma_give_back(op, round, part, child);
}

/* --- words of leaders ------------------------------------------------------------------------- */

void
cs_dynamic_tell_children(struct cs_op *op, uint64_t round, int part)
{
	const struct cs_dynamic *state = cs_dynamic_of(op);
	const struct cs_shape *shape = &op->team->shape;
	for (int i = 0; i < state->children; i++) {
		int child = cs_dynamic_child(op, state, i);
		for (int at = shape->first[child]; at < shape->first[child + 1]; at++)
			state->wire->send_word(state->wire, shape->order[at],
					       number_of(state, round, part, WORDS),
					       (uint64_t)shape->rank);
	}
}

bool
cs_dynamic_hear_parent(struct cs_op *op, uint64_t round, int part)
{
	const struct cs_dynamic *state = cs_dynamic_of(op);
	if (cs_posted_receives_post(op->team, state->posted + place_of(state, round, part),
			     number_of(state, round, part, WORDS)))
		return true;
	op->node.awaited.local = CS_AWAITS_MESSAGE;
	return false;
}

bool
cs_dynamic_has_parent(struct cs_op *op, uint64_t round, int part)
{
	struct cs_dynamic *state = cs_dynamic_of(op);
	uint64_t word;
	if (!state->is_told)
		return true;
	if (!cs_posted_receives_test(op->team, state->posted + place_of(state, round, part),
				     &word)) {
		op->node.awaited.local = CS_AWAITS_MESSAGE;
		return false;
	}
	/* A word that is no rank is ignored. */
	state->parent = word < (uint64_t)op->team->shape.ranks ? (int)word : state->parent;
	return true;
}

/* --- joining ---------------------------------------------------------------------------------- */

/* Joins the tree by messages: numbers, memory, roles with `control`. */
static void
join_messages(struct cs_op *op, struct cs_dynamic *state, int parent, bool control)
{
	struct cs_team *team = op->team;
	const struct cs_shape *shape = &team->shape;
	bool is_at_root = !cs_dynamic_is_to_all(op) && op->call.is_commutative;
	/* The root receives from its own node's children with `control`, too. */
	state->tells = control && state->children && !(is_at_root && shape->node == state->top);
	state->is_told = control && parent >= 0 && !(is_at_root && parent == state->top);
	state->leads_nodes = state->tells;
	state->brings = state->children && !state->tells &&
			cs_dynamic_taker(op, state, shape->node) == shape->rank;
	state->number = (team->numbers + CS_NUMBER_KINDS - 1) / CS_NUMBER_KINDS * CS_NUMBER_KINDS;
	team->numbers = number_of(state, state->rounds, 0, UP);
	state->wire = team->host->messages(team->everyone);
	if (state->is_told)
		state->posted = cs_posted_receives_take(team, state->wire,
						  place_of(state, state->rounds, 0));
	bool takes_down = cs_dynamic_is_to_all(op) && state->parent >= 0;
	if (state->brings || state->tells || takes_down || cs_dynamic_is_root(op))
		state->inbox = cs_op_memory(op, CS_OP_PART,
					    (size_t)cs_dynamic_receive_at(state, state->parts, 0) *
						    state->stride);
}

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
	size_t receives = (size_t)cs_dynamic_receive_at(state, state->parts, 0),
	       neighbours = state->window ? (size_t)state->children + 2 : 0;
	char *memory = cs_op_memory(op, CS_OP_REQUESTS,
				    (receives + sends) * sizeof *state->requests +
					    neighbours * sizeof *state->neighbours + sends);
	state->requests = (struct cs_request *)(void *)memory;
	state->neighbours = (struct cs_dynamic_neighbour *)(void *)(state->requests + receives +
								    sends);
	state->is_sending = (unsigned char *)(state->neighbours + neighbours);
	memset(state->is_sending, 0, sends);
	if (state->window) {
		bool is_roots = !cs_dynamic_is_to_all(op) &&
				shape->node_of[op->call.root] == state->top &&
				shape->node == state->top;
		state->leads_nodes = state->children && !is_roots;
		state->takes_nodes = state->children && is_roots && cs_dynamic_is_root(op);
		cs_dynamic_rma_join(op, state, parent);
	} else {
		join_messages(op, state, parent, params->control);
	}
}
