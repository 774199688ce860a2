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

/* Memory for the next round; NULL if that had to be waited for. */
static char *
next_slot(struct cs_exchange *exchange, uint64_t round, char *last, bool may_wait)
{
	struct cs_node_op *node = &exchange->op->node;
	if (exchange->pieces < 2 || round % exchange->pieces == 0)
		return cs_node_slot(node, round + 1, may_wait);
	cs_node_slot_until(node, round + 1);
	return last + cs_piece_room(exchange->chunk);
}

void
cs_exchange_run(struct cs_exchange *exchange, uint64_t fills, uint64_t takes, uint64_t bytes)
{
	struct cs_node_op *node = &exchange->op->node;
	cs_node_expect(node, fills > takes ? fills : takes, 1);
	cs_node_begin(node);
	/* Who reads nothing is done at once; who waits for a slot below must not wait for it in a circle. */
	if (takes == 0)
		cs_node_end_reading(node);
	struct cs_line *line = NULL;
	char *only = NULL; /* memory of an only round that is less than a slot */
	char *slot = NULL;
	if (fills) {
		line = cs_node_line(node);
		cs_line_say(node, line, bytes);
		line->slot = exchange->is_small ? CS_SLOT_SMALL : cs_node_slot_number(node);
		if (exchange->is_small)
			only = cs_node_small(node);
		else if (fills == 1 && exchange->span && cs_node_is_cut(node, exchange->span))
			only = cs_node_cut(node, 1, exchange->span, &line->slot);
		line->word[0] = exchange->is_direct ? CS_MARK_DIRECT : CS_MARK_STAGED;
		line->word[1] = exchange->address;
		line->word[2] = exchange->stride;
	}
	uint64_t filled = 0, taken = 0;
	while (filled < fills || taken < takes) {
		while (filled < fills) {
			bool may_wait = taken == takes || filled <= taken;
			char *next = only ? only : next_slot(exchange, filled, slot, may_wait);
			if (!next)
				break;
			slot = next;
			if (exchange->fill)
				exchange->fill(exchange, filled, slot);
			cs_node_publish(node, line, ++filled);
		}
		if (taken < takes) {
			exchange->take(exchange, taken++);
			if (taken < takes)
				cs_node_done(node, taken);
			else if (filled < fills)
				cs_node_end_reading(node);
			else
				cs_node_end(node);
		}
	}
	/* Who reads needs to hear that nothing more comes; of a root's pieces each line says how many there are. */
	if (taken && fills > takes)
		cs_node_end(node);
	if (exchange->is_direct)
		cs_node_all_done(node);
}

void
cs_exchange_take_each(struct cs_exchange *exchange, uint64_t round,
		      void (*take_from)(struct cs_exchange *, uint64_t, int, const struct cs_line *))
{
	struct cs_op *op = exchange->op;
	struct cs_team *team = op->team;
	int locals = team->node.shape.size, self = team->node.shape.local;
	int pending[locals], count = 0;
	for (int i = 1; i < locals; i++) {
		int local = self + i < locals ? self + i : self + i - locals;
		int rank = cs_team_local_rank(team, local);
		if (cs_piece(cs_blocks_bytes(&op->call.recv, rank), exchange->chunk, round))
			pending[count++] = local;
	}
	while (count) {
		int left = 0;
		for (int i = 0; i < count; i++) {
			int local = pending[i];
			const struct cs_line *line = cs_node_peek(&op->node, local, 1);
			bool is_ready = line && (line->word[0] == CS_MARK_DIRECT ||
						 cs_node_peek(&op->node, local, round + 1));
			if (is_ready)
				take_from(exchange, round, local, line);
			else
				pending[left++] = local;
		}
		/* Nothing was ready: wait for the first, whatever it brings. */
		if (left == count)
			take_from(exchange, round, pending[0], cs_node_await(&op->node, pending[0], 1));
		count = left == count ? left - 1 : left;
		if (left > count)
			memmove(pending, pending + 1, (size_t)count * sizeof *pending);
	}
}

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
