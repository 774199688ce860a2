/* node/rounds.c — phases of rounds on one node. */
#include "algorithms/node/rounds.h"

/* bytes, at least: a smaller gap between two blocks lies in their pages */
#define PAGE 4096

bool
cs_copies_offer(struct cs_op *op, const struct cs_blocks *blocks)
{
	struct cs_team *team = op->team;
	const char *from = NULL, *to = NULL; /* blocks that lie one behind the other are tried as
					      * one */
	for (int rank = 0; rank < team->shape.ranks; rank++) {
		const char *block = cs_blocks_at(blocks, rank);
		size_t bytes = cs_blocks_bytes(blocks, rank);
		if (!bytes)
			continue;
		if (!from || block < to || block >= to + PAGE) {
			if (from && !cs_node_offer(&op->node, from, (size_t)(to - from)))
				return false;
			from = block;
		}
		to = block + bytes;
	}
	return cs_node_offer(&op->node, from, (size_t)(to - from));
}

struct cs_rounds *
cs_rounds_init(struct cs_op *op, size_t chunk,
		 void (*get)(struct cs_op *, const struct cs_rounds *, uint64_t, int,
			     const struct cs_line *))
{
	struct cs_rounds *exchange = CS_OP_STATE(struct cs_rounds, op);
	exchange->post.chunk = chunk;
	exchange->post.rounds = exchange->post.posted = 0;
	exchange->post.stride = 0;
	exchange->post.last = 0;
	exchange->takes = 0;
	exchange->get = get;
	exchange->head = 0;
	return exchange;
}

static void
fill_block(struct cs_op *op, const struct cs_rounds *exchange, uint64_t round, char *slot)
{
	size_t chunk = exchange->post.chunk;
	cs_copy_in(op, slot, exchange->own + round * chunk,
		   cs_chunks_bytes(exchange->post.bytes, chunk, round));
}

void
cs_rounds_put_block(struct cs_op *op, const char *block, size_t bytes, bool is_inline,
		      bool is_single_copy, bool shares)
{
	struct cs_rounds *exchange = CS_OP_STATE(struct cs_rounds, op);
	struct cs_post *post = &exchange->post;
	uint64_t rounds = cs_chunks_rounds(bytes, post->chunk);
	post->way = cs_post_choose(&op->node, bytes, rounds, is_inline, is_single_copy,
				   cs_is_small(op, bytes));
	post->rounds = post->way == CS_POST_RING ? rounds : 1;
	post->bytes = post->span = bytes;
	post->pieces = shares && rounds > 1 ? cs_post_pieces(&op->team->node, post->chunk) : 0;
	post->address = is_single_copy ? (uint64_t)(uintptr_t)block : 0;
	exchange->own = block;
	exchange->fill = is_single_copy ? NULL : fill_block;
}

/* Write a round of a block for each other local rank. */
static void
fill_blocks(struct cs_op *op, const struct cs_rounds *exchange, uint64_t round, char *slot)
{
	const struct cs_blocks *blocks = &op->call.send;
	const struct cs_post *post = &exchange->post;
	for (int local = 0; local < op->team->node.shape.size; local++) {
		int rank = cs_team_local_rank(op->team, local);
		const char *block = cs_blocks_at(blocks, rank);
		uint64_t bytes = cs_blocks_bytes(blocks, rank);
		char *to = slot + (size_t)local * post->stride;
		if (local == op->team->node.shape.local)
			continue;
		if (post->way == CS_POST_SINGLE_COPY) {
			((struct cs_remote *)(void *)slot)[local] =
				(struct cs_remote){ (uint64_t)(uintptr_t)block, bytes };
			continue;
		}
		if (exchange->head)
			memcpy(to, &bytes, sizeof bytes);
		cs_copy_in(op, to + exchange->head, block + round * post->chunk,
			   cs_chunks_bytes(bytes, post->chunk, round));
	}
}

void
cs_rounds_put_blocks(struct cs_op *op, size_t most, size_t head, bool is_single_copy)
{
	struct cs_rounds *exchange = CS_OP_STATE(struct cs_rounds, op);
	struct cs_post *post = &exchange->post;
	size_t parts = (size_t)op->team->node.shape.size, chunk = post->chunk,
	       close = cs_rounds_stride(op, most, head);
	bool is_small = most <= chunk && cs_is_small(op, close * parts);
	post->rounds = is_single_copy ? 1 : cs_chunks_rounds(most, chunk);
	post->bytes = most;
	post->stride = is_small || (most < chunk && close < chunk + head) ? close : chunk + head;
	post->span = is_single_copy ? parts * sizeof(struct cs_remote) : post->stride * parts;
	post->way = cs_post_choose(&op->node, post->span, post->rounds, false, is_single_copy,
				   is_small);
	post->pieces = 0;
	post->address = 0;
	exchange->head = head;
	exchange->fill = fill_blocks;
}

void
cs_rounds_start(struct cs_op *op, cs_phase *const *script, int first)
{
	struct cs_rounds *exchange = CS_OP_STATE(struct cs_rounds, op);
	struct cs_node_op *node = &op->node;
	uint64_t rounds = exchange->post.rounds;
	cs_node_expect(node, rounds > exchange->takes ? rounds : exchange->takes, 1);
	cs_op_start(op, script);
	cs_post_reserve(node, &exchange->post, op->node.extras & CS_OP_NONBLOCKING);
	/* A rank that reads nothing is done at once, so that ranks that wait for a slot do not wait
	 * in a circle. */
	if (!exchange->takes)
		cs_node_end_reading(node);
	exchange->again = script + first;
	exchange->taken = 0;
	exchange->pending = NULL;
	exchange->is_open = false;
}

enum cs_status
cs_rounds_open(struct cs_op *op)
{
	struct cs_rounds *exchange = CS_OP_STATE(struct cs_rounds, op);
	return !exchange->post.rounds || cs_post_open(&op->node, &exchange->post)
	       ? CS_OK : CS_AGAIN;
}

enum cs_status
cs_rounds_post(struct cs_op *op)
{
	struct cs_rounds *exchange = CS_OP_STATE(struct cs_rounds, op);
	struct cs_post *post = &exchange->post;
	while (post->posted < post->rounds) {
		char *room = cs_post_room(&op->node, post);
		if (!room)
			return exchange->taken == exchange->takes || post->posted <= exchange->taken
			       ? CS_AGAIN : CS_OK;
		if (exchange->fill)
			exchange->fill(op, exchange, post->posted, room);
		cs_post_publish(&op->node, post);
	}
	return CS_OK;
}

/* Note the local ranks whose blocks have bytes in this round. */
static void
open_round(struct cs_op *op, struct cs_rounds *exchange)
{
	struct cs_team *team = op->team;
	int locals = team->node.shape.size;
	size_t words = (size_t)(locals + 63) / 64;
	if (!exchange->pending)
		exchange->pending = words <= CS_EXCHANGE_WORDS
					    ? exchange->few
					    : cs_op_memory(op, CS_OP_PENDING,
							   words * sizeof *exchange->pending);
	memset(exchange->pending, 0, words * sizeof *exchange->pending);
	for (int local = 0; local < locals; local++)
		if (local != team->node.shape.local &&
		    cs_chunks_bytes(
			    cs_blocks_bytes(&op->call.recv, cs_team_local_rank(team, local)),
			    exchange->post.chunk, exchange->taken))
			exchange->pending[local / 64] |= UINT64_C(1) << local % 64;
	exchange->is_open = true;
}

/* Has this local rank published the round, or no bytes for it? If its memory is to be read, may one
 * more rank do so? */
static bool
is_there(struct cs_op *op, const struct cs_rounds *exchange, int local,
	 const struct cs_line *line)
{
	uint64_t round = exchange->taken;
	if (cs_post_is_single_copy(line))
		return round || !cs_node_is_crowded(&op->node, local);
	return !round || round * exchange->post.chunk >= cs_line_bytes(line) ||
	       cs_node_look(&op->node, local, round + 1);
}

/* Get the published rounds of the local ranks [from, to). False: one is missing, and the first of
 * these is awaited unless another one is already. */
static bool
get_from(struct cs_op *op, struct cs_rounds *exchange, int from, int to, bool is_all)
{
	struct cs_awaited first = op->node.awaited;
	for (int local = from; local < to; local++) {
		uint64_t *word = &exchange->pending[local / 64], bit = UINT64_C(1) << local % 64;
		if (!(*word & bit))
			continue;
		const struct cs_line *line = cs_node_look(&op->node, local, 1);
		if (line && is_there(op, exchange, local, line)) {
			exchange->get(op, exchange, exchange->taken, local, line);
			*word &= ~bit;
			continue;
		}
		if (is_all)
			first = op->node.awaited;
		is_all = false;
	}
	op->node.awaited = first;
	return is_all;
}

enum cs_status
cs_rounds_get(struct cs_op *op)
{
	struct cs_rounds *exchange = CS_OP_STATE(struct cs_rounds, op);
	int self = op->team->node.shape.local, locals = op->team->node.shape.size;
	if (exchange->taken == exchange->takes)
		return CS_OK;
	if (!exchange->is_open)
		open_round(op, exchange);
	return get_from(op, exchange, 0, self, get_from(op, exchange, self + 1, locals, true))
	       ? CS_OK : CS_AGAIN;
}

enum cs_status
cs_rounds_next(struct cs_op *op)
{
	struct cs_rounds *exchange = CS_OP_STATE(struct cs_rounds, op);
	struct cs_node_op *node = &op->node;
	exchange->is_open = false;
	if (exchange->taken < exchange->takes && ++exchange->taken < exchange->takes)
		cs_node_done(node, exchange->taken);
	else if (exchange->post.posted < exchange->post.rounds)
		cs_node_end_reading(node);
	else
		cs_node_end(node);
	if (exchange->taken < exchange->takes || exchange->post.posted < exchange->post.rounds)
		op->phase = exchange->again;
	return CS_OK;
}

enum cs_status
cs_rounds_be_read(struct cs_op *op)
{
	struct cs_rounds *exchange = CS_OP_STATE(struct cs_rounds, op);
	struct cs_node_op *node = &op->node;
	return !exchange->post.rounds || exchange->post.way != CS_POST_SINGLE_COPY ||
			       cs_node_are_done(node, cs_node_has_read(node->number))
			       ? CS_OK : CS_AGAIN;
}

cs_phase *const cs_rounds_post_only[] = { cs_rounds_open, cs_rounds_post, cs_rounds_be_read,
					    NULL };

size_t
cs_chunks_fair(const size_t *sizes, int ranks, size_t at, size_t room)
{
	size_t most = cs_chunks_per_part(room, (size_t)ranks);
	for (int pass = 0; sizes && pass < 8; pass++) {
		size_t small = 0, large = 0;
		for (int rank = 0; rank < ranks; rank++) {
			size_t rest = cs_chunks_part_bytes(sizes[rank],
						      (struct cs_chunks_part){ at, SIZE_MAX });
			small += rest <= most ? rest : 0;
			large += rest > most;
		}
		if (!large || cs_chunks_per_part(room - small, large) <= most)
			break;
		most = cs_chunks_per_part(room - small, large);
	}
	return most;
}
