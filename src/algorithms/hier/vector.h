/* hier/vector.h — a reduction's whole vector, posted in step 1 for the other ranks of the node. */
#ifndef CS_ALGORITHMS_HIER_VECTOR_H
#define CS_ALGORITHMS_HIER_VECTOR_H

#include "algorithms/op.h"
#include "algorithms/hier/hier.h"
#include "algorithms/node/rank_order.h"
#include "shm/post.h"

/* The own vector, in the state of a script. */
struct cs_vector {
	struct cs_post post;
	const char *own;
	int next; /* local rank that is looked at next */
};

/* Elements of the vector in a slot. */
static inline size_t
cs_vector_per_slot(const struct cs_op *op)
{
	size_t slot = op->team->node.shape.slot_bytes;
	return op->call.bytes <= slot ? op->call.count : slot / op->call.reduction.unit;
}

/* Is there room for all of it, in a slot or, of a non-blocking call on one node, in several? */
static inline bool
cs_vector_fits(const struct cs_op *op)
{
	const struct cs_node_shape *shape = &op->team->node.shape;
	if (op->call.bytes <= shape->slot_bytes)
		return true;
	return op->node.extras & CS_OP_NONBLOCKING && op->team->shape.nodes == 1 &&
	       op->call.count <= shape->slots * cs_vector_per_slot(op);
}

/* Chooses the post's way and reserves memory, after the call has begun, for a vector that fits.
 * is_single_copy: others read `own` by single copy, after cs_node_offer. */
void cs_vector_init(struct cs_op *op, struct cs_vector *vector, const char *own,
		    bool is_single_copy);

/* Parts of phases, which may be repeated: posts the own vector; waits for those of the first
 * `count` local ranks but the own one. */
enum cs_status cs_vector_post(struct cs_op *op, struct cs_vector *vector);
enum cs_status cs_vector_await(struct cs_op *op, struct cs_vector *vector, int count);

/* Location of a local rank's vector that has been posted, of at most a slot. */
struct cs_operand cs_vector_part(struct cs_op *op, int local);

/* Reduces the node's vectors, which have been posted, in rank order into `out`; `own` is the own
 * one. */
void cs_vector_reduce(struct cs_op *op, char *out, const char *own);

/* --- over several nodes: one rank of each reduces the vectors of its node --------------------- */

/* State, the first member of an algorithm's own. */
struct cs_vector_hier {
	struct cs_hier hier;
	struct cs_vector vector; /* the own one, if this rank does not drive the wire */
};

/* Functions of a struct cs_hier_kind. */
void cs_vector_lay_out(struct cs_op *op, struct cs_hier_round *round);
enum cs_status cs_vector_bring(struct cs_op *op);

/* Starts a call of one round, driven by `lane`. The driver takes its line itself; on other ranks
 * the vector's post does. */
void cs_vector_start_hier(struct cs_op *op, const struct cs_hier_kind *kind, int lane,
			  const char *own);

#endif
