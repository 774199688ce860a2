#include "bench.h"

#include "base/file.h"
#include "base/parse.h"
#include "trace/json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static bool
is_shown_variable(const char *entry)
{
	return !strncmp(entry, "COLLSHIM_", strlen("COLLSHIM_")) ||
	       !strncmp(entry, "MPICH_ASYNC_PROGRESS=", strlen("MPICH_ASYNC_PROGRESS="));
}

/* The words for how a call's time was taken. */
static const char *
clock_words(const struct bench_options *options, const struct bench_world *world)
{
	bool has_single = false, has_rows = false, has_own = false;
	for (enum cs_coll coll = 0; coll < CS_COLL_COUNT; coll++) {
		for (int n = 0; n < bench_row_count(options, coll); n++) {
			struct bench_case what =
				{ .coll = coll, .row = bench_row(options, coll, n) };
			has_rows |= what.row > 1;
			has_single |= what.row == 1;
			has_own |= bench_looks_free(&what, world);
		}
	}
	if (options->is_per_rank_max)
		return "the longest of the ranks' own times";
	if (!world->has_one_clock)
		return "the longest of the ranks' own times (the nodes' clocks differ)";
	if (!has_single)
		return "first rank in to last rank out";
	if (has_own)
		return has_rows ? "last (of rows: first) rank in to last rank out; of single "
				  "rooted calls the longest of the "
				  "ranks' own times" :
				  "last rank in to last rank out; of rooted calls the longest of "
				  "the ranks' own times";
	return has_rows ? "last (of rows: first) rank in to last rank out"
			: "last rank in to last rank out";
}

void
bench_print_world(FILE *out, const struct bench_world *world)
{
	fprintf(out, "# collshim-bench %s: %d ranks on %d node%s", CS_VERSION, world->ranks,
		world->nodes, world->nodes == 1 ? "" : "s");
	if (world->nodes > 1 && world->ppn_min != world->ppn_max)
		fprintf(out, " (%d to %d on each)", world->ppn_min, world->ppn_max);
	if (!world->is_block_placed)
		fputs(", placed cyclically or mixed", out);
	fprintf(out, ", %s\n", world->mpi);
}

void
bench_print_in_force(FILE *out, const struct bench_world *world)
{
	if (world->is_interposed)
		fprintf(out, "# ours: MPI_X of %s\n", world->library);
	else
		fputs("# no library is preloaded: MPI_X and PMPI_X are the same functions, ratios "
		      "are about 1\n", out);
	for (char **entry = environ; *entry; entry++)
		if (is_shown_variable(*entry))
			fprintf(out, "# in force: %s\n", *entry);
}

void
bench_print_case(FILE *out, const struct bench_case *what)
{
	const struct cs_coll_info *coll = &cs_colls[what->coll];
	char bytes[CS_NUMBER_TEXT];
	fprintf(out, "%-20s %7s %6s %-11s ", coll->name, cs_bytes_text(bytes, what->size),
		coll->rooted ? bench_root_name(what->root) : "-",
		bench_is_irregular(what->coll) ? bench_distribution_names[what->distribution]
					       : "-");
}

void
bench_print_head(FILE *out, const struct bench_options *options, const struct bench_world *world)
{
	bench_print_world(out, world);
	if (options->permutes)
		fprintf(out, "# ranks in a random order but for 0 (seed %" PRIu64 ")\n",
			options->seed);
	bench_print_in_force(out, world);
	fprintf(out, "# time of a call: %s, without the %.3f us of reading the clock, median; by "
		     "turns in %d rounds\n"
		     "# ratio: MPI / ours, median [least-most] of the rounds\n",
		clock_words(options, world), world->clock_seconds * 1e6, options->rounds);
	double line = options->line_seconds >= 0 ? options->line_seconds : world->line_seconds;
	if (world->nodes == 1 && world->ranks > 1) {
		fprintf(out, "# bound: the bytes that must move, by copies on %d core%s",
			world->cores, world->cores == 1 ? "" : "s");
		if (line > 0)
			fprintf(out, ", and a cache line's way of %.3f us", line * 1e6);
		fputs("; -: none is known, or what was measured for it was disturbed\n", out);
	}
	fprintf(out, "%-20s %7s %6s %-11s %6s %5s %10s %10s %6s %-15s %9s\n", "collective", "bytes",
		"root", "distribution",
		"times", "calls", "MPI us", "ours us", "ratio", "[least-most]", "bound us");
	fflush(out);
}

void
bench_print_result(FILE *out, const struct bench_result *result)
{
	bench_print_case(out, &result->what);
	if (*result->skipped) {
		fprintf(out, "left out, %d in a row: %s\n", result->what.row, result->skipped);
	} else {
		char spread[64];
		snprintf(spread, sizeof spread, "[%.2f-%.2f]", result->ratio_min,
			 result->ratio_max);
		fprintf(out, "%6d %5d %10.3f %10.3f %6.2f %-15s ", result->calls * result->rounds,
			result->batch, result->median[BENCH_HOST] * 1e6,
			result->median[BENCH_OURS] * 1e6, result->ratio, spread);
		if (result->bound > 0)
			fprintf(out, "%9.3f\n", result->bound * 1e6);
		else
			fprintf(out, "%9s\n", "-");
	}
	fflush(out);
}

/* --- from the first call on ------------------------------------------------------------------- */

void
bench_print_first_head(FILE *out, const struct bench_options *options,
		       const struct bench_world *world, double init_seconds)
{
	bool has_own_times = options->is_per_rank_max || !world->has_one_clock;
	bench_print_world(out, world);
	if (world->is_interposed)
		fprintf(out, "# calls of %s\n", world->library);
	else
		fputs("# calls of the MPI itself: no library is preloaded\n", out);
	for (char **entry = environ; *entry; entry++)
		if (is_shown_variable(*entry))
			fprintf(out, "# in force: %s\n", *entry);
	fprintf(out, "# MPI_Init took %.3f ms (the longest of the ranks); the first case is the "
		     "job's first collective\n",
		init_seconds * 1e3);
	fprintf(out, "# us of a call: %s, by the number of calls. A rank's page faults in all "
		     "these calls, and bytes of\n"
		     "# shared memory that it has touched in them: mean over the ranks, and the "
		     "most of one. Last the\n"
		     "# sum of calls 2 to 300, the MPI's by PMPI afterwards, and MPI / ours\n",
		has_own_times ? "the longest of the ranks' own times"
			      : "first rank in to last rank out");
	fprintf(out, "%-20s %7s %6s %-11s %10s %10s %10s %10s %10s %13s %7s %13s %13s %10s %10s "
		     "%6s\n", "collective", "bytes", "root", "distribution",
		"call 1", "2-10", "11-100", "101-300", "301-1000", "minor faults", "major",
		"touched", "of collshim's", "MPI 2-300", "ours 2-300", "ratio");
	fflush(out);
}

static void
print_pair(FILE *out, int width, const struct bench_spread *spread)
{
	char text[64];
	if (spread->most < 0)
		snprintf(text, sizeof text, "-");
	else
		snprintf(text, sizeof text, "%.0f %.0f", spread->mean, spread->most);
	fprintf(out, " %*s", width, text);
}

/* As above in K. */
static void
print_kilobytes(FILE *out, int width, const struct bench_spread *bytes)
{
	char text[64];
	if (bytes->most < 0)
		snprintf(text, sizeof text, "-");
	else
		snprintf(text, sizeof text, "%.0fK %.0fK", bytes->mean / 1024, bytes->most / 1024);
	fprintf(out, " %*s", width, text);
}

/* Page faults of a rank in all parts that there are. */
static struct bench_spread
all_faults(const struct bench_first *first, bool is_major)
{
	struct bench_spread sum = { 0, 0 };
	for (int i = 0; i < BENCH_PARTS; i++) {
		const struct bench_part *part = &first->parts[i];
		sum.mean += is_major ? part->major.mean : part->minor.mean;
		sum.most += is_major ? part->major.most : part->minor.most;
	}
	return sum;
}

void
bench_print_first(FILE *out, const struct bench_first *first, bool has_own_times)
{
	bench_print_case(out, &first->what);
	if (*first->skipped) {
		fprintf(out, "left out: %s\n", first->skipped);
		fflush(out);
		return;
	}
	for (int i = 0; i < BENCH_PARTS; i++) {
		const struct bench_part *part = &first->parts[i];
		if (part->is_there)
			fprintf(out, " %10.3f",
				(has_own_times ? part->own_seconds : part->seconds) * 1e6);
		else
			fprintf(out, " %10s", "-");
	}
	struct bench_spread minor = all_faults(first, false), major = all_faults(first, true);
	print_pair(out, 13, &minor);
	print_pair(out, 7, &major);
	print_kilobytes(out, 13, &first->shared);
	print_kilobytes(out, 13, &first->ours);
	const double *soon = has_own_times ? first->soon_own : first->soon;
	if (soon[BENCH_HOST] > 0 && soon[BENCH_OURS] > 0)
		fprintf(out, " %10.1f %10.1f %6.2f", soon[BENCH_HOST] * 1e6, soon[BENCH_OURS] * 1e6,
			soon[BENCH_HOST] / soon[BENCH_OURS]);
	else
		fprintf(out, " %10s %10s %6s", "-", "-", "-");
	fputc('\n', out);
	fflush(out);
}

/* o_s(n) and o_r(n) as measured, and by the line through them. */
static void
print_rows(FILE *out, const char *where, const struct bench_level_costs *level)
{
	const struct bench_loggp *loggp = &level->loggp;
	const struct {
		const char *name;
		double first, further;
		size_t member;
	} kinds[] = { { "o_s", loggp->o_send, loggp->o_send_min,
			offsetof(struct bench_row, sends) },
		      { "o_r", loggp->o_recv, loggp->o_recv_min,
			offsetof(struct bench_row, receives) } };
	for (int kind = 0; kind < 2; kind++) {
		fprintf(out, "%-14s %s(n) us", where, kinds[kind].name);
		for (int i = 0; i < BENCH_ROWS; i++) {
			const struct bench_row *row = &level->rows[i];
			double seconds;
			memcpy(&seconds, (const char *)row + kinds[kind].member, sizeof seconds);
			fprintf(out, "%s n=%d %.3f (%.3f)", i ? "," : "", row->n,
				seconds / row->n * 1e6,
				(kinds[kind].further + (kinds[kind].first - kinds[kind].further) /
				 row->n) * 1e6);
		}
		fputc('\n', out);
	}
}

void
bench_print_network(FILE *out, const struct bench_network *network, const struct bench_world *world)
{
	static const char *const where[BENCH_LEVELS] = { "between nodes", "within a node" };
	char text[BENCH_NETWORK_TEXT];
	bench_print_world(out, world);
	fputs("# LogGP from parametrized round trips over ", out);
	if (*network->level[BENCH_INTER].device)
		fprintf(out, "verbs between nodes (%s), else over ",
			network->level[BENCH_INTER].device);
	fputs("MPI_Isend, MPI_Irecv and MPI_Wait; medians\n", out);
	fprintf(out, "%-14s %11s %9s %9s %9s %9s %9s %9s %9s %3s %9s\n", "", "ranks", "L us",
		"o_s us", "in a row", "o_r us", "in a row", "g us", "G ns/B", "f", "fit error");
	for (enum bench_level level = 0; level < BENCH_LEVELS; level++) {
		const struct bench_loggp *loggp = &network->level[level].loggp;
		const int *ranks = network->level[level].ranks;
		if (network->level[level].is_there)
			fprintf(out, "%-14s %5d %5d %9.3f %9.3f %9.3f %9.3f %9.3f %9.3f %9.4f %3d "
				     "%8.0f%%\n",
				where[level], ranks[0], ranks[1], loggp->L * 1e6,
				loggp->o_send * 1e6, loggp->o_send_min * 1e6, loggp->o_recv * 1e6,
				loggp->o_recv_min * 1e6, loggp->g * 1e6, loggp->G * 1e9, loggp->f,
				loggp->error * 100);
	}
	for (enum bench_level level = 0; level < BENCH_LEVELS; level++)
		if (network->level[level].is_there)
			print_rows(out, where[level], &network->level[level]);
	fprintf(out, "on a node, ns/B: copy %.4f, sum %.4f", network->copy * 1e9,
		network->reduce * 1e9);
	if (network->bus > 0)
		fprintf(out, ", copy by all its ranks at once %.4f", network->bus * 1e9);
	if (network->flag > 0)
		fprintf(out, "; a flag: %.3f us", network->flag * 1e6);
	fprintf(out, "\nparameters: %s\n", bench_network_text(text, network));
	fflush(out);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void
json_environment(FILE *out)
{
	bool is_first = true;
	fputs("{", out);
	for (char **entry = environ; *entry; entry++) {
		const char *equals = strchr(*entry, '=');
		if (!is_shown_variable(*entry) || !equals)
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

/* Begins a case's object (`pattern` and `work` may be NULL). False if the case was left out: the
 * object is complete. */
static bool
json_case(FILE *out, const struct bench_case *what, const char *pattern, const char *skipped,
	  const char *work)
{
	const struct cs_coll_info *coll = &cs_colls[what->coll];
	fprintf(out, "{\"collective\": \"%s\", \"size\": %zu, \"root\": ", coll->name, what->size);
	cs_json_string(out, coll->rooted ? bench_root_name(what->root) : NULL);
	fputs(", \"distribution\": ", out);
	cs_json_string(out, bench_is_irregular(what->coll)
		       ? bench_distribution_names[what->distribution] : NULL);
	fprintf(out, ", \"row\": %d", what->row);
	if (pattern) {
		fputs(", \"imbalance\": ", out);
		cs_json_string(out, pattern);
	}
	if (work)
		fprintf(out, ", \"bound\": \"%s\"", work);
	if (!*skipped)
		return true;
	fputs(", \"skipped\": ", out);
	cs_json_string(out, skipped);
	fputs("}", out);
	return false;
}

static void
json_result(FILE *out, const struct bench_result *result)
{
	if (!json_case(out, &result->what, NULL, result->skipped, NULL))
		return;
	fprintf(out, ", \"bytes\": %zu, \"rounds\": %d, \"times_per_round\": %d, "
		     "\"calls_in_a_row\": %d", result->bytes,
		result->rounds, result->calls, result->batch);
	fprintf(out, ", \"host_us\": %.4f, \"ours_us\": %.4f", result->median[BENCH_HOST] * 1e6,
		result->median[BENCH_OURS] * 1e6);
	fprintf(out, ", \"ratio\": %.4f, \"ratio_min\": %.4f, \"ratio_max\": %.4f", result->ratio,
		result->ratio_min, result->ratio_max);
	if (result->bound > 0)
		fprintf(out, ", \"bound_us\": %.4f", result->bound * 1e6);
	json_rounds(out, "host_rounds_us", result->seconds[BENCH_HOST], result->rounds);
	json_rounds(out, "ours_rounds_us", result->seconds[BENCH_OURS], result->rounds);
	fputs("}", out);
}

/* Not NaN, which JSON has no word for. */
static void
json_number(FILE *out, const char *name, double number)
{
	fprintf(out, "\"%s\": %.6g", name, number);
}

static void
json_level(FILE *out, const char *name, const struct bench_level_costs *level)
{
	const struct bench_loggp *loggp = &level->loggp;
	const struct {
		const char *name;
		double number;
	} numbers[] = { { "L", loggp->L }, { "os", loggp->o_send }, { "or", loggp->o_recv },
			{ "osmin", loggp->o_send_min }, { "ormin", loggp->o_recv_min },
			{ "g", loggp->g }, { "G", loggp->G }, { "f", loggp->f },
			{ "fit_error", loggp->error } };
	fprintf(out, "{\"level\": \"%s\", \"ranks\": [%d, %d]", name, level->ranks[0],
		level->ranks[1]);
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		fputs(", ", out);
		json_number(out, numbers[i].name, numbers[i].number);
	}
	fputs(",\n   \"times\": [", out);
	for (int i = 0; i < level->time_count; i++) {
		const struct bench_prtt *time = &level->times[i];
		fprintf(out, "%s{\"n\": %d, \"bytes\": %zu, \"us\": %.4f, \"predicted_us\": %.4f}",
			i ? ",\n    " : "\n    ", time->n, time->bytes, time->seconds * 1e6,
			bench_loggp_prtt(loggp, time->n, time->bytes) * 1e6);
	}
	fputs("],\n   \"rows\": [", out);
	for (int i = 0; i < BENCH_ROWS; i++)
		fprintf(out, "%s{\"n\": %d, \"sends_us\": %.4f, \"receives_us\": %.4f}",
			i ? ", " : "", level->rows[i].n, level->rows[i].sends * 1e6,
			level->rows[i].receives * 1e6);
	fputs("]}", out);
}

static void
json_pair(FILE *out, const char *name, const struct bench_spread *spread)
{
	if (spread->most < 0)
		fprintf(out, ", \"%s\": null", name);
	else
		fprintf(out, ", \"%s\": {\"mean\": %.1f, \"most\": %.0f}", name, spread->mean,
			spread->most);
}

static void
json_first(FILE *out, const struct bench_first *first, bool has_own_times)
{
	if (!json_case(out, &first->what, NULL, first->skipped, NULL))
		return;
	fprintf(out, ", \"bytes\": %zu,\n   \"parts\": [", first->bytes);
	for (int i = 0; i < BENCH_PARTS && first->parts[i].is_there; i++) {
		const struct bench_part *part = &first->parts[i];
		fprintf(out, "%s{\"from\": %d, \"to\": %d, \"us\": %.4f", i ? ",\n    " : "\n    ",
			part->from, part->to, (has_own_times ? part->own_seconds : part->seconds) *
			1e6);
		json_pair(out, "minor_faults", &part->minor);
		json_pair(out, "major_faults", &part->major);
		fputs("}", out);
	}
	fputs("]", out);
	json_pair(out, "shared_bytes", &first->shared);
	json_pair(out, "collshim_bytes", &first->ours);
	const double *soon = has_own_times ? first->soon_own : first->soon;
	if (soon[BENCH_HOST] > 0 && soon[BENCH_OURS] > 0)
		fprintf(out, ", \"to_300\": {\"host_us\": %.1f, \"ours_us\": %.1f, \"ratio\": "
			     "%.4f}", soon[BENCH_HOST] * 1e6, soon[BENCH_OURS] * 1e6,
			soon[BENCH_HOST] / soon[BENCH_OURS]);
	else
		fputs(", \"to_300\": null", out);
	fputs("}", out);
}

static const char *const level_names[BENCH_LEVELS] =
	{ [BENCH_INTER] = "inter", [BENCH_INTRA] = "intra" };

static void
json_network(FILE *out, const struct bench_network *network)
{
	char text[BENCH_NETWORK_TEXT];
	bool is_first = true;
	fprintf(out, ",\n \"wire\": \"%s\",\n \"levels\": [",
		*network->level[BENCH_INTER].device ? "ib" : "host");
	for (enum bench_level level = 0; level < BENCH_LEVELS; level++) {
		if (!network->level[level].is_there)
			continue;
		fputs(is_first ? "\n  " : ",\n  ", out);
		json_level(out, level_names[level], &network->level[level]);
		is_first = false;
	}
	fputs("],\n ", out);
	json_number(out, "copy", network->copy);
	fputs(", ", out);
	json_number(out, "reduce", network->reduce);
	fputs(", ", out);
	json_number(out, "bus", network->bus);
	fputs(", ", out);
	json_number(out, "flag", network->flag);
	if (bench_network_error(network) >= 0) {
		fputs(",\n ", out);
		json_number(out, "fit_error", bench_network_error(network));
	}
	fputs(",\n \"parameters\": ", out);
	cs_json_string(out, bench_network_text(text, network));
	fputs("}\n", out);
}

static void
json_side(FILE *out, const char *name, const struct bench_late_side *side, int rounds)
{
	const struct cs_imbalance_times *median = &side->median;
	fprintf(out, ",\n   \"%s\": {\"mean_us\": %.4f, \"bound_us\": %.4f, "
		     "\"after_last_us\": %.4f, \"last_exit_us\": %.4f, \"spread_us\": %.4f, "
		     "\"missed_us\": %.4f, \"rounds_mean_us\": [", name, median->mean * 1e6,
		median->bound * 1e6, median->after_last * 1e6, median->last_exit * 1e6,
		median->spread * 1e6, side->missed * 1e6);
	for (int round = 0; round < rounds; round++)
		fprintf(out, "%s%.4f", round ? ", " : "", side->rounds[round].mean * 1e6);
	fputs("]}", out);
}

static void
json_late(FILE *out, const struct bench_late *late)
{
	if (!json_case(out, &late->what, late->pattern, late->skipped, NULL))
		return;
	fprintf(out, ", \"bytes\": %zu, \"rounds\": %d, \"calls_per_round\": %d, "
		     "\"ratio\": %.4f, \"ratio_min\": %.4f, \"ratio_max\": %.4f", late->bytes,
		late->rounds, late->calls, late->ratio, late->ratio_min, late->ratio_max);
	json_side(out, "host", &late->side[BENCH_HOST], late->rounds);
	json_side(out, "ours", &late->side[BENCH_OURS], late->rounds);
	fputs("}", out);
}

static void
json_overlap(FILE *out, const struct bench_overlap *overlap)
{
	static const char *const sides[BENCH_SIDES] = { "host", "ours" };
	char text[CS_NUMBER_TEXT];
	bool is_there = json_case(out, &overlap->what, NULL, overlap->skipped,
				  bench_work_names[overlap->work]);
	if (!is_there)
		return;
	fprintf(out, ", \"bytes\": %zu, \"rounds\": %d, \"calls_per_round\": %d, "
		     "\"compute_us\": %.4f, \"host_us\": %.4f, \"ours_us\": %.4f,\n   \"rows\": [",
		overlap->bytes, overlap->rounds, overlap->calls, overlap->compute * 1e6,
		overlap->blocking[BENCH_HOST] * 1e6, overlap->blocking[BENCH_OURS] * 1e6);
	for (int i = 0; i < overlap->row_count; i++) {
		const struct bench_overlap_row *row = &overlap->rows[i];
		fprintf(out, "%s{\"interval\": \"%s\", \"tests\": %d, \"ratio\": %.4f, "
			     "\"ratio_min\": %.4f, \"ratio_max\": %.4f", i ? ",\n    " : "\n    ",
			bench_interval_text(text, row->interval), row->tests, row->ratio,
			row->ratio_min, row->ratio_max);
		for (enum bench_side side = 0; side < BENCH_SIDES; side++) {
			const struct bench_overlap_times *of = &row->side[side];
			fprintf(out, ",\n     \"%s\": {\"init_us\": %.4f, \"tests_us\": %.4f, "
				     "\"wait_us\": %.4f, \"overhead_us\": %.4f, "
				     "\"total_us\": %.4f, \"availability\": %.4f}",
				sides[side], of->init * 1e6,
				of->tests * 1e6, of->wait * 1e6, of->overhead * 1e6,
				of->total * 1e6, of->availability);
		}
		fputs("}", out);
	}
	fputs("]}", out);
}

static void
json_all(FILE *out, const struct bench_options *options, const struct bench_world *world,
	 const struct bench_findings *findings)
{
	fputs("{\"collshim-bench\": ", out);
	cs_json_string(out, CS_VERSION);
	fprintf(out, ",\n \"complete\": %s,\n \"mpi\": ", findings->is_complete ? "true" : "false");
	cs_json_string(out, world->mpi);
	fprintf(out, ",\n \"ranks\": %d, \"nodes\": %d, \"ppn_min\": %d, \"ppn_max\": %d, "
		     "\"placement\": \"%s\",\n \"cores\": %d, "
		     "\"library\": ",
		world->ranks, world->nodes, world->ppn_min, world->ppn_max,
		world->is_block_placed ? "block" : "cyclic", world->cores);
	cs_json_string(out, world->is_interposed ? world->library : NULL);
	if (options->permutes)
		fprintf(out, ",\n \"permuted\": %" PRIu64 ", \"permuted_ranks\": [", options->seed);
	for (int rank = 0; options->permutes && rank < world->ranks; rank++)
		fprintf(out, "%d%s", world->comm_ranks[rank],
			rank + 1 < world->ranks ? ", " : "]");
	fputs(",\n \"environment\": ", out);
	json_environment(out);
	if (findings->network) {
		json_network(out, findings->network);
		return;
	}
	if (findings->firsts) {
		bool has_own_times = options->is_per_rank_max || !world->has_one_clock;
		fprintf(out, ",\n \"from_first\": true, \"init_us\": %.1f,\n \"cases\": [",
			findings->init_seconds * 1e6);
		for (int i = 0; i < findings->count; i++) {
			fputs(i ? ",\n  " : "\n  ", out);
			json_first(out, &findings->firsts[i], has_own_times);
		}
		fputs("]}\n", out);
		return;
	}
	if (findings->lates) {
		fprintf(out, ",\n \"imbalance\": true, \"seed\": %" PRIu64 ", \"one_clock\": %s,"
			     "\n \"cases\": [", options->seed,
			world->has_one_clock ? "true" : "false");
		for (int i = 0; i < findings->count; i++) {
			fputs(i ? ",\n  " : "\n  ", out);
			json_late(out, &findings->lates[i]);
		}
		fputs("]}\n", out);
		return;
	}
	if (findings->overlaps) {
		fprintf(out, ",\n \"overlap\": true, \"compute\": %g,\n \"cases\": [",
			options->compute);
		for (int i = 0; i < findings->count; i++) {
			fputs(i ? ",\n  " : "\n  ", out);
			json_overlap(out, &findings->overlaps[i]);
		}
		fputs("]}\n", out);
		return;
	}
	fputs(",\n \"time\": ", out);
	cs_json_string(out, clock_words(options, world));
	fprintf(out, ",\n \"clock_us\": %.4f", world->clock_seconds * 1e6);
	fputs(",\n \"cases\": [", out);
	for (int i = 0; i < findings->count; i++) {
		fputs(i ? ",\n  " : "\n  ", out);
		json_result(out, &findings->results[i]);
	}
	fputs("]}\n", out);
}

/* Is it a device or a pipe, which can be written only once? */
static bool
is_read_as_it_comes(const char *path)
{
	struct stat stat_of;
	return !stat(path, &stat_of) && !S_ISREG(stat_of.st_mode) && !S_ISDIR(stat_of.st_mode);
}

char *
bench_json_text(const struct bench_options *options, const struct bench_world *world,
		const struct bench_findings *findings, size_t *bytes)
{
	char *text;
	FILE *out = open_memstream(&text, bytes);
	if (!out)
		return NULL;
	json_all(out, options, world, findings);
	bool is_whole = !ferror(out);
	if (fclose(out) == 0 && is_whole)
		return text;
	free(text);
	errno = ENOMEM;
	return NULL;
}

bool
bench_write_json(const struct bench_options *options, const struct bench_world *world,
		 const struct bench_findings *findings)
{
	const char *path = options->json;
	bool is_stdout = !strcmp(path, "-");
	if (!findings->is_complete && (is_stdout || is_read_as_it_comes(path)))
		return true;
	size_t bytes;
	char *text = bench_json_text(options, world, findings, &bytes);
	if (!text)
		return false;
	bool is_written = is_stdout ? fflush(stdout) == 0 &&
			  cs_file_write(STDOUT_FILENO, text, bytes) :
				      cs_file_replace(path, text, bytes);
	int error = errno;
	free(text);
	errno = error;
	return is_written;
}

/* --- progress --------------------------------------------------------------------------------- */

static double
monotonic(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

void
bench_progress(const char *next, int done, int all)
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
	fprintf(stderr, "collshim-bench: %3d %% %s", 100 * done / all, next);
	if (done > 0)
		fprintf(stderr, ", about %.0f s left", (now - start) / done * (all - done));
	fputc('\n', stderr);
}
