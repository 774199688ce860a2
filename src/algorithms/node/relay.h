/* node/relay.h — long broadcast on a node of several caches: the data comes once into each cache's
 * part of the node, to the ring of one of its ranks, from which the others copy it out; these ranks
 * are a tree, in which a piece is passed on while the next one comes (the NUMA hybrid copy-out of
 * seed 002, 2.3.3; flat, all ranks read the root's ring, over the links of its cache). */
#ifndef CS_ALGORITHMS_NODE_RELAY_H
#define CS_ALGORITHMS_NODE_RELAY_H

#include "algorithms/op.h"

/* Has the node several caches (else packages), one of them with several ranks? */
bool cs_relay_is_of_use(const struct cs_levels *levels);

/* The local rank that the one at place `self` reads, if first ranks of caches have up to `fan`
 * children each, from the root's on; the root: itself. *is_read: others read this one. */
int cs_relay_source(const struct cs_levels *levels, int self, int root, size_t fan, bool *is_read);

/* Starts the broadcast of call->recv in pieces of `chunk` bytes, at most a slot; the first ranks of
 * caches have up to `fan` children each. All ranks of the node have the same `chunk` and `fan`. */
void cs_relay_start(struct cs_op *op, size_t chunk, size_t fan);

#endif
