/* hier/node_alltoall.h — alltoall(v,w): every rank's blocks to every rank. */
#ifndef CS_ALGORITHMS_HIER_NODE_ALLTOALL_H
#define CS_ALGORITHMS_HIER_NODE_ALLTOALL_H

#include "algorithms/op.h"

/* Sizes from call->send and call->recv: equal ones, or by rank (then each rank knows its own rows
 * only). On one node, senders with a block of `single_copy_from` bytes or more (0: as measured,
 * shm/copy_choice.h) are read by single copy. Between nodes the messages are dealt to `lanes` ranks
 * of each node. */
void cs_node_alltoall(struct cs_op *op, size_t single_copy_from, size_t lanes);
/* The same of small blocks of one size on one node, at once. False: they are not. */
bool cs_node_alltoall_fast(struct cs_op *op, size_t single_copy_from);

#endif
