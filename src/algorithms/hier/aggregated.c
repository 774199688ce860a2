/* hier/aggregated.c — scripts of gatherv and scatterv by aggregated messages. */
#include "algorithms/hier/aggregated.h"

#include "algorithms/hier/message.h"
#include "algorithms/node/rounds.h"

#define AT_ONCE 8 /* aggregated messages that the root receives at the same time */

/* The state of the scripts. */
struct aggregates {
	struct cs_wire *wire;
	size_t most; /* bytes of a block that travels in an aggregated message; the same on all
		      * ranks */
	size_t room; /* for an aggregated message of the largest node */
	int root_node;
	bool is_root_node;
	bool is_carrier;     /* the first rank of a node other than the root's: sends and receives
			      * its aggregated message */
	struct cs_post post; /* of this rank, for its node */
	char *memory, *next; /* of aggregated messages; place of the next block, or of an overlong
			      * one */
	uint64_t size;       /* scatterv: of the own block, as the root has it */
	bool is_here;        /* the carrier's aggregated message */
	bool is_asked;       /* the receive of an overlong block is posted */
	struct cs_request *requests;
	int begun, waited;   /* messages */
	int node, local;     /* next ones; nodes are counted from the root's */
	uint64_t *sizes;     /* by rank, at a gatherv's root: of a block that comes alone, or 0 */
};

static struct aggregates *
aggregates_of(struct cs_op *op)
{
	return CS_OP_STATE(struct aggregates, op);
}

/* Bytes of the largest node's sizes: at most half of a quarter slot, since slots have 64 bytes for
 * each rank of a node (comm/teams/shape.c). */
static size_t
head_room(const struct cs_team *team)
{
	return (size_t)team->shape.ppn_max * sizeof(uint64_t);
}

static struct aggregates *
init(struct cs_op *op, size_t wanted)
{
	struct cs_team *team = op->team;
	const struct cs_shape *shape = &team->shape;
	size_t room = team->node.shape.slot_bytes / 4 - head_room(team);
	struct aggregates *aggregates = aggregates_of(op);
	int root_node = shape->node_of[op->call.root];
	*aggregates = (struct aggregates){
		.wire = team->host->wire(team->everyone),
		.most = (wanted < room ? wanted : room) / (size_t)shape->ppn_max,
		.root_node = root_node,
		.is_root_node = shape->node == root_node,
		.is_carrier = shape->local == 0 && shape->node != root_node,
		.node = 1,
	};
	aggregates->room = head_room(team) + (size_t)shape->ppn_max * aggregates->most;
	return aggregates;
}

static bool
is_root(const struct cs_op *op)
{
	return op->team->shape.rank == op->call.root;
}

static int
rank_of(const struct cs_op *op, int node, int local)
{
	const struct cs_shape *shape = &op->team->shape;
	return shape->order[shape->first[node] + local];
}

/* Bytes of the sizes of a node's blocks. */
static size_t
head_of(const struct cs_op *op, int node)
{
	return (size_t)cs_team_node_size(op->team, node) * sizeof(uint64_t);
}

static uint64_t
size_in(const char *aggregate, int local)
{
	uint64_t size;
	memcpy(&size, aggregate + (size_t)local * sizeof size, sizeof size);
	return size;
}

/* Bytes that a block of `size` takes in an aggregated message. */
static size_t
packed(const struct aggregates *aggregates, uint64_t size)
{
	return size <= aggregates->most ? (size_t)size : 0;
}

static struct cs_request *
next_request(struct aggregates *aggregates)
{
	return &aggregates->requests[aggregates->begun++];
}

/* Reserves this rank's post: in its line, or in a piece of a slot. */
static void
reserve(struct cs_op *op, enum cs_post_way way, size_t bytes)
{
	struct cs_post *post = &aggregates_of(op)->post;
	*post = (struct cs_post){ .way = way, .rounds = 1, .bytes = bytes, .chunk = bytes,
				  .span = bytes };
	cs_post_reserve(&op->node, post, op->node.extras & CS_OP_NONBLOCKING);
}

/* Receives a block of `size` bytes that comes alone. If it is longer than `expected`, it goes
 * through other memory. */
static enum cs_status
take_alone(struct cs_op *op, struct cs_request *request, int rank, char *to, size_t expected,
	   uint64_t size)
{
	struct aggregates *aggregates = aggregates_of(op);
	bool is_overlong = size > expected;
	if (is_overlong && !aggregates->is_asked) {
		aggregates->next = cs_op_memory(op, CS_OP_REMOTE, size);
		aggregates->wire->recv(aggregates->wire, request, rank, op->tag, aggregates->next,
				       size);
		aggregates->is_asked = true;
	}
	if (!cs_message_is_over(op, aggregates->wire, request))
		return CS_AGAIN;
	if (is_overlong)
		cs_copy(to, aggregates->next, expected);
	aggregates->is_asked = false;
	return CS_OK;
}

/* Has an aggregated message come? It may be shorter than its room. */
static bool
has_bundle(struct cs_op *op, struct cs_request *request)
{
	if (!cs_message_has_come(op, aggregates_of(op)->wire, request))
		return false;
	cs_op_note(op, request->told & CS_TOLD_MORE);
	return true;
}

/* Phase: waits until the messages that were begun are over. */
static enum cs_status
are_over(struct cs_op *op)
{
	struct aggregates *aggregates = aggregates_of(op);
	return cs_messages_are_over(op, aggregates->wire, aggregates->requests, aggregates->begun,
				    &aggregates->waited);
}

/* --- scatterv --------------------------------------------------------------------------------- */

static size_t
aggregate_bytes(struct cs_op *op, int node)
{
	size_t bytes = head_of(op, node);
	for (int local = 0; local < cs_team_node_size(op->team, node); local++)
		bytes += packed(aggregates_of(op),
				cs_blocks_bytes(&op->call.send, rank_of(op, node, local)));
	return bytes;
}

/* Writes a node's aggregated message without the root's own block. Returns its bytes, at most
 * aggregate_bytes. */
static size_t
write_aggregate(struct cs_op *op, int node, char *to)
{
	const struct aggregates *aggregates = aggregates_of(op);
	char *next = to + head_of(op, node);
	for (int local = 0; local < cs_team_node_size(op->team, node); local++) {
		int rank = rank_of(op, node, local);
		uint64_t size = cs_blocks_bytes(&op->call.send, rank);
		memcpy(to + (size_t)local * sizeof size, &size, sizeof size);
		if (rank == op->call.root)
			continue;
		cs_copy(next, cs_blocks_at(&op->call.send, rank), packed(aggregates, size));
		next += packed(aggregates, size);
	}
	return (size_t)(next - to);
}

static enum cs_status
put_near(struct cs_op *op)
{
	struct aggregates *aggregates = aggregates_of(op);
	if (!cs_post_open(&op->node, &aggregates->post))
		return CS_AGAIN;
	write_aggregate(op, aggregates->root_node, cs_post_room(&op->node, &aggregates->post));
	cs_post_publish(&op->node, &aggregates->post);
	return CS_OK;
}

static enum cs_status
send_far(struct cs_op *op)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	struct aggregates *aggregates = aggregates_of(op);
	struct cs_wire *wire = aggregates->wire;
	size_t remote_bytes = 0;
	for (int n = 0; n < team->shape.nodes; n++)
		remote_bytes += n != aggregates->root_node ? aggregate_bytes(op, n) : 0;
	char *next = cs_op_memory(op, CS_OP_COPY, remote_bytes);
	for (int n = 0; n < team->shape.nodes; n++) {
		if (n == aggregates->root_node)
			continue;
		size_t bytes = write_aggregate(op, n, next);
		wire->send(wire, next_request(aggregates), rank_of(op, n, 0), op->tag, next, bytes);
		next += bytes;
	}
	for (int rank = 0; rank < team->shape.ranks; rank++) {
		size_t bytes = cs_blocks_bytes(&call->send, rank);
		if (rank != call->root && bytes > aggregates->most)
			wire->send(wire, next_request(aggregates), rank, op->tag,
				   cs_blocks_at(&call->send, rank), bytes);
	}
	if (call->recv.base) {
		size_t own = cs_blocks_bytes(&call->send, call->root);
		if (own > call->bytes)
			op->node.outcome.bits |= CS_OUTCOME_TRUNCATED;
		cs_copy(call->recv.base, cs_blocks_at(&call->send, call->root),
			own < call->bytes ? own : call->bytes);
	}
	return CS_OK;
}

static cs_phase *const scatter_root[] = { put_near, send_far, are_over, NULL };

static enum cs_status
ask_root(struct cs_op *op)
{
	struct aggregates *aggregates = aggregates_of(op);
	aggregates->memory = cs_op_memory(op, CS_OP_COPY, aggregates->room);
	aggregates->wire->recv(aggregates->wire, aggregates->requests, op->call.root, op->tag,
			       aggregates->memory, aggregates->room);
	return CS_OK;
}

/* Bytes of an aggregated message from the root. */
static size_t
bytes_of(struct cs_op *op, const char *aggregate)
{
	size_t bytes = head_of(op, op->team->shape.node);
	for (int local = 0; local < op->team->shape.locals; local++)
		bytes += packed(aggregates_of(op), size_in(aggregate, local));
	return bytes;
}

/* Posts the carrier's aggregated message for its node, as long as it came. A nonblocking call has
 * reserved room for the longest. */
static enum cs_status
hand_on(struct cs_op *op)
{
	struct aggregates *aggregates = aggregates_of(op);
	if (!aggregates->is_here && !has_bundle(op, aggregates->requests))
		return CS_AGAIN;
	aggregates->is_here = true;
	size_t bytes = bytes_of(op, aggregates->memory);
	if (!aggregates->post.rounds)
		reserve(op, CS_POST_PIECE, bytes);
	if (!cs_post_open(&op->node, &aggregates->post))
		return CS_AGAIN;
	memcpy(cs_post_room(&op->node, &aggregates->post), aggregates->memory, bytes);
	cs_post_publish(&op->node, &aggregates->post);
	return CS_OK;
}

/* Takes the own block out of the node's aggregated message, which lies in the root's slot on its
 * node, else in the carrier's. */
static enum cs_status
take_own(struct cs_op *op)
{
	struct aggregates *aggregates = aggregates_of(op);
	struct cs_call *call = &op->call;
	const struct cs_shape *shape = &op->team->shape;
	const char *aggregate = aggregates->memory;
	int carrier = aggregates->is_root_node ? shape->local_of[call->root] : 0;
	if (!aggregates->is_carrier) {
		const struct cs_line *line = cs_node_look(&op->node, carrier, 1);
		if (!line)
			return CS_AGAIN;
		aggregate = cs_post_find(&op->node, carrier, line, 0, aggregates->room, 0);
	}
	uint64_t size = size_in(aggregate, shape->local);
	size_t at = head_of(op, shape->node);
	for (int local = 0; local < shape->local; local++)
		if (rank_of(op, shape->node, local) != call->root)
			at += packed(aggregates, size_in(aggregate, local));
	if (size > call->bytes)
		op->node.outcome.bits |= CS_OUTCOME_TRUNCATED;
	if (size <= aggregates->most)
		cs_copy(call->recv.base, aggregate + at, size < call->bytes ? size : call->bytes);
	else if (size <= call->bytes)
		aggregates->wire->recv(aggregates->wire, aggregates->requests, call->root, op->tag,
				       call->recv.base, call->bytes);
	aggregates->size = size;
	cs_node_end(&op->node);
	return CS_OK;
}

static enum cs_status
take_own_alone(struct cs_op *op)
{
	struct aggregates *aggregates = aggregates_of(op);
	return aggregates->size <= aggregates->most ? CS_OK
						    : take_alone(op, aggregates->requests,
								 op->call.root, op->call.recv.base,
								 op->call.bytes, aggregates->size);
}

static cs_phase *const scatter_carrier[] = { ask_root, hand_on, take_own, take_own_alone, NULL };
static cs_phase *const scatter_leaf[] = { take_own, take_own_alone, NULL };

void
cs_aggregated_scatter(struct cs_op *op, size_t bytes)
{
	struct aggregates *aggregates = init(op, bytes);
	size_t messages = is_root(op) ? (size_t)(op->team->shape.nodes + op->team->shape.ranks) : 1;
	aggregates->requests = cs_op_memory(op, CS_OP_REQUESTS,
					    messages * sizeof *aggregates->requests);
	cs_op_start(op, is_root(op) ? scatter_root : aggregates->is_carrier
		    ? scatter_carrier : scatter_leaf);
	if (is_root(op)) {
		reserve(op, CS_POST_PIECE, aggregate_bytes(op, aggregates->root_node));
		cs_node_end_reading(&op->node);
	} else if (aggregates->is_carrier && op->node.extras & CS_OP_NONBLOCKING) {
		reserve(op, CS_POST_PIECE, aggregates->room);
	}
}

/* --- gatherv ---------------------------------------------------------------------------------- */

/* Posts the own size, and the block if it is not too long, for the carrier or the root. */
static enum cs_status
show_block(struct cs_op *op)
{
	struct cs_post *post = &aggregates_of(op)->post;
	if (!cs_post_open(&op->node, post))
		return CS_AGAIN;
	cs_copy(cs_post_room(&op->node, post), op->call.send.base,
		packed(aggregates_of(op), op->call.bytes));
	cs_post_publish(&op->node, post);
	return CS_OK;
}

/* Looks at another local rank's post: its line has the size, *from is the block if it is not too
 * long. NULL: not posted yet. */
static const struct cs_line *
look_at_block(struct cs_op *op, int local, const char **from)
{
	const struct cs_line *line = cs_node_look(&op->node, local, 1);
	if (line)
		*from = cs_line_bytes(line) <= CS_INLINE ? (const char *)line->data
							  : cs_post_find(&op->node, local, line, 0,
									 aggregates_of(op)->room,
									 0);
	return line;
}

static enum cs_status
collect(struct cs_op *op)
{
	struct cs_team *team = op->team;
	struct aggregates *aggregates = aggregates_of(op);
	if (!aggregates->memory) {
		aggregates->memory = cs_op_memory(op, CS_OP_COPY, aggregates->room);
		aggregates->next = aggregates->memory + head_of(op, team->shape.node);
	}
	for (; aggregates->local < team->shape.locals; aggregates->local++) {
		const char *from = op->call.send.base;
		uint64_t size = op->call.bytes;
		if (aggregates->local != team->shape.local) {
			const struct cs_line *line = look_at_block(op, aggregates->local, &from);
			if (!line)
				return CS_AGAIN;
			size = cs_line_bytes(line);
		}
		memcpy(aggregates->memory + (size_t)aggregates->local * sizeof size, &size,
		       sizeof size);
		cs_copy(aggregates->next, from, packed(aggregates, size));
		aggregates->next += packed(aggregates, size);
	}
	cs_node_end(&op->node);
	aggregates->wire->send(aggregates->wire, next_request(aggregates), op->call.root, op->tag,
			       aggregates->memory, (size_t)(aggregates->next - aggregates->memory));
	return CS_OK;
}

static enum cs_status
send_alone(struct cs_op *op)
{
	struct aggregates *aggregates = aggregates_of(op);
	const struct cs_call *call = &op->call;
	if (call->bytes > aggregates->most)
		aggregates->wire->send(aggregates->wire, next_request(aggregates), call->root,
				       op->tag, call->send.base, call->bytes);
	return CS_OK;
}

static cs_phase *const gather_leaf[] = { show_block, send_alone, are_over, NULL };
static cs_phase *const gather_carrier[] = { collect, send_alone, are_over, NULL };

/* Takes a block of another rank, from `from` if it is not too long; else posts its receive, unless
 * it is overlong. */
static void
take_block(struct cs_op *op, int rank, uint64_t size, const char *from)
{
	struct aggregates *aggregates = aggregates_of(op);
	struct cs_call *call = &op->call;
	size_t expected = cs_blocks_bytes(&call->recv, rank);
	char *to = cs_blocks_at(&call->recv, rank);
	if (size > expected)
		op->node.outcome.bits |= CS_OUTCOME_TRUNCATED;
	if (size <= aggregates->most) {
		cs_copy(to, from, size < expected ? size : expected);
		return;
	}
	if (size <= expected)
		aggregates->wire->recv(aggregates->wire, &aggregates->requests[rank], rank, op->tag,
				       to, expected);
	aggregates->sizes[rank] = size;
}

static void
take_aggregate(struct cs_op *op, int node, const char *aggregate)
{
	const char *next = aggregate + head_of(op, node);
	for (int local = 0; local < cs_team_node_size(op->team, node); local++) {
		uint64_t size = size_in(aggregate, local);
		take_block(op, rank_of(op, node, local), size, next);
		next += packed(aggregates_of(op), size);
	}
}

/* Takes other nodes' aggregated messages, with up to AT_ONCE of them under way. */
static enum cs_status
take_far(struct cs_op *op)
{
	struct aggregates *aggregates = aggregates_of(op);
	struct cs_wire *wire = aggregates->wire;
	/* Behind the blocks' requests */
	struct cs_request *requests = aggregates->requests + op->team->shape.ranks;
	int nodes = op->team->shape.nodes;
	for (; aggregates->node < nodes; aggregates->node++) {
		for (; aggregates->begun < nodes - 1 &&
		     aggregates->begun < aggregates->node - 1 + AT_ONCE; aggregates->begun++) {
			   int node = (aggregates->root_node + 1 + aggregates->begun) % nodes,
			       place = aggregates->begun % AT_ONCE;
			wire->recv(wire, &requests[place], rank_of(op, node, 0), op->tag,
				   aggregates->memory + (size_t)place * aggregates->room,
				   aggregates->room);
		}
		int place = (aggregates->node - 1) % AT_ONCE;
		if (!has_bundle(op, &requests[place]))
			return CS_AGAIN;
		take_aggregate(op, (aggregates->root_node + aggregates->node) % nodes,
			       aggregates->memory + (size_t)place * aggregates->room);
	}
	return CS_OK;
}

static enum cs_status
take_near(struct cs_op *op)
{
	struct cs_call *call = &op->call;
	struct aggregates *aggregates = aggregates_of(op);
	for (; aggregates->local < op->team->shape.locals; aggregates->local++) {
		int rank = rank_of(op, aggregates->root_node, aggregates->local);
		const char *from = NULL;
		const struct cs_line *line = rank != call->root
					     ? look_at_block(op, aggregates->local, &from) : NULL;
		if (line)
			take_block(op, rank, cs_line_bytes(line), from);
		else if (rank != call->root)
			return CS_AGAIN;
	}
	cs_node_end(&op->node);
	if (call->send.base)
		cs_copy(cs_blocks_at(&call->recv, call->root), call->send.base, call->bytes);
	return CS_OK;
}

static enum cs_status
take_all_alone(struct cs_op *op)
{
	struct aggregates *aggregates = aggregates_of(op);
	const struct cs_blocks *recv = &op->call.recv;
	for (; aggregates->waited < op->team->shape.ranks; aggregates->waited++) {
		int rank = aggregates->waited;
		if (aggregates->sizes[rank] &&
		    take_alone(op, &aggregates->requests[rank], rank, cs_blocks_at(recv, rank),
							cs_blocks_bytes(recv, rank),
							aggregates->sizes[rank]) == CS_AGAIN)
			return CS_AGAIN;
	}
	return CS_OK;
}

static cs_phase *const gather_root[] = { take_far, take_near, take_all_alone, NULL };

void
cs_aggregated_gather(struct cs_op *op, size_t bytes)
{
	struct aggregates *aggregates = init(op, bytes);
	size_t ranks = (size_t)op->team->shape.ranks, own = op->call.bytes;
	size_t messages = is_root(op) ? ranks + AT_ONCE : 2;
	aggregates->requests = cs_op_memory(op, CS_OP_REQUESTS,
					    messages * sizeof *aggregates->requests);
	cs_op_start(op, is_root(op) ? gather_root : aggregates->is_carrier
		    ? gather_carrier : gather_leaf);
	if (is_root(op)) {
		aggregates->memory = cs_op_memory(op, CS_OP_COPY, AT_ONCE * aggregates->room);
		aggregates->sizes = cs_op_memory(op, CS_OP_SCRATCH,
						 ranks * sizeof *aggregates->sizes);
		memset(aggregates->sizes, 0, ranks * sizeof *aggregates->sizes);
	} else if (!aggregates->is_carrier) {
		bool is_inline = own <= CS_INLINE || own > aggregates->most;
		reserve(op, is_inline ? CS_POST_INLINE : CS_POST_PIECE, own);
		cs_node_end_reading(&op->node);
	}
}
