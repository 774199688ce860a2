/* patterns/bundle.c has the scripts of gatherv and scatterv by bundles. */
#include "algorithms/patterns/bundle.h"

#include "algorithms/message.h"
#include "algorithms/patterns/exchange.h"

#define AT_ONCE 8 /* bundles that the root receives at the same time */

/* The state of the scripts. */
struct bundles {
	struct cs_wire *wire;
	size_t most; /* bytes of a block that travels in a bundle; the same on all ranks */
	size_t room; /* for a bundle of the largest node */
	int root_node;
	bool is_root_node;
	bool is_carrier;     /* of a node that is not the root's: its first rank, which the root talks to */
	struct cs_post post; /* what this rank puts out for its node */
	char *memory, *next; /* of bundles; where the next one, or the next block of one, goes */
	uint64_t size;       /* of the own block as it comes, or of an overlong one: the root's as it has told it */
	bool is_here;        /* the carrier's bundle */
	bool is_asked;       /* an overlong block has been asked for */
	struct cs_request *requests;
	int begun, waited;   /* messages */
	int node, local;     /* whose turn it is; nodes are counted from the root's */
	uint64_t *sizes;     /* by rank, at a gatherv's root: of blocks that come alone; 0: does not */
};

static struct bundles *
bundles_of(struct cs_op *op)
{
	return CS_OP_STATE(struct bundles, op);
}

/* Bytes of the largest node's sizes: at most half of a piece of a slot, in which each of its ranks has a line (make_team.c). */
static size_t
head_room(const struct cs_team *team)
{
	return (size_t)team->shape.ppn_max * sizeof(uint64_t);
}

static struct bundles *
init(struct cs_op *op, size_t wanted)
{
	struct cs_team *team = op->team;
	const struct cs_shape *shape = &team->shape;
	size_t room = team->node.shape.slot_bytes / 4 - head_room(team);
	struct bundles *bundles = bundles_of(op);
	int root_node = shape->node_of[op->call.root];
	*bundles = (struct bundles){
		.wire = team->host->wire(team->everyone),
		.most = (wanted < room ? wanted : room) / (size_t)shape->ppn_max,
		.root_node = root_node,
		.is_root_node = shape->node == root_node,
		.is_carrier = shape->local == 0 && shape->node != root_node,
		.node = 1,
	};
	bundles->room = head_room(team) + (size_t)shape->ppn_max * bundles->most;
	return bundles;
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
size_in(const char *bundle, int local)
{
	uint64_t size;
	memcpy(&size, bundle + (size_t)local * sizeof size, sizeof size);
	return size;
}

/* Bytes that a block of so many takes in a bundle. */
static size_t
packed(const struct bundles *bundles, uint64_t size)
{
	return size <= bundles->most ? (size_t)size : 0;
}

static struct cs_request *
next_request(struct bundles *bundles)
{
	return &bundles->requests[bundles->begun++];
}

/* What this rank puts out: in the line, or in a piece of a slot. */
static void
reserve(struct cs_op *op, enum cs_post_way way, size_t bytes)
{
	struct cs_post *post = &bundles_of(op)->post;
	*post = (struct cs_post){ .way = way, .rounds = 1, .bytes = bytes, .chunk = bytes, .span = bytes };
	cs_post_reserve(&op->node, post, op->node.extras & CS_OP_NONBLOCKING);
}

/* A block of another rank, `size` bytes long, that comes alone to where `expected` bytes are expected. One that is longer comes to
 * memory that has room for it first. */
static enum cs_status
take_alone(struct cs_op *op, struct cs_request *request, int rank, char *to, size_t expected, uint64_t size)
{
	struct bundles *bundles = bundles_of(op);
	bool is_overlong = size > expected;
	if (is_overlong && !bundles->is_asked) {
		bundles->next = cs_op_memory(op, CS_OP_FAR, size);
		bundles->wire->recv(bundles->wire, request, rank, op->tag, bundles->next, size);
		bundles->is_asked = true;
	}
	if (!cs_message_is_over(op, bundles->wire, request))
		return CS_AGAIN;
	if (is_overlong)
		cs_copy(to, bundles->next, expected);
	bundles->is_asked = false;
	return CS_OK;
}

/* A bundle may be shorter than the room for it. */
static bool
has_bundle(struct cs_op *op, struct cs_request *request)
{
	if (!cs_message_has_come(op, bundles_of(op)->wire, request))
		return false;
	cs_op_note(op, request->told & CS_TOLD_MORE);
	return true;
}

/* A phase: the messages that were begun are over. */
static enum cs_status
are_over(struct cs_op *op)
{
	struct bundles *bundles = bundles_of(op);
	return cs_messages_are_over(op, bundles->wire, bundles->requests, bundles->begun, &bundles->waited);
}

/* --- scatterv ------------------------------------------------------------------------------------------------------- */

static size_t
bundle_bytes(struct cs_op *op, int node)
{
	size_t bytes = head_of(op, node);
	for (int local = 0; local < cs_team_node_size(op->team, node); local++)
		bytes += packed(bundles_of(op), cs_blocks_bytes(&op->call.send, rank_of(op, node, local)));
	return bytes;
}

/* Returns its bytes: at most bundle_bytes, since the root's own block stays with it. */
static size_t
write_bundle(struct cs_op *op, int node, char *to)
{
	const struct bundles *bundles = bundles_of(op);
	char *next = to + head_of(op, node);
	for (int local = 0; local < cs_team_node_size(op->team, node); local++) {
		int rank = rank_of(op, node, local);
		uint64_t size = cs_blocks_bytes(&op->call.send, rank);
		memcpy(to + (size_t)local * sizeof size, &size, sizeof size);
		if (rank == op->call.root)
			continue;
		cs_copy(next, cs_blocks_at(&op->call.send, rank), packed(bundles, size));
		next += packed(bundles, size);
	}
	return (size_t)(next - to);
}

static enum cs_status
put_near(struct cs_op *op)
{
	struct bundles *bundles = bundles_of(op);
	if (!cs_post_open(&op->node, &bundles->post))
		return CS_AGAIN;
	write_bundle(op, bundles->root_node, cs_post_room(&op->node, &bundles->post));
	cs_post_publish(&op->node, &bundles->post);
	return CS_OK;
}

static enum cs_status
send_far(struct cs_op *op)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	struct bundles *bundles = bundles_of(op);
	struct cs_wire *wire = bundles->wire;
	size_t far = 0;
	for (int n = 0; n < team->shape.nodes; n++)
		far += n != bundles->root_node ? bundle_bytes(op, n) : 0;
	char *next = cs_op_memory(op, CS_OP_COPY, far);
	for (int n = 0; n < team->shape.nodes; n++) {
		if (n == bundles->root_node)
			continue;
		size_t bytes = write_bundle(op, n, next);
		wire->send(wire, next_request(bundles), rank_of(op, n, 0), op->tag, next, bytes);
		next += bytes;
	}
	for (int rank = 0; rank < team->shape.ranks; rank++) {
		size_t bytes = cs_blocks_bytes(&call->send, rank);
		if (rank != call->root && bytes > bundles->most)
			wire->send(wire, next_request(bundles), rank, op->tag, cs_blocks_at(&call->send, rank), bytes);
	}
	if (call->recv.base) {
		size_t own = cs_blocks_bytes(&call->send, call->root);
		call->truncated = own > call->bytes ? own : call->truncated;
		cs_copy(call->recv.base, cs_blocks_at(&call->send, call->root), own < call->bytes ? own : call->bytes);
	}
	return CS_OK;
}

static cs_phase *const scatter_root[] = { put_near, send_far, are_over, NULL };

static enum cs_status
ask_root(struct cs_op *op)
{
	struct bundles *bundles = bundles_of(op);
	bundles->memory = cs_op_memory(op, CS_OP_COPY, bundles->room);
	bundles->wire->recv(bundles->wire, bundles->requests, op->call.root, op->tag, bundles->memory, bundles->room);
	return CS_OK;
}

/* Of a bundle as it came from the root. */
static size_t
bytes_of(struct cs_op *op, const char *bundle)
{
	size_t bytes = head_of(op, op->team->shape.node);
	for (int local = 0; local < op->team->shape.locals; local++)
		bytes += packed(bundles_of(op), size_in(bundle, local));
	return bytes;
}

/* Of the bundle the carrier hands on as little as came. One that others may overtake has reserved the most that could. */
static enum cs_status
hand_on(struct cs_op *op)
{
	struct bundles *bundles = bundles_of(op);
	if (!bundles->is_here && !has_bundle(op, bundles->requests))
		return CS_AGAIN;
	bundles->is_here = true;
	size_t bytes = bytes_of(op, bundles->memory);
	if (!bundles->post.rounds)
		reserve(op, CS_POST_PIECE, bytes);
	if (!cs_post_open(&op->node, &bundles->post))
		return CS_AGAIN;
	memcpy(cs_post_room(&op->node, &bundles->post), bundles->memory, bytes);
	cs_post_publish(&op->node, &bundles->post);
	return CS_OK;
}

/* The own block out of the node's bundle: of the root's node it lies in the root's slot, else in the carrier's. */
static enum cs_status
take_own(struct cs_op *op)
{
	struct bundles *bundles = bundles_of(op);
	struct cs_call *call = &op->call;
	const struct cs_shape *shape = &op->team->shape;
	const char *bundle = bundles->memory;
	int carrier = bundles->is_root_node ? shape->local_of[call->root] : 0;
	if (!bundles->is_carrier) {
		const struct cs_line *line = cs_node_look(&op->node, carrier, 1);
		if (!line)
			return CS_AGAIN;
		bundle = cs_post_find(&op->node, carrier, line, 0, bundles->room, 0);
	}
	uint64_t size = size_in(bundle, shape->local);
	size_t at = head_of(op, shape->node);
	for (int local = 0; local < shape->local; local++)
		if (rank_of(op, shape->node, local) != call->root)
			at += packed(bundles, size_in(bundle, local));
	if (size > call->bytes)
		call->truncated = size;
	if (size <= bundles->most)
		cs_copy(call->recv.base, bundle + at, size < call->bytes ? size : call->bytes);
	else if (size <= call->bytes)
		bundles->wire->recv(bundles->wire, bundles->requests, call->root, op->tag, call->recv.base, call->bytes);
	bundles->size = size;
	cs_node_end(&op->node);
	return CS_OK;
}

static enum cs_status
take_own_alone(struct cs_op *op)
{
	struct bundles *bundles = bundles_of(op);
	return bundles->size <= bundles->most ? CS_OK
					      : take_alone(op, bundles->requests, op->call.root, op->call.recv.base, op->call.bytes,
							   bundles->size);
}

static cs_phase *const scatter_carrier[] = { ask_root, hand_on, take_own, take_own_alone, NULL };
static cs_phase *const scatter_leaf[] = { take_own, take_own_alone, NULL };

void
cs_bundle_scatter(struct cs_op *op, size_t bytes)
{
	struct bundles *bundles = init(op, bytes);
	size_t messages = is_root(op) ? (size_t)(op->team->shape.nodes + op->team->shape.ranks) : 1;
	bundles->requests = cs_op_memory(op, CS_OP_REQUESTS, messages * sizeof *bundles->requests);
	cs_op_start(op, is_root(op) ? scatter_root : bundles->is_carrier ? scatter_carrier : scatter_leaf);
	if (is_root(op)) {
		reserve(op, CS_POST_PIECE, bundle_bytes(op, bundles->root_node));
		cs_node_end_reading(&op->node);
	} else if (bundles->is_carrier && op->node.extras & CS_OP_NONBLOCKING) {
		reserve(op, CS_POST_PIECE, bundles->room);
	}
}

/* --- gatherv -------------------------------------------------------------------------------------------------------- */

/* The own size, and the block if it is not too long, for the carrier or the root. */
static enum cs_status
show_block(struct cs_op *op)
{
	struct cs_post *post = &bundles_of(op)->post;
	if (!cs_post_open(&op->node, post))
		return CS_AGAIN;
	cs_copy(cs_post_room(&op->node, post), op->call.send.base, packed(bundles_of(op), op->call.bytes));
	cs_post_publish(&op->node, post);
	return CS_OK;
}

/* What another local rank has shown: its line says the size, *from is its block if it is not too long. NULL: nothing yet. */
static const struct cs_line *
look_at_block(struct cs_op *op, int local, const char **from)
{
	const struct cs_line *line = cs_node_look(&op->node, local, 1);
	if (line)
		*from = cs_line_bytes(line) <= CS_INLINE ? (const char *)line->data
							  : cs_post_find(&op->node, local, line, 0, bundles_of(op)->room, 0);
	return line;
}

static enum cs_status
collect(struct cs_op *op)
{
	struct cs_team *team = op->team;
	struct bundles *bundles = bundles_of(op);
	if (!bundles->memory) {
		bundles->memory = cs_op_memory(op, CS_OP_COPY, bundles->room);
		bundles->next = bundles->memory + head_of(op, team->shape.node);
	}
	for (; bundles->local < team->shape.locals; bundles->local++) {
		const char *from = op->call.send.base;
		uint64_t size = op->call.bytes;
		if (bundles->local != team->shape.local) {
			const struct cs_line *line = look_at_block(op, bundles->local, &from);
			if (!line)
				return CS_AGAIN;
			size = cs_line_bytes(line);
		}
		memcpy(bundles->memory + (size_t)bundles->local * sizeof size, &size, sizeof size);
		cs_copy(bundles->next, from, packed(bundles, size));
		bundles->next += packed(bundles, size);
	}
	cs_node_end(&op->node);
	bundles->wire->send(bundles->wire, next_request(bundles), op->call.root, op->tag, bundles->memory,
			    (size_t)(bundles->next - bundles->memory));
	return CS_OK;
}

static enum cs_status
send_alone(struct cs_op *op)
{
	struct bundles *bundles = bundles_of(op);
	const struct cs_call *call = &op->call;
	if (call->bytes > bundles->most)
		bundles->wire->send(bundles->wire, next_request(bundles), call->root, op->tag, call->send.base, call->bytes);
	return CS_OK;
}

static cs_phase *const gather_leaf[] = { show_block, send_alone, are_over, NULL };
static cs_phase *const gather_carrier[] = { collect, send_alone, are_over, NULL };

/* A block of `size` bytes of another rank, from `from` if it is not too long; else it is still to come. */
static void
take_block(struct cs_op *op, int rank, uint64_t size, const char *from)
{
	struct bundles *bundles = bundles_of(op);
	struct cs_call *call = &op->call;
	size_t expected = cs_blocks_bytes(&call->recv, rank);
	char *to = cs_blocks_at(&call->recv, rank);
	if (size > expected)
		call->truncated = size;
	if (size <= bundles->most) {
		cs_copy(to, from, size < expected ? size : expected);
		return;
	}
	if (size <= expected)
		bundles->wire->recv(bundles->wire, &bundles->requests[rank], rank, op->tag, to, expected);
	bundles->sizes[rank] = size;
}

static void
take_bundle(struct cs_op *op, int node, const char *bundle)
{
	const char *next = bundle + head_of(op, node);
	for (int local = 0; local < cs_team_node_size(op->team, node); local++) {
		uint64_t size = size_in(bundle, local);
		take_block(op, rank_of(op, node, local), size, next);
		next += packed(bundles_of(op), size);
	}
}

/* A few bundles are under way while the one before them is taken. */
static enum cs_status
take_far(struct cs_op *op)
{
	struct bundles *bundles = bundles_of(op);
	struct cs_wire *wire = bundles->wire;
	struct cs_request *requests = bundles->requests + op->team->shape.ranks; /* behind those of blocks */
	int nodes = op->team->shape.nodes;
	for (; bundles->node < nodes; bundles->node++) {
		for (; bundles->begun < nodes - 1 && bundles->begun < bundles->node - 1 + AT_ONCE; bundles->begun++) {
			int node = (bundles->root_node + 1 + bundles->begun) % nodes, place = bundles->begun % AT_ONCE;
			wire->recv(wire, &requests[place], rank_of(op, node, 0), op->tag,
				   bundles->memory + (size_t)place * bundles->room, bundles->room);
		}
		int place = (bundles->node - 1) % AT_ONCE;
		if (!has_bundle(op, &requests[place]))
			return CS_AGAIN;
		take_bundle(op, (bundles->root_node + bundles->node) % nodes, bundles->memory + (size_t)place * bundles->room);
	}
	return CS_OK;
}

static enum cs_status
take_near(struct cs_op *op)
{
	struct cs_call *call = &op->call;
	struct bundles *bundles = bundles_of(op);
	for (; bundles->local < op->team->shape.locals; bundles->local++) {
		int rank = rank_of(op, bundles->root_node, bundles->local);
		const char *from = NULL;
		const struct cs_line *line = rank != call->root ? look_at_block(op, bundles->local, &from) : NULL;
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
	struct bundles *bundles = bundles_of(op);
	const struct cs_blocks *recv = &op->call.recv;
	for (; bundles->waited < op->team->shape.ranks; bundles->waited++) {
		int rank = bundles->waited;
		if (bundles->sizes[rank] && take_alone(op, &bundles->requests[rank], rank, cs_blocks_at(recv, rank),
							cs_blocks_bytes(recv, rank), bundles->sizes[rank]) == CS_AGAIN)
			return CS_AGAIN;
	}
	return CS_OK;
}

static cs_phase *const gather_root[] = { take_far, take_near, take_all_alone, NULL };

void
cs_bundle_gather(struct cs_op *op, size_t bytes)
{
	struct bundles *bundles = init(op, bytes);
	size_t ranks = (size_t)op->team->shape.ranks, own = op->call.bytes;
	size_t messages = is_root(op) ? ranks + AT_ONCE : 2;
	bundles->requests = cs_op_memory(op, CS_OP_REQUESTS, messages * sizeof *bundles->requests);
	cs_op_start(op, is_root(op) ? gather_root : bundles->is_carrier ? gather_carrier : gather_leaf);
	if (is_root(op)) {
		bundles->memory = cs_op_memory(op, CS_OP_COPY, AT_ONCE * bundles->room);
		bundles->sizes = cs_op_memory(op, CS_OP_SCRATCH, ranks * sizeof *bundles->sizes);
		memset(bundles->sizes, 0, ranks * sizeof *bundles->sizes);
	} else if (!bundles->is_carrier) {
		bool is_inline = own <= CS_INLINE || own > bundles->most;
		reserve(op, is_inline ? CS_POST_INLINE : CS_POST_PIECE, own);
		cs_node_end_reading(&op->node);
	}
}
