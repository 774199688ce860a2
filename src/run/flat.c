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
	team->host->gatherv(team->everyone, sizes, each, at, problem->root, NULL);
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
		team->host->wire(team->everyone); /* makes the communicator */
		if (problem->coll == CS_GATHERV)
			collect_sizes(team, flat, call, sizes);
		else if (is_root)
			memcpy(sizes, problem->sizes, all);
		team->host->bcast(team->everyone, sizes, all, problem->root, NULL);
	} else if (!is_root) {
		memset(sizes, 0, all);
		sizes[problem->rank] = call->bytes;
	} else {
		return;
	}
	problem->sizes = sizes;
}

/* Blocks by rank on one side, the own one on the other. */
static void
describe_blocks(struct cs_team *team, struct cs_call *call, const struct cs_algorithm *algorithm,
		struct flat *flat)
{
	struct cs_problem *problem = &flat->problem;
	const struct cs_coll_info *info = &cs_colls[call->coll];
	bool is_gathered = info->out.what == CS_ALL_BLOCKS;
	if (cs_flow_reaches(is_gathered ? info->out : info->in, problem->rank, call->root)) {
		take_blocks(problem, is_gathered ? &call->recv : &call->send);
		problem->is_in_place = is_gathered ? !call->send.base : !call->recv.base;
	}
	if (info->sizes == CS_SIZES_AT_ROOT)
		share_sizes(team, flat, call, algorithm);
}

static void
describe_reduction(struct cs_team *team, struct cs_call *call, struct flat *flat)
{
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
	problem->is_in_place = cs_call_is_in_place(call);
	if (algorithm->needs.largest) {
		team->host->wire(team->everyone); /* makes the communicator */
		uint64_t largest = largest_block(problem);
		team->host->max(team->everyone, &largest, NULL);
		problem->bytes = largest;
	}
}

void
cs_flat_run(struct cs_op *op, const struct cs_algorithm *algorithm, const size_t *params)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	const struct cs_coll_info *info = &cs_colls[call->coll];
	struct flat flat = { .op = op,
			     .problem = { .coll = call->coll, .ranks = team->shape.ranks, .rank = team->shape.rank,
					  .root = call->root, .unit = 1, .bytes = call->bytes, .params = params,
					  .is_commutative = true, .node_of = team->shape.node_of },
			     .in = call->send.base, .out = call->recv.base };
	struct cs_problem *problem = &flat.problem;
	if (info->reduces)
		describe_reduction(team, call, &flat);
	else if (info->in.what == CS_ALL_BLOCKS && info->out.what == CS_ALL_BLOCKS)
		describe_alltoall(team, call, algorithm, &flat);
	else if (cs_coll_has_blocks(info))
		describe_blocks(team, call, algorithm, &flat);
	else
		flat.in = flat.out; /* bcast */
	/* The root sends more than is expected here: not into the program's memory. */
	size_t sent = call->coll == CS_SCATTERV && !problem->is_in_place ? problem->sizes[problem->rank] : 0;
	bool is_cut = sent > call->bytes;
	if (is_cut)
		flat.out = cs_op_memory(op, CS_OP_COPY, sent);
	unsigned told = cs_plans_run(op, &team->flat_plans, team->everyone, algorithm, problem, flat.in, flat.out,
				     info->reduces ? &call->reduction : NULL);
	if (told & CS_TOLD_MORE)
		call->truncated = call->bytes + 1;
	if (is_cut) {
		memcpy(call->recv.base, flat.out, call->bytes);
		call->truncated = sent;
	}
}
