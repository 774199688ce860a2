#include "bench.h"

#include <string.h>

const char *const bench_work_names[BENCH_WORKS] = { "core", "memory" };

const char *
bench_interval_text(char text[CS_NUMBER_TEXT], size_t interval)
{
	if (interval && interval != BENCH_ONE_TEST)
		return cs_bytes_text(text, interval);
	snprintf(text, CS_NUMBER_TEXT, "%s", interval ? "one" : "none");
	return text;
}

void
bench_print_overlap_head(FILE *out, const struct bench_options *options,
			 const struct bench_world *world)
{
	bench_print_world(out, world);
	bench_print_in_force(out, world);
	fprintf(out, "# a call is started, computed over for %g times the MPI's blocking call, "
		     "and waited for; the MPI and ours by turns in\n"
		     "# %d rounds; us, medians of the longest of the ranks' own times\n"
		     "# blk: the blocking call; init, tests, wait: in MPI_Ix, in the calls of "
		     "MPI_Test and in MPI_Wait; overhead: in all three\n"
		     "# avail: 1 - (all from start to end - computation alone) / blocking call\n"
		     "# interval: bytes between tests, the first at the start and the last at the "
		     "end; none is made of a request that is over\n"
		     "# ratio: of the overheads, MPI / ours, median [least-most] of the rounds\n",
		options->compute, options->rounds);
	fprintf(out, "%-20s %7s %6s %-11s %-6s %8s %8s %5s |%9s %8s %8s %8s %9s %6s |%9s %8s "
		     "%8s %8s %9s %6s | %6s %s\n",
		"collective", "bytes", "root", "distribution", "bound", "compute", "interval",
		"tests", "MPI:blk", "init", "tests", "wait", "overhead", "avail", "ours:blk",
		"init", "tests", "wait", "overhead", "avail", "ratio", "[least-most]");
	fflush(out);
}

void
bench_print_overlap(FILE *out, const struct bench_overlap *overlap)
{
	char text[CS_NUMBER_TEXT];
	if (*overlap->skipped) {
		bench_print_case(out, &overlap->what);
		fprintf(out, "%-6s left out: %s\n", bench_work_names[overlap->work],
			overlap->skipped);
	}
	for (int i = 0; i < overlap->row_count && !*overlap->skipped; i++) {
		const struct bench_overlap_row *row = &overlap->rows[i];
		bench_print_case(out, &overlap->what);
		fprintf(out, "%-6s %8.1f %8s %5d", bench_work_names[overlap->work],
			overlap->compute * 1e6, bench_interval_text(text, row->interval),
			row->tests);
		for (enum bench_side side = 0; side < BENCH_SIDES; side++) {
			const struct bench_overlap_times *of = &row->side[side];
			fprintf(out, " |%9.2f %8.2f %8.2f %8.2f %9.2f %6.2f",
				overlap->blocking[side] * 1e6, of->init * 1e6, of->tests * 1e6,
				of->wait * 1e6, of->overhead * 1e6, of->availability);
		}
		fprintf(out, " | %6.2f [%.2f-%.2f]\n", row->ratio, row->ratio_min, row->ratio_max);
	}
	fflush(out);
}
