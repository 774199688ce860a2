/* trace/report_print.c — shows what has been counted: as a table, or as JSON. */
#include "trace/report_state.h"

#include "base/parse.h"
#include "base/printable.h"
#include "trace/json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static uint64_t
bin_low(int bin)
{
	return bin == 0 ? 0 : UINT64_C(1) << (bin - 1);
}

static uint64_t
bin_high(int bin)
{
	return bin == 0 ? 0 : bin == 64 ? UINT64_MAX : UINT64_C(1) << bin;
}

/* A row as it stood when the report was made: other threads may count on. */
struct line {
	const struct cs_report_row *row;
	uint64_t calls, nanoseconds, bytes;
	uint64_t known, waiting, moving; /* calls; ns in them */
};

static struct line
line_of(struct cs_report_row *row)
{
	uint64_t waiting = atomic_load_explicit(&row->waiting_nanoseconds, memory_order_relaxed),
		 known = atomic_load_explicit(&row->known_nanoseconds, memory_order_relaxed);
	return (struct line){
		.known = atomic_load_explicit(&row->known_calls, memory_order_relaxed),
		.waiting = waiting, .moving = known > waiting ? known - waiting : 0,
		.row = row,
		.calls = atomic_load_explicit(&row->calls, memory_order_relaxed),
		.nanoseconds = atomic_load_explicit(&row->nanoseconds, memory_order_relaxed),
		.bytes = atomic_load_explicit(&row->bytes, memory_order_relaxed),
	};
}

/* Served before deferred, "other" last; then collective, size, algorithm, why. */
static int
compare_lines(const void *left, const void *right)
{
	const struct cs_report_row *a = ((const struct line *)left)->row;
	const struct cs_report_row *b = ((const struct line *)right)->row;
	if ((a->coll == CS_COLL_COUNT) != (b->coll == CS_COLL_COUNT))
		return a->coll == CS_COLL_COUNT ? 1 : -1;
	if (a->is_deferred != b->is_deferred)
		return a->is_deferred ? 1 : -1;
	if (a->coll != b->coll)
		return a->coll < b->coll ? -1 : 1;
	if (a->bin != b->bin)
		return a->bin < b->bin ? -1 : 1;
	int order = strcmp(a->algorithm, b->algorithm);
	return order ? order : strcmp(a->why, b->why);
}

/* The rows that were called, sorted. The array is static because memory may be what is short;
 * `lock` guards it. */
static struct line lines[CS_REPORT_ROWS + 1];

static size_t
collect_lines(void)
{
	size_t used = 0;
	for (size_t i = 0; i < CS_REPORT_HASH; i++) {
		if (!cs_report.rows[i])
			continue;
		lines[used] = line_of(cs_report.rows[i]);
		used += lines[used].calls > 0;
	}
	lines[used] = line_of(&cs_report.overflow);
	used += lines[used].calls > 0;
	qsort(lines, used, sizeof *lines, compare_lines);
	return used;
}

/* Has the range of sizes an end? */
static bool
is_bounded(const struct cs_report_trial *trial)
{
	return trial->last < CS_INF - 1;
}

static void
print_bin(char *text, const struct cs_report_row *row)
{
	int bin = row->bin;
	if (bin == CS_REPORT_UNKNOWN || row->coll % CS_NONBLOCKING == CS_BARRIER)
		strcpy(text, "-");
	else if (bin == 0)
		strcpy(text, "0");
	else
		cs_byte_range_text(text,
				   (struct cs_range){ bin_low(bin), bin == 64
						      ? CS_INF : bin_high(bin) });
}

/* Three or four digits and a unit. Whole numbers throughout: no comma from the application's
 * locale. */
static void
print_time(char *text, size_t room, uint64_t nanoseconds)
{
	static const struct {
		uint64_t per; /* nanoseconds */
		const char *name;
	} units[] = { { 1000000000, "s" }, { 1000000, "ms" }, { 1000, "us" } };
	for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
		uint64_t per = units[i].per;
		if (nanoseconds < per)
			continue;
		if (nanoseconds >= 100 * per)
			snprintf(text, room, "%" PRIu64 " %s", nanoseconds / per, units[i].name);
		else
			snprintf(text, room, "%" PRIu64 ".%02" PRIu64 " %s", nanoseconds / per,
				 nanoseconds % per * 100 / per, units[i].name);
		return;
	}
	snprintf(text, room, "%" PRIu64 " ns", nanoseconds);
}

/* The last two only where something is known of them. */
enum { NAME, BYTES, ALGORITHM, WHY, CALLS, TIME, WAITING, MOVING, COLUMNS };

struct cells {
	const char *text[COLUMNS];
	char bytes[CS_RANGE_TEXT], calls[24], time[32], waiting[32], moving[32];
};

static void
fill_cells(struct cells *cells, const struct line *line)
{
	print_bin(cells->bytes, line->row);
	snprintf(cells->calls, sizeof cells->calls, "%" PRIu64, line->calls);
	print_time(cells->time, sizeof cells->time, line->nanoseconds);
	cells->text[NAME] = cs_coll_name(line->row->coll);
	cells->text[BYTES] = cells->bytes;
	cells->text[ALGORITHM] = line->row->algorithm;
	cells->text[WHY] = line->row->why;
	cells->text[CALLS] = cells->calls;
	cells->text[TIME] = cells->time;
	cells->text[WAITING] = cells->text[MOVING] = "-";
	if (!line->known)
		return;
	print_time(cells->waiting, sizeof cells->waiting, line->waiting / line->known);
	print_time(cells->moving, sizeof cells->moving, line->moving / line->known);
	cells->text[WAITING] = cells->waiting;
	cells->text[MOVING] = cells->moving;
}

static void
print_cells(FILE *out, const struct cells *cells, const size_t *width, int columns)
{
	fputs("  ", out);
	for (int k = 0; k < columns; k++) {
		bool to_the_right = k == BYTES || k >= CALLS;
		fprintf(out, to_the_right ? "%*s" : "%-*s", (int)width[k], cells->text[k]);
		fputs(k + 1 < columns ? "  " : "\n", out);
	}
}

/* "99.3 %", rounded down so that 100 % means all. */
static void
print_share(FILE *out, const char *unit, uint64_t part, uint64_t whole)
{
	uint64_t tenths = whole ? (uint64_t)((__uint128_t)part * 1000 / whole) : 0;
	fprintf(out, "%" PRIu64 ".%" PRIu64 " %% of the %s", tenths / 10, tenths % 10, unit);
}

static void
print_value(FILE *out, const char *value)
{
	cs_printable_put(out, value);
	putc('\n', out);
}

static void
print_facts(FILE *out)
{
	size_t width = 0;
	for (size_t i = 0; i < cs_report.facts_used; i++)
		width = strlen(cs_report.facts[i].name) > width ? strlen(cs_report.facts[i].name)
								: width;
	for (size_t i = 0; i < cs_report.facts_used; i++) {
		fprintf(out, "  %-*s  ", (int)width, cs_report.facts[i].name);
		if (cs_report.facts[i].value)
			print_value(out, cs_report.facts[i].value);
		else
			fprintf(out, "%" PRIu64 "\n", cs_report.facts[i].number);
	}
}

static void
print_lines(FILE *out, size_t used)
{
	static const struct cells head = {
		.text = { "collective", "bytes", "algorithm", "why", "calls", "time",
			  "waiting/call", "moving/call" }
	};
	int columns = TIME + 1;
	size_t width[COLUMNS];
	struct cells cells;
	for (int k = 0; k < COLUMNS; k++)
		width[k] = strlen(head.text[k]);
	for (size_t i = 0; i < used; i++) {
		columns = lines[i].known ? COLUMNS : columns;
		fill_cells(&cells, &lines[i]);
		for (int k = 0; k < COLUMNS; k++)
			width[k] = strlen(cells.text[k]) > width[k]
				   ? strlen(cells.text[k]) : width[k];
	}
	print_cells(out, &head, width, columns);
	bool in_deferred = false;
	for (size_t i = 0; i < used; i++) {
		if (lines[i].row->is_deferred && !in_deferred)
			fputs("  left to the MPI underneath:\n", out);
		in_deferred = lines[i].row->is_deferred;
		fill_cells(&cells, &lines[i]);
		print_cells(out, &cells, width, columns);
	}
}

static void
print_total(FILE *out, size_t used)
{
	uint64_t calls = 0, served_calls = 0, nanoseconds = 0, served_nanoseconds = 0;
	for (size_t i = 0; i < used; i++) {
		bool is_served = !lines[i].row->is_deferred && lines[i].row->coll != CS_COLL_COUNT;
		calls += lines[i].calls;
		nanoseconds += lines[i].nanoseconds;
		served_calls += is_served ? lines[i].calls : 0;
		served_nanoseconds += is_served ? lines[i].nanoseconds : 0;
	}
	char time[32];
	print_time(time, sizeof time, nanoseconds);
	fprintf(out, "  served %" PRIu64 " of %" PRIu64 " calls (", served_calls, calls);
	print_share(out, "calls", served_calls, calls);
	fputs(", ", out);
	print_share(out, "time", served_nanoseconds, nanoseconds);
	fprintf(out, "), %s in all\n", time);
}

static void
print_trial(FILE *out, const struct cs_report_trial *trial)
{
	char text[CS_RANGE_TEXT];
	fprintf(out, "  %s", cs_coll_name(trial->coll));
	if (trial->low || is_bounded(trial))
		fprintf(out, " %s", cs_byte_range_text(text, (struct cs_range){
				trial->low, is_bounded(trial) ? trial->last + 1 : CS_INF }));
	fprintf(out, ", %d ranks, %d node%s:", trial->ranks, trial->nodes,
		trial->nodes == 1 ? "" : "s");
	for (int i = -1; i < trial->count; i++) {
		const struct cs_report_way *way = &trial->ways[i < 0 ? trial->serving : i];
		if (i == trial->serving)
			continue;
		print_time(text, sizeof text, way->nanoseconds);
		fprintf(out, " %s %s%s", way->algorithm, way->nanoseconds ? text : "not known",
			i < 0 ? " serves" : "");
		if (i < 0 && trial->changed_at)
			fprintf(out, " since call %" PRIu64, trial->changed_at);
		putc(',', out);
	}
	print_time(text, sizeof text, trial->regret_ns);
	fprintf(out, " judged at call %" PRIu64 ", trying took %s\n", trial->judged_at, text);
}

/* A path or an MPI's name may have anything in it. Values are each on a line; without memory they
 * are printed as they are. */
void
cs_report_print(FILE *to)
{
	int saved = errno;
	char *text;
	size_t length;
	pthread_mutex_lock(&cs_report.lock);
	FILE *memory = open_memstream(&text, &length), *out = memory ? memory : to;
	size_t used = collect_lines();
	fprintf(out, "collshim %s: collectives of this process\n", CS_VERSION);
	print_facts(out);
	if (used == 0) {
		fprintf(out, "  %s\n", cs_report.uncounted ? cs_report.uncounted
							   : "no collective was called");
	} else {
		print_lines(out, used);
		print_total(out, used);
	}
	if (cs_report.trials_used)
		fputs("  tried in this run, time of a call:\n", out);
	for (int i = 0; i < cs_report.trials_used; i++)
		print_trial(out, &cs_report.trials[i]);
	pthread_mutex_unlock(&cs_report.lock);
	if (memory) {
		if (fclose(memory) == 0) {
			cs_printable_make(text, true);
			fputs(text, to);
		}
		free(text);
	}
	errno = saved;
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

/* Time in calls of which it is known, or null: there is none. */
static void
json_known_seconds(FILE *out, const char *name, uint64_t calls, uint64_t nanoseconds)
{
	fprintf(out, ", \"%s\": ", name);
	if (calls)
		cs_json_seconds(out, nanoseconds);
	else
		fputs("null", out);
}

static void
json_line(FILE *out, const struct line *line)
{
	int bin = line->row->bin;
	bool is_known = bin != CS_REPORT_UNKNOWN;
	fputs("{\"collective\": ", out);
	cs_json_string(out, cs_coll_name(line->row->coll));
	json_size(out, "bin_low", is_known, is_known ? bin_low(bin) : 0);
	json_size(out, "bin_high", is_known, is_known ? bin_high(bin) : 0);
	fputs(", \"algorithm\": ", out);
	cs_json_string(out, line->row->algorithm);
	fputs(", \"why\": ", out);
	cs_json_string(out, line->row->why);
	fprintf(out, ", \"deferred\": %s, \"calls\": %" PRIu64,
		line->row->is_deferred ? "true" : "false", line->calls);
	json_size(out, "bytes", is_known, line->bytes);
	fputs(", \"seconds\": ", out);
	cs_json_seconds(out, line->nanoseconds);
	fprintf(out, ", \"known_calls\": %" PRIu64, line->known);
	json_known_seconds(out, "waiting_seconds", line->known, line->waiting);
	json_known_seconds(out, "moving_seconds", line->known, line->moving);
	fputs("}", out);
}

static void
json_call(FILE *out, const char *name, uint64_t number)
{
	json_size(out, name, number != 0, number);
}

static void
json_trial(FILE *out, const struct cs_report_trial *trial)
{
	bool is_sized = trial->low || is_bounded(trial);
	fputs("{\"collective\": ", out);
	cs_json_string(out, cs_coll_name(trial->coll));
	json_size(out, "bytes_low", is_sized, trial->low);
	json_size(out, "bytes_high", is_bounded(trial), trial->last + 1);
	fprintf(out, ", \"ranks\": %d, \"nodes\": %d, \"serving\": ", trial->ranks, trial->nodes);
	cs_json_string(out, trial->ways[trial->serving].algorithm);
	json_call(out, "changed_at", trial->changed_at);
	json_call(out, "judged_at", trial->judged_at);
	fputs(", \"regret_seconds\": ", out);
	cs_json_seconds(out, trial->regret_ns);
	fputs(", \"ways\": [", out);
	for (int i = 0; i < trial->count; i++) {
		fputs(i ? ", {\"algorithm\": " : "{\"algorithm\": ", out);
		cs_json_string(out, trial->ways[i].algorithm);
		json_known_seconds(out, "seconds", trial->ways[i].nanoseconds,
				   trial->ways[i].nanoseconds);
		putc('}', out);
	}
	fputs("]}", out);
}

void
cs_report_json(FILE *out)
{
	int saved = errno;
	pthread_mutex_lock(&cs_report.lock);
	size_t used = collect_lines();
	fputs("{\"collshim\": ", out);
	cs_json_string(out, CS_VERSION);
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
	fputs("},\n", out);
	if (cs_report.uncounted) {
		fputs(" \"uncounted\": ", out);
		cs_json_string(out, cs_report.uncounted);
		fputs(",\n", out);
	}
	for (int i = 0; i < cs_report.trials_used; i++) {
		fputs(i ? ",\n  " : " \"trials\": [\n  ", out);
		json_trial(out, &cs_report.trials[i]);
	}
	fputs(cs_report.trials_used ? "],\n \"rows\": [" : " \"rows\": [", out);
	for (size_t i = 0; i < used; i++) {
		fputs(i ? ",\n  " : "\n  ", out);
		json_line(out, &lines[i]);
	}
	fputs("]}\n", out);
	pthread_mutex_unlock(&cs_report.lock);
	errno = saved;
}
