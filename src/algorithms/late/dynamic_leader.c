/* late/dynamic_leader.c — reductions led by each node's last arriver. */
#include "algorithms/late/dynamic_parts.h"
#include "algorithms/node/rounds.h"
#include "algorithms/node/rank_order.h"

#define FOREVER CS_ARRIVE_ROUNDS

/* Address of a part of the own vector, or of the result. */
static char *
at_of(struct cs_op *op, char *base, uint64_t round, int part)
{
	return base + cs_dynamic_first(cs_dynamic_of(op), round, part) * op->call.reduction.unit;
}

/* --- coming ----------------------------------------------------------------------------------- */

/* Waits for the child nodes' messages of a part. */
static enum cs_status
await_children(struct cs_op *op, uint64_t round, int part)
{
	struct cs_dynamic *state = cs_dynamic_of(op);
	for (; state->received < state->children; state->received++)
		if (!state->transport->has_come(op, round, part, state->received))
			return CS_AGAIN;
	state->received = 0;
	return CS_OK;
}

/* Reduces `own` with the child nodes' messages, in this order, into `out`. */
static void
reduce_children(struct cs_op *op, uint64_t round, int part, const char *own, char *out)
{
	const struct cs_dynamic *state = cs_dynamic_of(op);
	const void *from[1 + state->children];
	from[0] = own;
	for (int child = 0; child < state->children; child++)
		from[1 + child] = state->transport->message(op, round, part, child);
	cs_rank_order_reduce(op, &op->call.reduction, out, from, 1 + state->children,
			   cs_dynamic_count(op, state, round, part));
}

/* Is the node's sum this rank's result? */
static bool
is_for_me(const struct cs_op *op, const struct cs_dynamic *state)
{
	return state->parent < 0 && !cs_dynamic_is_to_all(op) && cs_dynamic_is_root(op);
}

/* Climbs the combining tree with the own part. True: as the last arriver; the sum is in the own
 * memory of the part, or in the result if is_for_me. */
static bool
climb(struct cs_op *op, uint64_t round, int part)
{
	struct cs_dynamic *state = cs_dynamic_of(op);
	int locals = op->team->node.shape.size, self = op->team->node.shape.local, inner = 0;
	size_t count = cs_dynamic_count(op, state, round, part);
	size_t bytes = count * op->call.reduction.unit;
	char *room = cs_dynamic_own_part(op, round, part);
	const char *mine = at_of(op, op->call.send.base, round, part);
	char *to = is_for_me(op, state) ? at_of(op, op->call.recv.base, round, part) : room;
	if (state->brings && count) {
		reduce_children(op, round, part, mine, room);
		mine = room;
	}
	for (int span = 2; span / 2 < locals; span *= 2) {
		if (!(inner = cs_arrive_inner(self, span, locals)))
			continue;
		/* The second one at an inner node reads its own vector where it is. */
		if (mine != room && !cs_arrive_is_second(&op->node, round, part, inner)) {
			cs_copy_in(op, room, mine, bytes);
			mine = room;
		}
		int other = cs_arrive_meet(&op->node, round, part, inner, self);
		if (other < 0)
			return false;
		const void *both[] = { mine, cs_dynamic_part(op, other, round, part) };
		if (self >= inner)
			both[0] = both[1], both[1] = mine;
		/* The inner node of such a span is the top. */
		char *sum = span >= locals ? to : room;
		if (count)
			cs_rank_order_reduce(op, &op->call.reduction, sum, both, 2, count);
		mine = sum;
	}
	if (mine != to)
		cs_copy_in(op, to, mine, bytes);
	return true;
}

static void
expect_children(struct cs_op *op, uint64_t round, int part)
{
	const struct cs_dynamic *state = cs_dynamic_of(op);
	for (int child = 0; child < state->children; child++)
		state->transport->receive(op, round, part, child, false);
}

/* Passes the node's sum on, as its last arriver. */
static void
pass_on(struct cs_op *op, uint64_t round, int part)
{
	struct cs_dynamic *state = cs_dynamic_of(op);
	const struct cs_shape *shape = &op->team->shape;
	int self = op->team->node.shape.local;
	if (state->parent >= 0) {
		cs_dynamic_send(op, round, part, 0, state->parent, false);
	} else if (cs_dynamic_is_to_all(op)) {
		cs_arrive_tell(&op->node, round, part, self);
		cs_dynamic_send_down(op, round, part);
	} else if (cs_dynamic_is_root(op)) {
		state->made[round % FOREVER] |= 1u << part;
	} else if (shape->node_of[op->call.root] == shape->node) {
		cs_arrive_tell(&op->node, round, part, self);
	} else {
		cs_dynamic_send(op, round, part, 0, op->call.root, true);
	}
}

/* Starts to lead as the last arriver; with `control`, tells the child nodes so. */
static void
begin_to_lead(struct cs_op *op, uint64_t round, int part)
{
	struct cs_dynamic *state = cs_dynamic_of(op);
	state->is_leading = true;
	state->has_reduced = !state->leads_nodes;
	if (!state->tells)
		return;
	expect_children(op, round, part);
	cs_dynamic_tell_children(op, round, part);
}

/* May the sum be passed on? */
static bool
may_pass_on(struct cs_op *op, uint64_t round, int part)
{
	const struct cs_dynamic *state = cs_dynamic_of(op);
	const struct cs_shape *shape = &op->team->shape;
	if (state->parent >= 0)
		return cs_dynamic_may_send(op, round, part, state->parent);
	if (cs_dynamic_is_to_all(op))
		return cs_dynamic_may_send_down(op, round, part);
	return shape->node_of[op->call.root] == shape->node ||
	       cs_dynamic_may_send(op, round, part, op->call.root);
}

static enum cs_status
lead(struct cs_op *op, uint64_t round, int part)
{
	struct cs_dynamic *state = cs_dynamic_of(op);
	if (!state->has_reduced) {
		if (await_children(op, round, part) == CS_AGAIN)
			return CS_AGAIN;
		char *sum = is_for_me(op, state)
			    ? at_of(op, op->call.recv.base, round, part)
			    : cs_dynamic_own_part(op, round, part);
		if (cs_dynamic_count(op, state, round, part))
			reduce_children(op, round, part, sum, sum);
		state->has_reduced = true;
		state->freed = 0;
	}
	for (; state->leads_nodes && state->freed < state->children; state->freed++)
		if (!state->transport->give_back(op, round, part, state->freed))
			return CS_AGAIN;
	if (!cs_dynamic_has_parent(op, round, part) || !may_pass_on(op, round, part))
		return CS_AGAIN;
	pass_on(op, round, part);
	state->is_leading = false;
	return CS_OK;
}

static enum cs_status
open_round(struct cs_op *op)
{
	struct cs_dynamic *state = cs_dynamic_of(op);
	uint64_t round = state->came;
	if (state->is_open)
		return CS_OK;
	if (!cs_arrive_is_open(&op->node, round))
		return CS_AGAIN;
	for (; state->opened < state->parts; state->opened++) {
		int part = state->opened;
		if (!cs_dynamic_is_part(op, state, round, part))
			continue;
		if (state->is_told && !cs_dynamic_hear_parent(op, round, part))
			return CS_AGAIN;
		if (state->brings)
			expect_children(op, round, part);
	}
	if (!cs_post_room_until(&op->node, &state->post,
				state->post.way == CS_POST_RING ? round + 1 : CS_LAST_STEP))
		return CS_AGAIN;
	state->opened = 0;
	state->made[round % FOREVER] = 0;
	state->is_open = true;
	return CS_OK;
}

/* Comes to all parts of the next round; each rank of a node starts with another part. */
static enum cs_status
come(struct cs_op *op)
{
	struct cs_dynamic *state = cs_dynamic_of(op);
	const struct cs_node_shape *shape = &op->team->node.shape;
	uint64_t round = state->came;
	if (open_round(op) == CS_AGAIN)
		return CS_AGAIN;
	for (; state->next < state->parts; state->next++) {
		int part = (state->next + shape->local * state->parts / shape->size) % state->parts;
		if (!cs_dynamic_is_part(op, state, round, part))
			continue;
		if (!state->is_leading) {
			if (state->brings && await_children(op, round, part) == CS_AGAIN)
				return CS_AGAIN;
			if (!climb(op, round, part))
				continue;
			begin_to_lead(op, round, part);
		}
		if (lead(op, round, part) == CS_AGAIN)
			return CS_AGAIN;
	}
	state->next = 0;
	state->is_open = false;
	state->came++;
	return CS_OK;
}

/* --- taking ----------------------------------------------------------------------------------- */

/* Checks that all local ranks are in this call, so that a rank in another call is noticed. */
static enum cs_status
hear(struct cs_op *op)
{
	struct cs_dynamic *state = cs_dynamic_of(op);
	const struct cs_node_shape *shape = &op->team->node.shape;
	for (; state->heard < shape->size; state->heard++)
		if (state->heard != shape->local &&
		    !cs_node_look_alike(&op->node, state->heard, 1))
			return CS_AGAIN;
	return CS_OK;
}

static enum cs_status
take_of_node(struct cs_op *op, uint64_t round, int part)
{
	const struct cs_dynamic *state = cs_dynamic_of(op);
	size_t bytes = cs_dynamic_bytes(op, state, round, part);
	if (hear(op) == CS_AGAIN)
		return CS_AGAIN;
	if (op->node.outcome.bits & CS_OUTCOME_STOPPED)
		return CS_OK; /* it may never be made */
	int holder = cs_arrive_holder(&op->node, round, part);
	if (holder < 0)
		return CS_AGAIN;
	if (bytes)
		cs_copy_result(op, at_of(op, op->call.recv.base, round, part),
			       cs_dynamic_part(op, holder, round, part), bytes);
	return CS_OK;
}

/* Waits for the part of the result that is sent down the tree, or to the root. */
static enum cs_status
await_message(struct cs_op *op, uint64_t round, int part)
{
	struct cs_dynamic *state = cs_dynamic_of(op);
	for (int other = 0; !state->is_expecting && other < state->parts; other++)
		if (cs_dynamic_is_part(op, state, round, other))
			state->transport->receive(op, round, other, state->children, true);
	state->is_expecting = true;
	return state->transport->has_come(op, round, part, state->children) ? CS_OK
									     : CS_AGAIN;
}

static enum cs_status
take_message(struct cs_op *op, uint64_t round, int part)
{
	const struct cs_dynamic *state = cs_dynamic_of(op);
	size_t bytes = cs_dynamic_bytes(op, state, round, part);
	if (await_message(op, round, part) == CS_AGAIN)
		return CS_AGAIN;
	cs_copy_result(op, at_of(op, op->call.recv.base, round, part),
		       state->transport->message(op, round, part, state->children), bytes);
	return state->transport->give_back(op, round, part, state->children) ? CS_OK
									      : CS_AGAIN;
}

/* Copies the result's part for the node and for the nodes below. The own memory of the part is
 * free: the sum has left the node. */
static enum cs_status
take_down(struct cs_op *op, uint64_t round, int part)
{
	struct cs_dynamic *state = cs_dynamic_of(op);
	size_t bytes = cs_dynamic_bytes(op, state, round, part);
	if (!cs_dynamic_have_left(op, round, part, 1) ||
	    await_message(op, round, part) == CS_AGAIN ||
	    !cs_dynamic_may_send_down(op, round, part))
		return CS_AGAIN;
	const char *came = state->transport->message(op, round, part, state->children);
	if (bytes) {
		cs_copy_in(op, cs_dynamic_own_part(op, round, part), came, bytes);
		cs_copy_result(op, at_of(op, op->call.recv.base, round, part), came, bytes);
	}
	if (!state->transport->give_back(op, round, part, state->children))
		return CS_AGAIN;
	cs_arrive_tell(&op->node, round, part, op->team->node.shape.local);
	cs_dynamic_send_down(op, round, part);
	return CS_OK;
}

/* Reduces, at the root, its node's sum and the child nodes' messages. */
static enum cs_status
take_nodes(struct cs_op *op, uint64_t round, int part)
{
	struct cs_dynamic *state = cs_dynamic_of(op);
	char *result = at_of(op, op->call.recv.base, round, part);
	if (!state->is_summed) {
		bool is_made = state->made[round % FOREVER] & 1u << part;
		if (!is_made && hear(op) == CS_AGAIN)
			return CS_AGAIN;
		if (op->node.outcome.bits & CS_OUTCOME_STOPPED)
			return CS_OK;
		int holder = is_made ? -1 : cs_arrive_holder(&op->node, round, part);
		if ((!is_made && holder < 0) || await_children(op, round, part) == CS_AGAIN)
			return CS_AGAIN;
		reduce_children(op, round, part, is_made
				? result : cs_dynamic_part(op, holder, round, part), result);
		state->is_summed = true;
		state->freed = 0;
	}
	for (; state->freed < state->children; state->freed++)
		if (!state->transport->give_back(op, round, part, state->freed))
			return CS_AGAIN;
	state->is_summed = false;
	return CS_OK;
}

static enum cs_status
take_part(struct cs_op *op, uint64_t round, int part)
{
	const struct cs_dynamic *state = cs_dynamic_of(op);
	const struct cs_shape *shape = &op->team->shape;
	bool is_taker = state->parent >= 0 &&
			cs_dynamic_taker(op, state, shape->node) == shape->rank;
	if (cs_dynamic_is_to_all(op))
		return is_taker ? take_down(op, round, part) : take_of_node(op, round, part);
	if (state->takes_nodes)
		return take_nodes(op, round, part);
	if (!cs_dynamic_is_root(op) || state->made[round % FOREVER] & 1u << part)
		return CS_OK;
	return state->parent >= 0 ? take_message(op, round, part) : take_of_node(op, round, part);
}

static enum cs_status
take(struct cs_op *op)
{
	struct cs_dynamic *state = cs_dynamic_of(op);
	uint64_t round = state->over;
	for (; state->taken < state->parts; state->taken++)
		if (cs_dynamic_is_part(op, state, round, state->taken) &&
		    take_part(op, round, state->taken) == CS_AGAIN)
			return CS_AGAIN;
	if (!cs_dynamic_have_left(op, round, 0, state->parts))
		return CS_AGAIN;
	state->taken = 0;
	state->is_expecting = false;
	if (++state->over < state->rounds)
		cs_node_done(&op->node, state->over);
	return CS_OK;
}

/* --- the script ------------------------------------------------------------------------------- */

static enum cs_status
open_call(struct cs_op *op)
{
	struct cs_dynamic *state = cs_dynamic_of(op);
	if (!cs_post_open(&op->node, &state->post))
		return CS_AGAIN;
	cs_node_publish(&op->node, state->post.line, 1);
	return CS_OK;
}

/* Comes to rounds as far ahead as it may, and takes their results. Waits for a message if one is
 * expected, else for what the oldest round lacks. */
static enum cs_status
go(struct cs_op *op)
{
	struct cs_dynamic *state = cs_dynamic_of(op);
	while (state->over < state->rounds) {
		bool may_come = state->came < state->rounds &&
				state->came - state->over < state->ahead;
		if (may_come && come(op) == CS_OK)
			continue;
		bool expects = state->is_open && (state->brings || state->is_leading);
		if (state->over < state->came && take(op) == CS_OK)
			continue;
		if (expects)
			op->node.awaited.local = CS_AWAITS_MESSAGE;
		return CS_AGAIN;
	}
	cs_node_end(&op->node);
	return CS_OK;
}

static cs_phase *const script[] = { open_call, go, NULL };

/* Cuts the vector, with `control` into rounds of one part: a part's leader waits for nodes below,
 * which wait for its word, and each would keep the other from the next part. False: an element is
 * too large. */
static bool
cut(const struct cs_op *op, struct cs_dynamic *state, size_t segment, bool control)
{
	size_t message = state->window ? state->window->room : SIZE_MAX;
	size_t unit = op->call.reduction.unit, slot = op->team->node.shape.slot_bytes;
	size_t count = op->call.count, bytes = count * unit;
	if (!count || bytes <= CS_SMALL - CS_DYNAMIC_HEAD) {
		state->parts = 1;
		state->per_part = count;
		state->rounds = 1;
		state->stride = (CS_DYNAMIC_HEAD + bytes + 7) & ~(size_t)7;
		return true;
	}
	segment = segment < message / 2 ? segment : message / 2;
	for (state->parts = control ? 1 : CS_ARRIVE_PARTS; state->parts; state->parts /= 2) {
		size_t parts = (size_t)state->parts;
		size_t room = slot / parts / CS_DYNAMIC_HEAD * CS_DYNAMIC_HEAD;
		size_t data = room > CS_DYNAMIC_HEAD ? room - CS_DYNAMIC_HEAD : 0,
		       most = (data < message ? data : message) / unit,
		       wanted = (count + parts - 1) / parts;
		state->per_part = wanted < most ? wanted : most;
		if (most && (state->parts == 1 || state->per_part * unit >= segment))
			break;
	}
	if (!state->parts)
		return false;
	state->stride = (state->per_part * unit + 2 * CS_DYNAMIC_HEAD - 1) / CS_DYNAMIC_HEAD *
			CS_DYNAMIC_HEAD;
	state->rounds = cs_chunks_rounds(count, state->per_part * (size_t)state->parts);
	return true;
}

static void
describe_post(const struct cs_op *op, struct cs_dynamic *state)
{
	size_t span = (size_t)state->parts * state->stride;
	struct cs_post *post = &state->post;
	post->bytes = op->call.bytes;
	post->rounds = CS_USES_UNKNOWN;
	post->chunk = post->span = span;
	post->last = CS_LAST_STEP;
	post->way = cs_post_choose(&op->node, span, state->rounds, false, false,
				   state->rounds == 1 && span <= CS_SMALL);
	size_t slots = op->team->node.shape.slots;
	state->ahead = slots < CS_ARRIVE_ROUNDS ? slots : CS_ARRIVE_ROUNDS;
	state->ahead = state->rounds < state->ahead ? state->rounds : state->ahead;
}

static struct cs_rma_window *
window_for(struct cs_op *op, const struct cs_dynamic_leader_params *params)
{
	struct cs_team *team = op->team;
	return params->rma && !params->control && team->shape.nodes > 1 && team->host->window
	       ? team->host->window(team->everyone) : NULL;
}

bool
cs_dynamic_leader(struct cs_op *op, const struct cs_dynamic_leader_params *params)
{
	struct cs_dynamic *state = cs_dynamic_of(op);
	*state = (struct cs_dynamic){ .window = window_for(op, params) };
	state->transport = state->window ? &cs_dynamic_rma : &cs_dynamic_messages;
	if (!cut(op, state, params->segment, params->control))
		return false;
	describe_post(op, state);
	cs_dynamic_join(op, state, params);
	cs_node_expect(&op->node, state->rounds, 1);
	cs_op_start(op, script);
	cs_post_reserve(&op->node, &state->post, op->node.extras & CS_OP_NONBLOCKING);
	return true;
}
