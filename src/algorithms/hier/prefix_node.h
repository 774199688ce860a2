/* hier/prefix_node.h — scan and exscan of one node by doubling and by links, and the addition that
 * all forms of hier/prefix.h share. */
#ifndef CS_ALGORITHMS_HIER_PREFIX_NODE_H
#define CS_ALGORITHMS_HIER_PREFIX_NODE_H

#include "algorithms/node/rank_order.h"
#include "algorithms/op.h"

static inline bool
cs_prefix_is_exclusive(const struct cs_call *call)
{
	return call->coll == CS_EXSCAN;
}

/* out = left op right; `out` may be either operand. */
static inline void
cs_prefix_add(struct cs_op *op, void *out, const void *left, const void *right, size_t count)
{
	const void *from[] = { left, right };
	cs_rank_order_reduce(op, &op->call.reduction, out, from, 2, count);
}

/* Is there room for all sums of a rank? If so, cs_prefix_double begins a scan on one node. */
bool cs_prefix_may_double(struct cs_op *op);
void cs_prefix_double(struct cs_op *op);

/* Begins one whose vectors are slices of hier/slices.h. */
void cs_prefix_link(struct cs_op *op);

#endif
