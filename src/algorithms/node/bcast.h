/* node/bcast.h — a rank that gets what another one of its node broadcasts, which has
 * posted it (shm/post.h) as one block for all. */
#ifndef CS_ALGORITHMS_NODE_BCAST_H
#define CS_ALGORITHMS_NODE_BCAST_H

#include "algorithms/op.h"

struct cs_node_reader {
	int from;            /* local rank that has posted it */
	size_t chunk, limit; /* bytes of a piece; that may be written */
	uint64_t round;      /* so many have been read */
};

/* What the root has said that it sends, or its part of what there is to say. */
static inline void
cs_node_bcast_compare(struct cs_node_op *node, const struct cs_call *call, size_t sent)
{
	if (sent > call->bytes)
		node->outcome.truncated = sent;
	else if (sent < call->bytes)
		node->outcome.bits |= CS_OUTCOME_LESS;
}

/* The line of step 1 is there. The root's size, not ours, says how many rounds come; ours says how
 * much may be written. */
static inline size_t
cs_node_bcast_limit(struct cs_op *op, const struct cs_line *line)
{
	struct cs_call *call = &op->call;
	size_t bytes = cs_line_bytes(line);
	if (bytes != call->bytes)
		cs_node_bcast_compare(&op->node, call, bytes);
	return bytes < call->bytes ? bytes : call->bytes;
}

/* Reads the rounds that are there, into call->recv. True: there are no more; else what is missing
 * is noted. */
bool cs_node_bcast_read(struct cs_op *op, struct cs_node_reader *reader);

#endif
