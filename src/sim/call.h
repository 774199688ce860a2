/* sim/call.h — one call as each of its ranks sees it: which rank is on which node, blocks of one
 * size or of several.
 *
 * Sizes of blocks are made from a base size c by one of six distributions (seed 001, 3):
 *
 *   regular     c                             half        2 c, 0, 2 c, 0, ..
 *   broadcast   c, 0, 0, ..                   decreasing  from 2 c down to 0, evenly
 *   spike       c / 2, the rest of c evenly   geometric   1 of c p / log p, 2 of half, 4 of ..
 *
 * In alltoallv and alltoallw a rank sends the first of them to itself, the second to the next rank,
 * and so on. */
#ifndef CS_SIM_CALL_H
#define CS_SIM_CALL_H

#include "base/status.h"
#include "coll/problem.h"

enum cs_distribution {
	CS_REGULAR, CS_BROADCAST, CS_SPIKE, CS_HALF, CS_DECREASING, CS_GEOMETRIC, CS_DISTRIBUTIONS,
};

extern const char *const cs_distribution_names[CS_DISTRIBUTIONS];

#define CS_CALL_UNIT 8 /* bytes of an element in reductions */

struct cs_sim_call {
	/* The call. */
	enum cs_coll coll;
	int nodes, ppn;
	bool is_cyclic; /* ranks are dealt out to the nodes in turn; else a node's ranks follow each
			 * other */
	int root;
	size_t bytes;   /* of the vector, or c; in reduce_scatter(_block) c is its p-th part */
	enum cs_distribution distribution;
	bool is_commutative;
	/* Made by cs_sim_call_init. */
	int ranks;
	size_t total;   /* bytes of all blocks that there are, of a vector, or of what a rank sends
			 * in alltoall(v,w) */
	int *node_of;
	struct cs_problem problem;
	size_t *dealt, *at;             /* by the distribution */
	size_t *pairs[4];               /* of a rank: sizes, at, recv_sizes, recv_at */
};

/* Has the collective blocks of several sizes? */
bool cs_sim_call_has_sizes(enum cs_coll coll);

/* Size of rank i's block, for p ranks. */
size_t cs_distribution_size(enum cs_distribution distribution, size_t c, size_t p, size_t i);

/* CS_NO_MEMORY: call it with cs_sim_call_fini all the same. */
CS_CHECKED enum cs_status cs_sim_call_init(struct cs_sim_call *call);
void cs_sim_call_fini(struct cs_sim_call *call);

/* The call as `rank` sees it, valid until it is asked for another one; params are NULL. */
const struct cs_problem *cs_sim_call_seen_by(struct cs_sim_call *call, int rank);

/* Bytes that rank `from` sends to `to` in alltoall(v,w). */
static inline size_t
cs_sim_call_pair(const struct cs_sim_call *call, int from, int to)
{
	return call->dealt[to >= from ? to - from : to - from + call->ranks];
}

static inline int
cs_sim_call_rank(const struct cs_sim_call *call, int node, int local)
{
	return call->is_cyclic ? local * call->nodes + node : node * call->ppn + local;
}

#endif
