/* node/rank_order.h — reducing several vectors in rank order. */
#ifndef CS_ALGORITHMS_NODE_RANK_ORDER_H
#define CS_ALGORITHMS_NODE_RANK_ORDER_H

#include "algorithms/op.h"
#include "algorithms/slice.h"

/* out = from[0] op (from[1] op (... op from[n-1])), `count` elements each. The order is that of the
 * sources and the bracketing always the same, so all ranks get the same bits. `out` may be one of
 * the sources or apart from all. */
void cs_rank_order_reduce(struct cs_op *op, const struct cs_reduction *reduction, void *out,
			const void *const *from, int n, size_t count);

/* out = ((from[0] op from[1]) op ...) op from[n-1]: as a scan grows from rank to rank, so that a
 * reduction of all vectors and a sum that is passed from rank to rank have the same bits. `out` as
 * above. */
void cs_rank_order_scan(struct cs_op *op, const struct cs_reduction *reduction, void *out,
			 const void *const *from, int n, size_t count);

/* One local rank's operand: mapped here, or in that rank's memory. */
struct cs_operand {
	const char *mapped; /* NULL: it is in another rank's memory */
	uint64_t remote;
};

/* cs_rank_order_reduce of the operands of all local ranks, by local rank; those in other ranks'
 * memory are read. `out` may be the own part or apart from all. */
void cs_rank_order_operands(struct cs_op *op, const struct cs_reduction *reduction, char *out,
			const struct cs_operand *parts, size_t count);

/* Are others to read our vector where it is? Then the call is not over before they have. `from`:
 * the parameter cma_min; 0: decided by calls (shm/copy_choice.h). */
bool cs_rank_order_is_single_copy(struct cs_op *op, size_t from);

#endif
