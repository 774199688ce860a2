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

/* Local rank with this number in the tree, counted from the root. */
static int
rank_of(const struct cs_op *op, int root, size_t number)
{
	return (int)(((size_t)root + number) % (size_t)op->team->node.shape.size);
}

static size_t
number_of(const struct cs_op *op, int root)
{
	int size = op->team->node.shape.size;
	return (size_t)((op->team->node.shape.local - root + size) % size);
}

/* Have the own children read this rank's memory? Else op->node.awaited is set. */
static bool
is_read(struct cs_op *op, const struct cs_node_reader *reader)
{
	struct cs_node *node = &op->team->node;
	size_t first = number_of(op, reader->from) * reader->fan + 1, end = first + reader->fan;
	for (size_t child = first; child < end && child < (size_t)node->shape.size; child++) {
		int local = rank_of(op, reader->from, child);
		if (!cs_node_is_flag_up(&op->node, local, &cs_node_rank(node, local)->done,
					cs_node_has_read(op->node.number)))
			return false;
	}
	return true;
}

/* Fan-out in the line of a root whose memory is read along a tree; else 0. */
static size_t
fan_of(const struct cs_op *op, const struct cs_line *line)
{
	bool is_tree = cs_line_bytes(line) > CS_INLINE && cs_post_is_single_copy(line) &&
		       line->word[2] < (uint64_t)op->team->node.shape.size;
	return is_tree ? line->word[2] : 0;
}

/* Opens the own line, from which the children are to read. */
static bool
open_own(struct cs_op *op, struct cs_node_reader *reader)
{
	struct cs_post *post = &reader->post;
	if (!post->rounds) {
		*post = (struct cs_post){ .way = CS_POST_SINGLE_COPY, .rounds = 1,
					  .address = (uint64_t)(uintptr_t)op->call.recv.base,
					  .bytes = reader->limit };
		cs_post_reserve(&op->node, post, false);
	}
	return post->line || cs_post_open(&op->node, post);
}

/* Reads the parent's memory, or the root's if the parent has not all of it, or says so. False: not
 * there yet. */
static bool
read_parent(struct cs_op *op, struct cs_node_reader *reader, const struct cs_line *line,
	    size_t number)
{
	int parent = rank_of(op, reader->from, reader->passes_on && number > 1
			     ? (number - 1) / reader->fan : 0);
	const struct cs_line *from = cs_node_look(&op->node, parent, 1);
	char *to = op->call.recv.base;
	if (!from)
		return false;
	if (!cs_post_is_single_copy(from) || cs_line_bytes(from) < reader->limit) {
		parent = reader->from;
		from = line;
	}
	if (!cs_post_is_there(line, to, reader->limit) &&
	    !cs_post_is_there(from, to, reader->limit))
		cs_node_get_single_copy(&op->node, CS_BCAST, parent, to, from->word[1],
					reader->limit);
	return true;
}

/* True: all is read, and the children have read it, too. */
static bool
read_along_tree(struct cs_op *op, struct cs_node_reader *reader, const struct cs_line *line)
{
	struct cs_node_op *node = &op->node;
	size_t number = number_of(op, reader->from);
	bool has_children = reader->passes_on &&
			    number * reader->fan + 1 < (size_t)node->node->shape.size;
	if (!reader->round) {
		reader->limit = cs_node_bcast_limit(op, line);
		if ((has_children && !open_own(op, reader)) ||
		    !read_parent(op, reader, line, number))
			return false;
		if (has_children && !cs_node_offer(node, op->call.recv.base, reader->limit))
			cs_line_say(node, reader->post.line, 0);
		if (has_children)
			cs_post_publish(node, &reader->post);
		cs_node_end_reading(node);
		reader->round = 1;
	}
	return !has_children || is_read(op, reader);
}

bool
cs_node_bcast_read(struct cs_op *op, struct cs_node_reader *reader)
{
	struct cs_node_op *node = &op->node;
	const struct cs_line *line;
	while ((line = cs_node_look(node, reader->from, reader->fan ? 1 : reader->round + 1))) {
		if (!reader->round)
			reader->fan = fan_of(op, line);
		if (reader->fan)
			return read_along_tree(op, reader, line);
		if (get_round(op, reader, line))
			return true;
		cs_node_done(node, ++reader->round);
	}
	return false;
}
