/* sim/sketch.h — algorithms as the simulator tells them: those of seed 002, chapter 3, to see what
 * they would take when ranks come late. The steps of a rank depend on which rank of its node comes
 * first or last, so they are no plans; and they are told by what costs time, without places of
 * data. The library's own that know who comes when are scripts, which the simulator cannot play.
 *
 *   BARRIERS      3.9 "Hier.": a node's ranks wait for each other before and after what its leader
 *                 does in a k-nomial tree of leaders
 *   STATIC        3.9 "Intra-Opt.": nobody waits but for data; a node's lowest rank leads
 *   DYNAMIC       3.7.1, 3.7.2: the last to come to a reduce, and the first to come to a bcast,
 *                 leads. Messages are written to the parent's or child's node, whoever leads there;
 *                 with `control` a leader tells its number to all ranks of the nodes that have to
 *                 know it (of the root's node: to the root, who is known), before data goes
 *   HALF_DYNAMIC  reduce: the last to come sends to the parent node's lowest rank, which adds what
 *                 its node's children have sent as one more contributor
 *   PATARASUK, _BARRIERS, _STATIC, _DYNAMIC
 *                 bcast: all ranks, or the leaders of nodes, ask the root (sim.h)
 *   FRAGMENTS     alltoall: opportunistic fragmentation (3.7.3)
 *
 * In DYNAMIC and HALF_DYNAMIC reduces a node's vectors are added up by a tree over its ranks whose
 * brackets are fixed: who is second at a node of the tree folds and goes up. On the root's node the
 * root leads. */
#ifndef CS_SIM_SKETCH_H
#define CS_SIM_SKETCH_H

#include "sim/sketch_tree.h"

/* A simulator with the steps of all ranks of the call, a bcast, reduce or alltoall with blocks of
 * one size. Its first call->ranks actors are the ranks, the others are roles. `budget`: as in
 * cs_sim_create. CS_UNSUPPORTED: the sketch is not of this collective, or the call has no bytes, or
 * its nodes have too many ranks; CS_NO_MEMORY. */
CS_CHECKED enum cs_status cs_sketch_create(struct cs_sim **sim, const struct cs_sim_call *call,
					   const struct cs_sketch *sketch, size_t budget);

#endif
