/* algorithms/hier/between.c — collectives between nodes, by the chosen plan or by the host. */
#include "algorithms/hier/between.h"

#include "algorithms/counted.h"

#include <string.h>

/* The problem of a collective between nodes: nodes are its ranks. */
static struct cs_problem
problem_of(const struct cs_op *op, enum cs_coll coll, size_t bytes, int root)
{
	const struct cs_shape *shape = &op->team->shape;
	return (struct cs_problem){ .coll = coll, .ranks = shape->nodes, .rank = shape->node,
				    .root = root, .unit = 1, .bytes = bytes, .is_commutative = true,
				    .params = op->between_params,
				    .senders = op->node.extras & CS_OP_SENDERS
					       ? &op->senders : NULL };
}

/* Starts the problem by the plan. False: no plan, or its algorithm refuses, on all nodes alike; the
 * host makes it, now and in later rounds. True, with CS_UNDER_WAY_LATER: the phase is to ask again,
 * since memory is short, or it is not this operation's turn at the host. */
static bool
is_by_plan(struct cs_op *op, const struct cs_problem *problem, const void *in, void *out,
	   const struct cs_reduction *reduction)
{
	struct cs_team *team = op->team;
	bool has_senders = op->node.extras & CS_OP_SENDERS;
	if (!op->between) /* the leader alone is at the host */
		return has_senders && op->senders.self;
	if (cs_node_is_watched(&op->node) && cs_counted_between(op, problem))
		return true;
	if (has_senders ? cs_plans_start(op, &team->lane_plans, team->everyone, op->between,
					 problem, in, out, reduction)
			: cs_plans_start(op, &team->lane_plans, team->leaders, op->between, problem,
					 in, out, reduction))
		return true;
	op->between = NULL;
	if (has_senders && op->senders.self)
		return true;
	if (!(op->node.extras & CS_OP_NONBLOCKING) || cs_between_is_turn(op))
		return false;
	op->under_way = CS_UNDER_WAY_LATER;
	return true;
}

enum cs_status
cs_between_go(struct cs_op *op)
{
	struct cs_team *team = op->team;
	if (!(op->node.extras & CS_OP_NONBLOCKING))
		return CS_OK;
	if (op->under_way == CS_UNDER_WAY_PLAN && cs_plans_go(op) == CS_AGAIN)
		return CS_AGAIN;
	if (op->under_way == CS_UNDER_WAY_HOST) {
		if (!team->host->test(&op->request)) {
			op->node.awaited.local = CS_AWAITS_MESSAGE;
			return CS_AGAIN;
		}
		cs_op_note(op, op->request.told);
	}
	op->under_way = CS_UNDER_WAY_NOTHING;
	return CS_OK;
}

void
cs_between_max(struct cs_op *op, uint64_t *value)
{
	cs_op_note(op, op->team->host->max(op->team->leaders, value, 1, cs_between_request(op)));
}

void
cs_between_barrier(struct cs_op *op)
{
	struct cs_team *team = op->team;
	struct cs_problem problem = problem_of(op, CS_BARRIER, 0, 0);
	if (!is_by_plan(op, &problem, NULL, NULL, NULL))
		cs_op_note(op, team->host->barrier(team->leaders, cs_between_request(op)));
}

void
cs_between_bcast(struct cs_op *op, void *buffer, size_t bytes, int root)
{
	struct cs_team *team = op->team;
	struct cs_problem problem = problem_of(op, CS_BCAST, bytes, root);
	if (!is_by_plan(op, &problem, buffer, buffer, NULL))
		cs_op_note(op, team->host->bcast(team->leaders, buffer, bytes, root,
						 cs_between_request(op)));
}

void
cs_between_allgatherv(struct cs_op *op, void *buffer, const size_t *bytes, const size_t *at)
{
	struct cs_team *team = op->team;
	struct cs_problem problem = problem_of(op, op->between ? op->between->coll : CS_ALLGATHERV,
					       0, 0);
	problem.sizes = bytes;
	problem.at = at;
	problem.is_in_place = true;
	if (!is_by_plan(op, &problem, NULL, buffer, NULL))
		cs_op_note(op, team->host->allgatherv(team->leaders, buffer, bytes, at,
						      cs_between_request(op)));
}

void
cs_between_gatherv(struct cs_op *op, void *buffer, const size_t *bytes, const size_t *at, int root)
{
	struct cs_team *team = op->team;
	struct cs_problem problem = problem_of(op, CS_GATHERV, 0, root);
	problem.sizes = bytes;
	problem.at = at;
	problem.is_in_place = problem.rank == root;
	if (!is_by_plan(op, &problem, (char *)buffer + at[problem.rank], buffer, NULL))
		cs_op_note(op, team->host->gatherv(team->leaders, buffer, bytes, at, root,
						   cs_between_request(op)));
}

void
cs_between_scatterv(struct cs_op *op, void *buffer, const size_t *bytes, const size_t *at, int root)
{
	struct cs_team *team = op->team;
	struct cs_problem problem = problem_of(op, CS_SCATTERV, 0, root);
	problem.sizes = bytes;
	problem.at = at;
	problem.is_in_place = problem.rank == root;
	if (!is_by_plan(op, &problem, buffer, (char *)buffer + at[problem.rank], NULL))
		cs_op_note(op, team->host->scatterv(team->leaders, buffer, bytes, at, root,
						    cs_between_request(op)));
}

void
cs_between_alltoallv(struct cs_op *op, const void *send, const size_t *send_bytes,
		     const size_t *send_at, void *recv, const size_t *recv_bytes,
		     const size_t *recv_at, size_t largest)
{
	struct cs_team *team = op->team;
	struct cs_problem problem = problem_of(op, CS_ALLTOALLV, 0, 0);
	problem.sizes = send_bytes;
	problem.at = send_at;
	problem.recv_sizes = recv_bytes;
	problem.recv_at = recv_at;
	if (op->between && op->between->needs.largest)
		problem.bytes = largest;
	if (!is_by_plan(op, &problem, send, recv, NULL))
		cs_op_note(op, team->host->alltoallv(team->leaders, send, send_bytes, send_at, recv,
						     recv_bytes, recv_at, cs_between_request(op)));
}

void
cs_between_allreduce(struct cs_op *op, void *buffer, size_t count,
		     const struct cs_reduction *reduction, bool is_commutative)
{
	struct cs_team *team = op->team;
	struct cs_problem problem = problem_of(op, CS_ALLREDUCE, count * reduction->unit, 0);
	problem.unit = reduction->unit;
	problem.is_in_place = true;
	problem.is_commutative = is_commutative;
	if (!is_by_plan(op, &problem, buffer, buffer, reduction))
		cs_op_note(op, team->host->allreduce(team->leaders, buffer, count, reduction,
						     cs_between_request(op)));
}

void
cs_between_reduce(struct cs_op *op, const void *in, void *out, size_t count,
		  const struct cs_reduction *reduction, bool is_commutative, int root)
{
	struct cs_team *team = op->team;
	struct cs_problem problem = problem_of(op, CS_REDUCE, count * reduction->unit, root);
	problem.unit = reduction->unit;
	problem.is_commutative = is_commutative;
	if (!is_by_plan(op, &problem, in, out, reduction))
		cs_op_note(op, team->host->reduce(team->leaders, in, out, count, reduction, root,
						  cs_between_request(op)));
}

void
cs_between_exscan(struct cs_op *op, void *buffer, size_t count,
		  const struct cs_reduction *reduction, bool is_commutative)
{
	struct cs_team *team = op->team;
	struct cs_problem problem = problem_of(op, CS_EXSCAN, count * reduction->unit, 0);
	problem.unit = reduction->unit;
	problem.is_in_place = true;
	problem.is_commutative = is_commutative;
	if (!is_by_plan(op, &problem, buffer, buffer, reduction))
		cs_op_note(op, team->host->exscan(team->leaders, buffer, count, reduction,
						  cs_between_request(op)));
}

void
cs_between_take_result(struct cs_op *op, void *buffer, size_t bytes)
{
	bool moves = !cs_node_is_watched(&op->node) || cs_counted_work(op, CS_COUNTED_COPY, bytes);
	if (moves && bytes)
		memcpy(buffer, cs_op_memory(op, CS_OP_PART, bytes), bytes);
}

void
cs_between_reduce_scatter(struct cs_op *op, void *buffer, const size_t *counts,
			  const struct cs_reduction *reduction, bool is_commutative)
{
	struct cs_team *team = op->team;
	int nodes = team->shape.nodes;
	size_t *sizes = cs_op_nodes(op) + nodes; /* counts is the first of the four */
	for (int node = 0; node < nodes; node++)
		sizes[node] = counts[node] * reduction->unit;
	struct cs_problem problem = problem_of(op, CS_REDUCE_SCATTER, 0, 0);
	problem.unit = reduction->unit;
	problem.sizes = sizes;
	problem.is_commutative = is_commutative;
	/* The front of the buffer, where the result belongs, is still to be read. */
	bool is_idle = op->node.extras & CS_OP_SENDERS && op->senders.self;
	char *result = is_idle || (cs_node_is_watched(&op->node) && op->team->node.watch->between)
		       ? buffer : cs_op_memory(op, CS_OP_PART, sizes[team->shape.node]);
	if (!is_by_plan(op, &problem, buffer, result, reduction))
		cs_op_note(op, team->host->reduce_scatter(team->leaders, buffer, result, counts,
							  reduction, cs_between_request(op)));
}
