/* algorithms/hier/between.h — collectives between nodes, among the ranks of this one's lane: by a
 * plan (op->between), or the host's if there is none or it refuses. Arguments as in wire/host.h,
 * with nodes as ranks. */
#ifndef CS_ALGORITHMS_HIER_BETWEEN_H
#define CS_ALGORITHMS_HIER_BETWEEN_H

#include "algorithms/op.h"

/* Each collective of a blocking operation blocks until it is over, since the MPI's blocking one may
 * be faster. With CS_OP_NONBLOCKING it is only begun; the caller keeps the arrays and the reduction
 * until it is over. */

/* May this operation begin a collective of the host now? All ranks have to begin a communicator's
 * collectives in the same order: so the team's oldest operation may. False: op->node.awaited is
 * set. Plans need not ask. */
static inline bool
cs_between_is_turn(struct cs_op *op)
{
	const struct cs_node *node = &op->team->node;
	if (node->under_way <= 1 || op->node.number == node->oldest) {
		if (__builtin_expect(op->team->epoch.due != 0, 0))
			cs_epoch_exchange(op->team);
		return true;
	}
	op->node.awaited.local = CS_AWAITS_MESSAGE;
	return false;
}

/* Request of a collective of the host's that the operation begins; NULL: it blocks. */
static inline struct cs_request *
cs_between_request(struct cs_op *op)
{
	if (!(op->node.extras & CS_OP_NONBLOCKING))
		return NULL;
	op->under_way = CS_UNDER_WAY_HOST;
	return &op->request;
}

/* Phase: waits for the collective that was begun last. */
enum cs_status cs_between_go(struct cs_op *op);

void cs_between_barrier(struct cs_op *op);
void cs_between_bcast(struct cs_op *op, void *buffer, size_t bytes, int root);
void cs_between_allgatherv(struct cs_op *op, void *buffer, const size_t *bytes, const size_t *at);
/* bytes[] is right at the root, and on other nodes for their own; with a plan that needs it
 * (needs.all_sizes), for all nodes on each. */
void cs_between_gatherv(struct cs_op *op, void *buffer, const size_t *bytes, const size_t *at,
			int root);
void cs_between_scatterv(struct cs_op *op, void *buffer, const size_t *bytes, const size_t *at,
			 int root);
/* `largest`: bytes of a message between nodes, at most, equal on all ranks of the lane; for a plan
 * that needs it (needs.largest). */
void cs_between_alltoallv(struct cs_op *op, const void *send, const size_t *send_bytes,
			  const size_t *send_at, void *recv, const size_t *recv_bytes,
			  const size_t *recv_at, size_t largest);
void cs_between_allreduce(struct cs_op *op, void *buffer, size_t count,
			  const struct cs_reduction *reduction, bool is_commutative);
void cs_between_reduce(struct cs_op *op, const void *in, void *out, size_t count,
		       const struct cs_reduction *reduction, bool is_commutative, int root);
/* In place: the sum of the nodes before this one; the first node gets none. */
void cs_between_exscan(struct cs_op *op, void *buffer, size_t count,
		       const struct cs_reduction *reduction, bool is_commutative);
/* In place: the largest of all nodes' values. */
void cs_between_max(struct cs_op *op, uint64_t *value);
void cs_between_reduce_scatter(struct cs_op *op, void *buffer, const size_t *counts,
			       const struct cs_reduction *reduction, bool is_commutative);

/* After reduce_scatter is over: copies the own result of `bytes` to the start of its buffer. */
void cs_between_take_result(struct cs_op *op, void *buffer, size_t bytes);

#endif
