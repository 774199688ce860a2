/* patterns/combine.h — reduce and allreduce share everything but who gets the result. */
#ifndef CS_ALGORITHMS_PATTERNS_COMBINE_H
#define CS_ALGORITHMS_PATTERNS_COMBINE_H

#include "algorithms/op.h"

struct cs_combine_params {
	size_t read_all; /* vectors up to this: everybody (or the root) reads everybody's and reduces alone */
	size_t chunk;    /* bytes per piece of longer vectors on the node */
	size_t wire_chunk; /* bytes that the leaders reduce at once */
	size_t lanes;      /* ranks of a node that do so, each its part, from 64 KiB on; 0: one per NUMA domain */
	size_t cma_min;    /* allreduce on one node: vectors from this size are read where they are; 0: where measured to
			    * take less */
};

/* call->root < 0: all ranks get the result. */
void cs_combine(struct cs_op *op, const struct cs_combine_params *params);

/* The whole vector of a call, of at most a slot, for others to read after step 1. */
void cs_combine_publish(struct cs_op *op, const char *vector);

/* What all ranks of the node have published so, `own` in place of the own vector, into `out`, in the order of ranks. */
void cs_combine_fold(struct cs_op *op, void *out, const void *own);

/* What one rank does in one piece of a long vector: publishes its input (but the own slice), reduces its slice of
 * everybody's into `area`. `line`: the own one of this call, line->slot set; `step` is the piece's; `piece_index` counts the
 * pieces of the call; `send`: the piece in the own vector, `count` elements that fit a slot. */
void cs_combine_piece(struct cs_op *op, struct cs_line *line, uint64_t step, uint64_t piece_index,
		      const char *send, char *area, size_t count);

#endif
