/* run/flat.c — translates a call into a plan's problem (struct cs_problem), and runs the plan. */
#include "run/flat.h"

#include "algorithms/hier/between.h"

#include <string.h>

/* The state of the script. */
struct flat {
	const struct cs_algorithm *algorithm;
	struct cs_problem problem;
	const void *in;
	void *out;
	size_t *sizes;  /* bytes by rank, if the program's cannot be used; behind them two more
			 * arrays, for the gatherv of these sizes */
	uint64_t largest; /* bytes of the largest block, the maximum of which is agreed on */
	size_t sent;    /* scatterv: bytes sent here if more than expected; else 0 */
};

static struct flat *
flat_of(struct cs_op *op)
{
	return CS_OP_STATE(struct flat, op);
}

static void
take_blocks(struct cs_problem *problem, const struct cs_blocks *blocks)
{
	problem->bytes = blocks->each;
	problem->sizes = blocks->bytes;
	problem->at = blocks->bytes ? blocks->at : NULL;
}

/* --- sizes that all ranks must know -----------------------------------------------------------
 *
 * If an algorithm needs all sizes on all ranks (needs.all_sizes), the root broadcasts them before
 * the plan begins. Scatterv: the root has them. Gatherv: the root gathers the ranks' own sizes
 * first, and lowers each to the size that it expects, so that no more is moved. */

static bool
learns_sizes(struct cs_op *op)
{
	const struct flat *flat = flat_of(op);
	return cs_colls[op->call.coll].sizes == CS_SIZES_AT_ROOT &&
	       flat->algorithm->needs.all_sizes;
}

static bool
agrees_on_largest(struct cs_op *op)
{
	const struct cs_coll_info *info = &cs_colls[op->call.coll];
	return info->in.what == CS_ALL_BLOCKS && info->out.what == CS_ALL_BLOCKS &&
	       flat_of(op)->algorithm->needs.largest;
}

static enum cs_status
collect(struct cs_op *op)
{
	struct flat *flat = flat_of(op);
	struct cs_team *team = op->team;
	const struct cs_problem *problem = &flat->problem;
	if ((learns_sizes(op) || agrees_on_largest(op)) && !cs_between_is_turn(op))
		return CS_AGAIN;
	op->under_way = CS_UNDER_WAY_NOTHING;
	if (learns_sizes(op) || agrees_on_largest(op))
		team->host->wire(team->everyone); /* makes the communicator */
	if (agrees_on_largest(op)) {
		team->host->max(team->everyone, &flat->largest, 1, cs_between_request(op));
	} else if (learns_sizes(op) && problem->coll == CS_GATHERV) {
		size_t *each = flat->sizes + problem->ranks, *at = each + problem->ranks;
		for (int rank = 0; rank < problem->ranks; rank++) {
			each[rank] = sizeof *flat->sizes;
			at[rank] = (size_t)rank * sizeof *flat->sizes;
		}
		flat->sizes[problem->rank] = op->call.bytes;
		team->host->gatherv(team->everyone, flat->sizes, each, at, problem->root,
				    cs_between_request(op));
	}
	return CS_OK;
}

static enum cs_status
share(struct cs_op *op)
{
	struct flat *flat = flat_of(op);
	struct cs_team *team = op->team;
	const struct cs_problem *problem = &flat->problem;
	size_t all = (size_t)problem->ranks * sizeof *flat->sizes, *sizes = flat->sizes;
	bool is_root = problem->rank == problem->root;
	if (!learns_sizes(op))
		return CS_OK;
	if (is_root && problem->coll == CS_SCATTERV)
		memcpy(sizes, problem->sizes, all);
	for (int rank = 0; is_root && problem->coll == CS_GATHERV && rank < problem->ranks;
	     rank++) {
		if (sizes[rank] > problem->sizes[rank])
			op->node.outcome.bits |= CS_OUTCOME_TRUNCATED;
		sizes[rank] = sizes[rank] < problem->sizes[rank]
			      ? sizes[rank] : problem->sizes[rank];
	}
	team->host->bcast(team->everyone, sizes, all, problem->root, cs_between_request(op));
	return CS_OK;
}

/* Fills in the problem of a call with blocks by rank on one side and the own block on the other. */
static void
describe_blocks(struct cs_op *op, struct flat *flat)
{
	struct cs_call *call = &op->call;
	struct cs_problem *problem = &flat->problem;
	const struct cs_coll_info *info = &cs_colls[call->coll];
	bool is_gathered = info->out.what == CS_ALL_BLOCKS;
	if (cs_flow_reaches(is_gathered ? info->out : info->in, problem->rank, call->root)) {
		take_blocks(problem, is_gathered ? &call->recv : &call->send);
		problem->is_in_place = is_gathered ? !call->send.base : !call->recv.base;
	}
	bool is_root = problem->rank == problem->root;
	if (info->sizes != CS_SIZES_AT_ROOT || (is_root && !flat->algorithm->needs.all_sizes))
		return;
	flat->sizes = cs_op_memory(op, CS_OP_SCRATCH, 3 * (size_t)problem->ranks *
				   sizeof *flat->sizes);
	if (flat->algorithm->needs.all_sizes)
		return;
	memset(flat->sizes, 0, (size_t)problem->ranks * sizeof *flat->sizes);
	flat->sizes[problem->rank] = call->bytes;
	problem->sizes = flat->sizes;
}

static void
describe_reduction(struct cs_op *op, struct flat *flat)
{
	struct cs_call *call = &op->call;
	struct cs_problem *problem = &flat->problem;
	size_t unit = call->reduction.unit;
	problem->unit = unit;
	problem->bytes = call->count * unit;
	problem->is_commutative = call->is_commutative;
	problem->is_in_place = call->send.base == call->recv.base;
	if (!cs_coll_is_scattered(&cs_colls[call->coll]))
		return;
	/* The own block of the result would overwrite other blocks of the input. */
	if (problem->is_in_place)
		flat->in = memcpy(cs_op_memory(op, CS_OP_COPY, problem->bytes), call->send.base,
				  problem->bytes);
	problem->is_in_place = false;
	problem->bytes /= (size_t)problem->ranks;
	if (call->counts) {
		size_t *sizes = cs_op_memory(op, CS_OP_SCRATCH, (size_t)problem->ranks *
					     sizeof *sizes);
		for (int rank = 0; rank < problem->ranks; rank++)
			sizes[rank] = call->counts[rank] * unit;
		problem->sizes = sizes;
	}
}

/* Bytes of the largest block to or from another rank. Blocks to receive count as well, so that none
 * is longer than agreed if the program's ranks disagree. */
static size_t
largest_block(const struct cs_problem *problem)
{
	size_t most = 0;
	for (int rank = 0; rank < problem->ranks; rank++) {
		size_t give = cs_problem_size(problem, rank);
		size_t take = problem->recv_sizes ? problem->recv_sizes[rank] : give;
		size_t larger = give > take ? give : take;
		most = rank != problem->rank && larger > most ? larger : most;
	}
	return most;
}

static void
describe_alltoall(struct cs_op *op, struct flat *flat)
{
	struct cs_call *call = &op->call;
	struct cs_problem *problem = &flat->problem;
	take_blocks(problem, &call->send);
	problem->recv_sizes = call->recv.bytes;
	problem->recv_at = call->recv.bytes ? call->recv.at : NULL;
	problem->is_in_place = cs_call_is_in_place(call);
	flat->largest = largest_block(problem);
}

/* Starts the plan, now that all sizes are known. */
static enum cs_status
begin_plan(struct cs_op *op)
{
	struct flat *flat = flat_of(op);
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	struct cs_problem *problem = &flat->problem;
	const struct cs_reduction *reduction = cs_colls[call->coll].reduces
					       ? &call->reduction : NULL;
	if (learns_sizes(op))
		problem->sizes = flat->sizes;
	if (agrees_on_largest(op))
		problem->bytes = flat->largest;
	/* If the root sends more than is expected here, receive into memory of our own. */
	size_t sent = call->coll == CS_SCATTERV && !problem->is_in_place
		      ? problem->sizes[problem->rank] : 0;
	flat->sent = sent > call->bytes ? sent : 0;
	if (flat->sent)
		flat->out = cs_op_memory(op, CS_OP_COPY, sent);
	if (cs_plans_start(op, &team->flat_plans, team->everyone, flat->algorithm, problem,
			   flat->in, flat->out, reduction))
		return cs_plans_have_begun(op);
	/* The plan was refused, on all ranks: no memory of the program has been written. */
	op->node.outcome.bits |= CS_OUTCOME_LEFT;
	op->under_way = CS_UNDER_WAY_NOTHING;
	op->node.outcome.bits &= ~(unsigned)CS_OUTCOME_TRUNCATED;
	flat->sent = 0;
	return CS_OK;
}

static enum cs_status
end(struct cs_op *op)
{
	const struct flat *flat = flat_of(op);
	struct cs_call *call = &op->call;
	if (op->node.outcome.bits & CS_OUTCOME_MORE)
		op->node.outcome.bits |= CS_OUTCOME_TRUNCATED;
	if (flat->sent) {
		memcpy(call->recv.base, flat->out, call->bytes);
		op->node.outcome.bits |= CS_OUTCOME_TRUNCATED;
	}
	if (op->team->node.self) /* virtual ranks have none, if each node has one */
		cs_node_end(&op->node);
	return CS_OK;
}

static cs_phase *const script[] = { collect, cs_between_go, share, cs_between_go, begin_plan,
				    cs_between_go, end, NULL };

void
cs_flat_start(struct cs_op *op, const struct cs_algorithm *algorithm, const size_t *params)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	const struct cs_coll_info *info = &cs_colls[call->coll];
	struct flat *flat = flat_of(op);
	*flat = (struct flat){ .algorithm = algorithm,
			       .problem = { .coll = call->coll, .ranks = team->shape.ranks,
					    .rank = team->shape.rank, .root = call->root, .unit = 1,
					    .bytes = call->bytes, .params = params,
					    .is_commutative = true,
					    .node_of = team->shape.node_of },
			       .in = call->send.base, .out = call->recv.base };
	if (info->reduces)
		describe_reduction(op, flat);
	else if (info->in.what == CS_ALL_BLOCKS && info->out.what == CS_ALL_BLOCKS)
		describe_alltoall(op, flat);
	else if (cs_coll_has_blocks(info))
		describe_blocks(op, flat);
	else
		flat->in = flat->out; /* bcast */
	/* The call gets a number on the node like any other, though it uses no node memory. */
	cs_op_start(op, script);
}
