/* node/fetch.h — small alltoall on a node of many ranks: the ranks of a group (the lowest level,
 * algorithms/levels.h) share the ranks outside of it. Each fetches the blocks of its sources for
 * all of the group, and hands them over to its mates.
 *
 *   step 1   each rank publishes its blocks for the ranks outside of its group, by place
 *   step 2   rank j of a group of q has read every q-th rank outside, and publishes for each mate
 *            what these have for it, with its own block
 *
 * A rank reads (p - q) / q others' lines, and those of q - 1 mates, where a flat alltoall reads
 * p - 1; the data goes twice through memory. */
#ifndef CS_ALGORITHMS_NODE_FETCH_H
#define CS_ALGORITHMS_NODE_FETCH_H

#include "algorithms/op.h"

#define CS_FETCH_MOST ((size_t)256) /* bytes of a block: of longer ones flat calls are as fast */

/* Do blocks of `bytes` go this way? Equal on all ranks. */
bool cs_fetch_fits(const struct cs_team *team, size_t bytes);

/* Fills in the state, and returns the script; cs_fetch_reserve takes memory once the call has
 * begun on the node. */
cs_phase *const *cs_fetch_prepare(struct cs_op *op);
void cs_fetch_reserve(struct cs_op *op);

#endif
