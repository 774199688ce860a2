/* node/bcast.h — reader of a broadcast that another rank of its node has posted (shm/post.h) as one
 * block for all.
 *
 * By single copy, if there are more readers than may read one rank's memory at once (node->readers,
 * k of them), the ranks are a tree: the root's k children read the root's memory, theirs read what
 * these have got, and so on. So ceil(log_k p) or so copies follow each other. The root waits for
 * all, since the children of a rank whose memory cannot be read read the root's. */
#ifndef CS_ALGORITHMS_NODE_BCAST_H
#define CS_ALGORITHMS_NODE_BCAST_H

#include "algorithms/op.h"
#include "shm/post.h"

struct cs_node_reader {
	int from;            /* local rank that has posted it */
	size_t chunk, limit; /* bytes of a piece; that may be written */
	uint64_t round;      /* rounds that have been read */
	/* In a tree of readers: */
	bool passes_on; /* with children, from which the caller keeps its own line; else it reads
			 * the root's memory */
	size_t fan;
	struct cs_post post; /* for the children */
};

/* Fan-out of the tree in which a root's memory is read; 0: all read the root's. */
static inline size_t
cs_node_bcast_fan(const struct cs_node *node)
{
	return node->readers < node->shape.size - 1 ? (size_t)node->readers : 0;
}

/* Copies that follow each other in that tree; 0: there is none. */
static inline unsigned
cs_node_bcast_turns(const struct cs_node *node)
{
	unsigned turns = 0;
	size_t fan = cs_node_bcast_fan(node);
	for (size_t reached = 1, row = 1; fan && reached < (size_t)node->shape.size; turns++)
		reached += row *= fan;
	return turns;
}

/* Bytes of a piece of a pipeline: about sqrt(n * 2h), a power of two, where n is what the ring
 * holds and h what a core copies in a hop. n bytes in pieces of c take (n / c) * 2h + c beyond
 * their copy: a piece is published, and its slot released. */
static inline size_t
cs_node_bcast_piece(const struct cs_node *node)
{
	size_t ring = node->shape.slots * node->shape.slot_bytes, piece = 4096,
	       hops = cs_facts_copied(&node->facts, 2 * cs_facts_hop_ns(&node->facts));
	while (piece < node->shape.slot_bytes && piece * piece / ring < hops)
		piece *= 2;
	return piece < node->shape.slot_bytes ? piece : node->shape.slot_bytes;
}

/* Compare the root's size with the call's, and note a longer or shorter one. */
static inline void
cs_node_bcast_compare(struct cs_node_op *node, const struct cs_call *call, size_t sent)
{
	if (sent > call->bytes)
		node->outcome.bits |= CS_OUTCOME_TRUNCATED;
	else if (sent < call->bytes)
		node->outcome.bits |= CS_OUTCOME_LESS;
}

/* Bytes that may be written, by the published line of step 1. The root's size, not ours, gives the
 * number of rounds. */
static inline size_t
cs_node_bcast_limit(struct cs_op *op, const struct cs_line *line)
{
	struct cs_call *call = &op->call;
	size_t bytes = cs_line_bytes(line);
	if (bytes != call->bytes)
		cs_node_bcast_compare(&op->node, call, bytes);
	return bytes < call->bytes ? bytes : call->bytes;
}

/* Read the published rounds into call->recv. True: there are no more; else op->node.awaited is
 * set. */
bool cs_node_bcast_read(struct cs_op *op, struct cs_node_reader *reader);

#endif
