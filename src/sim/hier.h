/* sim/hier.h — the steps of a hierarchical algorithm (seed 002, 2.3.1) for the simulator: what
 * ranks of a node do for each other in shared memory, and a plan among the nodes' leaders, each the
 * lowest rank of its node.
 *
 *   rank      brings its data: copy in | flag              awaits the leader's flag | copy out
 *   leader    brings its data          | awaits all flags | PLAN | flag             | copy out
 *
 *   allgather(v)      brings its block, takes all of them  alltoall(v,w)  brings and takes both
 *   gather(v)         all but the root bring, it takes all bcast     the root brings, others take
 *   scatter(v)        the root brings all, each takes its own barrier        flags only
 *   allreduce, reduce, reduce_scatter(_block)
 *                     brings its vector (allreduce, reduce: but its own slice); each reduces a
 *                     slice of all vectors on its node; takes the vector (reduce: the root;
 *                     reduce_scatter: its block). Vectors up to `whole` bytes the leader reduces
 *                     alone.
 *
 * Scan, exscan: each rank brings its vector and reduces those before its own on its node, the
 * leader all of its node's; after the plan it adds what nodes before have, which is all that a
 * node's first rank has in an exscan. Where the last of them would read more than `whole` bytes
 * each reduces once instead, what the rank before it has, as soon as that has brought its own (a
 * chain, whose pieces follow each other).
 *
 * Allgather(v) with overlap (seed 004, 4): what a round of the plan has brought is copied out of
 * the node's memory by all its ranks while the next round's messages are under way.
 *
 *   leader    copy in | awaits all flags | flag | round 1 starts | copy out | round 1 ends | flag
 *                     | round 2 starts | copy out: round 1's | round 2 ends | flag | copy out
 *   rank      copy in | flag | for each flag of the leader: copy out what it stands for
 *
 * A round ends with a wait that no other wait follows. What does not come to its place at once
 * (Bruck) is copied at the end.
 *
 * A copy costs model.copy and the bus per byte, a reduction model.reduce and the bus, each flag
 * awaited model.flag. One leader for each node, and one piece: that pieces of a large call follow
 * each other, and that several ranks of a node may drive the network, is not simulated; nor are the
 * sizes that gatherv, scatterv and alltoallv exchange first. What ranks copy and reduce is held
 * against what the phases do (tests/unit/test_operation_counts.c). */
#ifndef CS_SIM_HIER_H
#define CS_SIM_HIER_H

#include "sim/call.h"
#include "sim/sim.h"

struct cs_builder;

struct cs_hier {
	enum cs_coll inner;                  /* what the plan does: the call's collective, or the v
					      * form of it */
	void (*build)(struct cs_builder *builder);
	const size_t *params;                /* the plan's */
	size_t whole;
	bool overlaps;                       /* allgather and allgatherv only */
};

/* Adds the steps of all ranks of the call to a simulator for so many ranks. CS_UNSUPPORTED: the
 * plan refuses, or overlap is asked of another collective; CS_NO_MEMORY. */
CS_CHECKED enum cs_status cs_hier_add(struct cs_sim *sim, const struct cs_sim_call *call,
				      const struct cs_hier *hier);

#endif
