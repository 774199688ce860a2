/* Alltoall(v,w) whose senders do not wait for late ranks of their node (seed 002, 3.7.3): for each
 * pair of nodes one rank sends and one receives, and the segments that are there are sent as soon
 * as they are worth a message (opportunistic message fragmentation, late/fragments.h).
 *
 *   a, b: ranks of node 0, b comes late; e, f: ranks of node 1
 *
 *   area of node 0    | to node 1: a->e a->f  b->e b->f | to node 2 ...
 *   node 0's sender     a's segment ->                        b's segment ->
 *   node 1's hearer                   a's has landed                        b's has landed
 *   e, f                              copy a's blocks out                   copy b's blocks out
 *
 * The local rank with number (d - 1) modulo the node's size sends to the node d further on, where
 * the one with that number from the end receives: with up to half as many other nodes as ranks none
 * does both. There are no control messages: a message names its segments. A block's size travels
 * with it where sizes differ, so no node waits for those of others, and each pair of nodes has as
 * many rounds as its own largest block needs.
 *
 * By verbs a message is a write into the window of the other node, which all of its ranks read:
 * there is no receiver. If sizes differ only the first round goes so, since a rank that does not
 * send does not know how many messages follow.
 *
 * Cost: one message per pair of nodes if all come at once, as many as a node has ranks at worst;
 * one copy-in, one copy-out. When the last rank comes only its own blocks are still to be sent. */
#include "algorithms/algorithm.h"
#include "algorithms/late/node_rma.h"
#include "algorithms/late/early.h"

#define SAID_AGAIN 16 /* hops in whose time segments are copied before they are published */
#define LOOK_FOR_OTHER_CALLS 1024 /* idle turns */
#define WINDOWED_ROUNDS (CS_WINDOW_SLOTS / 2) /* at most: two calls may be under way */

/* Bytes of a block that fit into a round on all nodes; 0: the area is too small. */
static size_t
chunk_of(const struct cs_team *team, bool has_sizes)
{
	const struct cs_shape *shape = &team->shape;
	size_t ppn = (size_t)shape->ppn_max, ranks = (size_t)shape->ranks;
	size_t heads = 3 * sizeof(uint64_t) * ppn * (size_t)shape->nodes,
	       sizes = has_sizes ? sizeof(uint64_t) : 0, area = team->node.shape.area_bytes;
	area = area < UINT32_MAX ? area : UINT32_MAX;
	if (area < heads + ppn * ranks * (sizes + 1))
		return 0;
	size_t chunk = (area - heads) / (ppn * ranks) - sizes;
	return chunk >= 64 ? chunk & ~(size_t)63 : chunk;
}

/* Bytes of a block that fit into a slot of the window with those of all other ranks of two nodes;
 * 0: none do. */
static size_t
first_of(const struct cs_team *team, const struct cs_rma_window *window, bool has_sizes)
{
	size_t ppn = (size_t)team->shape.ppn_max, word = sizeof(struct cs_early_head),
	       segment = window->room / ppn / word * word,
	       head = word + (has_sizes ? ppn * sizeof(uint64_t) : 0);
	size_t first = segment > head ? (segment - head) / ppn : 0;
	return first >= 64 ? first & ~(size_t)63 : first;
}

static void
lay_out(struct cs_op *op, struct cs_hier_round *round)
{
	struct cs_early *state = cs_early_of(op);
	const struct cs_shape *shape = &op->team->shape;
	size_t at = 0;
	state->piece = state->has_sizes ? cs_early_most(state)
					: cs_early_piece(state, op->call.send.each);
	for (int node = 0; node < shape->nodes; node++) {
		state->out_at[node] = at;
		at += (size_t)shape->locals * cs_early_stride(state, cs_early_size(op, node));
	}
	size_t in = cs_early_in_at(op, shape->nodes - 1) +
		    (size_t)cs_early_size(op, shape->nodes - 1) *
		    cs_early_stride(state, shape->locals);
	round->room = at > in ? at : in;
	round->arrived = cs_early_log_step(op, shape->ranks);
}

/* --- bring ------------------------------------------------------------------------------------ */

/* Write the own segment for a node: sizes of the whole blocks if they differ, and this round's
 * piece of each. */
static size_t
put_segment(struct cs_op *op, int node)
{
	struct cs_early *state = cs_early_of(op);
	int ranks = cs_early_size(op, node), self = op->team->shape.local;
	char *segment = cs_early_segment(op, node, self);
	char *sizes = segment + sizeof(struct cs_early_head),
	     *to = segment + cs_early_head_bytes(state, ranks);
	for (int local = 0; local < ranks; local++) {
		int rank = cs_early_rank(op, node, local);
		uint64_t bytes = cs_blocks_bytes(&op->call.send, rank);
		size_t piece = cs_early_piece(state, bytes);
		if (state->has_sizes)
			memcpy(sizes + (size_t)local * sizeof bytes, &bytes, sizeof bytes);
		cs_copy_in(op, to, cs_blocks_at(&op->call.send, rank) + cs_early_begin(state),
			   piece);
		to += piece;
	}
	struct cs_early_head head = { .bytes = (uint32_t)cs_early_words((size_t)(to - segment)),
			     .first = (uint16_t)self, .count = 1 };
	memcpy(segment, &head, sizeof head);
	return head.bytes;
}

static void
begin(struct cs_op *op)
{
	struct cs_early *state = cs_early_of(op);
	const struct cs_shape *shape = &op->team->shape;
	for (int i = 0; i < state->receiver_count; i++) {
		struct cs_early_to *receiver = &state->receivers[i];
		bool is_in_round = cs_early_is_in_round(state, receiver->largest);
		receiver->left = is_in_round ? shape->locals : 0;
		receiver->part = (struct cs_rma_part){ 0 };
		for (int local = 0; local < shape->locals; local++)
			receiver->segments[local].state = CS_SEGMENT_ABSENT;
	}
	bool is_windowed = cs_early_is_windowed(state);
	for (int node = 0; is_windowed && node < shape->nodes; node++)
		state->reads[node] = (struct cs_early_read){
			.left = node == shape->node ? 0 : cs_early_size(op, node),
		};
	for (int i = 0; i < state->sender_count; i++) {
		struct cs_early_from *sender = &state->senders[i];
		sender->at = 0;
		sender->left = !is_windowed &&
			       cs_early_is_in_round(state, state->largest[sender->node])
			       ? cs_early_size(op, sender->node) : 0;
		if (sender->left)
			cs_early_hear(op, sender);
	}
	memset(state->taken, 0, (size_t)shape->locals * sizeof *state->taken);
	memset(state->is_taken, 0, (size_t)shape->locals * sizeof *state->is_taken);
	state->begun = state->waited = state->logged = 0;
	state->idle = 0;
}

static enum cs_status
bring(struct cs_op *op)
{
	struct cs_early *state = cs_early_of(op);
	const struct cs_shape *shape = &op->team->shape;
	struct cs_line *line = state->hier.line;
	size_t unsaid = 0, most = 0, piece = cs_facts_piece(&op->team->node.facts, SAID_AGAIN);
	begin(op);
	for (int rank = 0; state->has_sizes && rank < shape->ranks; rank++)
		if (op->call.send.bytes[rank] > most)
			most = op->call.send.bytes[rank];
	line->word[0] = most;
	for (int distance = 1; distance <= shape->nodes; distance++) {
		int node = (shape->node + distance) % shape->nodes;
		unsaid += put_segment(op, node);
		if (distance < shape->nodes && unsaid < piece)
			continue;
		cs_node_publish(&op->node, line, cs_early_step(op, node));
		unsaid = 0;
	}
	return CS_OK;
}

/* --- all of it -------------------------------------------------------------------------------- */

/* Send, receive and copy out. A rank without messages waits for a line; others look at both, and
 * now and then whether a rank of the node that has not come makes another call. */
static enum cs_status
exchange(struct cs_op *op)
{
	struct cs_early *state = cs_early_of(op);
	const struct cs_shape *shape = &op->team->shape;
	bool is_sent = cs_early_send_on(op), is_heard = cs_early_hear_on(op);
	bool is_own = cs_early_take_own(op), is_taken = cs_early_take_others(op) && is_own;
	if (is_sent && is_heard && is_taken)
		return CS_OK;
	if (is_sent && is_heard && !cs_early_is_windowed(state))
		return CS_AGAIN;
	if (++state->idle % LOOK_FOR_OTHER_CALLS == 0)
		for (int local = 0; local < shape->locals; local++)
			if (!state->is_taken[local])
				cs_node_notice(&op->node, local, cs_early_step(op, shape->node));
	op->node.awaited.local = CS_AWAITS_MESSAGE;
	return CS_AGAIN;
}

/* Set the number of rounds after the first: as the largest block to or from this node needs. */
static enum cs_status
settle(struct cs_op *op)
{
	struct cs_early *state = cs_early_of(op);
	const struct cs_shape *shape = &op->team->shape;
	size_t most = 0;
	if (!state->has_sizes || state->hier.round)
		return CS_OK;
	for (int local = 0; local < shape->locals; local++) {
		const struct cs_line *line = cs_node_look(&op->node, local,
							  cs_early_step(op, shape->node));
		if (line && line->word[0] > most)
			most = line->word[0];
	}
	for (int node = 0; node < shape->nodes; node++)
		most = state->largest[node] > most ? state->largest[node] : most;
	uint64_t rounds = cs_early_rounds(state, most);
	state->hier.rounds = rounds ? rounds : 1;
	cs_node_expect(&op->node, state->hier.rounds, (uint64_t)(shape->nodes + shape->ranks));
	return CS_OK;
}

/* Give back the read parts of the window, in the last round. */
static enum cs_status
give_back(struct cs_op *op)
{
	const struct cs_early *state = cs_early_of(op);
	if (state->hier.round + 1 < state->hier.rounds || cs_early_give_back(op))
		return CS_OK;
	op->node.awaited.local = CS_AWAITS_MESSAGE;
	return CS_AGAIN;
}

static const struct cs_hier_kind kind = { .areas = 2, .lay_out = lay_out, .bring = bring };
static cs_phase *const script[] = { cs_hier_open, cs_hier_begin_round, cs_hier_bring, exchange,
				    settle, give_back, cs_hier_next, NULL };

/* Leave the call to the host: the area has no room for a byte of each block, on all ranks alike. */
static enum cs_status
leave(struct cs_op *op)
{
	cs_op_refuse(op, "the node's area has no room for a byte of each block");
	op->node.outcome.bits |= CS_OUTCOME_LEFT;
	cs_node_end(&op->node);
	return CS_OK;
}

static cs_phase *const script_of_nothing[] = { leave, NULL };

/* --- beginning -------------------------------------------------------------------------------- */

static void
take_memory(struct cs_op *op)
{
	struct cs_early *state = cs_early_of(op);
	const struct cs_shape *shape = &op->team->shape;
	size_t nodes = (size_t)shape->nodes, locals = (size_t)shape->locals,
	       others = (nodes - 1 + locals - 1) / locals; /* nodes of a rank, at most */
	state->out_at = cs_op_nodes(op);
	state->largest = state->out_at + nodes;
	state->receivers = cs_op_memory(op, CS_OP_SCRATCH, others *
					(sizeof *state->receivers + sizeof *state->senders +
					 locals * sizeof(struct cs_region_segment)));
	state->senders = (struct cs_early_from *)(void *)(state->receivers + others);
	struct cs_region_segment *segments =
		(struct cs_region_segment *)(void *)(state->senders + others);
	for (size_t i = 0; i < others; i++)
		state->receivers[i].segments = segments + i * locals;
	state->sends = cs_op_memory(op, CS_OP_REQUESTS, others * locals * sizeof *state->sends);
	state->log_at = cs_op_memory(op, CS_OP_PENDING, locals * (2 * sizeof(int) + sizeof(bool)));
	state->taken = state->log_at + locals;
	state->is_taken = (bool *)(state->taken + locals);
}

static void
find_peers(struct cs_op *op)
{
	struct cs_early *state = cs_early_of(op);
	const struct cs_shape *shape = &op->team->shape;
	int self = shape->node, logged = 0;
	for (int distance = 1; distance < shape->nodes; distance++) {
		int to = (self + distance) % shape->nodes,
		    from = (self - distance + shape->nodes) % shape->nodes;
		if (cs_early_sender(op, self, to) == shape->local) {
			struct cs_early_to *receiver = &state->receivers[state->receiver_count++];
			receiver->node = to;
			receiver->rank = cs_early_rank(op, to, cs_early_hearer(op, self, to));
			receiver->largest = state->has_sizes ? 0 : op->call.send.each;
		}
		if (cs_early_hearer(op, from, self) == shape->local)
			state->senders[state->sender_count++] = (struct cs_early_from){
				.node = from,
				.rank = cs_early_rank(op, from,
							cs_early_sender(op, from, self)),
			};
	}
	for (int node = 0; node < shape->nodes; node++)
		state->largest[node] = state->has_sizes ? 0 : op->call.send.each;
	for (int local = 0; local < shape->locals; local++) {
		state->log_at[local] = logged;
		logged += cs_early_lines(op, local);
	}
}

/* Choose the rounds that go by the window, if any. */
static void
take_window(struct cs_op *op, struct cs_rma_window *window)
{
	struct cs_early *state = cs_early_of(op);
	size_t first = first_of(op->team, window, state->has_sizes),
	       ppn = (size_t)op->team->shape.ppn_max;
	first = first < state->chunk ? first : state->chunk;
	uint64_t rounds =
		first && !state->has_sizes ? cs_chunks_rounds(op->call.send.each, first) : 1;
	/* If messages follow the first round in any case, it is to be worth one. */
	size_t least = state->has_sizes ? state->least / (ppn * ppn) + 1 : 1;
	if (first < least || rounds > WINDOWED_ROUNDS)
		return;
	state->window = window;
	state->first = first;
	state->windowed = rounds;
}

static void
number_messages(struct cs_op *op)
{
	struct cs_early *state = cs_early_of(op);
	const struct cs_shape *shape = &op->team->shape;
	size_t bytes = (size_t)shape->nodes * sizeof *state->reads;
	state->sent = state->largest + shape->nodes;
	state->received = state->sent + shape->nodes;
	state->reads = cs_op_memory(op, CS_OP_REMOTE, bytes);
	for (int node = 0; node < shape->nodes; node++) {
		if (node == shape->node)
			continue;
		state->sent[node] = state->window->sent[node];
		state->received[node] = state->window->received[node];
		state->window->sent[node] += state->windowed;
		state->window->received[node] += state->windowed;
	}
}

/* Parameters. */
enum { LEAST, BARRIER, RMA };

static void
run(struct cs_op *op, const size_t *params)
{
	struct cs_team *team = op->team;
	struct cs_early *state = cs_early_of(op);
	bool has_sizes = op->call.send.bytes != NULL;
	size_t chunk = chunk_of(team, has_sizes);
	if (!chunk) {
		cs_op_start(op, script_of_nothing);
		return;
	}
	*state = (struct cs_early){ .wire = team->host->wire(team->everyone), .chunk = chunk,
				 .least = params[LEAST], .has_sizes = has_sizes,
				 .is_barred = params[BARRIER] != 0 };
	struct cs_rma_window *window = params[RMA] && team->host->window
				       ? team->host->window(team->everyone) : NULL;
	if (window)
		take_window(op, window);
	state->hier.rounds = has_sizes ? 1 : cs_early_rounds(state, op->call.send.each);
	cs_node_expect(&op->node, state->hier.rounds,
		       (uint64_t)(team->shape.nodes + team->shape.ranks));
	take_memory(op);
	if (state->windowed)
		number_messages(op);
	find_peers(op);
	if (has_sizes && state->receiver_count)
		state->packed = cs_op_memory(op, CS_OP_PART, team->node.shape.area_bytes);
	cs_hier_start(op, &kind, 1, script, 1);
}

const struct cs_algorithm cs_algorithm_alltoall_opportunistic = {
	.colls = CS_SET(CS_ALLTOALL) | CS_SET(CS_ALLTOALLV) | CS_SET(CS_ALLTOALLW),
	.name = "hier:opportunistic",
	.summary = "a sender and a hearer per pair of nodes; what early ranks bring is sent before "
		   "late ones come",
	.needs = { .several_per_node = true, .several_nodes = true, .everyone = true },
	.params = { [LEAST] = { "least", "bytes of a message to which more may still come", 4 << 10,
				0, CS_INF },
		    [BARRIER] = { "barrier", "1: nothing is sent before all of the node are here, "
					     "for comparison", 0, 0, 1 },
		    [RMA] = CS_NODE_RMA },
	.run = run,
};
