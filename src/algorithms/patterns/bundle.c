#include "algorithms/patterns/bundle.h"

#include "algorithms/patterns/exchange.h"
#include "wire/wire.h"

#define AT_ONCE 8 /* bundles that the root receives at the same time */

struct bundles {
	struct cs_op *op;
	struct cs_wire *wire;
	size_t most; /* bytes of a block that travels in a bundle; the same on all ranks */
	int root_node;
	bool is_root_node;
	bool is_carrier; /* of a node that is not the root's: its first rank, which the root talks to */
};

/* Bytes of the largest node's sizes: at most half of a piece of a slot, in which each of its ranks has a line (make_team.c). */
static size_t
head_room(const struct cs_team *team)
{
	return (size_t)team->shape.ppn_max * sizeof(uint64_t);
}

static struct bundles
bundles_of(struct cs_op *op, size_t wanted)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	const struct cs_shape *shape = &team->shape;
	size_t room = team->node.shape.slot_bytes / 4 - head_room(team);
	int root_node = shape->node_of[call->root];
	return (struct bundles){
		.op = op, .wire = team->host->wire(team->everyone),
		.most = (wanted < room ? wanted : room) / (size_t)shape->ppn_max,
		.root_node = root_node,
		.is_root_node = shape->node == root_node,
		.is_carrier = shape->local == 0 && shape->node != root_node,
	};
}

/* Room for a node's bundle. */
static size_t
room_of(const struct bundles *bundles, int node)
{
	return (size_t)cs_team_node_size(bundles->op->team, node) * (sizeof(uint64_t) + bundles->most);
}

static int
rank_of(const struct bundles *bundles, int node, int local)
{
	const struct cs_shape *shape = &bundles->op->team->shape;
	return shape->order[shape->first[node] + local];
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

static void
wait_for(const struct bundles *bundles, struct cs_request *request)
{
	bundles->wire->wait(bundles->wire, request);
	cs_op_note(bundles->op, request->told);
}

static void
receive(const struct bundles *bundles, int rank, void *to, size_t bytes)
{
	struct cs_request request;
	bundles->wire->recv(bundles->wire, &request, rank, bundles->op->tag, to, bytes);
	wait_for(bundles, &request);
}

/* A long block that is longer than expected, as far as there is room for it. */
static void
take_overlong(const struct bundles *bundles, int rank, char *to, size_t expected, uint64_t size)
{
	char *all = cs_op_memory(bundles->op, CS_OP_FAR, size);
	receive(bundles, rank, all, size);
	cs_copy(to, all, expected);
}

/* --- scatterv ------------------------------------------------------------------------------------------------------- */

static size_t
bundle_bytes(const struct bundles *bundles, int node)
{
	int locals = cs_team_node_size(bundles->op->team, node);
	size_t bytes = (size_t)locals * sizeof(uint64_t);
	for (int local = 0; local < locals; local++)
		bytes += packed(bundles, cs_blocks_bytes(&bundles->op->call.send, rank_of(bundles, node, local)));
	return bytes;
}

/* Returns its bytes: at most bundle_bytes, since the root's own block stays with it. */
static size_t
write_bundle(const struct bundles *bundles, int node, char *to)
{
	int locals = cs_team_node_size(bundles->op->team, node);
	char *next = to + (size_t)locals * sizeof(uint64_t);
	for (int local = 0; local < locals; local++) {
		int rank = rank_of(bundles, node, local);
		uint64_t size = cs_blocks_bytes(&bundles->op->call.send, rank);
		memcpy(to + (size_t)local * sizeof size, &size, sizeof size);
		if (rank == bundles->op->call.root)
			continue;
		cs_copy(next, cs_blocks_at(&bundles->op->call.send, rank), packed(bundles, size));
		next += packed(bundles, size);
	}
	return (size_t)(next - to);
}

static void
scatter_root(const struct bundles *bundles)
{
	struct cs_op *op = bundles->op;
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	struct cs_node_op *node = &op->node;
	struct cs_wire *wire = bundles->wire;
	size_t most = (size_t)(team->shape.nodes + team->shape.ranks);
	struct cs_request *requests = cs_op_memory(op, CS_OP_SCRATCH, most * sizeof *requests);
	int count = 0;
	cs_node_begin(node);
	cs_node_end_reading(node);
	struct cs_line *line = cs_node_line(node);
	size_t near = bundle_bytes(bundles, bundles->root_node), far = 0;
	write_bundle(bundles, bundles->root_node, cs_node_cut(node, 1, near, &line->slot));
	cs_node_publish(node, line, 1);

	for (int n = 0; n < team->shape.nodes; n++)
		far += n != bundles->root_node ? bundle_bytes(bundles, n) : 0;
	char *next = cs_op_memory(op, CS_OP_COPY, far);
	for (int n = 0; n < team->shape.nodes; n++) {
		if (n == bundles->root_node)
			continue;
		size_t bytes = write_bundle(bundles, n, next);
		wire->send(wire, &requests[count++], rank_of(bundles, n, 0), op->tag, next, bytes);
		next += bytes;
	}
	for (int rank = 0; rank < team->shape.ranks; rank++) {
		size_t bytes = cs_blocks_bytes(&call->send, rank);
		if (rank != call->root && bytes > bundles->most)
			wire->send(wire, &requests[count++], rank, op->tag, cs_blocks_at(&call->send, rank), bytes);
	}
	if (call->recv.base) {
		size_t own = cs_blocks_bytes(&call->send, call->root);
		call->truncated = own > call->bytes ? own : call->truncated;
		cs_copy(call->recv.base, cs_blocks_at(&call->send, call->root), own < call->bytes ? own : call->bytes);
	}
	for (int i = 0; i < count; i++)
		wait_for(bundles, &requests[i]);
}

/* Of a bundle as it came from the root. */
static size_t
bytes_of(const struct bundles *bundles, const char *bundle)
{
	const struct cs_shape *shape = &bundles->op->team->shape;
	size_t bytes = (size_t)shape->locals * sizeof(uint64_t);
	for (int local = 0; local < shape->locals; local++)
		bytes += packed(bundles, size_in(bundle, local));
	return bytes;
}

/* The own node's bundle: of the root's node it lies in the root's slot, else in the carrier's, as little of it as came. */
static const char *
scattered_bundle(const struct bundles *bundles)
{
	struct cs_op *op = bundles->op;
	struct cs_team *team = op->team;
	struct cs_node_op *node = &op->node;
	if (!bundles->is_carrier) {
		int local = bundles->is_root_node ? team->shape.local_of[op->call.root] : 0;
		const struct cs_line *line = cs_node_await(node, local, 1);
		return cs_node_slot_of(node, local, line->slot, 0);
	}
	size_t room = room_of(bundles, team->shape.node);
	char *bundle = cs_op_memory(op, CS_OP_COPY, room);
	receive(bundles, op->call.root, bundle, room);
	struct cs_line *line = cs_node_line(node);
	size_t bytes = bytes_of(bundles, bundle);
	memcpy(cs_node_cut(node, 1, bytes, &line->slot), bundle, bytes);
	cs_node_publish(node, line, 1);
	return bundle;
}

static void
scatter_leaf(const struct bundles *bundles)
{
	struct cs_op *op = bundles->op;
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	cs_node_begin(&op->node);
	const char *bundle = scattered_bundle(bundles);
	uint64_t size = size_in(bundle, team->shape.local);
	size_t at = (size_t)team->shape.locals * sizeof size;
	for (int local = 0; local < team->shape.local; local++)
		if (rank_of(bundles, team->shape.node, local) != call->root)
			at += packed(bundles, size_in(bundle, local));
	if (size > call->bytes)
		call->truncated = size;
	if (size <= bundles->most)
		cs_copy(call->recv.base, bundle + at, size < call->bytes ? size : call->bytes);
	cs_node_end(&op->node);
	if (size <= bundles->most)
		return;
	if (size > call->bytes)
		take_overlong(bundles, call->root, call->recv.base, call->bytes, size);
	else
		receive(bundles, call->root, call->recv.base, call->bytes);
}

void
cs_bundle_scatter(struct cs_op *op, size_t bytes)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	bool is_root = team->shape.rank == call->root;
	struct bundles bundles = bundles_of(op, bytes);
	if (is_root)
		scatter_root(&bundles);
	else
		scatter_leaf(&bundles);
}

/* --- gatherv -------------------------------------------------------------------------------------------------------- */

/* The own size, and the block if it is not too long, for the carrier or the root. */
static void
show_block(const struct bundles *bundles)
{
	const struct cs_call *call = &bundles->op->call;
	struct cs_node_op *node = &bundles->op->node;
	struct cs_line *line = cs_node_line(node);
	cs_line_say(node, line, call->bytes);
	if (call->bytes <= CS_INLINE)
		cs_copy(line->data, call->send.base, call->bytes);
	else if (call->bytes <= bundles->most)
		cs_copy(cs_node_cut(node, 1, call->bytes, &line->slot), call->send.base, call->bytes);
	cs_node_publish(node, line, 1);
}

/* What another local rank has shown: its size, and *from its block if it is not too long. */
static uint64_t
look_at_block(const struct bundles *bundles, int local, const char **from)
{
	struct cs_node_op *node = &bundles->op->node;
	const struct cs_line *line = cs_node_await(node, local, 1);
	uint64_t size = cs_line_bytes(line);
	*from = size <= CS_INLINE ? (const char *)line->data : cs_node_slot_of(node, local, line->slot, 0);
	return size;
}

static void
send_bundle(const struct bundles *bundles, struct cs_request *request)
{
	struct cs_op *op = bundles->op;
	struct cs_team *team = op->team;
	int locals = team->shape.locals;
	char *bundle = cs_op_memory(op, CS_OP_COPY, room_of(bundles, team->shape.node));
	char *next = bundle + (size_t)locals * sizeof(uint64_t);
	for (int local = 0; local < locals; local++) {
		const char *from = op->call.send.base;
		uint64_t size = op->call.bytes;
		if (local != team->shape.local)
			size = look_at_block(bundles, local, &from);
		memcpy(bundle + (size_t)local * sizeof size, &size, sizeof size);
		cs_copy(next, from, packed(bundles, size));
		next += packed(bundles, size);
	}
	cs_node_end(&op->node);
	bundles->wire->send(bundles->wire, request, op->call.root, op->tag, bundle, (size_t)(next - bundle));
}

static void
gather_leaf(const struct bundles *bundles)
{
	const struct cs_call *call = &bundles->op->call;
	struct cs_wire *wire = bundles->wire;
	struct cs_node_op *node = &bundles->op->node;
	struct cs_request of_bundle, of_block;
	cs_node_begin(node);
	if (bundles->is_carrier) {
		send_bundle(bundles, &of_bundle);
	} else {
		cs_node_end_reading(node);
		show_block(bundles);
	}
	if (call->bytes > bundles->most)
		wire->send(wire, &of_block, call->root, bundles->op->tag, call->send.base, call->bytes);
	if (bundles->is_carrier)
		wait_for(bundles, &of_bundle);
	if (call->bytes > bundles->most)
		wait_for(bundles, &of_block);
}

/* A block of `size` bytes of another rank, from `from` if it is not too long. Is it still to be waited for? */
static bool
take_block(const struct bundles *bundles, struct cs_request *request, int rank, uint64_t size, const char *from)
{
	struct cs_call *call = &bundles->op->call;
	size_t expected = cs_blocks_bytes(&call->recv, rank);
	char *to = cs_blocks_at(&call->recv, rank);
	if (size > expected)
		call->truncated = size;
	bool is_long = size > bundles->most && size <= expected;
	if (is_long)
		bundles->wire->recv(bundles->wire, request, rank, bundles->op->tag, to, expected);
	else if (size > bundles->most)
		take_overlong(bundles, rank, to, expected, size);
	else
		cs_copy(to, from, size < expected ? size : expected);
	return is_long;
}

static void
take_bundle(const struct bundles *bundles, int node, const char *bundle, struct cs_request *requests, bool *is_long)
{
	int locals = cs_team_node_size(bundles->op->team, node);
	const char *next = bundle + (size_t)locals * sizeof(uint64_t);
	for (int local = 0; local < locals; local++) {
		uint64_t size = size_in(bundle, local);
		int rank = rank_of(bundles, node, local);
		is_long[rank] = take_block(bundles, &requests[rank], rank, size, next);
		next += packed(bundles, size);
	}
}

static void
gather_root(const struct bundles *bundles)
{
	struct cs_op *op = bundles->op;
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	struct cs_wire *wire = bundles->wire;
	int nodes = team->shape.nodes, ranks = team->shape.ranks;
	size_t room = head_room(team) + (size_t)team->shape.ppn_max * bundles->most;
	char *memory = cs_op_memory(op, CS_OP_COPY, AT_ONCE * room);
	/* By rank, of long blocks. */
	struct cs_request *requests = cs_op_memory(op, CS_OP_SCRATCH, (size_t)ranks * (sizeof *requests + sizeof(bool)));
	bool *is_long = (bool *)(requests + ranks);
	struct cs_request bundle_requests[AT_ONCE];
	memset(is_long, 0, (size_t)ranks * sizeof *is_long);
	cs_node_begin(&op->node);
	/* Nodes are counted from the own one. A few bundles are under way while the one before them is taken. */
	int asked = 1;
	for (int n = 1; n < nodes; n++) {
		for (; asked < nodes && asked < n + AT_ONCE; asked++) {
			int node = (bundles->root_node + asked) % nodes;
			wire->recv(wire, &bundle_requests[asked % AT_ONCE], rank_of(bundles, node, 0), op->tag,
				   memory + (size_t)(asked % AT_ONCE) * room, room);
		}
		wait_for(bundles, &bundle_requests[n % AT_ONCE]);
		take_bundle(bundles, (bundles->root_node + n) % nodes, memory + (size_t)(n % AT_ONCE) * room, requests, is_long);
	}
	for (int local = 0; local < team->shape.locals; local++) {
		const char *from;
		int rank = rank_of(bundles, bundles->root_node, local);
		if (rank == call->root)
			continue;
		uint64_t size = look_at_block(bundles, local, &from);
		is_long[rank] = take_block(bundles, &requests[rank], rank, size, from);
	}
	cs_node_end(&op->node);
	if (call->send.base)
		cs_copy(cs_blocks_at(&call->recv, call->root), call->send.base, call->bytes);
	for (int rank = 0; rank < ranks; rank++)
		if (is_long[rank])
			wait_for(bundles, &requests[rank]);
}

void
cs_bundle_gather(struct cs_op *op, size_t bytes)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	bool is_root = team->shape.rank == call->root;
	struct bundles bundles = bundles_of(op, bytes);
	if (is_root)
		gather_root(&bundles);
	else
		gather_leaf(&bundles);
}
