/* hier/node_reduce.h — reduce and allreduce share everything but who gets the result. */
#ifndef CS_ALGORITHMS_HIER_NODE_REDUCE_H
#define CS_ALGORITHMS_HIER_NODE_REDUCE_H

#include "algorithms/op.h"
#include "shm/post.h"

struct cs_node_reduce_params {
	size_t read_all; /* vectors up to this: everybody (or the root) reads everybody's and
			  * reduces alone */
	size_t chunk;    /* bytes per piece of longer vectors on the node */
	size_t wire_chunk; /* bytes that the leaders reduce at once */
	size_t lanes;      /* ranks of a node that do so, each its part, from 64 KiB on; 0: one per
			    * NUMA domain */
	size_t cma_min;    /* allreduce on one node: vectors from this size are read where they are;
			    * 0: where measured to take less */
};

/* For who leaves a call to it that it does not serve itself. */
extern const struct cs_node_reduce_params cs_node_reduce_usual;

/* call->root < 0: all ranks get the result. */
void cs_node_reduce(struct cs_op *op, const struct cs_node_reduce_params *params);

/* The same of a small vector on one node, at once. False: it is not. */
bool cs_node_reduce_fast(struct cs_op *op, size_t read_all, size_t single_copy_from);

/* Pieces of long vectors through the ring, in the state of a script; zeroed but for `step`, the
 * last one before the next piece. */
struct cs_node_reduce_ring {
	struct cs_post post;
	uint64_t step;
	const char *own; /* the piece at hand, which has been published; NULL: it has not */
	int next;        /* local rank that is looked at next */
};

/* When the call has begun. */
void cs_node_reduce_ring_init(struct cs_op *op, struct cs_node_reduce_ring *ring);

/* What one rank does in one piece of at most a slot, parts of a phase that may be taken up again:
 * finds memory for what the others read of the own piece (NULL: there is none yet); publishes it;
 * reduces its slice of everybody's pieces, `count` elements, into `area`. `own`: the whole own
 * piece. */
char *cs_node_reduce_room(struct cs_op *op, struct cs_node_reduce_ring *ring);
void cs_node_reduce_publish(struct cs_op *op, struct cs_node_reduce_ring *ring, const char *own);
enum cs_status cs_node_reduce_slices(struct cs_op *op, struct cs_node_reduce_ring *ring, char *area,
				 size_t count);

/* All that for a piece at `send` in the own vector: puts out all but the own slice. */
enum cs_status cs_node_reduce_chunk(struct cs_op *op, struct cs_node_reduce_ring *ring,
				    const char *send, char *area, size_t count);

/* --- what node_reduce.c and node_reduce_hier.c share ----------------------------------------- */

static inline bool
cs_node_reduce_takes_result(const struct cs_op *op)
{
	return op->call.root < 0 || op->call.root == op->team->shape.rank;
}

/* Over several nodes: a vector that one rank of each reduces; longer ones, in chunks of `chunk`
 * bytes. */
void cs_node_reduce_hier_short(struct cs_op *op);
void cs_node_reduce_hier_long(struct cs_op *op, const struct cs_node_reduce_params *params,
			      size_t chunk);

#endif
