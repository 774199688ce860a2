/* sim/hier.h — the steps of a hierarchical algorithm (seed 002, 2.3.1) for the simulator: what
 * ranks of a node do for each other in shared memory, and a plan among the nodes' leaders, each the
 * lowest rank of its node.
 *
 *   rank      brings its data: copy in | flag              awaits the leader's flag | copy out
 *   leader    brings its data          | awaits all flags | PLAN | flag             | copy out
 *
 * Steps of a node's ranks are counted from the phases of the algorithm that composes
 * (algorithms/counted.h), once for nodes that do the same. The problem of the leaders' plan is
 * counted from there, too.
 *
 * Allgather(v) with overlap (seed 004, 4): what a round of the plan has brought is copied out of
 * the node's memory by all its ranks while the next round's messages are under way.
 *
 *   leader    copy in | awaits all flags | flag | round 1 starts | copy out | round 1 ends | flag
 *                     | round 2 starts | copy out: round 1's | round 2 ends | flag | copy out
 *   rank      copy in | flag | for each flag of the leader: copy out what it stands for
 *
 * A round ends with a wait that no other wait follows. Data that does not come to its place at once
 * (Bruck) is copied at the end.
 *
 * A copy costs model.copy and the bus per byte, a reduction model.reduce and the bus, each flag
 * awaited model.flag. One leader for each node, and one piece: that pieces of a large call follow
 * each other, but for those of a scan's chain, and that several ranks of a node may drive the
 * network, is not simulated; nor are the messages by which gatherv, scatterv and alltoallv exchange
 * sizes first. */
#ifndef CS_SIM_HIER_H
#define CS_SIM_HIER_H

#include "algorithms/algorithm.h"
#include "algorithms/counted.h"
#include "sim/call.h"
#include "sim/sim.h"

struct cs_sim_hier {
	const struct cs_algorithm *plan; /* of the call's collective, or of the v form of it
					  * (cs_colls[].between): what leaders do */
	const size_t *params;            /* the plan's */
	size_t whole; /* vectors up to this one rank of a node reduces alone (CS_ROLE_READ_ALL) */
	bool overlaps; /* allgather and allgatherv only */
};

/* Adds the steps of all ranks of the call, which has several nodes with several ranks each, to a
 * simulator for so many ranks. CS_UNSUPPORTED: the plan refuses, or overlap is asked of another
 * collective; CS_NO_MEMORY. */
CS_CHECKED enum cs_status cs_hier_add(struct cs_sim *sim, struct cs_sim_call *call,
				      const struct cs_sim_hier *hier);

/* Counts what the first node does, and what its leader's plan is built for. Errors as above. The
 * caller calls cs_counted_fini in any case. */
CS_CHECKED enum cs_status cs_hier_count(struct cs_sim_call *call, const struct cs_sim_hier *hier,
					struct cs_counted_node *first);

/* Time of the steps on a node by a model, ps, if messages between nodes take no time: on the
 * slowest node. For calls with blocks of one size. *first as of cs_hier_count. Errors as above, and
 * CS_UNSUPPORTED if the time is too long for the simulator. */
CS_CHECKED enum cs_status cs_hier_time_on_node(struct cs_sim_call *call,
					       const struct cs_sim_hier *hier,
					       const struct cs_model *model, int64_t *time,
					       struct cs_counted_node *first);

#endif
