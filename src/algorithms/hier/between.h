/* algorithms/hier/between.h — what a hierarchical algorithm does between nodes, among the ranks of
 * this one's lane: the host's collective, or a plan's (op->between), or the host's where that is
 * refused. Arguments as in wire/host.h; nodes take the place of ranks. */
#ifndef CS_ALGORITHMS_HIER_BETWEEN_H
#define CS_ALGORITHMS_HIER_BETWEEN_H

#include "algorithms/op.h"

/* Of a blocking operation each of these blocks until it is over: where the MPI has a blocking
 * collective that is faster than the other one, it takes that. Of one with CS_OP_NONBLOCKING it is
 * only begun; the arrays and the reduction are needed until it is over. */

/* May this operation begin a collective of the host now? All ranks have to begin those of a
 * communicator in the same order: so the oldest operation of the team may. False: what is missing
 * is noted. Plans need not ask. */
static inline bool
cs_between_is_turn(struct cs_op *op)
{
	const struct cs_node *node = &op->team->node;
	if (node->under_way <= 1 || op->node.number == node->oldest)
		return true;
	op->node.awaited.local = CS_AWAITS_MESSAGE;
	return false;
}

/* For a collective of the host's that the operation begins: NULL, and it blocks; or the operation's
 * request. */
static inline struct cs_request *
cs_between_request(struct cs_op *op)
{
	if (!(op->node.extras & CS_OP_NONBLOCKING))
		return NULL;
	op->under_way = CS_UNDER_WAY_HOST;
	return &op->request;
}

/* A phase: is over when what was begun last is. */
enum cs_status cs_between_go(struct cs_op *op);

void cs_between_barrier(struct cs_op *op);
void cs_between_bcast(struct cs_op *op, void *buffer, size_t bytes, int root);
void cs_between_allgatherv(struct cs_op *op, void *buffer, const size_t *bytes, const size_t *at);
/* With a plan that needs it, bytes[] is right for all nodes on each of them (needs.all_sizes). */
void cs_between_gatherv(struct cs_op *op, void *buffer, const size_t *bytes, const size_t *at,
			int root);
void cs_between_scatterv(struct cs_op *op, void *buffer, const size_t *bytes, const size_t *at,
			 int root);
/* largest: no node's message to another is longer, and all ranks of the lane say the same; for a
 * plan that needs it (needs.largest). */
void cs_between_alltoallv(struct cs_op *op, const void *send, const size_t *send_bytes,
			  const size_t *send_at, void *recv, const size_t *recv_bytes,
			  const size_t *recv_at, size_t largest);
void cs_between_allreduce(struct cs_op *op, void *buffer, size_t count,
			  const struct cs_reduction *reduction, bool is_commutative);
void cs_between_reduce(struct cs_op *op, const void *in, void *out, size_t count,
		       const struct cs_reduction *reduction, bool is_commutative, int root);
/* In place: the sum of what the nodes before this one have, which the first node does not get. */
void cs_between_exscan(struct cs_op *op, void *buffer, size_t count,
		       const struct cs_reduction *reduction, bool is_commutative);
/* *value becomes the largest of all nodes'. */
void cs_between_max(struct cs_op *op, uint64_t *value);
void cs_between_reduce_scatter(struct cs_op *op, void *buffer, const size_t *counts,
			       const struct cs_reduction *reduction, bool is_commutative);

/* When it is over: puts the own result, so many bytes, to the start of the buffer. */
void cs_between_take_result(struct cs_op *op, void *buffer, size_t bytes);

#endif
