/* algorithms/counted.h — counts of the work of each rank of a node in a call over several nodes,
 * from the phases of the algorithm that serves it.
 *
 * Virtual ranks of one node run the phases in memory of their own and wait for each other's lines
 * as ranks do, but a copy or a reduction moves nothing: it is noted with its bytes, in the rank's
 * order. So blocks may be of any size, and vectors take no memory. Slots and areas have room for
 * everything: nothing is cut into rounds but what an algorithm cuts for another reason (the pieces
 * of a scan's chain). Local rank 0 alone drives the wire; an exchange between nodes is noted as the
 * problem that a plan would be built for.
 *
 * If ranks exchange sizes first (gatherv, scatterv, alltoallv), the flags of this exchange are
 * noted, but neither its messages, which are the host's, nor its few bytes. */
#ifndef CS_ALGORITHMS_COUNTED_H
#define CS_ALGORITHMS_COUNTED_H

#include "algorithms/algorithm.h"
#include "algorithms/op.h"
#include "coll/problem.h"

enum cs_counted_kind {
	CS_COUNTED_COPY,    /* `amount` bytes */
	CS_COUNTED_REDUCE,  /* `amount` bytes */
	CS_COUNTED_PUBLISH, /* the rank's flag goes up for the amount-th time */
	CS_COUNTED_AWAIT,   /* until the flag of local rank `peer` has gone up `amount` times */
	CS_COUNTED_BETWEEN, /* an exchange between nodes: between[amount] */
};

struct cs_counted_step {
	uint64_t amount;
	int32_t peer;
	enum cs_counted_kind kind;
};

struct cs_counted_node {
	int locals;
	struct cs_counted_rank {
		struct cs_counted_step *steps;
		size_t count, room;
	} *ranks; /* by local rank */
	struct cs_problem *between; /* each with arrays of its own */
	size_t betweens;
};

/* A call and the algorithms that serve it. */
struct cs_counted_call {
	const struct cs_algorithm *algorithm; /* one that composes */
	const struct cs_algorithm *between;   /* a plan of cs_colls[coll].between */
	const size_t *between_params;         /* the plan's, valid as long as the counted node */
	size_t read_all;                      /* value for the algorithm's CS_ROLE_READ_ALL */
	/* The problem of all ranks, with node_of, as `rank` sees it: arrays are valid until the
	 * next call. Nodes are numbered by their lowest rank. In alltoallv and alltoallw the
	 * largest block, and the longest message to or from another node, are the same on all
	 * nodes. */
	const struct cs_problem *(*seen_by)(void *context, int rank);
	void *context;
};

/* Count the work of the ranks of `node`, one of several. CS_NO_MEMORY; CS_UNSUPPORTED: no such
 * node, or its ranks wait for ever. The caller calls cs_counted_fini in any case. */
CS_CHECKED enum cs_status cs_counted_init(struct cs_counted_node *counted,
					  const struct cs_counted_call *call, int node);
void cs_counted_fini(struct cs_counted_node *counted);
/* Free the ranks' steps and keep `between`. */
void cs_counted_drop_steps(struct cs_counted_node *counted);

/* --- notes by the phases of a watched operation (CS_NODE_WATCHED) ----------------------------- */

/* Note a copy or a reduction. True: it is to be done, too. */
static inline bool
cs_counted_work(struct cs_op *op, enum cs_counted_kind kind, size_t bytes)
{
	return op->team->node.watch->work(&op->node, kind == CS_COUNTED_REDUCE, bytes);
}

/* Note an exchange between nodes. False: it is to be done. */
static inline bool
cs_counted_between(struct cs_op *op, const struct cs_problem *problem)
{
	const struct cs_node_watch *watch = op->team->node.watch;
	if (watch->between)
		watch->between(&op->node, problem);
	return watch->between;
}

#endif
