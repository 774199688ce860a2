#include "bench.h"
#include "node.h"

#include "base/clock.h"
#include "trace/replay.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_CALLS 3
#define MARGIN_NS 200000 /* between knowing when a call begins and its beginning; this much for each
			  * rank that shares a core */

/* --- the job ---------------------------------------------------------------------------------- */

/* Collective over all ranks: nodes are numbered by their lowest rank. NULL without memory, on all
 * ranks. */
static int *
find_nodes(int ranks, int *nodes)
{
	int *node_of = calloc((size_t)ranks, sizeof *node_of), has_memory = node_of != NULL;
	int all_have, lowest;
	MPI_Comm node;
	PMPI_Allreduce(&has_memory, &all_have, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
	if (!node_of || !all_have) {
		free(node_of);
		return NULL;
	}
	PMPI_Comm_rank(MPI_COMM_WORLD, &lowest);
	bench_node(&node);
	PMPI_Allreduce(MPI_IN_PLACE, &lowest, 1, MPI_INT, MPI_MIN, node);
	PMPI_Comm_free(&node);
	PMPI_Allgather(&lowest, 1, MPI_INT, node_of, 1, MPI_INT, MPI_COMM_WORLD);
	*nodes = 0;
	for (int rank = 0; rank < ranks; rank++)
		node_of[rank] = node_of[rank] == rank ? (*nodes)++ : node_of[node_of[rank]];
	return node_of;
}

/* --- calls ------------------------------------------------------------------------------------ */

struct late_plan {
	const struct bench_operation *op;
	const struct cs_imbalance *imbalance;
	struct cs_imbalance_job job;
	bool has_one_clock;
	int64_t margin; /* ns */
	int rounds, calls;
};

/* Arrivals and exits of calls, ns from the call's beginning. */
struct late_stamps {
	int64_t *in, *out;
};

static int64_t
most_late(const struct late_plan *plan, uint64_t call)
{
	int64_t most = 0;
	for (int rank = 0; rank < plan->job.ranks; rank++) {
		int64_t delay = cs_imbalance_delay(plan->imbalance, &plan->job, call, rank);
		most = delay > most ? delay : most;
	}
	return most;
}

/* Collective over all ranks: when the next call begins, by this rank's clock. With one clock it is
 * the same moment everywhere; else a margin behind each rank's leaving of a barrier. */
static int64_t
agree_on_beginning(const struct late_plan *plan)
{
	PMPI_Barrier(MPI_COMM_WORLD);
	int64_t mine = bench_now(), last = mine;
	if (plan->has_one_clock)
		PMPI_Allreduce(&mine, &last, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
	return last + plan->margin;
}

/* Runs the calls with numbers from `first` on. A rank that has left a call early sleeps until the
 * last rank has come: polling in a barrier would take the core from ranks that are still in the
 * call. */
static void
run_calls(const struct late_plan *plan, enum bench_side side, int first, int count,
	  const struct late_stamps *stamps)
{
	for (int i = 0; i < count; i++) {
		uint64_t call = (uint64_t)(first + i);
		int64_t delay = cs_imbalance_delay(plan->imbalance, &plan->job, call,
						   plan->op->rank),
			most = most_late(plan, call), beginning = agree_on_beginning(plan);
		cs_imbalance_come_at((uint64_t)(beginning + delay));
		int64_t in = bench_now();
		bench_operation_call(plan->op, side, first + i);
		int64_t out = bench_now();
		cs_imbalance_come_at((uint64_t)(beginning + most));
		if (stamps) {
			stamps->in[i] = in - beginning;
			stamps->out[i] = out - beginning;
		}
	}
	PMPI_Barrier(MPI_COMM_WORLD);
}

/* Number of calls in a round. False, with the reason, if the least would take too long. The same on
 * all ranks. */
static bool
make_plan(struct late_plan *plan, const struct bench_options *options, char skipped[160])
{
	double both = 0, longest;
	for (enum bench_side side = 0; side < BENCH_SIDES; side++) {
		run_calls(plan, side, 0, 1, NULL);
		int64_t start = bench_now();
		run_calls(plan, side, 0, 2, NULL);
		both += (double)(bench_now() - start) * 1e-9 / 2;
	}
	PMPI_Allreduce(&both, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	plan->rounds = options->rounds;
	double least = longest * plan->rounds * LEAST_CALLS;
	if (least > options->limit) {
		snprintf(skipped, 160, "a call takes about %.3g s, the case %.0f s: more than the "
				       "limit of %g s", longest / 2, least, options->limit);
		return false;
	}
	double calls = options->seconds / plan->rounds / longest;
	plan->calls = calls < LEAST_CALLS ? LEAST_CALLS : calls > BENCH_MAX_CALLS
		      ? BENCH_MAX_CALLS : (int)calls;
	/* Whole turns of roots and of late ranks. */
	int turns = plan->calls - plan->calls % plan->job.ranks;
	plan->calls = turns < LEAST_CALLS ? plan->calls : turns;
	return true;
}

/* --- what came of it -------------------------------------------------------------------------- */

/* At rank 0 in alltoallv and alltoallw: rank r sends to i as much as the (r+i)-th of the
 * distribution (bench_operation_create). */
static bool
has_pair(const void *context, int from, int to)
{
	const struct bench_operation *op = context;
	return op->send_counts[(from + to) % op->ranks] > 0;
}

struct evaluation {
	const struct late_plan *plan;
	struct cs_dependence dependence;
	size_t *sizes;
	int64_t *all_in, *all_out;     /* at rank 0: [rank][call] */
	int64_t *arrivals, *exits, *earliest;
};

static void
depend(struct cs_dependence *dependence, const struct bench_operation *op, size_t *sizes)
{
	bool is_by_pair = cs_colls[op->what.coll].sizes == CS_SIZES_BY_PAIR;
	bool has_sizes = bench_is_irregular(op->what.coll) && !is_by_pair;
	*dependence = (struct cs_dependence){ .coll = op->what.coll, .ranks = op->ranks,
					      .is_empty = op->bytes == 0,
					      .sizes = has_sizes ? sizes : NULL,
					      .has_pair = is_by_pair ? has_pair : NULL,
					      .context = op };
	for (int rank = 0; has_sizes && rank < op->ranks; rank++)
		sizes[rank] = (size_t)op->counts[rank];
}

static void
add_times(struct cs_imbalance_times *sum, const struct cs_imbalance_times *times, double weight)
{
	sum->mean += weight * times->mean;
	sum->bound += weight * times->bound;
	sum->after_last += weight * times->after_last;
	sum->last_exit += weight * times->last_exit;
	sum->spread += weight * times->spread;
}

/* Means over the calls of a round, in seconds. */
static void
evaluate(struct evaluation *evaluation, int first, struct bench_late_side *side, int round)
{
	const struct late_plan *plan = evaluation->plan;
	int ranks = plan->job.ranks, calls = plan->calls;
	double missed = 0, weight = 1e-9 / calls;
	struct cs_imbalance_times sum = { 0 };
	for (int i = 0; i < calls; i++) {
		struct cs_imbalance_times times;
		for (int rank = 0; rank < ranks; rank++) {
			size_t at = (size_t)rank * (size_t)calls + (size_t)i;
			int64_t in = evaluation->all_in[at];
			int64_t off = in - cs_imbalance_delay(plan->imbalance, &plan->job,
							      (uint64_t)(first + i), rank);
			evaluation->arrivals[rank] = in;
			evaluation->exits[rank] = evaluation->all_out[at];
			missed += (double)(off < 0 ? -off : off);
		}
		evaluation->dependence.root = bench_operation_root(plan->op, first + i);
		cs_imbalance_measure(&evaluation->dependence, evaluation->arrivals,
				     evaluation->exits, evaluation->earliest, &times);
		add_times(&sum, &times, weight);
	}
	side->rounds[round] = sum;
	side->missed += missed * weight / ranks / plan->rounds;
}

static double
median_of(const struct bench_late_side *side, int rounds, size_t offset)
{
	double values[BENCH_MAX_ROUNDS];
	for (int round = 0; round < rounds; round++)
		memcpy(&values[round], (const char *)&side->rounds[round] + offset,
		       sizeof values[round]);
	return bench_median(values, rounds);
}

static void
sum_up(struct bench_late *late)
{
	double ratios[BENCH_MAX_ROUNDS];
	for (enum bench_side k = 0; k < BENCH_SIDES; k++) {
		struct bench_late_side *side = &late->side[k];
		struct cs_imbalance_times *median = &side->median;
		median->mean = median_of(side, late->rounds,
					 offsetof(struct cs_imbalance_times, mean));
		median->bound = median_of(side, late->rounds,
					  offsetof(struct cs_imbalance_times, bound));
		median->after_last = median_of(side, late->rounds,
					       offsetof(struct cs_imbalance_times, after_last));
		median->last_exit = median_of(side, late->rounds,
					      offsetof(struct cs_imbalance_times, last_exit));
		median->spread = median_of(side, late->rounds,
					   offsetof(struct cs_imbalance_times, spread));
	}
	for (int round = 0; round < late->rounds; round++) {
		double ours = late->side[BENCH_OURS].rounds[round].mean;
		ratios[round] = ours > 0 ? late->side[BENCH_HOST].rounds[round].mean / ours : 0;
	}
	late->ratio = bench_median(ratios, late->rounds);
	late->ratio_min = ratios[0];
	late->ratio_max = ratios[late->rounds - 1];
}

/* False without memory (agreed by all). */
static bool
run_rounds(struct bench_late *late, const struct late_plan *plan)
{
	size_t calls = (size_t)plan->calls, ranks = (size_t)plan->job.ranks;
	bool is_first = plan->op->rank == 0;
	size_t all = is_first ? ranks * calls : 0;
	int64_t *memory = malloc((2 * calls + 2 * all + 3 * ranks) * sizeof *memory);
	struct late_stamps mine = { NULL, NULL };
	struct evaluation evaluation = { .plan = plan };
	evaluation.sizes = calloc(ranks, sizeof *evaluation.sizes);
	int has_memory = memory && evaluation.sizes, have_all;
	PMPI_Allreduce(&has_memory, &have_all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
	if (have_all) {
		mine = (struct late_stamps){ memory, memory + calls };
		evaluation.all_in = memory + 2 * calls;
		evaluation.all_out = evaluation.all_in + all;
		evaluation.arrivals = evaluation.all_out + all;
		evaluation.exits = evaluation.arrivals + ranks;
		evaluation.earliest = evaluation.exits + ranks;
		depend(&evaluation.dependence, plan->op, evaluation.sizes);
	}
	for (int turn = 0; have_all && turn < BENCH_SIDES * plan->rounds; turn++) {
		int round = turn / BENCH_SIDES, first = round * plan->calls;
		/* A B, B A, A B, ... : the same calls of both. */
		enum bench_side side = (enum bench_side)(turn + round) % BENCH_SIDES;
		run_calls(plan, side, first, plan->calls, &mine);
		PMPI_Gather(mine.in, plan->calls, MPI_INT64_T, evaluation.all_in, plan->calls,
			    MPI_INT64_T, 0, MPI_COMM_WORLD);
		PMPI_Gather(mine.out, plan->calls, MPI_INT64_T, evaluation.all_out, plan->calls,
			    MPI_INT64_T, 0, MPI_COMM_WORLD);
		if (is_first)
			evaluate(&evaluation, first, &late->side[side], round);
	}
	if (have_all && is_first)
		sum_up(late);
	free(memory);
	free(evaluation.sizes);
	return have_all;
}

/* Rank 0 reads, and tells the others. */
bool
bench_late_load(struct bench_options *options, const struct bench_world *world,
		char complaint[256])
{
	enum { IS_RIGHT, CALLS, NUMBERS };
	for (int i = 0; i < options->pattern_count; i++) {
		struct cs_imbalance *imbalance = &options->patterns[i].imbalance;
		uint64_t said[NUMBERS] = { 1, 0 };
		if (imbalance->kind != CS_IMBALANCE_FILE)
			continue;
		if (world->rank == 0) {
			said[IS_RIGHT] = cs_replay_load(imbalance, world->ranks, complaint, 256) ==
					 CS_OK;
			said[CALLS] = imbalance->calls;
		}
		PMPI_Bcast(said, NUMBERS, MPI_UINT64_T, 0, MPI_COMM_WORLD);
		if (!said[IS_RIGHT])
			return false;
		/* No more calls than all rounds can have: the MPI's counts are int. */
		uint64_t most = (uint64_t)BENCH_MAX_CALLS * BENCH_MAX_ROUNDS;
		imbalance->calls = said[CALLS] < most ? said[CALLS] : most;
		size_t row = (size_t)world->ranks;
		if (world->rank)
			imbalance->recorded = malloc(imbalance->calls * row *
						     sizeof *imbalance->recorded);
		int has_memory = imbalance->recorded != NULL, all_have;
		PMPI_Allreduce(&has_memory, &all_have, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
		if (!all_have) {
			snprintf(complaint, 256, "--imbalance: no memory for %zu recorded calls",
				 imbalance->calls);
			return false;
		}
		for (size_t call = 0; call < imbalance->calls; call++)
			PMPI_Bcast(imbalance->recorded + call * row, world->ranks, MPI_INT64_T, 0,
				   MPI_COMM_WORLD);
	}
	return true;
}

void
bench_late_unload(struct bench_options *options)
{
	for (int i = 0; i < options->pattern_count; i++)
		free(options->patterns[i].imbalance.recorded);
}

bool
bench_late_measure(struct bench_late *late, const struct bench_case *what,
		   const struct bench_pattern *pattern, const struct bench_options *options,
		   const struct bench_world *world)
{
	memset(late, 0, sizeof *late);
	late->what = *what;
	late->pattern = pattern->text;
	struct bench_operation *op = bench_prepare(what, options, world->rank, world->ranks,
						   late->skipped);
	if (!op)
		return true;
	late->bytes = op->bytes;
	int sharing = (world->ranks + world->cores - 1) / world->cores;
	struct late_plan plan = { .op = op, .imbalance = &pattern->imbalance,
				  .job.ranks = world->ranks,
				  .has_one_clock = world->has_one_clock,
				  .margin = (int64_t)MARGIN_NS * sharing };
	bool is_right = bench_check_both(op, 0, false);
	int *node_of = is_right ? find_nodes(world->ranks, &plan.job.nodes) : NULL;
	plan.job.node_of = node_of;
	if (is_right && !node_of)
		snprintf(late->skipped, sizeof late->skipped, "no memory for the nodes");
	else if (is_right && make_plan(&plan, options, late->skipped)) {
		late->rounds = plan.rounds;
		late->calls = plan.calls;
		if (!run_rounds(late, &plan))
			snprintf(late->skipped, sizeof late->skipped, "no memory for the times");
		is_right = bench_check_both(op, 1, false);
	}
	free(node_of);
	bench_operation_destroy(op);
	return is_right;
}
