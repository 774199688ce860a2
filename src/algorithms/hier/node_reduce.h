/* hier/node_reduce.h — reduce and allreduce, on one node and over several. */
#ifndef CS_ALGORITHMS_HIER_NODE_REDUCE_H
#define CS_ALGORITHMS_HIER_NODE_REDUCE_H

#include "algorithms/hier/node_reduce_hier.h"

/* Parameters for algorithms that leave some calls to cs_node_reduce. */
extern const struct cs_node_reduce_params cs_node_reduce_usual;

/* Begins a reduce; call->root < 0: an allreduce. */
void cs_node_reduce(struct cs_op *op, const struct cs_node_reduce_params *params);

/* Makes one of a small vector at once. False: it is not, or several nodes. */
bool cs_node_reduce_fast(struct cs_op *op, size_t read_all, size_t single_copy_from);

#endif
