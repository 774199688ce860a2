/* late/early_take.c — receives other nodes' segments, and copies this rank's pieces out. */
#include "algorithms/late/early.h"

#include "shm/arrive.h"

void
cs_early_hear(struct cs_op *op, struct cs_early_from *sender)
{
	struct cs_early *state = cs_early_of(op);
	size_t room = (size_t)cs_early_size(op, sender->node) *
		      cs_early_stride(state, op->team->shape.locals);
	char *to = cs_hier_now(&state->hier)->area[1] + cs_early_in_at(op, sender->node);
	state->wire->recv(state->wire, &sender->request, sender->rank, op->tag, to + sender->at,
			  room - sender->at);
}

/* Adds a segment to the own log. `at`: words into the area, or CS_EARLY_NOWHERE. */
static void
log_segment(struct cs_op *op, struct cs_early_from *sender, int local, uint32_t at)
{
	struct cs_early *state = cs_early_of(op);
	const struct cs_shape *shape = &op->team->shape;
	struct cs_early_line *line = &cs_early_log(op, shape->local)[state->logged++];
	line->position = (uint32_t)(shape->first[sender->node] + local);
	line->at = at;
	sender->left--;
}

/* Logs the segments of a message that has come. Its heads are checked, since ranks that disagree
 * about a size may have sent it; then all that is left of the node's is logged as damaged. */
static void
land(struct cs_op *op, struct cs_early_from *sender)
{
	struct cs_early *state = cs_early_of(op);
	int size = cs_early_size(op, sender->node);
	size_t stride = cs_early_stride(state, op->team->shape.locals), at = sender->at,
	       start = cs_early_in_at(op, sender->node);
	const char *area = cs_hier_now(&state->hier)->area[1] + start;
	struct cs_early_head head;
	memcpy(&head, area + at, sizeof head);
	int first = head.first, count = head.count;
	bool is_right = !(sender->request.told & CS_TOLD_MORE) && count > 0 &&
			count <= sender->left && first + count <= size;
	for (int i = 0; is_right && i < count; i++) {
		memcpy(&head, area + at, sizeof head);
		is_right = head.bytes >= sizeof head && head.bytes <= stride &&
			   head.bytes % sizeof head == 0;
		if (!is_right)
			break;
		log_segment(op, sender, first + i, (uint32_t)((start + at) / sizeof head));
		at += head.bytes;
	}
	for (int local = 0; !is_right && sender->left > 0; local++)
		log_segment(op, sender, local, CS_EARLY_NOWHERE);
	sender->at = at;
}

/* Receives and logs messages of other nodes. */
bool
cs_early_hear_on(struct cs_op *op)
{
	struct cs_early *state = cs_early_of(op);
	bool is_heard = true;
	for (int i = 0; i < state->sender_count; i++) {
		struct cs_early_from *sender = &state->senders[i];
		if (sender->left && state->wire->test(state->wire, &sender->request)) {
			cs_op_note(op, sender->request.told);
			land(op, sender);
			cs_node_publish(&op->node, state->hier.line,
					cs_early_log_step(op, state->logged));
			if (sender->left)
				cs_early_hear(op, sender);
		}
		is_heard = is_heard && !sender->left;
	}
	return is_heard;
}

/* --- take ------------------------------------------------------------------------------------- */

/* Copies this round's piece out of a segment; its sizes come from other ranks, and are checked. */
static void
take_piece(struct cs_op *op, const char *segment, int from)
{
	struct cs_early *state = cs_early_of(op);
	struct cs_call *call = &op->call;
	const struct cs_shape *shape = &op->team->shape;
	size_t expected = cs_blocks_bytes(&call->recv, from),
	       at = cs_early_head_bytes(state, shape->locals);
	uint64_t bytes = 0;
	struct cs_early_head head;
	memcpy(&head, segment, sizeof head);
	for (int local = 0; state->has_sizes && local <= shape->local; local++) {
		at += cs_early_piece(state, bytes);
		memcpy(&bytes, segment + sizeof head + (size_t)local * sizeof bytes, sizeof bytes);
	}
	if (!state->has_sizes) {
		bytes = call->send.each;
		at += (size_t)shape->local * state->piece;
	}
	size_t piece = cs_early_piece(state, cs_rounds_lesser(call, bytes, expected));
	if (at <= head.bytes && piece <= head.bytes - at)
		cs_copy_result(op, cs_blocks_at(&call->recv, from) + cs_early_begin(state),
			       segment + at, piece);
}

bool
cs_early_take_own(struct cs_op *op)
{
	struct cs_early *state = cs_early_of(op);
	const struct cs_shape *shape = &op->team->shape;
	bool is_all = true;
	for (int local = 0; local < shape->locals; local++) {
		if (state->is_taken[local])
			continue;
		state->is_taken[local] =
			cs_node_look(&op->node, local, cs_early_step(op, shape->node)) != NULL;
		if (state->is_taken[local])
			take_piece(op, cs_early_segment(op, shape->node, local),
				   cs_early_rank(op, shape->node, local));
		is_all = is_all && state->is_taken[local];
	}
	return is_all;
}

/* Takes the segment of another node's rank. */
static void
take_segment(struct cs_op *op, const char *segment, int rank)
{
	struct cs_early *state = cs_early_of(op);
	const struct cs_shape *shape = &op->team->shape;
	size_t *largest = &state->largest[shape->node_of[rank]],
	       own = cs_early_largest(state, segment, shape->locals);
	*largest = own > *largest ? own : *largest;
	take_piece(op, segment, rank);
}

static void
take_landed(struct cs_op *op, const struct cs_early_line *landed)
{
	struct cs_early *state = cs_early_of(op);
	const struct cs_shape *shape = &op->team->shape;
	size_t at = (size_t)landed->at * sizeof(struct cs_early_head),
	       end = at + cs_early_stride(state, shape->locals);
	if (landed->position >= (uint32_t)shape->ranks || landed->at == CS_EARLY_NOWHERE ||
	    end > cs_hier_now(&state->hier)->room)
		return;
	take_segment(op, cs_hier_now(&state->hier)->area[1] + at, shape->order[landed->position]);
}

/* Takes the parts of a node's message that have come. Heads are checked, as in land(). */
static void
read_message(struct cs_op *op, int node)
{
	struct cs_early *state = cs_early_of(op);
	struct cs_early_read *read = &state->reads[node];
	uint64_t number = state->received[node] + state->hier.round;
	uint32_t parts = cs_rma_parts(state->window, node, number);
	const char *message = cs_rma_message(state->window, node, number);
	size_t stride = cs_early_stride(state, op->team->shape.locals);
	for (; read->left && read->parts < parts; read->parts++) {
		struct cs_early_head head;
		memcpy(&head, message + read->at, sizeof head);
		int first = head.first, count = head.count;
		bool is_right = count > 0 && count <= read->left &&
				first + count <= cs_early_size(op, node);
		for (int i = 0; is_right && i < count; i++) {
			memcpy(&head, message + read->at, sizeof head);
			is_right = head.bytes >= sizeof head && head.bytes <= stride &&
				   head.bytes % sizeof head == 0;
			if (is_right)
				take_segment(op, message + read->at,
					     cs_early_rank(op, node, first + i));
			read->at += head.bytes;
			read->left--;
		}
		if (is_right)
			continue;
		cs_op_note(op, CS_TOLD_MORE);
		read->left = 0;
	}
}

static bool
take_messages(struct cs_op *op)
{
	struct cs_early *state = cs_early_of(op);
	const struct cs_shape *shape = &op->team->shape;
	bool is_all = true;
	for (int node = 0; node < shape->nodes; node++) {
		if (state->reads[node].left)
			read_message(op, node);
		is_all = is_all && !state->reads[node].left;
	}
	return is_all;
}

bool
cs_early_take_others(struct cs_op *op)
{
	struct cs_early *state = cs_early_of(op);
	bool is_all = true;
	if (cs_early_is_windowed(state))
		return take_messages(op);
	for (int local = 0; local < op->team->shape.locals; local++) {
		int lines = cs_early_lines(op, local), *taken = &state->taken[local];
		for (; *taken < lines; ++*taken) {
			if (!cs_node_look(&op->node, local, cs_early_log_step(op, *taken + 1)))
				break;
			take_landed(op, &cs_early_log(op, local)[*taken]);
		}
		is_all = is_all && *taken == lines;
	}
	return is_all;
}

/* Gives all messages back, if this rank is the node's last reader. */
bool
cs_early_give_back(struct cs_op *op)
{
	struct cs_early *state = cs_early_of(op);
	const struct cs_shape *shape = &op->team->shape;
	if (!state->windowed)
		return true;
	if (!state->has_read)
		state->is_last_reader = cs_arrive_ticket(&op->node, 0) == shape->locals - 1;
	state->has_read = true;
	int all = state->is_last_reader ? shape->nodes * (int)state->windowed : 0;
	for (; state->freed < all; state->freed++) {
		int node = state->freed % shape->nodes;
		uint64_t number = state->received[node] + (uint64_t)(state->freed / shape->nodes);
		if (node != shape->node && !state->window->give_back(state->window, node, number))
			return false;
	}
	return true;
}
