#include "bench.h"

#include "trace/json.h"

#include <inttypes.h>

void
bench_print_late_head(FILE *out, const struct bench_options *options,
		      const struct bench_world *world)
{
	bench_print_world(out, world);
	bench_print_in_force(out, world);
	fprintf(out, "# ranks come late by sleeping; the MPI and ours by turns in %d rounds, with "
		     "the same delays (seed %" PRIu64 ")\n"
		     "# MPI, ours: mean time in the call (of all ranks and calls: exit minus own "
		     "arrival), median of the rounds\n"
		     "# ratio: MPI / ours, median [least-most] of the rounds\n"
		     "# bound: of the mean time of ours, by whose data each rank has to wait for, "
		     "with the arrivals that came about\n"
		     "# after last: last exit minus last arrival; last exit: from the call's "
		     "beginning; missed: mean distance of\n"
		     "# arrivals from what the pattern says\n",
		options->rounds, options->seed);
	if (!world->has_one_clock)
		fputs("# the nodes' clocks differ: a call begins as each rank leaves a barrier, so "
		      "bound, after last and last exit are off by\n"
		      "# what lies between the ranks' leavings; the mean time in the call is not\n",
		      out);
	fprintf(out, "%-20s %7s %6s %-11s %-18s %6s %10s %10s %6s %-15s %10s %21s %21s %9s\n",
		"collective", "bytes", "root", "distribution", "imbalance", "calls", "MPI us",
		"ours us", "ratio", "[least-most]", "bound us", "after last: MPI ours",
		"last exit: MPI ours", "missed us");
	fflush(out);
}

void
bench_print_late(FILE *out, const struct bench_late *late)
{
	const struct bench_late_side *host = &late->side[BENCH_HOST],
				     *ours = &late->side[BENCH_OURS];
	char spread[64];
	bench_print_case(out, &late->what);
	fprintf(out, "%-18s ", late->pattern);
	if (*late->skipped) {
		fprintf(out, "left out: %s\n", late->skipped);
		fflush(out);
		return;
	}
	snprintf(spread, sizeof spread, "[%.2f-%.2f]", late->ratio_min, late->ratio_max);
	fprintf(out, "%6d %10.3f %10.3f %6.2f %-15s %10.3f %10.1f %10.1f %10.1f %10.1f %9.1f\n",
		late->calls * late->rounds, host->median.mean * 1e6, ours->median.mean * 1e6,
		late->ratio, spread, ours->median.bound * 1e6,
		host->median.after_last * 1e6, ours->median.after_last * 1e6,
		host->median.last_exit * 1e6, ours->median.last_exit * 1e6,
		(host->missed + ours->missed) / 2 * 1e6);
	fflush(out);
}
