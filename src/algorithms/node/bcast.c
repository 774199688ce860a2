/* node/bcast.c — reads the broadcast of a rank of the node. */
#include "algorithms/node/bcast.h"

#include "algorithms/node/rounds.h"

/* Read one round; true: there are no more. */
static bool
get_round(struct cs_op *op, struct cs_node_reader *reader, const struct cs_line *line)
{
	struct cs_call *call = &op->call;
	size_t at = reader->round * reader->chunk;
	if (!reader->round)
		reader->limit = cs_node_bcast_limit(op, line);
	if (cs_line_bytes(line) <= CS_INLINE) {
		cs_copy(call->recv.base, line->data, reader->limit);
		return true;
	}
	if (cs_post_is_single_copy(line)) {
		if (!cs_post_is_there(line, call->recv.base, reader->limit))
			cs_node_get_single_copy(&op->node, CS_BCAST, reader->from,
						call->recv.base, line->word[1], reader->limit);
		return true;
	}
	if (line->word[0] != CS_POST_RING)
		reader->chunk = reader->limit; /* one round */
	if (at < reader->limit)
		cs_copy_out(op, reader->limit, call->recv.base + at,
			    cs_post_find(&op->node, reader->from, line, reader->round,
					 reader->chunk,
					 cs_post_pieces(&op->team->node, reader->chunk)),
			    cs_chunks_bytes(reader->limit, reader->chunk, reader->round));
	return at + reader->chunk >= reader->limit;
}

bool
cs_node_bcast_read(struct cs_op *op, struct cs_node_reader *reader)
{
	struct cs_node_op *node = &op->node;
	const struct cs_line *line;
	while ((line = cs_node_look(node, reader->from, reader->round + 1))) {
		if (get_round(op, reader, line))
			return true;
		cs_node_done(node, ++reader->round);
	}
	return false;
}
