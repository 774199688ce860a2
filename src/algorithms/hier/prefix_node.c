/* hier/prefix_node.c — scan and exscan on one node: by doubling, and by a chain whose links are
 * made by any rank. */
#include "algorithms/hier/prefix_node.h"

#include "algorithms/hier/slices.h"
#include "algorithms/node/rounds.h"

/* --- doubling: each rank posts the sums that others add --------------------------------------- */

/* Number of steps in which a rank adds a sum: powers of two not above its local rank. */
static int
steps_of(int local)
{
	int steps = 0;
	while (local >> steps)
		steps++;
	return steps;
}

/* Layout of a rank's sums, one behind the other: in its line, in its small slot, in a part of a
 * slot or in all of it. */
struct sums {
	size_t stride;
	bool is_inline, is_small;
};

static struct sums
sums_of(struct cs_op *op)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	size_t count = (size_t)steps_of(team->node.shape.size - 1);
	struct sums sums = { .stride = (call->bytes + 63) & ~(size_t)63 };
	sums.is_inline = count * call->bytes <= CS_INLINE;
	if (sums.is_inline)
		sums.stride = call->bytes;
	sums.is_small = sums.stride * count <= CS_SMALL;
	return sums;
}

bool
cs_prefix_may_double(struct cs_op *op)
{
	struct cs_team *team = op->team;
	struct sums sums = sums_of(op);
	return sums.stride * (size_t)steps_of(team->node.shape.size - 1) <=
	       team->node.shape.slot_bytes;
}

/* State of a doubling:
 *   before step k   a rank has the sum of the 2^k ranks up to itself, posted if the rank 2^k behind
 *                   it reads it
 *   an exscan       keeps the sum of the ranks before itself, too */
struct doubling {
	struct sums sums;
	struct cs_post post;
	const char *sum; /* so far */
	char *room;      /* of posted sums; NULL: none */
	int step;
};

static enum cs_status
show_own(struct cs_op *op)
{
	struct doubling *state = CS_OP_STATE(struct doubling, op);
	struct cs_post *post = &state->post;
	if (op->team->node.shape.local + 1 == op->team->node.shape.size)
		return CS_OK;
	if (!cs_post_open(&op->node, post) ||
	    !(state->room = cs_post_room_until(&op->node, post, post->last)))
		return CS_AGAIN;
	cs_copy_in(op, state->room, state->sum, op->call.bytes);
	state->sum = state->room;
	cs_post_publish(&op->node, post);
	return CS_OK;
}

/* The sum after `step` steps of the rank `distance` before this one, or its last one if it adds in
 * fewer. NULL: not there yet. */
static const char *
sum_of(struct cs_op *op, const struct sums *sums, int distance, int step)
{
	struct cs_team *team = op->team;
	int local = team->node.shape.local - distance, last = steps_of(local),
	    which = step < last ? step : last;
	const struct cs_line *line = cs_node_look_alike(&op->node, local, (uint64_t)which + 1);
	if (!line)
		return NULL;
	const char *base = sums->is_inline ? (const char *)line->data
					   : cs_node_slot_of(&op->node, local, line->slot, 0);
	return base + (size_t)which * sums->stride;
}

static void
add_step(struct cs_op *op, struct doubling *state, const char *before)
{
	struct cs_call *call = &op->call;
	int step = state->step;
	char *recv = call->recv.base;
	bool is_shown = op->team->node.shape.local + (2 << step) < op->team->node.shape.size;
	char *next = is_shown ? state->room + (size_t)(step + 1) * state->sums.stride : recv;
	if (is_shown || !cs_prefix_is_exclusive(call)) {
		cs_prefix_add(op, next, before, state->sum, call->count);
		state->sum = next;
	}
	if (is_shown)
		cs_node_publish(&op->node, state->post.line, (uint64_t)step + 2);
	if (cs_prefix_is_exclusive(call) && !step)
		cs_copy(recv, before, call->bytes);
	else if (cs_prefix_is_exclusive(call))
		cs_prefix_add(op, recv, before, recv, call->count);
}

static enum cs_status
double_up(struct cs_op *op)
{
	struct doubling *state = CS_OP_STATE(struct doubling, op);
	int self = op->team->node.shape.local;
	for (; self >> state->step; state->step++) {
		const char *before = sum_of(op, &state->sums, 1 << state->step, state->step);
		if (!before)
			return CS_AGAIN;
		add_step(op, state, before);
	}
	if (!cs_prefix_is_exclusive(&op->call) && state->sum != op->call.recv.base)
		cs_copy(op->call.recv.base, state->sum, op->call.bytes);
	if (self)
		cs_node_end(&op->node);
	return CS_OK;
}

static cs_phase *const doubling_script[] = { show_own, double_up, NULL };

void
cs_prefix_double(struct cs_op *op)
{
	struct doubling *state = CS_OP_STATE(struct doubling, op);
	int self = op->team->node.shape.local, locals = op->team->node.shape.size;
	*state = (struct doubling){ .sums = sums_of(op), .sum = op->call.send.base };
	uint64_t last = (uint64_t)steps_of(locals - 1);
	size_t span = (size_t)last * state->sums.stride;
	/* Own sums are read here, too: if other calls may begin before this one is over, it needs
	 * whole slots. */
	bool may_be_left = op->node.extras & CS_OP_NONBLOCKING;
	state->post = (struct cs_post){ .way = cs_post_choose(&op->node, span, !may_be_left,
							      state->sums.is_inline, false,
							      state->sums.is_small),
					.rounds = self + 1 < locals ? CS_USES_UNKNOWN : 0,
					.last = last, .span = span };
	cs_op_start(op, doubling_script);
	cs_post_reserve(&op->node, &state->post, may_be_left);
	if (!self)
		cs_node_end_reading(&op->node);
}

/* --- non-blocking: the sum of the ranks up to each rank replaces its vector in its slots, a slice
 * and a rank after the other. A rank makes its own link, and those before it that are missing, and
 * waits for no step of the ranks between. */

struct links {
	struct cs_slices slices;
	uint32_t left; /* slices to be taken, a bit each */
};
_Static_assert(CS_SLICES <= 32, "each slice has its bit");

static enum cs_status
post_linked(struct cs_op *op)
{
	return cs_vector_post(op, &CS_OP_STATE(struct links, op)->slices.vector);
}

static void
take_linked(struct cs_op *op, const struct cs_sliced *part, const char *before)
{
	struct cs_call *call = &op->call;
	char *recv = call->recv.base + part->at;
	if (cs_prefix_is_exclusive(call))
		cs_copy_result(op, recv, before, part->count * call->reduction.unit);
	else
		cs_prefix_add(op, recv, before, call->send.base + part->at, part->count);
}

/* Makes the own sum, for the ranks behind. */
static void
make_own_link(struct cs_op *op, const struct cs_sliced *part, const char *before)
{
	struct cs_call *call = &op->call;
	char *own = cs_slices_of(op, part, op->team->node.shape.local);
	if (cs_prefix_is_exclusive(call))
		cs_prefix_add(op, own, before, own, part->count);
	else
		cs_copy_in(op, own, call->recv.base + part->at, part->count * call->reduction.unit);
}

/* Takes a slice of the result. False: another rank makes links of it. */
static bool
link_slice(struct cs_op *op, int slice, const struct cs_sliced *part)
{
	int self = op->team->node.shape.local, count = op->team->node.shape.size,
	    wanted = self + 1 < count ? self : self - 1;
	uint64_t round = cs_slices_round(slice);
	int links = cs_arrive_hold(&op->node, round, cs_slices_part(slice), wanted);
	if (links < 0)
		return false;
	char *before = cs_slices_of(op, part, links < self ? links : self - 1);
	for (int i = links + 1; i < self; i++) {
		char *next = cs_slices_of(op, part, i);
		cs_prefix_add(op, next, before, next, part->count);
		before = next;
	}
	take_linked(op, part, before);
	if (links < wanted) {
		if (wanted == self)
			make_own_link(op, part, before);
		cs_arrive_link(&op->node, round, cs_slices_part(slice), wanted);
	}
	return true;
}

/* Each rank begins at another slice. */
static enum cs_status
link_slices(struct cs_op *op)
{
	struct links *state = CS_OP_STATE(struct links, op);
	struct cs_slices *slices = &state->slices;
	int self = op->team->node.shape.local, locals = op->team->node.shape.size;
	if (cs_vector_await(op, &slices->vector, self) == CS_AGAIN)
		return CS_AGAIN;
	for (int i = 0; i < slices->count; i++) {
		int slice = (i + self * slices->count / locals) % slices->count;
		struct cs_sliced part = cs_slices_at(op, slices, slice);
		bool is_left = state->left >> slice & 1 &&
			       !(op->node.outcome.bits & CS_OUTCOME_STOPPED);
		if (is_left && link_slice(op, slice, &part))
			state->left &= ~(UINT32_C(1) << slice);
	}
	if (state->left && !(op->node.outcome.bits & CS_OUTCOME_STOPPED))
		return CS_AGAIN;
	cs_node_end(&op->node);
	return CS_OK;
}

static cs_phase *const links_script[] = { post_linked, link_slices, NULL },
		*const first_script[] = { post_linked, NULL };

void
cs_prefix_link(struct cs_op *op)
{
	struct links *state = CS_OP_STATE(struct links, op);
	struct cs_call *call = &op->call;
	int self = op->team->node.shape.local;
	cs_op_start(op, self ? links_script : first_script);
	cs_slices_init(op, &state->slices, self + 1 < op->team->node.shape.size);
	state->left = UINT32_MAX >> (32 - state->slices.count);
	if (self)
		return;
	cs_node_end_reading(&op->node);
	if (!cs_prefix_is_exclusive(call) && call->recv.base != call->send.base)
		cs_copy_own(op, call->recv.base, call->send.base, call->bytes);
}
