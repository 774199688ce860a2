/* hier/node_reduce_hier.h — reduce and allreduce over several nodes by their memory, and pieces of
 * long vectors, of which each rank of a node reduces a slice. */
#ifndef CS_ALGORITHMS_HIER_NODE_REDUCE_HIER_H
#define CS_ALGORITHMS_HIER_NODE_REDUCE_HIER_H

#include "algorithms/op.h"
#include "shm/post.h"

struct cs_node_reduce_params {
	size_t read_all; /* bytes up to which each rank (or the root) reads all vectors and reduces
			  * alone */
	size_t chunk;    /* bytes per piece of longer vectors on the node */
	size_t wire_chunk; /* bytes that the leaders reduce at once */
	size_t lanes;      /* ranks of a node that do so, each its part, from lanes_bytes on; 0: one
			    * per NUMA domain */
	size_t cma_min;    /* allreduce on one node: bytes from which vectors are read by single
			    * copy; 0: as measured */
};

/* State of a reduction of a long vector by pieces through the ring. */
struct cs_node_reduce_ring {
	struct cs_post post;
	uint64_t step;   /* the last one before the next piece; the caller may set it */
	const char *own; /* the piece at hand, which has been published; NULL: it has not */
	int next;        /* local rank that is looked at next */
};

/* Zeroes the state and reserves memory, after the call has begun. */
void cs_node_reduce_ring_init(struct cs_op *op, struct cs_node_reduce_ring *ring);

/* One rank's work on a piece of at most a slot, as parts of a phase that may be repeated: memory
 * for the own piece, as others read it (NULL: none yet); its publication, `own` being the whole
 * piece; reduction of the own slice of all ranks' pieces, of `count` elements each, into `area`. */
char *cs_node_reduce_room(struct cs_op *op, struct cs_node_reduce_ring *ring);
void cs_node_reduce_publish(struct cs_op *op, struct cs_node_reduce_ring *ring, const char *own);
enum cs_status cs_node_reduce_slices(struct cs_op *op, struct cs_node_reduce_ring *ring, char *area,
				 size_t count);

/* Does all this for a piece at `send` in the own vector; posts all but the own slice. */
enum cs_status cs_node_reduce_chunk(struct cs_op *op, struct cs_node_reduce_ring *ring,
				    const char *send, char *area, size_t count);

static inline bool
cs_node_reduce_takes_result(const struct cs_op *op)
{
	return op->call.root < 0 || op->call.root == op->team->shape.rank;
}

/* Over several nodes: one rank of each reduces whole vectors; or each rank its slice of pieces of
 * `chunk` bytes. */
void cs_node_reduce_hier_short(struct cs_op *op);
void cs_node_reduce_hier_long(struct cs_op *op, const struct cs_node_reduce_params *params,
			      size_t chunk);

#endif
