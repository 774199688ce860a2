/* hier/copy_out.h — copy-out of an allgather or a broadcast over several nodes: ways from the
 * node's area to the ranks' results (seed 002, 2.3.3). */
#ifndef CS_ALGORITHMS_HIER_COPY_OUT_H
#define CS_ALGORITHMS_HIER_COPY_OUT_H

#include "algorithms/algorithm.h"
#include "algorithms/op.h"

/* Parameter. */
#define CS_COPY_OUT \
	{ "out", "copy-out over several nodes: 0: each rank copies; 1: the MPI broadcasts on the " \
		 "node", CS_OUT_COPY, 0, CS_OUT_WAYS - 1, .role = CS_ROLE_COPY_OUT }

/* Is the copy-out the MPI's broadcast? Not in a non-blocking call, and not if the node's
 * communicator was refused: the same on all ranks. */
static inline bool
cs_copy_out_is_by_host(const struct cs_op *op, size_t out)
{
	return out == CS_OUT_HOST && op->team->has_locals &&
	       !(op->node.extras & (CS_OP_NONBLOCKING | CS_NODE_WATCHED));
}

/* Broadcasts `bytes` from `from` of local rank `root`, whose data is there, to `to` of all. */
void cs_copy_out_by_host(struct cs_op *op, int root, char *from, char *to, size_t bytes);

#endif
