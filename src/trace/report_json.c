/* trace/report_json.c — shows what has been counted as JSON (docs/report.md has the schema). */
#include "trace/report_state.h"

#include "base/settings.h"
#include "trace/json.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SCHEMA 2 /* version of the report */

static void
json_seconds(FILE *out, const char *name, bool is_known, uint64_t nanoseconds)
{
	fprintf(out, ", \"%s\": ", name);
	if (is_known)
		cs_json_seconds(out, nanoseconds);
	else
		fputs("null", out);
}

/* A size, or null: not known. */
static void
json_size(FILE *out, const char *name, bool is_known, uint64_t size)
{
	if (is_known)
		fprintf(out, ", \"%s\": %" PRIu64, name, size);
	else
		fprintf(out, ", \"%s\": null", name);
}

static void
json_text(FILE *out, const char *name, const char *text)
{
	fprintf(out, ", \"%s\": ", name);
	cs_json_string(out, text);
}

/* Least, mean and most of ranks, or null. */
static void
json_span(FILE *out, const char *name, const struct cs_report_span *span)
{
	fprintf(out, ", \"%s\": ", name);
	if (!span->ranks) {
		fputs("null", out);
		return;
	}
	fputs("{\"least\": ", out);
	cs_json_seconds(out, span->least);
	json_seconds(out, "mean", true, span->sum / (uint64_t)span->ranks);
	json_seconds(out, "most", true, span->most);
	fprintf(out, ", \"rank\": %d}", span->rank);
}

/* --- the run ---------------------------------------------------------------------------------- */

static void
json_command(FILE *out)
{
	char text[4096];
	int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t bytes = file < 0 ? 0 : read(file, text, sizeof text - 1);
	if (file >= 0)
		close(file);
	bytes = bytes > 0 ? bytes : 0;
	text[bytes] = '\0';
	for (ssize_t i = 0; i + 1 < bytes; i++)
		text[i] = text[i] ? text[i] : ' ';
	json_text(out, "command", bytes ? text : NULL);
}

static void
json_head(FILE *out)
{
	char date[32] = "";
	time_t now = time(NULL);
	struct tm utc;
	fputs("{\"collshim\": ", out);
	cs_json_string(out, CS_VERSION);
	fprintf(out, ", \"version\": %d", SCHEMA);
	json_text(out, "job", cs_settings_job());
	if (gmtime_r(&now, &utc))
		strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
	json_text(out, "date", date);
	json_command(out);
	fputs(",\n \"facts\": {", out);
	for (size_t i = 0; i < cs_report.facts_used; i++) {
		fputs(i ? ",\n  " : "\n  ", out);
		cs_json_string(out, cs_report.facts[i].name);
		fputs(": ", out);
		if (cs_report.facts[i].value)
			cs_json_string(out, cs_report.facts[i].value);
		else
			fprintf(out, "%" PRIu64, cs_report.facts[i].number);
	}
	fputs("}", out);
	if (cs_report.uncounted)
		json_text(out, "uncounted", cs_report.uncounted);
	if (cs_report_all.alone)
		json_text(out, "why_alone", cs_report_all.alone);
	fprintf(out, ",\n \"ranks\": %d, \"reported\": %d", cs_report_all.ranks,
		cs_report_all.reported);
}

static uint64_t
calls_of(const struct cs_report_rank *rank)
{
	return rank->calls;
}

static uint64_t
point_to_point_of(const struct cs_report_rank *rank)
{
	return rank->mpi_ns[CS_REPORT_POINT_TO_POINT];
}

static uint64_t
others_of(const struct cs_report_rank *rank)
{
	return rank->mpi_ns[CS_REPORT_OTHER_MPI];
}

static uint64_t
nonblocking_of(const struct cs_report_rank *rank)
{
	return rank->mpi_ns[CS_REPORT_NONBLOCKING];
}

static void
json_mpi_calls(FILE *out, const char *name, bool is_known, uint64_t calls,
	       uint64_t (*of)(const struct cs_report_rank *rank))
{
	struct cs_report_span span = cs_report_over_ranks(of);
	fprintf(out, "\"%s\": ", name);
	if (!is_known) {
		fputs("null", out);
		return;
	}
	fprintf(out, "{\"calls\": %" PRIu64, calls);
	json_span(out, "seconds", &span);
	fputs("}", out);
}

static bool
has_known(void)
{
	for (int i = 0; cs_report_all.rank && i < cs_report_all.ranks; i++)
		if (cs_report_all.rank[i].known_ns)
			return true;
	return false;
}

static void
json_run(FILE *out)
{
	struct cs_report_span span = cs_report_over_ranks(cs_report_rank_run);
	uint64_t calls[CS_REPORT_MPI_KINDS] = { 0 },
		 collectives = cs_report_over_ranks(calls_of).sum;
	bool is_measured = cs_report_all.is_mpi_measured, is_known = has_known();
	for (int i = 0; cs_report_all.rank && i < cs_report_all.ranks; i++)
		for (int kind = 0; kind < CS_REPORT_MPI_KINDS; kind++)
			calls[kind] += cs_report_all.rank[i].mpi_calls[kind];
	json_span(out, "run", &span);
	fputs(",\n \"mpi\": {", out);
	json_mpi_calls(out, "collectives", true, collectives, cs_report_rank_collectives);
	fputs(", ", out);
	json_mpi_calls(out, "point_to_point", is_measured, calls[CS_REPORT_POINT_TO_POINT],
		       point_to_point_of);
	fputs(", ", out);
	json_mpi_calls(out, "other", is_measured, calls[CS_REPORT_OTHER_MPI], others_of);
	fputs(", ", out);
	json_mpi_calls(out, "nonblocking", is_measured, calls[CS_REPORT_NONBLOCKING],
		       nonblocking_of);
	fputs("}", out);
	span = is_known ? cs_report_over_ranks(cs_report_rank_waiting)
			: (struct cs_report_span){ .ranks = 0 };
	json_span(out, "waiting", &span);
	span = is_known ? cs_report_over_ranks(cs_report_rank_moving)
			: (struct cs_report_span){ .ranks = 0 };
	json_span(out, "moving", &span);
}

/* --- nodes and ranks -------------------------------------------------------------------------- */

static void
json_load(FILE *out, const char *name, int hundredths)
{
	if (hundredths >= 0)
		fprintf(out, ", \"%s\": %d.%02d", name, hundredths / 100, hundredths % 100);
	else
		fprintf(out, ", \"%s\": null", name);
}

static void
json_node(FILE *out, const struct cs_report_node *node)
{
	fputs("{\"machine\": ", out);
	cs_json_string(out, *node->machine ? node->machine : NULL);
	fprintf(out, ", \"ranks\": %d, \"first_rank\": %d", node->ranks, node->first_rank);
	int cores = 0;
	for (int i = 0; i < CS_REPORT_CPU_WORDS; i++)
		cores += __builtin_popcountll(node->cpus[i]);
	json_size(out, "cores", cores > 0, (uint64_t)cores);
	json_load(out, "load_before", node->load_before);
	json_load(out, "load", node->load);
	json_size(out, "memory_bytes", node->memory, node->memory);
	json_size(out, "memory_free_bytes", node->memory_free, node->memory_free);
	json_size(out, "shm_peak", true, node->shm_peak);
	json_size(out, "shm_budget", node->shm_budget, node->shm_budget);
	fprintf(out, ", \"cma\": %s}",
		node->has_cma < 0 ? "null" : node->has_cma ? "true" : "false");
}

/* One number for each reported rank. */
static void
json_by_rank(FILE *out, const char *name, bool is_known, bool is_time,
	     uint64_t (*of)(const struct cs_report_rank *rank))
{
	bool is_first = true;
	fprintf(out, ",\n  \"%s\": ", name);
	if (!is_known) {
		fputs("null", out);
		return;
	}
	putc('[', out);
	for (int i = 0; cs_report_all.rank && i < cs_report_all.ranks; i++) {
		const struct cs_report_rank *rank = &cs_report_all.rank[i];
		if (!rank->is_here)
			continue;
		fputs(is_first ? "" : ", ", out);
		is_first = false;
		if (is_time)
			cs_json_seconds(out, of(rank));
		else
			fprintf(out, "%" PRIu64, of(rank));
	}
	putc(']', out);
}

static uint64_t
node_of(const struct cs_report_rank *rank)
{
	return (uint64_t)rank->node;
}

static uint64_t
number_of(const struct cs_report_rank *rank)
{
	return (uint64_t)(rank - cs_report_all.rank);
}

static void
json_ranks(FILE *out)
{
	bool is_known = has_known(), is_measured = cs_report_all.is_mpi_measured;
	fputs(",\n \"nodes\": [", out);
	for (int node = 0; cs_report_all.node && node < cs_report_all.nodes; node++) {
		fputs(node ? ",\n  " : "\n  ", out);
		json_node(out, &cs_report_all.node[node]);
	}
	fputs("],\n \"by_rank\": {\"version\": 1", out);
	json_by_rank(out, "rank", true, false, number_of);
	json_by_rank(out, "node", true, false, node_of);
	json_by_rank(out, "run", true, true, cs_report_rank_run);
	json_by_rank(out, "calls", true, false, calls_of);
	json_by_rank(out, "collectives", true, true, cs_report_rank_collectives);
	json_by_rank(out, "waiting", is_known, true, cs_report_rank_waiting);
	json_by_rank(out, "moving", is_known, true, cs_report_rank_moving);
	json_by_rank(out, "point_to_point", is_measured, true, point_to_point_of);
	json_by_rank(out, "other", is_measured, true, others_of);
	fputs("}", out);
}

/* --- rows and call sites ---------------------------------------------------------------------- */

static void
json_key(FILE *out, const struct cs_report_row *row)
{
	bool is_known = row->bin != CS_REPORT_UNKNOWN;
	fputs("\"collective\": ", out);
	cs_json_string(out, cs_coll_name(row->coll));
	json_size(out, "bin_low", is_known, is_known ? cs_report_bin_low(row->bin) : 0);
	json_size(out, "bin_high", is_known, is_known ? cs_report_bin_high(row->bin) : 0);
	json_text(out, "algorithm", row->algorithm);
}

static void
json_times(FILE *out, const uint64_t *times)
{
	int first = 0, last = CS_REPORT_TIMES - 1;
	while (first < last && !times[first])
		first++;
	while (last > first && !times[last])
		last--;
	fprintf(out, ", \"histogram\": {\"first\": %d, \"counts\": [", first);
	for (int i = first; i <= last; i++)
		fprintf(out, "%s%" PRIu64, i > first ? ", " : "", times[i]);
	fputs("]}", out);
}

static void
json_line(FILE *out, const struct cs_report_line *line)
{
	const struct cs_report_row *row = line->row;
	bool is_known = line->known > 0;
	putc('{', out);
	json_key(out, row);
	json_text(out, "why", row->why);
	json_text(out, "place", row->place);
	fprintf(out, ", \"deferred\": %s", row->is_deferred ? "true" : "false");
	json_text(out, "remedy", row->is_deferred ? cs_report_remedy(row->why) : NULL);
	fprintf(out, ", \"calls\": %" PRIu64 ", \"calls_all\": %" PRIu64 ", \"ranks\": %d",
		line->calls, line->calls_all, line->time.ranks);
	json_size(out, "bytes", row->bin != CS_REPORT_UNKNOWN, line->bytes);
	json_seconds(out, "seconds", true, line->time.sum / (uint64_t)line->time.ranks);
	json_span(out, "time", &line->time);
	fprintf(out, ", \"known_calls\": %" PRIu64, line->known);
	json_seconds(out, "waiting_seconds", is_known, line->waiting_ns);
	json_seconds(out, "moving_seconds", is_known, cs_report_moving_ns(line));
	json_span(out, "waiting", &line->waiting);
	json_span(out, "moving", &line->moving);
	json_times(out, line->times);
	fputs("}", out);
}

static void
json_site(FILE *out, const struct cs_report_site_line *site)
{
	const struct cs_report_row *row = cs_report_all.lines[site->line].row;
	fputs("{\"module\": ", out);
	cs_json_string(out, site->module);
	fprintf(out, ", \"offset\": %" PRIu64 ", ", site->offset);
	json_key(out, row);
	fprintf(out, ", \"deferred\": %s, \"calls\": %" PRIu64 ", \"calls_all\": %" PRIu64
		", \"ranks\": %d", row->is_deferred ? "true" : "false", site->calls,
		site->calls_all, site->time.ranks);
	json_span(out, "time", &site->time);
	json_span(out, "waiting", &site->waiting);
	json_span(out, "moving", &site->moving);
	fputs("}", out);
}

/* --- trials, the time line, arrivals ---------------------------------------------------------- */

static void
json_gain(FILE *out, bool is_known, int64_t gain_ns)
{
	fputs(", \"gain_seconds\": ", out);
	if (!is_known) {
		fputs("null", out);
		return;
	}
	if (gain_ns < 0)
		putc('-', out);
	cs_json_seconds(out, gain_ns < 0 ? -(uint64_t)gain_ns : (uint64_t)gain_ns);
}

static void
json_call(FILE *out, const char *name, uint64_t number)
{
	json_size(out, name, number != 0, number);
}

static void
json_trial(FILE *out, const struct cs_report_trial *trial)
{
	bool is_bounded = cs_report_trial_is_bounded(trial);
	int64_t gain = 0;
	fputs("{\"collective\": ", out);
	cs_json_string(out, cs_coll_name(trial->coll));
	json_size(out, "bytes_low", trial->low || is_bounded, trial->low);
	json_size(out, "bytes_high", is_bounded, trial->last + 1);
	fprintf(out, ", \"ranks\": %d, \"nodes\": %d, \"serving\": ", trial->ranks, trial->nodes);
	cs_json_string(out, trial->ways[trial->serving].algorithm);
	json_call(out, "changed_at", trial->changed_at);
	json_call(out, "judged_at", trial->judged_at);
	json_call(out, "calls", trial->calls);
	json_seconds(out, "regret_seconds", true, trial->regret_ns);
	bool is_known = cs_report_trial_gain(trial, &gain);
	json_gain(out, is_known, gain);
	fputs(", \"ways\": [", out);
	for (int i = 0; i < trial->count; i++) {
		fputs(i ? ", {\"algorithm\": " : "{\"algorithm\": ", out);
		cs_json_string(out, trial->ways[i].algorithm);
		json_seconds(out, "seconds", trial->ways[i].nanoseconds,
			     trial->ways[i].nanoseconds);
		putc('}', out);
	}
	fputs("]}", out);
}

static void
json_all_gain(FILE *out)
{
	int64_t gain = 0, one;
	bool is_known = false;
	for (int i = 0; i < cs_report.trials_used; i++)
		if (cs_report_trial_gain(&cs_report.trials[i], &one)) {
			is_known = true;
			gain += one;
		}
	json_gain(out, is_known, gain);
}

static void
json_beats(FILE *out, const char *name, enum cs_report_beat beat, int used)
{
	int ranks = cs_report_all.reported > 0 ? cs_report_all.reported : 1;
	fprintf(out, ", \"%s\": [", name);
	for (int i = 0; i < used; i++) {
		fputs(i ? ", " : "", out);
		cs_json_seconds(out, cs_report_all.time.of[beat][i] / (uint64_t)ranks);
	}
	putc(']', out);
}

static void
json_timeline(FILE *out)
{
	int used = CS_REPORT_BEATS;
	while (used && !cs_report_all.time.of[CS_BEAT_CALLS][used - 1])
		used--;
	fputs(",\n \"timeline\": {\"bin_seconds\": ", out);
	cs_json_seconds(out, cs_report_all.time.each_ns);
	json_beats(out, "collectives", CS_BEAT_CALLS, used);
	json_beats(out, "known", CS_BEAT_KNOWN, used);
	json_beats(out, "waiting", CS_BEAT_WAITING, used);
	putc('}', out);
}

static void
json_late(FILE *out)
{
	const struct cs_report_late *late = &cs_report_all.late;
	fputs(",\n \"lateness\": ", out);
	if (!late->calls) {
		fputs("null", out);
		return;
	}
	fputs("{\"ranks\": [", out);
	for (int i = 0; i < late->ranks; i++)
		fprintf(out, "%s%d", i ? ", " : "", late->world[i]);
	fputs("],\n  \"calls\": [", out);
	for (int i = 0; i < late->calls; i++) {
		fputs(i ? ", {\"collective\": " : "{\"collective\": ", out);
		cs_json_string(out, cs_coll_name(late->call[i].coll));
		fprintf(out, ", \"deferred\": %s", late->call[i].is_deferred ? "true" : "false");
		json_seconds(out, "at", true, late->call[i].at);
		json_seconds(out, "last", true, late->call[i].last);
		putc('}', out);
	}
	fputs("],\n  \"late_us\": [", out);
	for (int rank = 0; rank < late->ranks; rank++) {
		fputs(rank ? ",\n   [" : "\n   [", out);
		for (int i = 0; i < late->calls; i++) {
			uint32_t ns = late->after[(size_t)rank * (size_t)late->calls + (size_t)i];
			fprintf(out, ns < 100000 ? "%s%u.%u" : "%s%u", i ? "," : "", ns / 1000,
				ns / 100 % 10);
		}
		putc(']', out);
	}
	fputs("]}", out);
}

void
cs_report_json(FILE *out)
{
	static const struct cs_report_line *lines[CS_REPORT_ROWS + 1];
	int saved = errno;
	pthread_mutex_lock(&cs_report.lock);
	cs_report_settle();
	cs_report_tell_sums();
	size_t used = cs_report_sorted(lines);
	json_head(out);
	json_run(out);
	json_all_gain(out);
	json_ranks(out);
	fputs(",\n \"trials\": [", out);
	for (int i = 0; i < cs_report.trials_used; i++) {
		fputs(i ? ",\n  " : "\n  ", out);
		json_trial(out, &cs_report.trials[i]);
	}
	fputs("],\n \"rows\": [", out);
	for (size_t i = 0; i < used; i++) {
		fputs(i ? ",\n  " : "\n  ", out);
		json_line(out, lines[i]);
	}
	fputs("],\n \"sites\": [", out);
	for (uint32_t i = 0; i < cs_report_all.site_count; i++) {
		fputs(i ? ",\n  " : "\n  ", out);
		json_site(out, &cs_report_all.sites[i]);
	}
	fputs("]", out);
	json_timeline(out);
	json_late(out);
	fputs("}\n", out);
	pthread_mutex_unlock(&cs_report.lock);
	errno = saved;
}
