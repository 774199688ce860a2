#include "algorithms/hier/rooted.h"

#include "algorithms/node/small.h"

/* --- one node: local ranks are ranks ---------------------------------------------------------- */

/* Bytes of a published block, not more than expected. */
static size_t
agreed_bytes(struct cs_op *op, const struct cs_line *line, size_t expected)
{
	return cs_rounds_lesser(op, cs_line_bytes(line), expected);
}

/* Takes a round of a rank's block at the root. */
static void
gather_get(struct cs_op *op, const struct cs_rounds *exchange, uint64_t round, int rank,
	   const struct cs_line *line)
{
	struct cs_call *call = &op->call;
	size_t chunk = exchange->post.chunk;
	char *to = cs_blocks_at(&call->recv, rank) + round * chunk;
	size_t bytes = agreed_bytes(op, line, cs_blocks_bytes(&call->recv, rank));
	size_t piece = cs_chunks_bytes(bytes, chunk, round);
	if (cs_line_bytes(line) <= CS_INLINE) {
		if (round == 0)
			cs_copy(to, line->data, bytes);
	} else if (cs_post_is_single_copy(line)) {
		if (round == 0)
			cs_node_get_single_copy(&op->node, call->coll, rank, to, line->word[1],
						bytes);
	} else if (piece) {
		cs_copy_out(op, bytes, to, cs_post_find(&op->node, rank, line, round, chunk, 0),
			    piece);
	}
}

static size_t
gather_most(const struct cs_op *op)
{
	return cs_blocks_largest(&op->call.recv, op->team->shape.ranks, op->call.root);
}

static void
gather_keep_own(struct cs_op *op)
{
	struct cs_call *call = &op->call;
	if (call->send.base)
		cs_copy(cs_blocks_at(&call->recv, call->root), call->send.base, call->bytes);
}

static cs_phase *const gather_root_node[] = { cs_rounds_get, cs_rounds_next, NULL };

static void
gather_root(struct cs_op *op)
{
	size_t chunk = op->team->node.shape.slot_bytes;
	cs_rounds_init(op, chunk, gather_get)->takes = cs_chunks_rounds(gather_most(op), chunk);
	cs_rounds_start(op, gather_root_node, 0);
	gather_keep_own(op);
}

/* Gather at the root of blocks that are there in step 1. */
static void
gather_root_fast(struct cs_op *op)
{
	struct cs_call *call = &op->call;
	struct cs_node_at at = cs_op_at(op);
	cs_at_begin(at);
	gather_keep_own(op);
	for (int rank = 0; rank < op->team->shape.ranks; rank++) {
		size_t bytes = cs_blocks_bytes(&call->recv, rank);
		if (rank == call->root || !bytes)
			continue;
		const struct cs_line *line = cs_at_await(at, rank, 1);
		size_t sent = cs_line_bytes(line);
		char *to = cs_blocks_at(&call->recv, rank);
		bytes = agreed_bytes(op, line, bytes);
		if (__builtin_expect(sent > CS_INLINE && cs_post_is_single_copy(line), 0))
			cs_node_get_single_copy(at.op, call->coll, rank, to, line->word[1], bytes);
		else
			cs_copy(to, cs_small_find(op, rank, line, sent), bytes);
	}
	cs_at_end(at);
}

static void
gather_leaf_fast(struct cs_op *op)
{
	struct cs_call *call = &op->call;
	struct cs_node_at at = cs_op_at(op);
	cs_at_begin(at);
	cs_at_end_reading(at);
	struct cs_line *line = cs_at_line(at);
	cs_at_say(at, line, call->bytes);
	cs_small_post(op, at, line, call->send.base, call->bytes);
}

static __attribute__((noinline)) void
gather_leaf(struct cs_op *op, size_t single_copy_from)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	const struct cs_copy_cost cost = { .reader = call->root, .copies_in = 1, .readers = 1,
					   .copies_out = (unsigned)team->shape.ranks - 1 };
	bool is_inline = call->bytes <= CS_INLINE;
	bool is_single_copy = !is_inline &&
			      cs_single_copy_by_copies(op, single_copy_from, call->bytes, &cost) &&
			      cs_node_offer(&op->node, call->send.base, call->bytes);
	cs_rounds_init(op, team->node.shape.slot_bytes, NULL);
	cs_rounds_put_block(op, call->send.base, call->bytes, is_inline, is_single_copy, false);
	cs_rounds_start(op, cs_rounds_post_only, 0);
}

bool
cs_rooted_gather_fast(struct cs_op *op, size_t single_copy_from)
{
	if (op->team->shape.nodes > 1)
		return false;
	if (op->team->shape.rank != op->call.root) {
		if (!cs_small_fits(op, op->call.bytes, single_copy_from))
			return false;
		gather_leaf_fast(op);
		return true;
	}
	if (gather_most(op) > CS_SMALL || !cs_node_is_cut(&op->node, CS_SMALL))
		return false;
	gather_root_fast(op);
	return true;
}

/* Bytes of the size of the whole block, before each piece: a rank that expects less reports it. */
#define PIECE_HEAD sizeof(uint64_t)

/* Bytes of a block per piece, at most. */
static size_t
scatter_chunk(const struct cs_team *team)
{
	return cs_chunks_per_part(team->node.shape.slot_bytes, (size_t)team->shape.ranks) -
	       PIECE_HEAD;
}

/* Bytes of the own block to be taken. */
static size_t
scatter_wanted(struct cs_op *op, size_t sent)
{
	return cs_rounds_lesser(op, sent, op->call.bytes);
}

/* State of a rank other than the root. */
struct scatter_leaf {
	size_t chunk, whole; /* bytes of a piece; of the block, not more than was sent */
	uint64_t round, rounds;
};

static void
scatter_get_inline(struct cs_op *op, const struct cs_line *line)
{
	size_t self = (size_t)op->team->shape.rank;
	size_t each = cs_line_bytes_here(&op->node, line),
	       sent = each < CS_LINE_ROOM ? each : CS_LINE_ROOM;
	size_t offset = self * sent < CS_LINE_ROOM ? self * sent : 0;
	cs_copy(op->call.recv.base, (const char *)&line->word[1] + offset,
		scatter_wanted(op, sent));
}

static void
scatter_get_direct(struct cs_op *op, const struct cs_line *line)
{
	struct cs_call *call = &op->call;
	struct cs_node_op *node = &op->node;
	int self = op->team->shape.rank;
	const struct cs_remote *remote = cs_post_remote(node, call->root, line, self);
	cs_node_get_single_copy(node, call->coll, call->root, call->recv.base, remote->address,
				scatter_wanted(op, remote->bytes));
}

static void
scatter_get_piece(struct cs_op *op, struct scatter_leaf *leaf, const struct cs_line *line)
{
	struct cs_call *call = &op->call;
	uint64_t round = leaf->round;
	const char *from = cs_post_find(&op->node, call->root, line, round, leaf->chunk, 0);
	from += (size_t)op->team->shape.rank * cs_post_stride(leaf->chunk, line);
	if (round == 0) {
		uint64_t sent;
		memcpy(&sent, from, sizeof sent);
		leaf->whole = scatter_wanted(op, sent);
	}
	cs_copy_out(op, leaf->whole, call->recv.base + round * leaf->chunk, from + PIECE_HEAD,
		    cs_chunks_bytes(leaf->whole, leaf->chunk, round));
}

/* Takes a block of at most CS_SMALL bytes that came as a single piece. */
static __attribute__((noinline)) void
scatter_get_small(struct cs_op *op, const struct cs_line *line)
{
	struct scatter_leaf leaf = { .chunk = scatter_chunk(op->team) };
	scatter_get_piece(op, &leaf, line);
}

static enum cs_status
scatter_get(struct cs_op *op)
{
	struct scatter_leaf *leaf = CS_OP_STATE(struct scatter_leaf, op);
	struct cs_node_op *node = &op->node;
	/* Less may have been sent than is expected here. */
	while (leaf->round < leaf->rounds && leaf->round * leaf->chunk < leaf->whole) {
		const struct cs_line *line = cs_node_look(node, op->call.root, leaf->round + 1);
		if (!line)
			return CS_AGAIN;
		bool is_inline = line->word[0] == CS_POST_INLINE,
		     is_whole = is_inline || cs_post_is_single_copy(line);
		if (is_inline)
			scatter_get_inline(op, line);
		else if (is_whole)
			scatter_get_direct(op, line);
		else
			scatter_get_piece(op, leaf, line);
		leaf->round = is_whole ? leaf->rounds : leaf->round + 1;
		if (leaf->round < leaf->rounds)
			cs_node_done(node, leaf->round);
	}
	cs_node_end(node);
	return CS_OK;
}

static cs_phase *const scatter_leaf_node[] = { scatter_get, NULL };

static void
scatter_leaf_open(struct cs_op *op)
{
	size_t chunk = scatter_chunk(op->team);
	*CS_OP_STATE(struct scatter_leaf, op) =
		(struct scatter_leaf){ .chunk = chunk, .whole = SIZE_MAX,
				       .rounds = cs_chunks_rounds(op->call.bytes, chunk) };
}

static void
scatter_leaf(struct cs_op *op)
{
	scatter_leaf_open(op);
	cs_op_start(op, scatter_leaf_node);
}

/* Wait for a block that is not small, after the call has begun. */
static __attribute__((noinline)) void
scatter_leaf_wait(struct cs_op *op)
{
	op->node.area[0].count = op->node.area[1].count = 0; /* for cs_node_end */
	scatter_leaf_open(op);
	cs_op_wait_in(op, scatter_get);
}

static void
scatter_leaf_fast(struct cs_op *op)
{
	struct cs_node_at at = cs_op_at(op);
	cs_at_begin(at);
	if (op->call.bytes) {
		const struct cs_line *line = cs_at_await(at, op->call.root, 1);
		if (line->word[0] == CS_POST_INLINE) {
			scatter_get_inline(op, line);
		} else if (op->call.bytes > CS_SMALL || !cs_small_is(line, SIZE_MAX)) {
			scatter_leaf_wait(op);
			return;
		} else {
			scatter_get_small(op, line);
		}
	}
	cs_at_end(at);
}

/* Scatters small blocks of one size to few ranks, in the line itself. */
static void
scatter_inline(struct cs_op *op, size_t each)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	struct cs_node_at at = cs_op_at(op);
	cs_at_begin(at);
	cs_at_end_reading(at);
	struct cs_line *line = cs_at_line(at);
	cs_at_say(at, line, each);
	line->word[0] = CS_POST_INLINE;
	char *to = (char *)&line->word[1];
	for (int rank = 0; rank < team->shape.ranks; rank++, to += each)
		if (rank != call->root)
			cs_copy(to, cs_blocks_at(&call->send, rank), each);
	cs_at_publish(at, line, 1);
}

struct scatter_sizes {
	size_t most, all; /* of the blocks to other ranks: the largest, all together */
};

static struct scatter_sizes
scatter_sizes_of(const struct cs_op *op)
{
	const struct cs_blocks *blocks = &op->call.send;
	int ranks = op->team->shape.ranks, root = op->call.root;
	if (!blocks->bytes)
		return (struct scatter_sizes){ blocks->each, blocks->each * (size_t)(ranks - 1) };
	struct scatter_sizes sizes = { 0, 0 };
	for (int rank = 0; rank < ranks; rank++) {
		size_t bytes = rank != root ? blocks->bytes[rank] : 0;
		sizes.most = bytes > sizes.most ? bytes : sizes.most;
		sizes.all += bytes;
	}
	return sizes;
}

static void
scatter_keep_own(struct cs_op *op)
{
	struct cs_call *call = &op->call;
	if (call->recv.base)
		cs_copy(call->recv.base, cs_blocks_at(&call->send, call->root), call->bytes);
}

/* Scatters small blocks to more ranks. False: they do not fit a single piece, or are to be read by
 * single copy. */
static __attribute__((noinline)) bool
scatter_small(struct cs_op *op, size_t most, size_t single_copy_from)
{
	struct cs_node_at at = cs_op_at(op);
	size_t stride = cs_rounds_stride(op, most, PIECE_HEAD),
	       span = stride * (size_t)op->team->shape.ranks;
	bool is_small = cs_is_small(op, span);
	if (most > CS_SMALL || (single_copy_from && most >= single_copy_from) ||
	    !(is_small || cs_node_is_cut(at.op, span)))
		return false;
	cs_at_begin(at);
	cs_at_end_reading(at);
	cs_small_post_blocks(op, at, most, PIECE_HEAD, stride);
	return true;
}

static __attribute__((noinline)) void
scatter_root(struct cs_op *op, size_t most, size_t single_copy_from)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	const struct cs_copy_cost cost = { .reader = -1, .copies_out = 1, .readers = 1,
					   .copies_in = (unsigned)team->shape.ranks - 1 };
	bool is_single_copy = cs_rounds_may_single_copy_blocks(team) &&
			      cs_single_copy_by_copies(op, single_copy_from, most, &cost) &&
			      cs_copies_offer(op, &call->send);
	cs_rounds_init(op, scatter_chunk(team), NULL);
	cs_rounds_put_blocks(op, most, PIECE_HEAD, is_single_copy);
	cs_rounds_start(op, cs_rounds_post_only, 0);
}

bool
cs_rooted_scatter_fast(struct cs_op *op, size_t single_copy_from)
{
	if (op->team->shape.nodes > 1)
		return false;
	if (op->team->shape.rank != op->call.root) {
		scatter_leaf_fast(op);
		return true;
	}
	size_t locals = (size_t)op->team->shape.ranks;
	struct scatter_sizes sizes = scatter_sizes_of(op);
	scatter_keep_own(op);
	if (sizes.most * locals <= CS_LINE_ROOM && sizes.all == sizes.most * (locals - 1))
		scatter_inline(op, sizes.most);
	else if (!scatter_small(op, sizes.most, single_copy_from))
		scatter_root(op, sizes.most, single_copy_from);
	return true;
}

void
cs_rooted_gather(struct cs_op *op, bool sizes_known, size_t single_copy_from, size_t senders)
{
	if (op->team->shape.nodes > 1)
		cs_rooted_gather_hier(op, sizes_known, senders);
	else if (op->team->shape.rank == op->call.root)
		gather_root(op);
	else
		gather_leaf(op, single_copy_from);
}

void
cs_rooted_scatter(struct cs_op *op, bool sizes_known, size_t single_copy_from, size_t senders)
{
	if (op->team->shape.nodes > 1) {
		cs_rooted_scatter_hier(op, sizes_known, senders);
	} else if (op->team->shape.rank == op->call.root) {
		scatter_keep_own(op);
		scatter_root(op, scatter_sizes_of(op).most, single_copy_from);
	} else {
		scatter_leaf(op);
	}
}
