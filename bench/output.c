#include "bench.h"

#include "base/parse.h"
#include "trace/json.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static bool
is_our_variable(const char *entry)
{
	return !strncmp(entry, "COLLSHIM_", strlen("COLLSHIM_"));
}

/* The words for how a call's time was taken. */
static const char *
clock_words(const struct bench_options *options, const struct bench_world *world)
{
	if (options->is_per_rank_max)
		return "the longest of the ranks' own times";
	if (world->has_one_clock && options->batch > 1)
		return "first rank in to last rank out";
	if (world->has_one_clock && options->batch_rooted > 1)
		return "last (of rows: first) rank in to last rank out";
	return world->has_one_clock ? "last rank in to last rank out" :
				      "the longest of the ranks' own times (the nodes' clocks differ)";
}

void
bench_print_head(FILE *out, const struct bench_options *options, const struct bench_world *world)
{
	fprintf(out, "# collshim-bench %s: %d ranks on %d node%s", CS_VERSION, world->ranks, world->nodes,
		world->nodes == 1 ? "" : "s");
	if (world->nodes > 1 && world->ppn_min != world->ppn_max)
		fprintf(out, " (%d to %d on each)", world->ppn_min, world->ppn_max);
	fprintf(out, ", %s\n", world->mpi);
	if (world->is_interposed)
		fprintf(out, "# ours: MPI_X of %s\n", world->library);
	else
		fputs("# no library is preloaded: MPI_X and PMPI_X are the same functions, ratios are about 1\n", out);
	for (char **entry = environ; *entry; entry++)
		if (is_our_variable(*entry))
			fprintf(out, "# in force: %s\n", *entry);
	fprintf(out, "# time of a call: %s, median; by turns in %d rounds; ratio: host / ours, median [least-most] of the"
		     " rounds\n", clock_words(options, world), options->rounds);
	double line = options->line_seconds >= 0 ? options->line_seconds : world->line_seconds;
	if (world->nodes == 1 && world->ranks > 1)
		fprintf(out, "# bound: the bytes that must move, by copies on %d core%s, and a cache line's way of %.2f us\n",
			world->cores, world->cores == 1 ? "" : "s", line * 1e6);
	fprintf(out, "%-20s %7s %6s %-11s %6s %5s %10s %10s %6s %-15s %9s\n", "collective", "bytes", "root", "distribution",
		"times", "calls", "host us", "ours us", "ratio", "[least-most]", "bound us");
	fflush(out);
}

void
bench_print_result(FILE *out, const struct bench_result *result)
{
	const struct cs_coll_info *coll = &cs_colls[result->what.coll];
	char bytes[CS_NUMBER_TEXT];
	fprintf(out, "%-20s %7s %6s %-11s ", coll->name, cs_bytes_text(bytes, result->what.size),
		coll->rooted ? bench_root_name(result->what.root) : "-",
		bench_is_irregular(result->what.coll) ? bench_distribution_names[result->what.distribution] : "-");
	if (*result->skipped) {
		fprintf(out, "left out: %s\n", result->skipped);
	} else {
		char spread[64];
		snprintf(spread, sizeof spread, "[%.2f-%.2f]", result->ratio_min, result->ratio_max);
		fprintf(out, "%6d %5d %10.2f %10.2f %6.2f %-15s ", result->calls * result->rounds, result->batch,
			result->median[BENCH_HOST] * 1e6, result->median[BENCH_OURS] * 1e6, result->ratio, spread);
		if (result->bound > 0)
			fprintf(out, "%9.2f\n", result->bound * 1e6);
		else
			fprintf(out, "%9s\n", "-");
	}
	fflush(out);
}

/* --- JSON ------------------------------------------------------------------------------------------------------------------- */

static void
json_environment(FILE *out)
{
	bool is_first = true;
	fputs("{", out);
	for (char **entry = environ; *entry; entry++) {
		const char *equals = strchr(*entry, '=');
		if (!is_our_variable(*entry) || !equals)
			continue;
		char name[128];
		snprintf(name, sizeof name, "%.*s", (int)(equals - *entry), *entry);
		fputs(is_first ? "" : ", ", out);
		cs_json_string(out, name);
		fputs(": ", out);
		cs_json_string(out, equals + 1);
		is_first = false;
	}
	fputs("}", out);
}

static void
json_rounds(FILE *out, const char *name, const double *seconds, int rounds)
{
	fprintf(out, ", \"%s\": [", name);
	for (int i = 0; i < rounds; i++)
		fprintf(out, "%s%.4f", i ? ", " : "", seconds[i] * 1e6);
	fputs("]", out);
}

static void
json_result(FILE *out, const struct bench_result *result)
{
	const struct cs_coll_info *coll = &cs_colls[result->what.coll];
	fprintf(out, "{\"collective\": \"%s\", \"size\": %zu, \"root\": ", coll->name, result->what.size);
	cs_json_string(out, coll->rooted ? bench_root_name(result->what.root) : NULL);
	fputs(", \"distribution\": ", out);
	cs_json_string(out, bench_is_irregular(result->what.coll) ? bench_distribution_names[result->what.distribution] :
								    NULL);
	if (*result->skipped) {
		fputs(", \"skipped\": ", out);
		cs_json_string(out, result->skipped);
		fputs("}", out);
		return;
	}
	fprintf(out, ", \"bytes\": %zu, \"rounds\": %d, \"times_per_round\": %d, \"calls_in_a_row\": %d", result->bytes,
		result->rounds, result->calls, result->batch);
	fprintf(out, ", \"host_us\": %.4f, \"ours_us\": %.4f", result->median[BENCH_HOST] * 1e6,
		result->median[BENCH_OURS] * 1e6);
	fprintf(out, ", \"ratio\": %.4f, \"ratio_min\": %.4f, \"ratio_max\": %.4f", result->ratio, result->ratio_min,
		result->ratio_max);
	if (result->bound > 0)
		fprintf(out, ", \"bound_us\": %.4f", result->bound * 1e6);
	json_rounds(out, "host_rounds_us", result->seconds[BENCH_HOST], result->rounds);
	json_rounds(out, "ours_rounds_us", result->seconds[BENCH_OURS], result->rounds);
	fputs("}", out);
}

static void
json_all(FILE *out, const struct bench_options *options, const struct bench_world *world,
	 const struct bench_result *results, int count, bool is_complete)
{
	fputs("{\"collshim-bench\": ", out);
	cs_json_string(out, CS_VERSION);
	fprintf(out, ",\n \"complete\": %s,\n \"mpi\": ", is_complete ? "true" : "false");
	cs_json_string(out, world->mpi);
	fprintf(out, ",\n \"ranks\": %d, \"nodes\": %d, \"ppn_min\": %d, \"ppn_max\": %d, \"cores\": %d,\n \"library\": ",
		world->ranks, world->nodes, world->ppn_min, world->ppn_max, world->cores);
	cs_json_string(out, world->is_interposed ? world->library : NULL);
	fputs(",\n \"environment\": ", out);
	json_environment(out);
	fputs(",\n \"time\": ", out);
	cs_json_string(out, clock_words(options, world));
	fputs(",\n \"cases\": [", out);
	for (int i = 0; i < count; i++) {
		fputs(i ? ",\n  " : "\n  ", out);
		json_result(out, &results[i]);
	}
	fputs("]}\n", out);
}

bool
bench_write_json(const struct bench_options *options, const struct bench_world *world,
		 const struct bench_result *results, int count, bool is_complete)
{
	if (!strcmp(options->json, "-")) {
		if (!is_complete)
			return true;
		json_all(stdout, options, world, results, count, is_complete);
		return fflush(stdout) == 0 && !ferror(stdout);
	}
	char unfinished[4096];
	int length = snprintf(unfinished, sizeof unfinished, "%s.tmp", options->json);
	if (length < 0 || (size_t)length >= sizeof unfinished) {
		errno = ENAMETOOLONG;
		return false;
	}
	FILE *out = fopen(unfinished, "w");
	if (!out)
		return false;
	json_all(out, options, world, results, count, is_complete);
	bool is_written = !ferror(out);
	if (fclose(out) != 0 || !is_written || rename(unfinished, options->json) != 0) {
		int error = errno;
		unlink(unfinished);
		errno = error;
		return false;
	}
	return true;
}

/* --- progress ----------------------------------------------------------------------------------------------------------------- */

static double
monotonic(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

void
bench_progress(const struct bench_case *next, int done, int all)
{
	static double start, last;
	static bool has_started;
	double now = monotonic();
	if (!has_started)
		start = last = now;
	else if (now - last < 0.5)
		return;
	has_started = true;
	last = now;
	char bytes[CS_NUMBER_TEXT];
	fprintf(stderr, "collshim-bench: %3d %% %s %s", 100 * done / all, cs_colls[next->coll].name,
		cs_bytes_text(bytes, next->size));
	if (done > 0)
		fprintf(stderr, ", about %.0f s left", (now - start) / done * (all - done));
	fputc('\n', stderr);
}
