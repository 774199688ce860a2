/* bench/overlap.c — --overlap: a non-blocking call is started, computed over and waited for (T.
 * Hoefler and A. Lumsdaine, "Optimizing non-blocking collective operations for InfiniBand", II.A).
 */
#include "bench.h"

#include <mpi.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_CALLS 3            /* in a block: a median needs three */
#define CORE_STEPS 16            /* of a unit of the computation that a core bounds */
#define STREAM_WORDS (32L << 17) /* 32 MiB, which no cache of one core holds */
#define STREAM_STEPS 32          /* words of a unit of the one that memory bounds */
#define CALIBRATIONS 7
#define CALIBRATION_UNITS 20000
#define MOST_CELLS (3 + BENCH_SIDES * BENCH_MAX_INTERVALS)

/* Times of a call. */
enum part { INIT, TESTS, WAIT, OVERHEAD, TOTAL, PARTS };

/* Calls that are timed in one block. */
struct cell {
	enum { COMPUTED, BLOCKING, OVERLAPPED } form;
	enum bench_side side;
	int tests;
};

struct plan {
	const struct bench_operation *op;
	enum bench_work work;
	long units; /* of the computation, this rank's */
	int calls, turns;
	double clock_seconds;
	struct cell cells[MOST_CELLS]; /* the computation, both blocking, both of each row */
	int cell_count;
};

/* --- computation ------------------------------------------------------------------------------ */

static void
compute(enum bench_work work, long units)
{
	static volatile double kept;
	static uint64_t stream[STREAM_WORDS];
	static size_t at;
	double x = kept;
	if (work == BENCH_CORE)
		for (long i = 0; i < units * CORE_STEPS; i++)
			x = x * 0.999 + 1e-3;
	kept = x;
	for (long unit = 0; work == BENCH_MEMORY && unit < units; unit++) {
		for (size_t i = 0; i < STREAM_STEPS; i++)
			stream[at + i] += i;
		at = (at + STREAM_STEPS) % STREAM_WORDS;
	}
}

/* Seconds of a unit while all ranks compute, the fastest of some trials. */
static double
unit_seconds(enum bench_work work)
{
	static double known[BENCH_WORKS];
	if (work == BENCH_MEMORY && known[work] <= 0) /* pages come now, not later */
		compute(work, STREAM_WORDS / STREAM_STEPS);
	for (int trial = known[work] > 0 ? CALIBRATIONS : 0; trial < CALIBRATIONS; trial++) {
		PMPI_Barrier(MPI_COMM_WORLD);
		int64_t start = bench_now();
		compute(work, CALIBRATION_UNITS);
		double taken = (double)(bench_now() - start) * 1e-9 / CALIBRATION_UNITS;
		known[work] = trial == 0 || taken < known[work] ? taken : known[work];
	}
	return known[work];
}

/* --- one block of calls ----------------------------------------------------------------------- */

static void
run_call(const struct plan *plan, const struct cell *cell, int n, double parts[PARTS])
{
	int64_t spent[PARTS] = { 0 }, then, start = bench_now();
	MPI_Request request;
	int readings = 0, is_over = cell->form != OVERLAPPED, tests = cell->tests;
	int stretches = tests > 1 ? tests - 1 : tests + 1;
	if (cell->form == BLOCKING)
		bench_operation_call(plan->op, cell->side, n);
	if (cell->form == OVERLAPPED) {
		bench_operation_start(plan->op, cell->side, n, &request);
		spent[INIT] = bench_now() - start;
	}
	for (int k = 0; cell->form != BLOCKING && k <= stretches; k++) {
		if (k > 0)
			compute(plan->work, plan->units * k / stretches -
				plan->units * (k - 1) / stretches);
		if (is_over || tests == 0 || (tests == 1 && k != 1))
			continue;
		then = bench_now();
		if (cell->side == BENCH_HOST)
			PMPI_Test(&request, &is_over, MPI_STATUS_IGNORE);
		else
			MPI_Test(&request, &is_over, MPI_STATUS_IGNORE);
		spent[TESTS] += bench_now() - then;
		readings++;
	}
	if (cell->form == OVERLAPPED) {
		then = bench_now();
		bench_wait(cell->side, &request); /* of a request that may be over */
		spent[WAIT] = bench_now() - then;
	}
	spent[TOTAL] = bench_now() - start;
	const double clock = plan->clock_seconds;
	for (enum part part = 0; part < PARTS; part++)
		parts[part] = (double)spent[part] * 1e-9;
	parts[INIT] -= clock;
	parts[TESTS] -= clock * readings;
	parts[WAIT] -= clock;
	parts[TOTAL] -= clock * (cell->form == OVERLAPPED ? 4 + 2 * readings : 1);
	parts[OVERHEAD] = parts[INIT] + parts[TESTS] + parts[WAIT];
}

/* Collective over all ranks: medians over the calls of the longest of the ranks' times, at rank 0.
 */
static void
run_cell(const struct plan *plan, const struct cell *cell, double medians[PARTS])
{
	static double mine[BENCH_MAX_CALLS][PARTS], longest[BENCH_MAX_CALLS][PARTS],
		sorted[BENCH_MAX_CALLS], warm[PARTS];
	for (int i = -1; i < plan->calls; i++) {
		PMPI_Barrier(MPI_COMM_WORLD);
		run_call(plan, cell, i + 1, i < 0 ? warm : mine[i]);
		for (int turn = 0; turn < plan->turns; turn++)
			sched_yield();
	}
	PMPI_Reduce(mine, longest, plan->calls * PARTS, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
	for (enum part part = 0; part < PARTS && plan->op->rank == 0; part++) {
		for (int i = 0; i < plan->calls; i++)
			sorted[i] = longest[i][part];
		medians[part] = bench_median(sorted, plan->calls);
	}
}

/* --- a case ----------------------------------------------------------------------------------- */

/* Tests at equal distances, the first at the beginning and the last at the end. */
static int
tests_of(size_t interval, size_t bytes)
{
	if (interval == 0 || interval == BENCH_ONE_TEST)
		return interval != 0;
	return (int)((bytes + interval - 1) / interval) + 1;
}

/* Rows and cells; an interval that gives as many tests as one before it has none. */
static void
list_rows(struct bench_overlap *overlap, struct plan *plan, const struct bench_options *options)
{
	plan->cells[0] = (struct cell){ .form = COMPUTED };
	plan->cells[1] = (struct cell){ .form = BLOCKING, .side = BENCH_HOST };
	plan->cells[2] = (struct cell){ .form = BLOCKING, .side = BENCH_OURS };
	plan->cell_count = 3;
	for (int i = 0; i < options->interval_count; i++) {
		size_t interval = options->intervals[i];
		int tests = tests_of(interval, overlap->bytes), same = 0;
		while (same < overlap->row_count && overlap->rows[same].tests != tests)
			same++;
		if (same < overlap->row_count)
			continue;
		overlap->rows[overlap->row_count++] = (struct bench_overlap_row){ .interval =
			interval, .tests = tests };
		for (enum bench_side side = 0; side < BENCH_SIDES; side++)
			plan->cells[plan->cell_count++] = (struct cell){ OVERLAPPED, side, tests };
	}
}

/* Collective over all ranks: what a blocking call takes. */
static double
blocking_seconds(const struct plan *plan, enum bench_side side)
{
	double medians[PARTS] = { 0 };
	run_cell(plan, &plan->cells[1 + side], medians);
	PMPI_Bcast(&medians[TOTAL], 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	return medians[TOTAL];
}

/* How long is computed, and how many calls there are. False, with the reason, if the least would
 * take too long. */
static bool
make_plan(struct plan *plan, struct bench_overlap *overlap, const struct bench_options *options,
	  const struct bench_world *world)
{
	double blocking[BENCH_SIDES];
	plan->calls = LEAST_CALLS;
	plan->turns = world->cores < world->ranks ? 2 : 0;
	plan->clock_seconds = world->clock_seconds;
	for (enum bench_side side = 0; side < BENCH_SIDES; side++) {
		(void)blocking_seconds(plan, side); /* pages and connections come */
		blocking[side] = blocking_seconds(plan, side);
	}
	double wanted = options->compute * blocking[BENCH_HOST],
	       both = blocking[BENCH_HOST] + blocking[BENCH_OURS],
	       all = wanted + both + overlap->row_count * (2 * wanted + both);
	if (all * options->rounds * LEAST_CALLS > options->limit) {
		snprintf(overlap->skipped, sizeof overlap->skipped,
			 "the case takes about %.0f s: more than the limit of %g s",
			 all * options->rounds * LEAST_CALLS, options->limit);
		return false;
	}
	double calls = options->seconds / options->rounds / all;
	plan->calls = calls < LEAST_CALLS ? LEAST_CALLS : calls > BENCH_MAX_CALLS
		      ? BENCH_MAX_CALLS : (int)calls;
	/* Once more, since a host is slow in the first dozens of calls of a size. */
	wanted = options->compute * blocking_seconds(plan, BENCH_HOST);
	plan->units = (long)(wanted / unit_seconds(plan->work)) + 1;
	return true;
}

static double times[BENCH_MAX_ROUNDS][MOST_CELLS][PARTS]; /* at rank 0 */

static double
median_of(int cell, enum part part, int rounds)
{
	double values[BENCH_MAX_ROUNDS];
	for (int round = 0; round < rounds; round++)
		values[round] = times[round][cell][part];
	return bench_median(values, rounds);
}

static void
evaluate(struct bench_overlap *overlap)
{
	int rounds = overlap->rounds;
	double values[BENCH_MAX_ROUNDS];
	overlap->compute = median_of(0, TOTAL, rounds);
	for (enum bench_side side = 0; side < BENCH_SIDES; side++)
		overlap->blocking[side] = median_of(1 + (int)side, TOTAL, rounds);
	for (int i = 0; i < overlap->row_count; i++) {
		struct bench_overlap_row *row = &overlap->rows[i];
		int first = 3 + BENCH_SIDES * i;
		for (int side = 0; side < BENCH_SIDES; side++) {
			int cell = first + side;
			for (int round = 0; round < rounds; round++)
				values[round] = 1 - (times[round][cell][TOTAL] -
						     times[round][0][TOTAL]) /
						    times[round][1 + side][TOTAL];
			row->side[side] = (struct bench_overlap_times){
				median_of(cell, INIT, rounds), median_of(cell, TESTS, rounds),
				median_of(cell, WAIT, rounds), median_of(cell, OVERHEAD, rounds),
				median_of(cell, TOTAL, rounds), bench_median(values, rounds),
			};
		}
		for (int round = 0; round < rounds; round++)
			values[round] = times[round][first][OVERHEAD] /
					times[round][first + 1][OVERHEAD];
		row->ratio = bench_median(values, rounds); /* and sorts them */
		row->ratio_min = values[0];
		row->ratio_max = values[rounds - 1];
	}
}

bool
bench_overlap_measure(struct bench_overlap *overlap, const struct bench_case *what,
		      enum bench_work work, const struct bench_options *options,
		      const struct bench_world *world)
{
	memset(overlap, 0, sizeof *overlap);
	overlap->what = *what;
	overlap->work = work;
	struct bench_operation *op = bench_prepare(what, options, world->rank, world->ranks,
						   overlap->skipped);
	if (!op)
		return true;
	overlap->bytes = op->bytes;
	struct plan plan = { .op = op, .work = work };
	list_rows(overlap, &plan, options);
	bool is_right = bench_check_both(op, 0, false) && bench_check_both(op, 0, true);
	if (is_right && make_plan(&plan, overlap, options, world)) {
		overlap->rounds = options->rounds;
		overlap->calls = plan.calls;
		for (int round = 0; round < options->rounds; round++)
			for (int i = 0; i < plan.cell_count; i++) {
				/* Host and ours stand side by side: 0, 1 2, 3 4, then 0, 2 1, ...
				 */
				int cell = i > 0 && round % 2 ? ((i - 1) ^ 1) + 1 : i;
				run_cell(&plan, &plan.cells[cell], times[round][cell]);
			}
		is_right = bench_check_both(op, 1, true);
		if (world->rank == 0)
			evaluate(overlap);
	}
	bench_operation_destroy(op);
	return is_right;
}
