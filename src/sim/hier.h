/* sim/hier.h — the steps of a hierarchical algorithm (seed 002, 2.3.1) for the simulator: what ranks of a node do for
 * each other in shared memory, and a plan among the nodes' leaders, each the lowest rank of its node.
 *
 *   rank      brings its data: copy in | flag              awaits the leader's flag | copy out
 *   leader    brings its data          | awaits all flags | PLAN | flag             | copy out
 *
 *   allgather(v)      brings its block, takes all of them       alltoall(v,w)  brings and takes its row and its column
 *   gather(v)         brings its block, the root takes all      bcast          the root brings, the others take
 *   scatter(v)        the root brings all, each takes its own   barrier        flags only
 *   allreduce, reduce, reduce_scatter(_block)
 *                     brings its vector; each reduces a slice of all vectors on its node; takes the vector (reduce: the
 *                     root; reduce_scatter: its block). Vectors up to `whole` bytes the leader reduces alone.
 *
 * A copy costs model.copy and the bus per byte, a reduction model.reduce and the bus, each flag awaited model.flag. One
 * leader for each node, and one piece: that pieces of a large call overlap, and that several ranks of a node may drive
 * the network, is not simulated; nor are the sizes that gatherv, scatterv and alltoallv exchange first. */
#ifndef CS_SIM_HIER_H
#define CS_SIM_HIER_H

#include "sim/call.h"
#include "sim/sim.h"

struct cs_builder;

struct cs_hier {
	enum cs_coll inner;                  /* what the plan does: the call's collective, or the v form of it */
	void (*build)(struct cs_builder *builder);
	const size_t *params;                /* the plan's */
	size_t whole;
};

/* Adds the steps of all ranks of the call to a simulator for so many ranks. CS_UNSUPPORTED: the plan refuses;
 * CS_NO_MEMORY. */
CS_CHECKED enum cs_status cs_hier_add(struct cs_sim *sim, const struct cs_sim_call *call, const struct cs_hier *hier);

#endif
