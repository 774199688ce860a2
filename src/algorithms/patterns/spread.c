#include "algorithms/patterns/spread.h"
#include "algorithms/between.h"

#include "algorithms/patterns/exchange.h"

static void
fill(struct cs_exchange *exchange, uint64_t round, char *slot)
{
	struct cs_call *call = exchange->call;
	int rank = exchange->team->shape.rank;
	const char *own = call->send.base ? call->send.base : cs_blocks_at(&call->recv, rank);
	memcpy(slot, own + round * exchange->chunk, cs_piece(call->bytes, exchange->chunk, round));
}

static void
take(struct cs_exchange *exchange, uint64_t round)
{
	struct cs_team *team = exchange->team;
	struct cs_call *call = exchange->call;
	int locals = team->node.shape.size, self = team->node.shape.local;
	for (int i = 1; i < locals; i++) {
		int local = self + i < locals ? self + i : self + i - locals;
		int rank = cs_team_local_rank(team, local);
		size_t bytes = cs_piece(cs_blocks_bytes(&call->recv, rank), exchange->chunk, round);
		if (!bytes)
			continue;
		const struct cs_line *line;
		const char *from = cs_exchange_peer(team, local, round, &line);
		memcpy(cs_blocks_at(&call->recv, rank) + round * exchange->chunk, from, bytes);
	}
}

static void
copy_own(struct cs_team *team, struct cs_call *call)
{
	if (call->send.base)
		cs_copy(cs_blocks_at(&call->recv, team->shape.rank), call->send.base, call->bytes);
}

static size_t
largest(const struct cs_team *team, const struct cs_call *call)
{
	size_t most = 0;
	for (int rank = 0; rank < team->shape.ranks; rank++)
		if (cs_blocks_bytes(&call->recv, rank) > most)
			most = cs_blocks_bytes(&call->recv, rank);
	return most;
}

/* Flag and block in one cache line: one transfer for each pair. */
static void
spread_inline(struct cs_team *team, struct cs_call *call)
{
	struct cs_node *node = &team->node;
	int locals = node->shape.size, self = node->shape.local;
	cs_node_begin(node);
	struct cs_line *line = cs_node_line(node);
	line->bytes = call->bytes;
	const char *own = call->send.base ? call->send.base : cs_blocks_at(&call->recv, team->shape.rank);
	cs_copy(line->data, own, call->bytes);
	cs_node_publish(node, line, 1);
	copy_own(team, call);
	for (int i = 1; i < locals; i++) {
		int local = self + i < locals ? self + i : self + i - locals;
		int rank = cs_team_local_rank(team, local);
		const struct cs_line *other = cs_node_await(node, local, 1);
		cs_copy(cs_blocks_at(&call->recv, rank), other->data, cs_blocks_bytes(&call->recv, rank));
	}
	cs_node_end(node);
}

static void
one_node(struct cs_team *team, struct cs_call *call, size_t chunk)
{
	size_t most = call->recv.bytes ? largest(team, call) : call->recv.each;
	if (most <= CS_INLINE) {
		spread_inline(team, call);
		return;
	}
	struct cs_exchange exchange = { .team = team, .call = call, .chunk = chunk, .fill = fill, .take = take,
					.is_small = call->bytes <= CS_SMALL, .span = call->bytes };
	copy_own(team, call);
	cs_exchange_run(&exchange, cs_rounds(call->bytes, chunk), cs_rounds(most, chunk), call->bytes);
}

/* The area holds the round's pieces node by node; node n's part is what its leader contributes. */
static void
several_nodes(struct cs_team *team, struct cs_call *call)
{
	struct cs_node *node = &team->node;
	const struct cs_shape *shape = &team->shape;
	size_t most = call->recv.bytes ? largest(team, call) : call->recv.each;
	size_t chunk = cs_share(node->shape.area_bytes, (size_t)shape->ranks);
	if (chunk > most)
		chunk = most;
	uint64_t rounds = cs_rounds(most, chunk);
	size_t *bytes = team->work, *at = bytes + shape->nodes;
	char *own = call->send.base ? call->send.base : cs_blocks_at(&call->recv, shape->rank);
	int own_position = shape->position[shape->rank];
	bool is_whole = !call->recv.bytes && rounds == 1 && shape->is_block_placed;

	cs_node_begin(node);
	struct cs_line *line = cs_node_line(node);
	for (uint64_t round = 0; round < rounds; round++) {
		char *area = cs_node_area(node);
		size_t offset = 0, own_at = 0;
		for (int n = 0; n < shape->nodes; n++) {
			at[n] = offset;
			for (int p = shape->first[n]; p < shape->first[n + 1]; p++) {
				if (p == own_position)
					own_at = offset;
				offset += cs_piece(cs_blocks_bytes(&call->recv, shape->order[p]), chunk, round);
			}
			bytes[n] = offset - at[n];
		}
		memcpy(area + own_at, own + round * chunk, cs_piece(call->bytes, chunk, round));
		if (cs_team_is_leader(team)) {
			for (int local = 1; local < node->shape.size; local++)
				cs_node_await(node, local, 2 * round + 1);
			cs_between_allgatherv(team, area, bytes, at);
			cs_node_publish(node, line, 2 * round + 2);
		} else {
			cs_node_publish(node, line, 2 * round + 1);
			cs_node_await(node, 0, 2 * round + 2);
		}
		if (is_whole) {
			memcpy(call->recv.base, area, offset);
		} else {
			const char *from = area;
			for (int p = 0; p < shape->ranks; p++) {
				int rank = shape->order[p];
				size_t piece = cs_piece(cs_blocks_bytes(&call->recv, rank), chunk, round);
				if (rank != shape->rank || call->send.base)
					memcpy(cs_blocks_at(&call->recv, rank) + round * chunk, from, piece);
				from += piece;
			}
		}
		cs_node_area_done(node, 1);
	}
	cs_node_end(node);
}

void
cs_spread(struct cs_team *team, struct cs_call *call, size_t chunk)
{
	if (team->shape.nodes > 1)
		several_nodes(team, call);
	else
		one_node(team, call, chunk < team->node.shape.slot_bytes ? chunk : team->node.shape.slot_bytes);
}
