/* algorithms/team.h — a team as algorithms see it: places of ranks, the node's memory, the way
 * between nodes.
 *
 * A team belongs to one communicator. Ranks are ranks of that communicator. Nodes are numbered by
 * their lowest rank, local ranks by rank, so local rank 0 (the leader) is the lowest rank of the
 * node. "Position" counts the ranks node by node: order[position] = rank. With block placement
 * order is the identity. */
#ifndef CS_ALGORITHMS_TEAM_H
#define CS_ALGORITHMS_TEAM_H

#include "algorithms/epoch.h"
#include "algorithms/lanes.h"
#include "algorithms/levels.h"
#include "algorithms/plan_cache.h"
#include "base/parse.h"
#include "shm/node_slots.h"
#include "wire/host.h"

#include <stdbool.h>

struct cs_op_memory;

struct cs_shape {
	int rank, ranks;
	int nodes, node;         /* number of nodes; own node */
	int local, locals;       /* own local rank; ranks on the own node */
	int ppn_min, ppn_max;
	bool is_block_placed;
	int numa_domains; /* spanned by the own node's ranks; 0: unknown, or not asked since all
			   * ranks are on one node */
	struct cs_levels levels; /* of the own node's ranks, on one node */
	int *node_of, *local_of; /* by rank */
	int *first;              /* by node: position of its local rank 0; first[nodes] == ranks */
	int *order, *position;   /* position -> rank, rank -> position */
};

/* The parameter `cma_min` of algorithms with large blocks on one node (shm/copy_choice.h). */
#define CS_CMA_MIN \
	{ "cma_min", "blocks from this size are read from their owner's memory by single copy; " \
		     "0: where measured to take less", \
	  0, 0, CS_INF }

struct cs_team {
	struct cs_shape shape;
	struct cs_node node;
	const struct cs_host *host;
	/* This rank's lane, or NULL if it is in none that is made, or with one node; if each node
	 * has one rank, `everyone` from the first plan between all ranks on, and NULL before. Lane
	 * i is a host communicator of one rank of each node, in node order; lane 0 is the leaders'.
	 * CS_LANES_TURN are made with the team, further ones by the first call that wants them
	 * (cs_hier_lanes). Several lanes let several ranks of a node drive the wire: the first of
	 * each NUMA domain, then the second of each, or by local rank if domains are unknown
	 * (algorithms/lanes.h). With one node the leader is local rank 0. */
	void *leaders;
	int lanes, most_lanes;    /* that are made; that may be: 0 with one node */
	int turn; /* of cs_lanes_local; 0: lanes follow domains, or there are none */
	int lane;                 /* this rank's, made or not; CS_LANES: in none */
	int lane_local[CS_LANES]; /* by lane, up to most_lanes: its rank on the own node */
	int domains;              /* NUMA domains that the ranks of each node span, at least; 1 if
				   * not known */
	/* All ranks of the team, for plans between them; the group's private communicator is made
	 * at its first use. */
	void *everyone;
	/* The ranks of the own node, for the MPI's collectives on it; their communicator is made
	 * when a choice first needs it. */
	void *locals;
	bool has_locals; /* it is open, on all nodes */
	uint64_t tags; /* operations begun: the same on all ranks, and the next one's tag */
	uint64_t numbers; /* of messages from any source (wire/wire.h): the same on all ranks */
	struct cs_plans lane_plans, flat_plans; /* of the two groups */
	bool has_cma;  /* single copies work between all local ranks (agreed) */
	struct cs_epoch epoch;
	struct cs_posted_receives
		*posted_receives;   /* algorithms/late/posted_receives.h; NULL: none so far */
	struct cs_op_memory **idle; /* memory that operations have left for the next
				     * (algorithms/op.h) */
};

static inline int
cs_team_node_size(const struct cs_team *team, int node)
{
	return team->shape.first[node + 1] - team->shape.first[node];
}
/* Rank of a local rank of the own node. */
static inline int
cs_team_local_rank(const struct cs_team *team, int local)
{
	return team->shape.order[team->shape.first[team->shape.node] + local];
}
/* Local rank of the own node's leader, which is in lane 0. */
static inline int
cs_team_leader(const struct cs_team *team)
{
	return team->lane_local[0];
}
static inline bool
cs_team_is_leader(const struct cs_team *team)
{
	return team->shape.local == cs_team_leader(team);
}
/* Local rank of any node's leader: with several domains, or without lanes, the first. */
static inline int
cs_team_leader_of(const struct cs_team *team, int node)
{
	return team->turn ? cs_lanes_local(0, node, team->turn) : 0;
}
/* Number of lanes for a call with parameter `lanes`, made or not; 0: one for each NUMA domain. */
static inline int
cs_team_lanes(const struct cs_team *team, size_t wanted)
{
	wanted = wanted ? wanted : (size_t)team->domains;
	return wanted < (size_t)team->most_lanes ? (int)wanted : team->most_lanes;
}

#endif
