/* hier/node_alltoall.h — alltoall(v,w), on one node and over several. */
#ifndef CS_ALGORITHMS_HIER_NODE_ALLTOALL_H
#define CS_ALGORITHMS_HIER_NODE_ALLTOALL_H

#include "algorithms/op.h"

/* Begins an alltoall, sizes from call->send and call->recv: equal ones, or by rank (then each rank
 * knows its own rows only). On one node, senders with a block of `single_copy_from` bytes or more
 * (0: as measured, shm/copy_choice.h) are read by single copy. Between nodes the messages are dealt
 * to `lanes` ranks of each node (0: one per NUMA domain) or, with a plan, to `senders`. */
void cs_node_alltoall(struct cs_op *op, size_t single_copy_from, size_t lanes, size_t senders);
/* Makes one of small blocks at once. False: they are not, or several nodes. */
bool cs_node_alltoall_fast(struct cs_op *op, size_t single_copy_from);

#endif
