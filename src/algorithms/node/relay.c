/* node/relay.c — a long broadcast from cache to cache. */
#include "algorithms/node/relay.h"

#include "algorithms/node/bcast.h"
#include "algorithms/node/chunks.h"
#include "algorithms/node/copies.h"
#include "shm/post.h"

struct relay {
	int from;       /* local rank that is read; -1: the root's own data */
	bool has_readers, reads_flat;
	struct cs_node_reader flat;
	size_t chunk, limit; /* bytes of a piece; that may be written */
	uint64_t round, rounds;
	struct cs_post post;
};

bool
cs_relay_is_of_use(const struct cs_levels *levels)
{
	return levels->count > 1 && levels->large >= 0;
}

int
cs_relay_source(const struct cs_levels *levels, int self, int root, size_t fan, bool *is_read)
{
	int level = levels->large, groups = 0, own = 0, roots = 0, first[levels->size];
	for (int place = 0; place < levels->size; place = levels->end[level][place]) {
		own = levels->first[level][self] == place ? groups : own;
		roots = levels->first[level][root] == place ? groups : roots;
		first[groups++] = place;
	}
	int leader = cs_levels_leader(levels, level, self, root), turn = own - roots;
	size_t number = (size_t)(turn < 0 ? turn + groups : turn); /* counted from the root's */
	*is_read = leader == self &&
		   (number * fan + 1 < (size_t)groups ||
		    levels->end[level][self] - levels->first[level][self] > 1);
	if (leader != self || self == root)
		return levels->order[leader];
	int above = (int)((number - 1) / fan) + roots;
	above = above < groups ? above : above - groups;
	return levels->order[cs_levels_leader(levels, level, first[above], root)];
}

/* Phase: learns the size from the line that is read, and takes the own one. */
static enum cs_status
open_relay(struct cs_op *op)
{
	struct relay *relay = CS_OP_STATE(struct relay, op);
	struct cs_node_op *node = &op->node;
	size_t sent = op->call.bytes;
	if (relay->from >= 0) {
		const struct cs_line *line = cs_node_look(node, relay->from, 1);
		if (!line)
			return CS_AGAIN;
		sent = cs_line_bytes(line);
		/* A root with another, short size goes another way. */
		relay->reads_flat = relay->from == op->call.root &&
				    (sent <= CS_INLINE || line->word[0] != CS_POST_RING);
		/* Ranks that read along a tree wait for this one's line, and then read the
		 * root's memory. */
		if (relay->reads_flat && sent > CS_INLINE && cs_post_is_single_copy(line) &&
		    !relay->has_readers) {
			relay->has_readers = true;
			cs_post_reserve(node, &relay->post, op->node.extras & CS_OP_NONBLOCKING);
		}
		relay->limit = cs_node_bcast_limit(op, line);
	}
	relay->rounds = relay->post.rounds = cs_chunks_rounds(sent, relay->chunk);
	relay->post.bytes = sent;
	cs_node_expect(node, relay->rounds, 1);
	return !relay->has_readers || cs_post_open(node, &relay->post) ? CS_OK : CS_AGAIN;
}

/* Phase: reads all of a root that posts as flat broadcasts do; then the data is as the own. */
static enum cs_status
read_flat(struct cs_op *op)
{
	struct relay *relay = CS_OP_STATE(struct relay, op);
	if (!relay->reads_flat)
		return CS_OK;
	if (!cs_node_bcast_read(op, &relay->flat))
		return CS_AGAIN;
	relay->from = -1;
	return CS_OK;
}

/* Phase: passes on, and copies out, all rounds. */
static enum cs_status
pass_on(struct cs_op *op)
{
	struct relay *relay = CS_OP_STATE(struct relay, op);
	struct cs_node_op *node = &op->node;
	char *own = op->call.recv.base, *room = NULL;
	for (; relay->round < relay->rounds; relay->round++) {
		size_t at = relay->round * relay->chunk,
		       bytes = cs_chunks_bytes(relay->post.bytes, relay->chunk, relay->round),
		       wanted = cs_chunks_bytes(relay->limit, relay->chunk, relay->round);
		const struct cs_line *line = NULL;
		const char *from = own + at;
		if (relay->from >= 0 &&
		    !(line = cs_node_look(node, relay->from, relay->round + 1)))
			return CS_AGAIN;
		if (line)
			from = cs_post_find(node, relay->from, line, relay->round, relay->chunk,
					    cs_post_pieces(&op->team->node, relay->chunk));
		if (relay->has_readers) {
			if (!(room = cs_post_room(node, &relay->post)))
				return CS_AGAIN;
			cs_copy_in(op, room, from, bytes);
			cs_post_publish(node, &relay->post);
			from = room;
		}
		if (line && wanted)
			cs_copy_out(op, relay->limit, own + at, from, wanted);
		if (relay->from >= 0)
			cs_node_done(node, relay->round + 1);
	}
	cs_node_end(node);
	return CS_OK;
}

static cs_phase *const script[] = { open_relay, read_flat, pass_on, NULL };

void
cs_relay_start(struct cs_op *op, size_t chunk, size_t fan)
{
	struct relay *relay = CS_OP_STATE(struct relay, op);
	const struct cs_levels *levels = &op->team->shape.levels;
	*relay = (struct relay){ .chunk = chunk, .limit = op->call.bytes };
	relay->from = cs_relay_source(levels, levels->place[op->team->shape.local],
				      levels->place[op->call.root], fan, &relay->has_readers);
	relay->from = relay->from == op->team->shape.local ? -1 : relay->from;
	relay->flat = (struct cs_node_reader){ .from = op->call.root, .chunk = chunk };
	relay->post = (struct cs_post){ .way = CS_POST_RING, .chunk = chunk,
					.rounds = cs_chunks_rounds(op->call.bytes, chunk),
					.bytes = op->call.bytes,
					.pieces = cs_post_pieces(&op->team->node, chunk) };
	cs_op_start(op, script);
	if (relay->has_readers)
		cs_post_reserve(&op->node, &relay->post, op->node.extras & CS_OP_NONBLOCKING);
	/* A rank that reads nothing is done at once. */
	if (relay->from < 0)
		cs_node_end_reading(&op->node);
}
