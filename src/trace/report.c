#include "trace/report.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/printable.h"
#include "trace/json.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_ROWS 4096
#define HASH_SIZE (2 * MAX_ROWS) /* a power of two; half empty at worst, so a probe ends soon */

struct fact {
	char *name;
	char *value; /* NULL: the number counts */
	uint64_t number;
};

/* Everything below but the counters of rows is under `lock`. Rows are never freed or moved: teams keep
 * pointers to them. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct cs_report_row *rows[HASH_SIZE];
static size_t rows_made;
static struct cs_report_row overflow = {
	.coll = CS_COLL_COUNT, .bin = CS_REPORT_UNKNOWN, .algorithm = "other", .why = "the report's table was full"
};
static struct fact *facts;
static size_t facts_used, facts_room;
static char *start_folder; /* of relative paths; NULL: where the process is by then */
static const char *uncounted; /* why there are no rows; NULL: there were no calls */

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

static bool
has_key(const struct cs_report_row *row, int coll, int bin, bool is_deferred, const char *algorithm,
	const char *why)
{
	return row->coll == coll && row->bin == bin && row->is_deferred == is_deferred &&
	       !strcmp(row->algorithm, algorithm) && !strcmp(row->why, why);
}

static struct cs_report_row *
make_row(int coll, int bin, bool is_deferred, const char *algorithm, const char *why)
{
	struct cs_report_row *row = calloc(1, sizeof *row);
	char *algorithm_copy = strdup(algorithm), *why_copy = strdup(why);
	if (!row || !algorithm_copy || !why_copy) {
		free(row);
		free(algorithm_copy);
		free(why_copy);
		return NULL;
	}
	row->coll = coll;
	row->bin = bin;
	row->is_deferred = is_deferred;
	row->algorithm = algorithm_copy;
	row->why = why_copy;
	return row;
}

struct cs_report_row *
cs_report_row(int coll, size_t bytes, bool is_deferred, const char *algorithm, const char *why)
{
	int saved = errno;
	int bin = cs_report_bin(bytes);
	uint64_t hash = cs_hash_number(CS_HASH_START, (uint64_t)coll << 16 | (uint64_t)bin << 1 | is_deferred);
	hash = cs_hash_text(cs_hash_text(hash, algorithm), why);

	pthread_mutex_lock(&lock);
	size_t at = (hash ^ hash >> 32) % HASH_SIZE;
	while (rows[at] && !has_key(rows[at], coll, bin, is_deferred, algorithm, why))
		at = (at + 1) % HASH_SIZE;
	if (!rows[at] && rows_made < MAX_ROWS) {
		rows[at] = make_row(coll, bin, is_deferred, algorithm, why);
		rows_made += rows[at] != NULL;
	}
	struct cs_report_row *row = rows[at] ? rows[at] : &overflow;
	pthread_mutex_unlock(&lock);
	errno = saved;
	return row;
}

void
cs_report_spend(struct cs_report_row *row, uint64_t nanoseconds)
{
	atomic_fetch_add_explicit(&row->nanoseconds, nanoseconds, memory_order_relaxed);
}

void
cs_report_count(struct cs_report_row *row, size_t bytes, uint64_t nanoseconds)
{
	atomic_fetch_add_explicit(&row->calls, 1, memory_order_relaxed);
	cs_report_spend(row, nanoseconds);
	if (bytes != CS_BYTES_UNKNOWN)
		atomic_fetch_add_explicit(&row->bytes, bytes, memory_order_relaxed);
}

/* A fact of that name, new if need be; NULL without memory: then the report is one line shorter. */
static struct fact *
fact_of(const char *name)
{
	for (size_t i = 0; i < facts_used; i++)
		if (!strcmp(facts[i].name, name))
			return &facts[i];
	if (facts_used == facts_room) {
		size_t room = facts_room ? 2 * facts_room : 16;
		struct fact *more = realloc(facts, room * sizeof *more);
		if (!more)
			return NULL;
		facts = more;
		facts_room = room;
	}
	char *copy = strdup(name);
	if (!copy)
		return NULL;
	facts[facts_used] = (struct fact){ .name = copy };
	return &facts[facts_used++];
}

void
cs_report_fact(const char *name, const char *value)
{
	int saved = errno;
	char *copy = strdup(value);
	pthread_mutex_lock(&lock);
	struct fact *fact = copy ? fact_of(name) : NULL;
	if (fact) {
		free(fact->value);
		fact->value = copy;
	} else {
		free(copy);
	}
	pthread_mutex_unlock(&lock);
	errno = saved;
}

void
cs_report_number(const char *name, uint64_t value)
{
	int saved = errno;
	pthread_mutex_lock(&lock);
	struct fact *fact = fact_of(name);
	if (fact) {
		free(fact->value);
		fact->value = NULL;
		fact->number = value;
	}
	pthread_mutex_unlock(&lock);
	errno = saved;
}

void
cs_report_uncounted(const char *why)
{
	pthread_mutex_lock(&lock);
	uncounted = why;
	pthread_mutex_unlock(&lock);
}

/* --- what is shown ------------------------------------------------------------------------------------------ */

/* A row as it stood when the report was made: other threads may count on. */
struct line {
	const struct cs_report_row *row;
	uint64_t calls, nanoseconds, bytes;
};

static struct line
line_of(struct cs_report_row *row)
{
	return (struct line){
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

/* The rows that were called, sorted. The array is static because memory may be what is short; `lock` guards it. */
static struct line lines[MAX_ROWS + 1];

static size_t
collect_lines(void)
{
	size_t used = 0;
	for (size_t i = 0; i < HASH_SIZE; i++) {
		if (!rows[i])
			continue;
		lines[used] = line_of(rows[i]);
		used += lines[used].calls > 0;
	}
	lines[used] = line_of(&overflow);
	used += lines[used].calls > 0;
	qsort(lines, used, sizeof *lines, compare_lines);
	return used;
}

static void
print_bin(char *text, const struct cs_report_row *row)
{
	int bin = row->bin;
	if (bin == CS_REPORT_UNKNOWN || row->coll == CS_BARRIER)
		strcpy(text, "-");
	else if (bin == 0)
		strcpy(text, "0");
	else
		cs_byte_range_text(text, (struct cs_range){ bin_low(bin), bin == 64 ? CS_INF : bin_high(bin) });
}

/* Three or four digits and a unit. Whole numbers throughout: no comma from the application's locale. */
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

enum { NAME, BYTES, ALGORITHM, WHY, CALLS, TIME, COLUMNS };

struct cells {
	const char *text[COLUMNS];
	char bytes[CS_RANGE_TEXT], calls[24], time[32];
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
}

static void
print_cells(FILE *out, const struct cells *cells, const size_t *width)
{
	fputs("  ", out);
	for (int k = 0; k < COLUMNS; k++) {
		bool to_the_right = k == BYTES || k == CALLS || k == TIME;
		fprintf(out, to_the_right ? "%*s" : "%-*s", (int)width[k], cells->text[k]);
		fputs(k + 1 < COLUMNS ? "  " : "\n", out);
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
	for (size_t i = 0; i < facts_used; i++)
		width = strlen(facts[i].name) > width ? strlen(facts[i].name) : width;
	for (size_t i = 0; i < facts_used; i++) {
		fprintf(out, "  %-*s  ", (int)width, facts[i].name);
		if (facts[i].value)
			print_value(out, facts[i].value);
		else
			fprintf(out, "%" PRIu64 "\n", facts[i].number);
	}
}

static void
print_lines(FILE *out, size_t used)
{
	static const struct cells head = {
		.text = { "collective", "bytes", "algorithm", "why", "calls", "time" }
	};
	size_t width[COLUMNS];
	struct cells cells;
	for (int k = 0; k < COLUMNS; k++)
		width[k] = strlen(head.text[k]);
	for (size_t i = 0; i < used; i++) {
		fill_cells(&cells, &lines[i]);
		for (int k = 0; k < COLUMNS; k++)
			width[k] = strlen(cells.text[k]) > width[k] ? strlen(cells.text[k]) : width[k];
	}
	print_cells(out, &head, width);
	bool in_deferred = false;
	for (size_t i = 0; i < used; i++) {
		if (lines[i].row->is_deferred && !in_deferred)
			fputs("  left to the MPI underneath:\n", out);
		in_deferred = lines[i].row->is_deferred;
		fill_cells(&cells, &lines[i]);
		print_cells(out, &cells, width);
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

/* A path or an MPI's name may have anything in it. Values are each on a line; without memory they are printed as they are. */
void
cs_report_print(FILE *to)
{
	int saved = errno;
	char *text;
	size_t length;
	pthread_mutex_lock(&lock);
	FILE *memory = open_memstream(&text, &length), *out = memory ? memory : to;
	size_t used = collect_lines();
	fprintf(out, "collshim %s: collectives of this process\n", CS_VERSION);
	print_facts(out);
	if (used == 0) {
		fprintf(out, "  %s\n", uncounted ? uncounted : "no collective was called");
	} else {
		print_lines(out, used);
		print_total(out, used);
	}
	pthread_mutex_unlock(&lock);
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
	fprintf(out, ", \"deferred\": %s, \"calls\": %" PRIu64, line->row->is_deferred ? "true" : "false", line->calls);
	json_size(out, "bytes", is_known, line->bytes);
	fputs(", \"seconds\": ", out);
	cs_json_seconds(out, line->nanoseconds);
	fputs("}", out);
}

void
cs_report_json(FILE *out)
{
	int saved = errno;
	pthread_mutex_lock(&lock);
	size_t used = collect_lines();
	fputs("{\"collshim\": ", out);
	cs_json_string(out, CS_VERSION);
	fputs(",\n \"facts\": {", out);
	for (size_t i = 0; i < facts_used; i++) {
		fputs(i ? ",\n  " : "\n  ", out);
		cs_json_string(out, facts[i].name);
		fputs(": ", out);
		if (facts[i].value)
			cs_json_string(out, facts[i].value);
		else
			fprintf(out, "%" PRIu64, facts[i].number);
	}
	fputs("},\n", out);
	if (uncounted) {
		fputs(" \"uncounted\": ", out);
		cs_json_string(out, uncounted);
		fputs(",\n", out);
	}
	fputs(" \"rows\": [", out);
	for (size_t i = 0; i < used; i++) {
		fputs(i ? ",\n  " : "\n  ", out);
		json_line(out, &lines[i]);
	}
	fputs("]}\n", out);
	pthread_mutex_unlock(&lock);
	errno = saved;
}

/* --- where it goes ------------------------------------------------------------------------------------------- */

/* The whole report in memory first, so that it leaves in one write and ranks' lines do not come in between. */
static bool
render(void (*print)(FILE *out), char **text, size_t *length)
{
	FILE *out = open_memstream(text, length);
	if (!out)
		return false;
	print(out);
	bool is_whole = !ferror(out);
	if (fclose(out) != 0 || !is_whole) {
		free(*text);
		return false;
	}
	return true;
}

static void
write_table(void)
{
	char *text;
	size_t length;
	if (!render(cs_report_print, &text, &length)) {
		cs_report_print(stderr);
		return;
	}
	/* If stderr is gone there is nobody left to tell. */
	(void)cs_file_write(STDERR_FILENO, text, length);
	free(text);
}

void
cs_report_from_here(void)
{
	int saved = errno;
	free(start_folder);
	start_folder = getcwd(NULL, 0);
	errno = saved;
}

static void
write_json(const char *path)
{
	char *text;
	size_t length;
	if (!render(cs_report_json, &text, &length)) {
		cs_warn_once("report: no memory for %s; the table follows instead", path);
		write_table();
		return;
	}
	unsigned number = cs_file_add(path, text, length);
	if (number == 0) {
		cs_warn_once("report: %s cannot be written: %m; the table follows instead", path);
		write_table();
	} else if (number > 1) {
		cs_warn_once("report: %s is there already and stays as it is; the report of this run is %s.%u", path, path,
			     number);
	}
	free(text);
}

void
cs_report_write(const char *destination)
{
	int saved = errno;
	char *path;
	if (!strcmp(destination, "1")) {
		write_table();
	} else if (*destination == '/' || !start_folder || asprintf(&path, "%s/%s", start_folder, destination) < 0) {
		write_json(destination);
	} else {
		write_json(path);
		free(path);
	}
	errno = saved;
}
