#include "algorithms/hier/node_allgather.h"
#include "algorithms/hier/between.h"

#include "algorithms/node/rounds.h"
#include "algorithms/hier/hier.h"
#include "algorithms/node/small.h"
#include "algorithms/slice.h"

static const char *
own_block(struct cs_op *op)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	return call->send.base ? call->send.base : cs_blocks_at(&call->recv, team->shape.rank);
}

static void
get(struct cs_op *op, const struct cs_rounds *exchange, uint64_t round, int local,
    const struct cs_line *line)
{
	struct cs_call *call = &op->call;
	int rank = cs_team_local_rank(op->team, local);
	size_t chunk = exchange->post.chunk, at = round * chunk,
	       block = cs_blocks_bytes(&call->recv, rank);
	block = cs_rounds_lesser(op, cs_line_bytes(line), block);
	char *to = cs_blocks_at(&call->recv, rank) + at;
	if (at >= block)
		return; /* its owner has no more */
	if (exchange->post.way == CS_POST_INLINE)
		cs_copy(to, line->data, block);
	else if (!cs_post_is_single_copy(line))
		cs_copy_result(op, to,
			       cs_post_find(&op->node, local, line, round, chunk,
					    cs_post_pieces(&op->team->node, chunk)),
			       cs_chunks_bytes(block, chunk, round));
	else if (round == 0 && !cs_post_is_there(line, to, block))
		cs_node_read(&op->node, local, to, line->word[1], block);
}

/* Copies the own piece to the result after its post, while this core has it in its cache and no
 * rank waits for it. */
static enum cs_status
keep_own(struct cs_op *op)
{
	struct cs_rounds *exchange = CS_OP_STATE(struct cs_rounds, op);
	struct cs_call *call = &op->call;
	size_t at = exchange->taken * exchange->post.chunk;
	if (call->send.base && !exchange->is_open)
		cs_copy_result(op, cs_blocks_at(&call->recv, op->team->shape.rank) + at,
			       call->send.base + at,
			       cs_chunks_bytes(call->bytes, exchange->post.chunk, exchange->taken));
	return CS_OK;
}

static cs_phase *const allgather_node[] = { cs_rounds_open, cs_rounds_post, keep_own,
					    cs_rounds_get, cs_rounds_next, cs_rounds_be_read,
					    NULL };

static void
copy_own(struct cs_op *op)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	if (call->send.base)
		cs_copy(cs_blocks_at(&call->recv, team->shape.rank), call->send.base, call->bytes);
}

/* Allgather of blocks in lines (flag and block in one cache line) or of small ones, on one node:
 * local ranks are ranks. */
static inline __attribute__((always_inline)) void
small_blocks(struct cs_op *op, bool are_inline)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	int ranks = team->shape.ranks, self = team->shape.rank;
	struct cs_node_at at = cs_op_at(op);
	cs_at_begin(at);
	struct cs_line *line = cs_at_line(at);
	cs_at_say(at, line, call->bytes);
	if (are_inline) {
		cs_copy(line->data, own_block(op), call->bytes);
		cs_at_publish(at, line, 1);
	} else if (call->bytes) {
		cs_small_post_copied(op, line, own_block(op), call->bytes);
	}
	copy_own(op);
	for (int i = 1; i < ranks; i++) {
		int rank = self + i < ranks ? self + i : self + i - ranks;
		if (!are_inline && !cs_blocks_bytes(&call->recv, rank))
			continue; /* it publishes nothing */
		const struct cs_line *other = cs_at_await(at, rank, 1);
		size_t bytes = cs_blocks_bytes(&call->recv, rank),
		       sent = cs_line_bytes_here(at.op, other);
		if (__builtin_expect(sent != bytes, 0))
			bytes = cs_rounds_lesser(op, sent, bytes);
		/* If a block is too long for a line, none is in a line. */
		const char *from = are_inline ? (const char *)other->data
					      : cs_node_slot_of(at.op, rank, other->slot, 0);
		cs_copy(cs_blocks_at(&call->recv, rank), from, bytes);
	}
	cs_at_end(at);
}

/* Is the own block's place in the result in a shared window? It is put there at once, since ranks
 * with the same result then have it, and read by the others. */
static bool
puts_in_shared(struct cs_op *op)
{
	struct cs_call *call = &op->call;
	if (!cs_op_may_single_copy(op) || !call->bytes ||
	    !cs_shared_find(cs_blocks_at(&call->recv, op->team->shape.rank), call->bytes).file)
		return false;
	copy_own(op);
	call->send.base = NULL; /* in place */
	return true;
}

static __attribute__((noinline)) void
one_node(struct cs_op *op, size_t most, size_t wanted_chunk, size_t single_copy_from)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	size_t room = team->node.shape.slot_bytes,
	       chunk = wanted_chunk < room ? wanted_chunk : room;
	struct cs_rounds *exchange = cs_rounds_init(op, chunk, get);
	bool is_inline = most <= CS_INLINE;
	bool is_chosen = !is_inline && cs_single_copy_by_calls(op, single_copy_from, call->bytes,
							       (size_t)team->shape.ranks - 1);
	bool is_single_copy = (is_chosen || (!is_inline && puts_in_shared(op))) &&
			      cs_node_offer(&op->node, own_block(op), call->bytes);
	exchange->takes = cs_chunks_rounds(most, chunk);
	/* The way of others' blocks, if there is no own one */
	exchange->post.way = is_inline ? CS_POST_INLINE : CS_POST_RING;
	if (call->bytes || is_inline)
		cs_rounds_put_block(op, own_block(op), call->bytes, is_inline, is_single_copy,
				      true);
	cs_rounds_start(op, allgather_node, 1);
}

/* --- several nodes ----------------------------------------------------------------------------
 *
 * The area holds the round's pieces node by node; node n's part is the pieces of its ranks. With
 * several lanes each lane's rank exchanges its slice of every node's part. With several senders the
 * own node's part comes first, as Bruck's rounds have it: they send from the area and into it. */

static size_t
total(struct cs_op *op)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	size_t bytes = call->recv.bytes ? 0 : call->recv.each * (size_t)team->shape.ranks;
	for (int rank = 0; call->recv.bytes && rank < team->shape.ranks; rank++)
		bytes += cs_blocks_bytes(&call->recv, rank);
	return bytes;
}

struct several {
	struct cs_hier hier;
	struct cs_chunks_part window; /* of the round at hand */
	size_t limit, room; /* bytes of all blocks in a round: at most; of its slot */
	bool is_whole;      /* a round is the result */
	bool is_by_host;    /* the copy-out */
	/* By node, in the operation's memory: its part in the area; this lane's slice of that. */
	size_t *bytes, *at, *lane_bytes, *lane_at;
	size_t total, own_at;
	int first_node; /* whose part comes first */
	int block;      /* next one to be taken, and its place in the round */
	size_t block_at;
};

static struct several *
several_of(struct cs_op *op)
{
	return CS_OP_STATE(struct several, op);
}

static void
next_window(const struct cs_op *op, struct several *several)
{
	several->window.at += several->window.most;
	several->window.most =
		cs_chunks_fair(op->call.recv.bytes, op->team->shape.ranks, several->window.at,
			       several->limit);
}

static void
lay_out(struct cs_op *op, struct cs_hier_round *round)
{
	struct several *several = several_of(op);
	struct cs_team *team = op->team;
	const struct cs_shape *shape = &team->shape;
	int own = shape->position[shape->rank];
	if (round->index)
		next_window(op, several);
	round->room = several->room;
	several->total = 0;
	for (int i = 0; i < shape->nodes; i++) {
		int n = (several->first_node + i) % shape->nodes;
		several->at[n] = several->total;
		for (int p = shape->first[n]; p < shape->first[n + 1]; p++) {
			if (p == own)
				several->own_at = several->total;
			several->total += cs_chunks_part_bytes(
				cs_blocks_bytes(&op->call.recv, shape->order[p]), several->window);
		}
		several->bytes[n] = several->total - several->at[n];
		size_t first = 0;
		several->lane_bytes[n] =
			cs_hier_has_senders(op) ? several->bytes[n]
			: several->hier.drives ? cs_slice(several->bytes[n], 1, several->hier.lanes,
							  team->lane, &first) : 0;
		several->lane_at[n] = several->at[n] + first;
	}
	round->count = several->total;
}

static enum cs_status
bring(struct cs_op *op)
{
	struct several *several = several_of(op);
	cs_copy_in(op, cs_hier_now(&several->hier)->area[0] + several->own_at,
		   own_block(op) + several->window.at,
		   cs_chunks_part_bytes(op->call.bytes, several->window));
	cs_hier_is_here(op);
	return CS_OK;
}

static void
between(struct cs_op *op, struct cs_hier_round *round)
{
	struct several *several = several_of(op);
	cs_between_allgatherv(op, round->area[0], several->lane_bytes, several->lane_at);
}

/* All hear the leader's size with what it tells, unless that may be small data. */
static unsigned
grow(struct cs_op *op, struct cs_tree *tree)
{
	tree->sizes = CS_TREE_VECTOR;
	tree->each = tree->stride = 0;
	return cs_hier_grow(op, tree);
}

static void
tell(struct cs_op *op, struct cs_line *line)
{
	struct several *several = several_of(op);
	size_t bytes = total(op);
	if (several->hier.by_tree)
		several->hier.tree->stride = bytes > CS_SMALL ? bytes : 0;
	else
		cs_line_say(&op->node, line, bytes);
}

/* Node 0's part, and what follows it, then what is before it. */
static void
take_whole(struct cs_op *op, const char *from, size_t at, size_t bytes)
{
	const struct several *several = several_of(op);
	size_t before = several->at[0], end = at + bytes,
	       low = at > before ? at : before, first = end < before ? end : before;
	char *to = op->call.recv.base;
	if (end > before)
		cs_copy_result(op, to + low - before, from + (low - at), end - low);
	if (at < first)
		cs_copy_result(op, to + several->total - before + at, from, first - at);
}

static void
take_part(struct cs_op *op, const struct cs_hier_round *round, const char *from, size_t at,
	  size_t bytes)
{
	struct several *several = several_of(op);
	struct cs_call *call = &op->call;
	const struct cs_shape *shape = &op->team->shape;
	size_t end = at + bytes;
	(void)round;
	if (several->is_whole) {
		take_whole(op, from, at, bytes);
		return;
	}
	/* Blocks of one size, of which many virtual ranks copy many: counted at once. */
	bool is_counted = cs_node_is_watched(&op->node) && !call->recv.bytes && call->send.base;
	if (is_counted && !cs_counted_work(op, CS_COUNTED_COPY, bytes))
		return;
	if (!at)
		several->block = 0, several->block_at = 0;
	for (; several->block < shape->ranks; several->block++) {
		int rank = shape->order[(shape->first[several->first_node] + several->block) %
					shape->ranks];
		size_t begins = several->block_at,
		       ends = begins + cs_chunks_part_bytes(cs_blocks_bytes(&call->recv, rank),
							    several->window),
		       low = begins > at ? begins : at, high = ends < end ? ends : end;
		char *to = cs_blocks_at(&call->recv, rank) + several->window.at + (low - begins);
		if (low < high && is_counted)
			cs_copy(to, from + (low - at), high - low);
		else if (low < high && (rank != shape->rank || call->send.base))
			cs_copy_result(op, to, from + (low - at), high - low);
		if (ends > end)
			break; /* the next part begins in this block */
		several->block_at = ends;
	}
}

static void
take(struct cs_op *op, const struct cs_hier_round *round)
{
	struct several *several = several_of(op);
	if (several->is_by_host)
		cs_copy_out_by_host(op, cs_team_leader(op->team), round->area[0],
				    op->call.recv.base, several->total);
	else
		take_part(op, round, round->area[0], 0, several->total);
}

/* For blocks of one size. */
static void
write_round(struct cs_op *op, const struct cs_hier_round *round)
{
	const struct several *several = several_of(op);
	const struct cs_shape *shape = &op->team->shape;
	const char *from = round->area[0];
	size_t each = op->call.recv.each, piece = cs_chunks_part_bytes(each, several->window),
	       before = several->at[0];
	if (several->is_whole) {
		cs_hier_write(op, 0, from + before, several->total - before);
		cs_hier_write(op, several->total - before, from, before);
	}
	for (int i = 0; i < shape->ranks && !several->is_whole; i++, from += piece) {
		int p = (shape->first[several->first_node] + i) % shape->ranks;
		cs_hier_write(op, (size_t)shape->order[p] * each + several->window.at, from, piece);
	}
}

static const struct cs_hier_kind allgather_hier = { .areas = 1, .lay_out = lay_out, .bring = bring,
						    .grow = grow, .between = between, .tell = tell,
						    .take = take, .take_part = take_part,
						    .shares = true, .write = write_round };

static uint64_t
count_rounds(const struct cs_op *op, const struct several *several, size_t most)
{
	struct several counted = *several;
	uint64_t rounds = 0;
	if (!op->call.recv.bytes)
		return cs_chunks_rounds(most, several->window.most);
	for (; counted.window.at < most; next_window(op, &counted))
		rounds++;
	return rounds;
}

static size_t
most_of(struct cs_op *op)
{
	return cs_blocks_largest(&op->call.recv, op->team->shape.ranks, -1);
}

static void
cut_for_nodes(struct cs_op *op, size_t most, size_t wire_chunk)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	const struct cs_shape *shape = &team->shape;
	size_t limit = wire_chunk < team->node.shape.area_bytes
		       ? wire_chunk : team->node.shape.area_bytes;
	/* A byte of each block fits in any case: the area holds larger tables
	 * (comm/teams/shape.c). */
	limit = limit > (size_t)shape->ranks ? limit : (size_t)shape->ranks;
	size_t *work = cs_op_nodes(op), nodes = (size_t)shape->nodes;
	struct several *several = several_of(op);
	several->bytes = work;
	several->at = work + nodes;
	several->lane_bytes = work + 2 * nodes;
	several->lane_at = work + 3 * nodes;
	several->limit = limit;
	several->window = (struct cs_chunks_part){ 0, cs_chunks_fair(call->recv.bytes, shape->ranks,
								     0, limit) };
	bool is_one_round = several->window.most >= most;
	size_t all = most * (size_t)shape->ranks;
	several->is_whole = !call->recv.bytes && is_one_round && shape->is_block_placed;
	several->room = is_one_round && all < limit ? all : limit;
	several->hier.rounds = count_rounds(op, several, most);
	cs_node_expect(&op->node, several->hier.rounds, 3);
}

static __attribute__((noinline)) void
several_nodes(struct cs_op *op, size_t most, size_t wire_chunk, size_t wanted_lanes,
	      size_t wanted_senders, size_t out)
{
	struct several *several = several_of(op);
	size_t all = total(op);
	cut_for_nodes(op, most, wire_chunk);
	several->is_by_host = several->is_whole && cs_copy_out_is_by_host(op, out);
	const struct cs_hier_senders senders =
		{ .count = cs_hier_senders(op, several->is_by_host ? 1 : wanted_senders, 0,
					   several->hier.rounds),
		  .are_heard = true };
	several->first_node = senders.count > 1 ? op->team->shape.node : 0;
	if (senders.count > 1)
		cs_hier_start_by_senders(op, &allgather_hier, &senders, cs_hier_script,
					 CS_HIER_SCRIPT_ROUND);
	else
		cs_hier_start_by_lanes(op, &allgather_hier, all, wanted_lanes);
	if (!several->is_by_host && !op->call.recv.bytes)
		cs_hier_share(op, op->call.recv.base, all, true);
	cs_copy_out_begin(op, out, all, several->limit, cs_team_leader(op->team));
}

static __attribute__((noinline)) bool
fast_beyond_a_line(struct cs_op *op, size_t most, size_t single_copy_from)
{
	if (!cs_small_fits(op, most, single_copy_from))
		return false;
	small_blocks(op, false);
	return true;
}

bool
cs_node_allgather_fast(struct cs_op *op, const size_t *params)
{
	if (op->team->shape.nodes > 1)
		return false;
	size_t most = most_of(op);
	if (most > CS_INLINE)
		return fast_beyond_a_line(op, most, params[CS_SPREAD_CMA_MIN]);
	small_blocks(op, true);
	return true;
}

void
cs_node_allgather(struct cs_op *op, const size_t *params)
{
	size_t most = most_of(op);
	if (op->team->shape.nodes > 1)
		several_nodes(op, most, params[CS_SPREAD_WIRE_CHUNK], params[CS_SPREAD_LANES],
			      params[CS_SPREAD_SENDERS], params[CS_SPREAD_OUT]);
	else
		one_node(op, most, params[CS_SPREAD_CHUNK], params[CS_SPREAD_CMA_MIN]);
}
