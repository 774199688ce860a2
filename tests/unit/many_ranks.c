/* many_ranks RANKS - the report of so many ranks that never ran, on standard output: each has rows,
 * call sites and kept calls of its own, and packs them as in a job. */
#include "base/clock.h"
#include "trace/report_ranks.h"

#include <stdio.h>
#include <stdlib.h>

enum { PPN = 64, ROWS = 40, CALLS = 80 };

static uint64_t state = 1;

static uint64_t
some(uint64_t most)
{
	state = state * 6364136223846793005 + 1442695040888963407;
	return (state >> 33) % most;
}

static struct cs_report_row *
row_of(int number)
{
	char why[64];
	snprintf(why, sizeof why, "built-in rule: %d", number);
	return cs_report_rule_row(number % CS_COLL_COUNT, (size_t)8 << number % 20, number % 7 == 0,
				  number % 7 ? "hier:ring" : "host",
				  number % 14 ? why : "team not made yet",
				  number % 14 ? "tuning.yaml:7" : NULL);
}

static void
keep(struct cs_sampled_call *samples, int ranks)
{
	uint64_t now = cs_clock_ns();
	for (int call = 0; call < CALLS; call++)
		for (int rank = 0; rank < ranks; rank++) {
			int64_t late = (int64_t)some(50000) + (rank % 500 == 7 ? 900000 : 0);
			samples[call * ranks + rank] = (struct cs_sampled_call){
				.comm = 1, .call = (uint64_t)call, .rank = rank, .size = ranks,
				.coll = CS_ALLREDUCE, .row = (uint64_t)rank << 32,
				.arrived_ns = (int64_t)now + call * 1000000 + late,
				.left_ns = (int64_t)now + call * 1000000 + 2000000 };
		}
}

static void
count(int rank)
{
	uint64_t now = cs_clock_ns();
	for (int i = 0; i < ROWS; i++) {
		struct cs_report_row *row = row_of(i);
		uint64_t took = 1000 + some(1000000), waited = some(took);
		cs_report_count(row, 64, took);
		if (i % 3)
			cs_report_wait(row, took, waited);
		cs_report_site((const char *)keep + 8 * i, row, now, now + took,
			       i % 3 ? waited : CS_REPORT_NOT_KNOWN);
	}
}

int
main(int argc, char **argv)
{
	int ranks = argc > 1 ? atoi(argv[1]) : 4;
	struct cs_sampled_call *samples = calloc((size_t)ranks * CALLS, sizeof *samples);
	cs_report_begin();
	cs_report_fact("mpi", "none <b>at & all</b>");
	if (!samples || !cs_report_expect(ranks))
		return 1;
	for (int rank = 0; rank < ranks; rank++) {
		const struct cs_report_self self = { .node = rank / PPN, .is_first = !(rank % PPN),
						     .shm_peak = 1000, .shm_budget = 2000,
						     .has_cma = 1 };
		size_t length;
		uint32_t rows;
		count(rank);
		char *bytes = cs_report_pack(&self, &length, &rows);
		if (!bytes || !cs_report_take(rank, bytes, length, NULL))
			return 1;
		/* What is cut off or damaged must be refused, and not be believed. */
		if (rank == 1 && (cs_report_take(-1, bytes, length, NULL) ||
				  cs_report_take(ranks, bytes, length, NULL) ||
				  cs_report_take(1, bytes, 16, NULL)))
			return 1;
		free(bytes);
	}
	keep(samples, ranks);
	cs_report_keep_late(samples, (size_t)ranks * CALLS);
	cs_report_json(stdout);
	free(samples);
	return 0;
}
