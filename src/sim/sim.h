/* sim/sim.h — discrete-event simulation of the plans of all ranks by the LogGP model (sim/model.h).
 *
 *   cs_sim_create; for each rank: build its plan, cs_sim_add it, free it; cs_sim_run as often as
 *   wanted; cs_sim_destroy
 *
 * A step is kept in 16 bytes, so that 32,768 ranks fit; no data is moved. Results are simulated
 * times: never mix them with measured ones. Rules that are not in the model's picture:
 *
 *   - A send step takes o_s and goes on; its wait ends when the last byte has left the node (its
 *     port, without a card).
 *   - A receive's wait ends o_r after the last byte came, or after the wait began if that was
 *     later. Messages that were not waited for take no time of the receiver.
 *   - Large messages too leave at once, unless model.rndv says above how many bytes they meet their
 *     receiver: each receive sends a "ready" (of 8 bytes, as others; with model.rts when the
 *     sender's request to send, of 8 bytes too, has come), and the send's o_s and data follow when
 *     that is there and the sender is in the call: waits or looks.
 *   - Sends that follow each other at once are a row: o_s of the first, osmin of the others. So are
 *     receives.
 *   - Between nodes and inside one a rank has ports of their own, for each direction.
 *   - A card or a bus serves requests in order of time, at one time the lower rank first. The first
 *     byte waits for its turn, the last one for the slowest on its way.
 *   - Nodes may be in groups, each with a link to all others, for each direction, that its messages
 *     share: dragonfly groups, subtrees of a tapered fat tree. A message passes it behind its
 *     sender's card, and that of the receiver's group at the same time if it is free.
 *   - Ranks of a node have flags besides: a waiting rank goes on model.flag after the flag was set,
 *     or after the wait began. Flags are no messages.
 *
 * Deterministic: same plans and model, same picoseconds. */
#ifndef CS_SIM_SIM_H
#define CS_SIM_SIM_H

#include "plan/plan.h"
#include "sim/model.h"

struct cs_sim;

struct cs_sim_result {
	char text[200];  /* what is wrong; empty if nothing is */
	bool is_unlike;  /* of ranks that stand for others (cs_sim_set_alike) */
	int64_t time;    /* ps: the last rank's end */
	uint64_t messages, bytes;             /* of all ranks */
	uint64_t inter_messages, inter_bytes; /* those between nodes */
	int64_t inter_time; /* ps, mean of nodes: from the begin of a node's first message to or
			     * from another one to the end of its last one; of a player's messages
			     * from any source the ends alone */
	uint64_t global_messages, global_bytes; /* those between groups of nodes; 0 without groups
						 */
	uint32_t rounds; /* messages in the longest chain in which each had to wait for the one
			  * before */
};

/* A step that has ended; `start` to `end` is the time in which its rank did nothing else, and for
 * `waited` of it nothing at all. */
struct cs_sim_seen {
	int rank;
	unsigned kind; /* enum cs_step_kind, or enum cs_node_step */
	size_t step;
	int64_t start, end, waited; /* ps */
};

/* Called for each step. */
struct cs_sim_watch {
	void (*step)(void *context, const struct cs_sim_seen *seen);
	void *context;
};

/* Creates a simulator. node_of: each rank's node, from 0 to below `ranks`; NULL: one rank per node.
 * `budget`: limit of its memory in bytes, 0: no limit. CS_NO_MEMORY; CS_BAD_INPUT: a node out of
 * range. */
CS_CHECKED enum cs_status cs_sim_create(struct cs_sim **sim, int ranks, const int *node_of,
					size_t budget);
void cs_sim_destroy(struct cs_sim *sim);

/* The functions that add append steps to the rank's. CS_NO_MEMORY: over budget; CS_BAD_INPUT: a
 * step that cannot be (plan/verify.h says more). The first error is kept: later calls do nothing
 * and return the same. */

/* Adds the plan of plan->rank. A rank without steps does nothing. Steps of loops are kept, and
 * counted by a watcher, once for each time. */
CS_CHECKED enum cs_status cs_sim_add(struct cs_sim *sim, const struct cs_plan *plan);
/* Adds the plan of `rank` in a group: rank_of[i] is the group's i-th. */
CS_CHECKED enum cs_status cs_sim_add_among(struct cs_sim *sim, int rank, const struct cs_plan *plan,
					   const int *rank_of);

/* Copies of a plan that follow each other are kept as one from now on, reductions too: less memory,
 * the same bytes. A watcher counts these steps then, not the plan's. */
void cs_sim_join_work(struct cs_sim *sim);
/* Plans added from now on send through buffers, as an MPI's eager messages do: a message is copied
 * by its sender before it leaves, and by its receiver when that has awaited it; between nodes those
 * up to `most` bytes, inside a node all. There these two copies are the message's length: intra.G
 * costs nothing, and the bus serves copies only. 0: none. */
void cs_sim_copy_messages(struct cs_sim *sim, uint64_t most);
/* Groups of `nodes` nodes each, in their order, the first of only `first`, from 1 on, and the last
 * perhaps of fewer, for later runs. A group's link carries as many bytes in a time as `nodes` cards
 * (without a card: ports of a rank) divided by taper / CS_SIM_TAPER; its latency is in L. nodes 0:
 * no groups. CS_NO_MEMORY. */
#define CS_SIM_TAPER 1000
CS_CHECKED enum cs_status cs_sim_set_groups(struct cs_sim *sim, int nodes, int first,
					    int64_t taper);
/* Nodes, or rows of some nodes, that are all alike, for later runs: only the first `ranks` ranks,
 * those of row 0, have steps, and what they send to row d comes to them as from row -d, or from row
 * d. Counts are those of all nodes; messages that come to a card or a port at the same time may
 * pass it in another order. Not with groups. */
enum cs_sim_alike { CS_ALIKE_NOT, CS_ALIKE_TURNED, CS_ALIKE_XOR };
void cs_sim_set_alike(struct cs_sim *sim, enum cs_sim_alike alike, int ranks);
/* Computation that each rank does in later runs between the begin of a non-blocking call and its
 * wait. The call's steps go on from its begin up to the first that has to wait for something, and
 * so again at each of `looks`, which part the computation equally (first at its begin, last at its
 * end, a single one half-way) and cost model.look; then the rank waits. With CS_SIM_ALWAYS a thread
 * with a core of its own does the steps meanwhile. The call costs a rank by what its end exceeds
 * its begin and `time`. Not with a player. */
#define CS_SIM_ALWAYS UINT32_MAX
struct cs_sim_compute {
	int64_t time;   /* ps; 0: none, a blocking call */
	uint32_t looks;
	int64_t poll;   /* ps: at its begin and looks a rank stays so long at most for messages that
			 * have not met their receivers; 0: not at all */
};
void cs_sim_set_compute(struct cs_sim *sim, const struct cs_sim_compute *compute);
/* Bytes that a plan would take. */
size_t cs_sim_plan_memory(const struct cs_sim *sim, const struct cs_plan *plan);

enum cs_node_step {
	CS_NODE_COPY = CS_STEP_COPY,     /* `amount` bytes of shared memory; none: no step */
	CS_NODE_REDUCE = CS_STEP_REDUCE,
	CS_NODE_PUBLISH = CS_STEP_KINDS, /* the rank's flag goes up by one */
	CS_NODE_AWAIT,                   /* until the flag of `peer`, on the same node, is
					  * `amount` */
};

void cs_sim_add_step(struct cs_sim *sim, int rank, enum cs_node_step kind, int peer,
		     uint64_t amount);
/* Adds a message's step of any actor; requests are numbered from 0 on for each. */
void cs_sim_add_message(struct cs_sim *sim, int rank, enum cs_step_kind kind, int peer,
			uint64_t bytes, int request);

/* First error in adding. */
CS_CHECKED enum cs_status cs_sim_added(const struct cs_sim *sim);

/* Runs the simulation. `starts`: begin of each rank, ps, none negative; NULL: all
 * at 0. `watch` may be NULL. CS_OK; CS_NO_MEMORY; CS_BAD_INPUT: result->text says which rank waits
 * for ever or which message does not match; CS_UNSUPPORTED: times above 26 days. */
CS_CHECKED enum cs_status cs_sim_run(struct cs_sim *sim, const struct cs_model *model,
				     const int64_t *starts, const struct cs_sim_watch *watch,
				     struct cs_sim_result *result);
/* End of the rank in the last run, ps. */
int64_t cs_sim_end_of(const struct cs_sim *sim, int rank);

#endif
