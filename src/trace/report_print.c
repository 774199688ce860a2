/* trace/report_print.c — shows what has been counted as a table. */
#include "trace/report_state.h"

#include "base/parse.h"
#include "base/printable.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The lines that were called, sorted. Static because memory may be what is short; cs_report.lock
 * guards them. */
static const struct cs_report_line *lines[CS_REPORT_ROWS + 1];

static int
compare_lines(const void *left, const void *right)
{
	const struct cs_report_row *a = (*(const struct cs_report_line *const *)left)->row;
	const struct cs_report_row *b = (*(const struct cs_report_line *const *)right)->row;
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

size_t
cs_report_sorted(const struct cs_report_line **sorted)
{
	for (uint32_t i = 0; i < cs_report_all.line_count; i++)
		sorted[i] = &cs_report_all.lines[i];
	qsort(sorted, cs_report_all.line_count, sizeof *sorted, compare_lines);
	return cs_report_all.line_count;
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
				   (struct cs_range){ cs_report_bin_low(bin), bin == 64
						      ? CS_INF : cs_report_bin_high(bin) });
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

static uint64_t
mean_of(const struct cs_report_span *span)
{
	return span->ranks ? span->sum / (uint64_t)span->ranks : 0;
}

/* The last two only where something is known of them. */
enum { NAME, BYTES, ALGORITHM, WHY, CALLS, TIME, WAITING, MOVING, COLUMNS };

struct cells {
	const char *text[COLUMNS];
	char bytes[CS_RANGE_TEXT], why[256], calls[24], time[32], waiting[32], moving[32];
};

static void
fill_cells(struct cells *cells, const struct cs_report_line *line)
{
	const struct cs_report_row *row = line->row;
	print_bin(cells->bytes, row);
	snprintf(cells->calls, sizeof cells->calls, "%" PRIu64, line->calls);
	print_time(cells->time, sizeof cells->time, mean_of(&line->time));
	snprintf(cells->why, sizeof cells->why, row->place ? "%s (%s)" : "%s", row->why,
		 row->place);
	cells->text[NAME] = cs_coll_name(line->row->coll);
	cells->text[BYTES] = cells->bytes;
	cells->text[ALGORITHM] = line->row->algorithm;
	cells->text[WHY] = cells->why;
	cells->text[CALLS] = cells->calls;
	cells->text[TIME] = cells->time;
	cells->text[WAITING] = cells->text[MOVING] = "-";
	if (!line->known)
		return;
	print_time(cells->waiting, sizeof cells->waiting, line->waiting_ns / line->known);
	print_time(cells->moving, sizeof cells->moving,
		   cs_report_moving_ns(line) / line->known);
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
		columns = lines[i]->known ? COLUMNS : columns;
		fill_cells(&cells, lines[i]);
		for (int k = 0; k < COLUMNS; k++)
			width[k] = strlen(cells.text[k]) > width[k]
				   ? strlen(cells.text[k]) : width[k];
	}
	print_cells(out, &head, width, columns);
	bool in_deferred = false;
	for (size_t i = 0; i < used; i++) {
		if (lines[i]->row->is_deferred && !in_deferred)
			fputs("  left to the MPI:\n", out);
		in_deferred = lines[i]->row->is_deferred;
		fill_cells(&cells, lines[i]);
		print_cells(out, &cells, width, columns);
	}
}

static void
print_total(FILE *out, size_t used)
{
	uint64_t calls = 0, served_calls = 0, nanoseconds = 0, served_nanoseconds = 0;
	for (size_t i = 0; i < used; i++) {
		const struct cs_report_row *row = lines[i]->row;
		bool is_served = !row->is_deferred && row->coll != CS_COLL_COUNT;
		calls += lines[i]->calls;
		nanoseconds += lines[i]->time.sum;
		served_calls += is_served ? lines[i]->calls : 0;
		served_nanoseconds += is_served ? lines[i]->time.sum : 0;
	}
	char time[32];
	int ranks = cs_report_all.reported > 0 ? cs_report_all.reported : 1;
	print_time(time, sizeof time, nanoseconds / (uint64_t)ranks);
	fprintf(out, "  served %" PRIu64 " of %" PRIu64 " calls (", served_calls, calls);
	print_share(out, "calls", served_calls, calls);
	fputs(", ", out);
	print_share(out, "time", served_nanoseconds, nanoseconds);
	fprintf(out, "), %s%s\n", time, ranks > 1 ? " of a rank in the mean" : "");
}

static void
print_trial(FILE *out, const struct cs_report_trial *trial)
{
	char text[CS_RANGE_TEXT];
	fprintf(out, "  %s", cs_coll_name(trial->coll));
	if (trial->low || cs_report_trial_is_bounded(trial))
		fprintf(out, " %s", cs_byte_range_text(text, (struct cs_range){
				trial->low, cs_report_trial_is_bounded(trial)
					    ? trial->last + 1 : CS_INF }));
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

/* Durations of ranks: "14.1 s (10.2 s to 20.1 s, rank 7)". */
static void
print_span(FILE *out, const char *what, const struct cs_report_span *span, uint64_t run)
{
	char mean[32], least[32], most[32];
	if (!span->ranks)
		return;
	print_time(mean, sizeof mean, mean_of(span));
	fprintf(out, "%s %s", what, mean);
	if (run) {
		uint64_t tenths = cs_report_scale(mean_of(span), 1000, run);
		fprintf(out, ", %" PRIu64 ".%" PRIu64 " %% of the run", tenths / 10, tenths % 10);
	}
	print_time(least, sizeof least, span->least);
	print_time(most, sizeof most, span->most);
	if (span->ranks > 1)
		fprintf(out, " (%s to %s, rank %d)", least, most, span->rank);
	putc('\n', out);
}

static void
print_run(FILE *out)
{
	struct cs_report_span run = cs_report_over_ranks(cs_report_rank_run),
			      known = { .ranks = 0 }, moving = { .ranks = 0 };
	for (int rank = 0; cs_report_all.rank && rank < cs_report_all.ranks; rank++)
		if (cs_report_all.rank[rank].known_ns) {
			known = cs_report_over_ranks(cs_report_rank_waiting);
			moving = cs_report_over_ranks(cs_report_rank_moving);
			break;
		}
	struct cs_report_span collectives = cs_report_over_ranks(cs_report_rank_collectives);
	if (!run.sum)
		return;
	print_span(out, "  a rank ran", &run, 0);
	print_span(out, "    in collectives", &collectives, mean_of(&run));
	print_span(out, "      waiting for others", &known, mean_of(&run));
	print_span(out, "      moving data", &moving, mean_of(&run));
}

/* Remedies for calls left to the MPI, each once. */
static void
print_remedies(FILE *out, size_t used)
{
	bool has_any = false;
	for (size_t i = 0; i < used; i++) {
		const char *why = lines[i]->row->why, *remedy = cs_report_remedy(why);
		uint64_t calls = 0;
		bool is_first = remedy && lines[i]->row->is_deferred;
		for (size_t k = 0; is_first && k < i; k++)
			is_first = !lines[k]->row->is_deferred || strcmp(lines[k]->row->why, why);
		if (!is_first)
			continue;
		for (size_t k = i; k < used; k++)
			calls += !strcmp(lines[k]->row->why, why) && lines[k]->row->is_deferred
				 ? lines[k]->calls : 0;
		if (!has_any)
			fputs("  to have more calls served:\n", out);
		has_any = true;
		fprintf(out, "  %" PRIu64 " calls, %s: %s\n", calls, why, remedy);
	}
}

static void
print_head(FILE *out)
{
	const struct cs_report_all *all = &cs_report_all;
	fprintf(out, "collshim %s: collectives of ", CS_VERSION);
	if (all->is_gathered && all->reported == all->ranks)
		fprintf(out, "%d rank%s\n", all->ranks, all->ranks == 1 ? "" : "s");
	else if (all->is_gathered)
		fprintf(out, "%d of %d ranks\n", all->reported, all->ranks);
	else
		fprintf(out, "rank 0%s%s\n", all->alone ? " alone: " : "",
			all->alone ? all->alone : "");
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
	cs_report_settle();
	cs_report_tell_sums();
	size_t used = cs_report_sorted(lines);
	print_head(out);
	print_facts(out);
	print_run(out);
	if (used == 0) {
		fprintf(out, "  %s\n", cs_report.uncounted ? cs_report.uncounted
							   : "no collective was called");
	} else {
		print_lines(out, used);
		print_total(out, used);
		print_remedies(out, used);
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
