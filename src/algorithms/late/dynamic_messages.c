/* late/dynamic_messages.c — the transport of late/dynamic_leader.h by messages, and the words of
 * last arrivers. */
#include "algorithms/late/dynamic_parts.h"
#include "algorithms/late/posted_receives.h"

_Static_assert(CS_POSTED_RECEIVES > (CS_ARRIVE_ROUNDS + 1) * CS_ARRIVE_PARTS,
	       "a place is not taken again while its word is needed");

/* Kinds of numbers of a part: up; down or to the root; words of leaders. */
enum { UP, DOWN, WORDS };

static uint64_t
number_of(const struct cs_dynamic *state, uint64_t round, int part, int kind)
{
	return state->number + CS_NUMBER_KINDS * cs_dynamic_place(state, round, part) +
	       (uint64_t)kind;
}

static void
receive(struct cs_op *op, uint64_t round, int part, int child, bool is_down)
{
	const struct cs_dynamic *state = cs_dynamic_of(op);
	struct cs_request *request = &state->requests[cs_dynamic_receive_at(state, part, child)];
	state->wire->recv_any(state->wire, request,
			      number_of(state, round, part, is_down ? DOWN : UP),
			      cs_dynamic_inbox(state, part, child),
			      CS_DYNAMIC_HEAD + cs_dynamic_bytes(op, state, round, part));
}

static bool
has_come(struct cs_op *op, uint64_t round, int part, int child)
{
	(void)round;
	return cs_dynamic_is_received(op, part, child);
}

/* Messages of children arrive in any order; their heads name the node. */
static const char *
message(struct cs_op *op, uint64_t round, int part, int child)
{
	const struct cs_dynamic *state = cs_dynamic_of(op);
	int found = child;
	(void)round;
	for (int i = 0; child < state->children && i < state->children; i++) {
		const struct cs_dynamic_head *head =
			(const void *)cs_dynamic_inbox(state, part, i);
		if (head->node == (uint64_t)cs_dynamic_child(op, state, child))
			found = i;
	}
	return cs_dynamic_inbox(state, part, found) + CS_DYNAMIC_HEAD;
}

/* Messages lie in the inbox until the next round's receive is posted. */
static bool
always(struct cs_op *op, uint64_t round, int part, int peer)
{
	(void)op, (void)round, (void)part, (void)peer;
	return true;
}

static void
send(struct cs_op *op, struct cs_request *request, uint64_t round, int part, int peer, bool is_down)
{
	const struct cs_dynamic *state = cs_dynamic_of(op);
	char *from = cs_dynamic_own_part(op, round, part) - CS_DYNAMIC_HEAD;
	((struct cs_dynamic_head *)(void *)from)->node = (uint64_t)op->team->shape.node;
	state->wire->send_to(state->wire, request, peer,
			     number_of(state, round, part, is_down ? DOWN : UP), from,
			     CS_DYNAMIC_HEAD + cs_dynamic_bytes(op, state, round, part));
}

static bool
test(const struct cs_dynamic *state, struct cs_request *request)
{
	return state->wire->test(state->wire, request);
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
	if (cs_posted_receives_post(op->team, state->posted + cs_dynamic_place(state, round, part),
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
	if (!cs_posted_receives_test(op->team, state->posted + cs_dynamic_place(state, round, part),
				     &word)) {
		op->node.awaited.local = CS_AWAITS_MESSAGE;
		return false;
	}
	/* A word that is no rank is ignored. */
	state->parent = word < (uint64_t)op->team->shape.ranks ? (int)word : state->parent;
	return true;
}

/* Joins the tree by messages: numbers, memory, roles with `control`. */
static void
join(struct cs_op *op, struct cs_dynamic *state, int parent, bool control)
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
						  cs_dynamic_place(state, state->rounds, 0));
	bool takes_down = cs_dynamic_is_to_all(op) && state->parent >= 0;
	if (state->brings || state->tells || takes_down || cs_dynamic_is_root(op))
		state->inbox = cs_op_memory(op, CS_OP_PART,
					    (size_t)cs_dynamic_receive_at(state, state->parts, 0) *
						    state->stride);
}

const struct cs_dynamic_transport cs_dynamic_messages = {
	.join = join, .receive = receive, .has_come = has_come, .message = message,
	.give_back = always, .may_send = always, .send = send, .test = test,
};
