/* late/early_send.c — sends segments as soon as they are worth a message. */
#include "algorithms/late/early.h"

/* Notes segments that have come since the last time. */
static void
look_for_segments(struct cs_op *op, struct cs_early_to *receiver)
{
	struct cs_early *state = cs_early_of(op);
	int ranks = cs_early_size(op, receiver->node);
	for (int local = 0; receiver->left && local < op->team->shape.locals; local++) {
		struct cs_region_segment *segment = &receiver->segments[local];
		struct cs_early_head head;
		if (segment->state != CS_SEGMENT_ABSENT ||
		    !cs_node_look(&op->node, local, cs_early_step(op, receiver->node)))
			continue;
		const char *from = cs_early_segment(op, receiver->node, local);
		size_t stride = cs_early_stride(state, ranks);
		size_t largest = cs_early_largest(state, from, ranks);
		memcpy(&head, from, sizeof head);
		segment->bytes = head.bytes < stride ? head.bytes : (uint32_t)stride;
		segment->state = CS_SEGMENT_HERE;
		if (!state->hier.round && largest > receiver->largest)
			receiver->largest = largest;
	}
}

/* Contiguous memory of a run's segments: a copy if there are gaps, else the segments. (If blocks
 * are of one size, only ranks that disagree about it make gaps.) */
static char *
join(struct cs_op *op, const struct cs_early_to *receiver, const struct cs_fragment *run)
{
	struct cs_early *state = cs_early_of(op);
	size_t stride = cs_early_stride(state, cs_early_size(op, receiver->node)), at = 0;
	char *first = cs_early_segment(op, receiver->node, run->first);
	bool has_gaps = false;
	for (int i = 0; i < run->count - 1; i++)
		has_gaps = has_gaps || receiver->segments[run->first + i].bytes != stride;
	const struct cs_hier_round *round = cs_hier_now(&state->hier);
	char *packed = cs_early_is_windowed(state) ? round->area[1] : state->packed;
	if (!has_gaps || !packed)
		return first;
	char *to = packed + (first - round->area[0]);
	for (int i = 0; i < run->count; i++) {
		size_t bytes = receiver->segments[run->first + i].bytes;
		memcpy(to + at, first + (size_t)i * stride, bytes);
		at += bytes;
	}
	return to;
}

static void
send(struct cs_op *op, struct cs_early_to *receiver, const struct cs_fragment *run)
{
	struct cs_early *state = cs_early_of(op);
	struct cs_early_head head;
	char *from = join(op, receiver, run);
	memcpy(&head, from, sizeof head);
	head.count = (uint16_t)run->count;
	memcpy(from, &head, sizeof head);
	for (int i = 0; i < run->count; i++)
		receiver->segments[run->first + i].state = CS_SEGMENT_SENT;
	receiver->left -= run->count;
	struct cs_request *request = &state->sends[state->begun++];
	if (!cs_early_is_windowed(state)) {
		state->wire->send(state->wire, request, receiver->rank, op->tag, from, run->bytes);
		return;
	}
	receiver->part.is_last = !receiver->left;
	state->window->put(state->window, request, receiver->node,
			   state->sent[receiver->node] + state->hier.round, &receiver->part, from,
			   run->bytes);
	receiver->part.at += run->bytes;
	receiver->part.before++;
}

/* May a segment be sent? In the window the slot has to be free. */
static bool
may_send(const struct cs_early *state, const struct cs_early_to *receiver)
{
	return receiver->left && (!cs_early_is_windowed(state) ||
				  cs_rma_may_put(state->window, receiver->node,
						 state->sent[receiver->node] + state->hier.round));
}

static bool
has_left(const struct cs_early *state, struct cs_request *request)
{
	return cs_early_is_windowed(state) ? state->window->test(state->window, request)
					     : state->wire->test(state->wire, request);
}

/* Sends all runs that are worth a message now. */
bool
cs_early_send_on(struct cs_op *op)
{
	struct cs_early *state = cs_early_of(op);
	struct cs_fragment best;
	bool is_sent = true;
	if (state->is_barred &&
	    cs_hier_look_all(op, cs_early_step(op, op->team->shape.node), NULL) == CS_AGAIN)
		return !state->receiver_count;
	do {
		best = (struct cs_fragment){ .kind = CS_FRAGMENT_NONE };
		for (int i = 0; i < state->receiver_count; i++) {
			look_for_segments(op, &state->receivers[i]);
			if (may_send(state, &state->receivers[i]))
				cs_fragment_consider(&best, i, state->receivers[i].segments,
						     op->team->shape.locals, state->least);
		}
		if (best.kind != CS_FRAGMENT_NONE)
			send(op, &state->receivers[best.region], &best);
	} while (best.kind != CS_FRAGMENT_NONE);
	for (int i = 0; i < state->receiver_count; i++)
		is_sent = is_sent && !state->receivers[i].left;
	for (; state->waited < state->begun; state->waited++) {
		struct cs_request *request = &state->sends[state->waited];
		if (!has_left(state, request))
			return false;
		cs_op_note(op, request->told);
	}
	return is_sent;
}
