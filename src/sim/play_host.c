/* sim/play_host.c — collectives of the MPI's between nodes (hier:host, and sizes that nodes tell
 * each other): by the library's plans of what MPICH takes for so many bytes (its
 * MPIR_Bcast_intra_auto and so on, without a tuning file). allgatherv goes by a ring always, which
 * MPICH takes for much data: the library has no plan of it that takes fewer rounds. */
#include "sim/play_parts.h"

#include <string.h>

/* A collective of up to so many bytes, or between fewer ranks, goes by the first of its plans. */
struct choice {
	size_t upto;
	int least;
	const char *first, *second;
};

static const struct choice choices[CS_COLL_COUNT] = {
	[CS_BARRIER] = { 0, 0, "dissemination", NULL },
	[CS_BCAST] = { (12 << 10) - 1, 8, "binomial", "scatter-allgather" },
	[CS_ALLGATHERV] = { 0, 0, "ring", NULL },
	[CS_GATHERV] = { 0, 0, "linear", NULL },
	[CS_SCATTERV] = { 0, 0, "linear", NULL },
	[CS_ALLTOALLV] = { 0, 0, "scattered", NULL },
	[CS_ALLREDUCE] = { 2 << 10, 0, "recursive-doubling", "rabenseifner" },
	[CS_REDUCE] = { 2 << 10, 0, "binomial", "scatter-gather" },
	[CS_EXSCAN] = { 0, 0, "recursive-doubling", NULL },
	[CS_REDUCE_SCATTER] = { (512 << 10) - 1, 0, "halving", "pairwise" },
};

/* Runs the plan to its end. All bytes are moved: they may be sizes. */
static unsigned
run_plan(void *leaders, struct cs_problem problem, const char *name, const void *in, void *out,
	 const struct cs_reduction *reduction)
{
	struct cs_play_seat *seat = leaders;
	struct cs_play_rank *rank = seat->rank;
	const struct cs_algorithm *plan = cs_algorithm_by_name(problem.coll, name);
	size_t params[CS_MAX_PARAMS] = { 0 };
	for (int i = 0; plan && i < CS_MAX_PARAMS && plan->params[i].name; i++)
		params[i] = plan->params[i].fallback;
	problem.params = params;
	problem.ranks = seat->wire.ranks;
	problem.rank = seat->wire.rank;
	problem.is_commutative = true;
	seat->has_sizes = true;
	bool is_done = plan && cs_plans_start(&rank->op, &rank->team.lane_plans, leaders, plan,
					      &problem, in, out, reduction);
	seat->has_sizes = false;
	if (!is_done)
		cs_play_give_up(rank, "the MPI's collective between nodes has no plan here");
	return 0;
}

static unsigned
run(void *leaders, struct cs_problem problem, size_t bytes, const void *in, void *out,
    const struct cs_reduction *reduction)
{
	const struct choice *choice = &choices[problem.coll];
	bool is_second = choice->second && bytes > choice->upto &&
			 ((struct cs_play_seat *)leaders)->wire.ranks >= choice->least;
	problem.unit = problem.unit ? problem.unit : 1;
	return run_plan(leaders, problem, is_second ? choice->second : choice->first, in, out,
			reduction);
}

static unsigned
barrier(void *leaders, struct cs_request *request)
{
	(void)request;
	return run(leaders, (struct cs_problem){ .coll = CS_BARRIER }, 0, NULL, NULL, NULL);
}

static unsigned
bcast(void *leaders, void *buffer, size_t bytes, int root, struct cs_request *request)
{
	(void)request;
	return run(leaders, (struct cs_problem){ .coll = CS_BCAST, .bytes = bytes, .root = root },
		   bytes, buffer, buffer, NULL);
}

static unsigned
allgatherv(void *leaders, void *buffer, const size_t *bytes, const size_t *at,
	   struct cs_request *request)
{
	(void)request;
	return run(leaders, (struct cs_problem){ .coll = CS_ALLGATHERV, .sizes = bytes, .at = at,
						 .is_in_place = true }, 0, NULL, buffer, NULL);
}

static unsigned
gatherv(void *leaders, void *buffer, const size_t *bytes, const size_t *at, int root,
	struct cs_request *request)
{
	int self = ((struct cs_play_seat *)leaders)->wire.rank;
	(void)request;
	return run(leaders, (struct cs_problem){ .coll = CS_GATHERV, .sizes = bytes, .at = at,
						 .root = root, .is_in_place = self == root }, 0,
		   (char *)buffer + at[self], buffer, NULL);
}

static unsigned
scatterv(void *leaders, void *buffer, const size_t *bytes, const size_t *at, int root,
	 struct cs_request *request)
{
	int self = ((struct cs_play_seat *)leaders)->wire.rank;
	(void)request;
	return run(leaders, (struct cs_problem){ .coll = CS_SCATTERV, .sizes = bytes, .at = at,
						 .root = root, .is_in_place = self == root }, 0,
		   buffer, (char *)buffer + at[self], NULL);
}

static unsigned
alltoallv(void *leaders, const void *send, const size_t *send_bytes, const size_t *send_at,
	  void *recv, const size_t *recv_bytes, const size_t *recv_at, struct cs_request *request)
{
	(void)request;
	return run(leaders, (struct cs_problem){ .coll = CS_ALLTOALLV, .sizes = send_bytes,
						 .at = send_at, .recv_sizes = recv_bytes,
						 .recv_at = recv_at }, 0, send, recv, NULL);
}

static unsigned
reduce_in_place(void *leaders, enum cs_coll coll, void *buffer, size_t count,
		const struct cs_reduction *reduction)
{
	size_t bytes = count * reduction->unit;
	return run(leaders, (struct cs_problem){ .coll = coll, .bytes = bytes,
						 .unit = reduction->unit, .is_in_place = true },
		   bytes, buffer, buffer, reduction);
}

static unsigned
allreduce(void *leaders, void *buffer, size_t count, const struct cs_reduction *reduction,
	  struct cs_request *request)
{
	(void)request;
	return reduce_in_place(leaders, CS_ALLREDUCE, buffer, count, reduction);
}

static unsigned
exscan(void *leaders, void *buffer, size_t count, const struct cs_reduction *reduction,
       struct cs_request *request)
{
	(void)request;
	return reduce_in_place(leaders, CS_EXSCAN, buffer, count, reduction);
}

static unsigned
reduce(void *leaders, const void *in, void *out, size_t count,
       const struct cs_reduction *reduction, int root, struct cs_request *request)
{
	size_t bytes = count * reduction->unit;
	(void)request;
	return run(leaders, (struct cs_problem){ .coll = CS_REDUCE, .bytes = bytes, .root = root,
						 .unit = reduction->unit }, bytes, in, out,
		   reduction);
}

/* The second of the four arrays of cs_op_nodes has the counts in bytes already. */
static unsigned
reduce_scatter(void *leaders, const void *in, void *out, const size_t *counts,
	       const struct cs_reduction *reduction, struct cs_request *request)
{
	const struct cs_play_seat *seat = leaders;
	const size_t *sizes = counts + seat->wire.ranks;
	size_t bytes = 0;
	(void)request;
	for (int node = 0; node < seat->wire.ranks; node++)
		bytes += sizes[node];
	return run(leaders, (struct cs_problem){ .coll = CS_REDUCE_SCATTER, .sizes = sizes,
						 .unit = reduction->unit }, bytes, in, out,
		   reduction);
}

static void
larger(void *out, const void *left, const void *right, size_t count)
{
	const uint64_t *a = left, *b = right;
	uint64_t *to = out;
	for (size_t i = 0; i < count; i++)
		to[i] = a[i] > b[i] ? a[i] : b[i];
}

static unsigned
max(void *leaders, uint64_t *values, size_t count, struct cs_request *request)
{
	const struct cs_reduction reduction = { .unit = sizeof *values, .kernel = larger };
	return allreduce(leaders, values, count, &reduction, request);
}

const struct cs_host cs_play_host = {
	.progress = cs_play_progress, .abort = cs_play_end, .wire = cs_play_wire_of,
	.messages = cs_play_wire_of, .window = cs_play_window_of, .barrier = barrier,
	.bcast = bcast, .allgatherv = allgatherv, .gatherv = gatherv, .scatterv = scatterv,
	.alltoallv = alltoallv, .allreduce = allreduce, .reduce = reduce, .exscan = exscan,
	.reduce_scatter = reduce_scatter, .max = max,
};
