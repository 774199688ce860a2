#include "run/flat.h"

#include <string.h>

struct flat {
	struct cs_op *op;
	struct cs_problem problem;
	const void *in;
	void *out;
};

static size_t *
array(const struct flat *flat, int count)
{
	return cs_op_memory(flat->op, CS_OP_SCRATCH, (size_t)count * sizeof(size_t));
}

static void
take_blocks(struct cs_problem *problem, const struct cs_blocks *blocks)
{
	problem->bytes = blocks->each;
	problem->sizes = blocks->bytes;
	problem->at = blocks->bytes ? blocks->at : NULL;
}

/* Gatherv: each rank's own size goes to the root, which knows how much it expects; no more than that is moved. `sizes` has
 * room for three times the ranks. */
static void
collect_sizes(struct cs_team *team, struct flat *flat, struct cs_call *call, size_t *sizes)
{
	const struct cs_problem *problem = &flat->problem;
	size_t *each = sizes + problem->ranks, *at = each + problem->ranks;
	for (int rank = 0; rank < problem->ranks; rank++) {
		each[rank] = sizeof *sizes;
		at[rank] = (size_t)rank * sizeof *sizes;
	}
	sizes[problem->rank] = call->bytes;
	team->host->gatherv(team->everyone, sizes, each, at, problem->root);
	for (int rank = 0; problem->rank == problem->root && rank < problem->ranks; rank++) {
		if (sizes[rank] > problem->sizes[rank])
			call->truncated = sizes[rank];
		sizes[rank] = sizes[rank] < problem->sizes[rank] ? sizes[rank] : problem->sizes[rank];
	}
}

/* Gatherv and scatterv: a rank knows its own size, the root all. Where the algorithm needs more, all ranks learn all
 * first. */
static void
share_sizes(struct cs_team *team, struct flat *flat, struct cs_call *call, const struct cs_algorithm *algorithm)
{
	struct cs_problem *problem = &flat->problem;
	bool is_root = problem->rank == problem->root;
	size_t *sizes = array(flat, 3 * problem->ranks), all = (size_t)problem->ranks * sizeof *sizes;
	if (algorithm->needs.all_sizes) {
		team->host->wire(team->everyone, 0); /* makes the communicator */
		if (problem->coll == CS_GATHERV)
			collect_sizes(team, flat, call, sizes);
		else if (is_root)
			memcpy(sizes, problem->sizes, all);
		team->host->bcast(team->everyone, sizes, all, problem->root);
	} else if (!is_root) {
		memset(sizes, 0, all);
		sizes[problem->rank] = call->bytes;
	} else {
		return;
	}
	problem->sizes = sizes;
}

static void
describe_rooted(struct cs_team *team, struct cs_call *call, const struct cs_algorithm *algorithm, struct flat *flat,
		bool is_gather)
{
	struct cs_problem *problem = &flat->problem;
	bool is_root = problem->rank == call->root;
	problem->bytes = call->bytes;
	if (is_root)
		take_blocks(problem, is_gather ? &call->recv : &call->send);
	flat->in = call->send.base;
	flat->out = call->recv.base;
	problem->is_in_place = is_root && (is_gather ? !call->send.base : !call->recv.base);
	if (call->coll == CS_GATHERV || call->coll == CS_SCATTERV)
		share_sizes(team, flat, call, algorithm);
}

static void
describe_reduction(struct cs_team *team, struct cs_call *call, struct flat *flat)
{
	struct cs_problem *problem = &flat->problem;
	size_t unit = call->reduction.unit;
	problem->unit = unit;
	problem->bytes = call->count * unit;
	flat->in = call->send.base;
	flat->out = call->recv.base;
	problem->is_in_place = call->send.base == call->recv.base;
	if (call->coll != CS_REDUCE_SCATTER && call->coll != CS_REDUCE_SCATTER_BLOCK)
		return;
	/* The own block of the result would overwrite other blocks of the input. */
	if (problem->is_in_place)
		flat->in = memcpy(cs_op_memory(flat->op, CS_OP_COPY, problem->bytes), call->send.base, problem->bytes);
	problem->is_in_place = false;
	problem->bytes /= (size_t)problem->ranks;
	if (call->counts) {
		size_t *sizes = array(flat, problem->ranks);
		for (int rank = 0; rank < problem->ranks; rank++)
			sizes[rank] = call->counts[rank] * unit;
		problem->sizes = sizes;
	}
}

/* Of those to and from other ranks; from them, too, so that where the program's ranks disagree none is longer than agreed. */
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
describe_alltoall(struct cs_team *team, struct cs_call *call, const struct cs_algorithm *algorithm, struct flat *flat)
{
	struct cs_problem *problem = &flat->problem;
	take_blocks(problem, &call->send);
	problem->recv_sizes = call->recv.bytes;
	problem->recv_at = call->recv.bytes ? call->recv.at : NULL;
	flat->in = call->send.base;
	flat->out = call->recv.base;
	problem->is_in_place = cs_call_is_in_place(call);
	if (algorithm->needs.largest) {
		team->host->wire(team->everyone, 0); /* makes the communicator */
		problem->bytes = team->host->max(team->everyone, largest_block(problem));
	}
}

void
cs_flat_run(struct cs_op *op, const struct cs_algorithm *algorithm, const size_t *params)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	struct flat flat = { .op = op, .problem = { .coll = call->coll, .ranks = team->shape.ranks, .rank = team->shape.rank,
					  .root = call->root, .unit = 1, .bytes = call->bytes, .params = params,
					  .is_commutative = true, .node_of = team->shape.node_of } };
	struct cs_problem *problem = &flat.problem;
	const struct cs_reduction *reduction = cs_colls[call->coll].reduces ? &call->reduction : NULL;
	switch (call->coll) {
	case CS_BCAST:
		flat.in = flat.out = call->recv.base;
		break;
	case CS_ALLGATHER:
	case CS_ALLGATHERV:
		take_blocks(problem, &call->recv);
		problem->is_in_place = !call->send.base;
		flat.in = call->send.base;
		flat.out = call->recv.base;
		break;
	case CS_GATHER:
	case CS_GATHERV: describe_rooted(team, call, algorithm, &flat, true); break;
	case CS_SCATTER:
	case CS_SCATTERV: describe_rooted(team, call, algorithm, &flat, false); break;
	case CS_ALLTOALL:
	case CS_ALLTOALLV:
	case CS_ALLTOALLW: describe_alltoall(team, call, algorithm, &flat); break;
	case CS_REDUCE:
	case CS_ALLREDUCE:
	case CS_SCAN:
	case CS_EXSCAN:
	case CS_REDUCE_SCATTER:
	case CS_REDUCE_SCATTER_BLOCK:
		problem->is_commutative = call->is_commutative;
		describe_reduction(team, call, &flat);
		break;
	case CS_BARRIER:
	case CS_COLL_COUNT: break;
	}
	/* The root sends more than is expected here: not into the program's memory. */
	size_t sent = call->coll == CS_SCATTERV && !problem->is_in_place ? problem->sizes[problem->rank] : 0;
	bool is_cut = sent > call->bytes;
	if (is_cut)
		flat.out = cs_op_memory(op, CS_OP_COPY, sent);
	cs_plans_run(op, &team->flat_plans, team->everyone, algorithm, problem, flat.in, flat.out, reduction);
	if (is_cut) {
		memcpy(call->recv.base, flat.out, call->bytes);
		call->truncated = sent;
	}
}
