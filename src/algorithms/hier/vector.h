/* hier/vector.h — a reduction's whole vector, of at most a slot, for the other ranks of the
 * node to read: in step 1. */
#ifndef CS_ALGORITHMS_HIER_VECTOR_H
#define CS_ALGORITHMS_HIER_VECTOR_H

#include "algorithms/op.h"
#include "algorithms/hier/hier.h"
#include "algorithms/node/rank_order.h"
#include "shm/post.h"

/* The own one, in the state of a script. */
struct cs_vector {
	struct cs_post post;
	const char *own;
	int next; /* local rank that is looked at next */
};

/* When the call has begun: chooses its way, and reserves memory. is_single_copy: the others read it
 * where it is (cs_node_offer has been told). */
void cs_vector_init(struct cs_op *op, struct cs_vector *vector, const char *own,
		    bool is_single_copy);

/* Phases' parts, which may be taken up again: puts it out; waits for those of the first `count`
 * local ranks but the own one. */
enum cs_status cs_vector_post(struct cs_op *op, struct cs_vector *vector);
enum cs_status cs_vector_await(struct cs_op *op, struct cs_vector *vector, int count);

/* Where a local rank's vector is, which is there. */
struct cs_operand cs_vector_part(struct cs_op *op, int local);

/* All of them, which are there, into `out` in the order of ranks; `own` in the place of the own
 * one. */
void cs_vector_reduce(struct cs_op *op, void *out, const void *own);

/* --- over several nodes: one rank of each reduces the vectors of its node --------------------- */

/* The first member of a state; between nodes the vectors are there. */
struct cs_vector_hier {
	struct cs_hier hier;
	struct cs_vector vector; /* the own one, of who does not drive the wire */
};

/* Of a struct cs_hier_kind. */
void cs_vector_lay_out(struct cs_op *op, struct cs_hier_round *round);
enum cs_status cs_vector_bring(struct cs_op *op);

/* Begins the call's only round, by the lane. The line is the vector's post's, which takes it when
 * it is put out; the driver's is its own. */
void cs_vector_start_hier(struct cs_op *op, const struct cs_hier_kind *kind, int lane,
			  const char *own);

#endif
