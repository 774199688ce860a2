/* patterns/exchange.c has the phases of rounds on one node. */
#include "algorithms/patterns/exchange.h"

#define PAGE 4096 /* bytes, at least: a gap below it between two blocks lies in pages that they have, too */

bool
cs_exchange_offer(struct cs_op *op, const struct cs_blocks *blocks)
{
	struct cs_team *team = op->team;
	const char *from = NULL, *to = NULL; /* blocks that lie one behind the other are tried as one */
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

/* The memory for the own rounds. */
static void
reserve(struct cs_op *op, struct cs_exchange *exchange)
{
	struct cs_node_op *node = &op->node;
	exchange->slot_number = CS_SLOT_SMALL;
	exchange->is_cut = false;
	if (exchange->is_inline || exchange->is_small || !exchange->fills)
		return;
	exchange->is_cut = exchange->fills == 1 && exchange->span && cs_node_is_cut(node, exchange->span);
	if (exchange->is_cut) {
		exchange->slot_number = cs_node_reserve_cut(node, 1, exchange->span);
		return;
	}
	uint64_t pieces = exchange->pieces > 1 ? exchange->pieces : 1;
	if (op->node.extras & CS_OP_NONBLOCKING)
		cs_node_reserve(node, (exchange->fills + pieces - 1) / pieces);
	exchange->slot_number = cs_node_slot_number(node);
}

void
cs_exchange_start(struct cs_op *op, cs_phase *const *script, int first)
{
	struct cs_exchange *exchange = CS_OP_STATE(struct cs_exchange, op);
	struct cs_node_op *node = &op->node;
	cs_node_expect(node, exchange->fills > exchange->takes ? exchange->fills : exchange->takes, 1);
	cs_node_begin(node);
	reserve(op, exchange);
	/* Who reads nothing is done at once; who waits for a slot below must not wait for it in a circle. */
	if (!exchange->takes)
		cs_node_end_reading(node);
	exchange->again = script + first;
	exchange->filled = exchange->taken = 0;
	exchange->only = exchange->slot = NULL;
	exchange->pending = NULL;
	exchange->is_open = false;
	cs_op_go_on(op, script);
}

enum cs_status
cs_exchange_open(struct cs_op *op)
{
	struct cs_exchange *exchange = CS_OP_STATE(struct cs_exchange, op);
	struct cs_node_op *node = &op->node;
	if (!exchange->fills)
		return CS_OK;
	struct cs_line *line = cs_node_try_line(node);
	if (!line)
		return CS_AGAIN;
	exchange->line = line;
	cs_line_say(node, line, exchange->bytes);
	if (exchange->is_inline) {
		exchange->only = (char *)line->data;
		return CS_OK;
	}
	line->slot = exchange->slot_number;
	if (exchange->is_small)
		exchange->only = cs_node_small(node);
	else if (exchange->is_cut && !(exchange->only = cs_node_try_cut(node, exchange->slot_number)))
		return CS_AGAIN;
	line->word[0] = exchange->is_direct ? CS_MARK_DIRECT : CS_MARK_STAGED;
	line->word[1] = exchange->address;
	line->word[2] = exchange->stride;
	return CS_OK;
}

/* Memory for the next round; NULL: there is none yet. */
static char *
next_slot(struct cs_op *op, const struct cs_exchange *exchange)
{
	struct cs_node_op *node = &op->node;
	uint64_t round = exchange->filled;
	if (exchange->only)
		return exchange->only;
	if (exchange->pieces < 2 || round % exchange->pieces == 0)
		return cs_node_slot(node, round + 1, false);
	cs_node_slot_until(node, round + 1);
	return exchange->slot + cs_piece_room(exchange->chunk);
}

enum cs_status
cs_exchange_post(struct cs_op *op)
{
	struct cs_exchange *exchange = CS_OP_STATE(struct cs_exchange, op);
	while (exchange->filled < exchange->fills) {
		char *slot = next_slot(op, exchange);
		if (!slot)
			return exchange->taken == exchange->takes || exchange->filled <= exchange->taken ? CS_AGAIN : CS_OK;
		exchange->slot = slot;
		if (exchange->fill)
			exchange->fill(op, exchange, exchange->filled, slot);
		cs_node_publish(&op->node, exchange->line, ++exchange->filled);
	}
	return CS_OK;
}

/* Notes whose blocks have something for this round. */
static void
open_round(struct cs_op *op, struct cs_exchange *exchange)
{
	struct cs_team *team = op->team;
	int locals = team->node.shape.size;
	size_t words = (size_t)(locals + 63) / 64;
	if (!exchange->pending)
		exchange->pending = words <= CS_EXCHANGE_WORDS
					    ? exchange->few
					    : cs_op_memory(op, CS_OP_PENDING, words * sizeof *exchange->pending);
	memset(exchange->pending, 0, words * sizeof *exchange->pending);
	for (int local = 0; local < locals; local++)
		if (local != team->node.shape.local &&
		    cs_piece(cs_blocks_bytes(&op->call.recv, cs_team_local_rank(team, local)), exchange->chunk,
			     exchange->taken))
			exchange->pending[local / 64] |= UINT64_C(1) << local % 64;
	exchange->is_open = true;
}

/* Has this local rank published the round, or has it nothing for it? */
static bool
is_there(struct cs_op *op, const struct cs_exchange *exchange, int local, const struct cs_line *line)
{
	uint64_t round = exchange->taken;
	return !round || line->word[0] == CS_MARK_DIRECT || round * exchange->chunk >= cs_line_bytes(line) ||
	       cs_node_look(&op->node, local, round + 1);
}

/* Gets what is there of the local ranks [from, to). False: somebody's is not, and the first one's is awaited unless
 * another one's is already. */
static bool
get_from(struct cs_op *op, struct cs_exchange *exchange, int from, int to, bool is_all)
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
cs_exchange_get(struct cs_op *op)
{
	struct cs_exchange *exchange = CS_OP_STATE(struct cs_exchange, op);
	int self = op->team->node.shape.local, locals = op->team->node.shape.size;
	if (exchange->taken == exchange->takes)
		return CS_OK;
	if (!exchange->is_open)
		open_round(op, exchange);
	return get_from(op, exchange, 0, self, get_from(op, exchange, self + 1, locals, true)) ? CS_OK : CS_AGAIN;
}

enum cs_status
cs_exchange_next(struct cs_op *op)
{
	struct cs_exchange *exchange = CS_OP_STATE(struct cs_exchange, op);
	struct cs_node_op *node = &op->node;
	exchange->is_open = false;
	if (exchange->taken < exchange->takes && ++exchange->taken < exchange->takes)
		cs_node_done(node, exchange->taken);
	else if (exchange->filled < exchange->fills)
		cs_node_end_reading(node);
	else
		cs_node_end(node);
	if (exchange->taken < exchange->takes || exchange->filled < exchange->fills)
		op->phase = exchange->again;
	return CS_OK;
}

enum cs_status
cs_exchange_be_read(struct cs_op *op)
{
	struct cs_exchange *exchange = CS_OP_STATE(struct cs_exchange, op);
	struct cs_node_op *node = &op->node;
	return !exchange->is_direct || cs_node_are_done(node, cs_node_has_read(node->number)) ? CS_OK : CS_AGAIN;
}

cs_phase *const cs_exchange_post_only[] = { cs_exchange_open, cs_exchange_post, cs_exchange_be_read, NULL };

size_t
cs_window_fair(const size_t *sizes, int ranks, size_t at, size_t room)
{
	size_t most = cs_share(room, (size_t)ranks);
	for (int pass = 0; sizes && pass < 8; pass++) {
		size_t small = 0, large = 0;
		for (int rank = 0; rank < ranks; rank++) {
			size_t rest = cs_window_piece(sizes[rank], (struct cs_window){ at, SIZE_MAX });
			small += rest <= most ? rest : 0;
			large += rest > most;
		}
		if (!large || cs_share(room - small, large) <= most)
			break;
		most = cs_share(room - small, large);
	}
	return most;
}
