/* trace/report.c — counts what the calls of this process took, and brings the report to where it is
 * to go. */
#include "trace/report_state.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct cs_report cs_report = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.overflow = { .coll = CS_COLL_COUNT, .bin = CS_REPORT_UNKNOWN, .algorithm = "other",
		      .why = "the report's table was full" },
};
static char *start_folder; /* of relative paths; NULL: where the process is by then. */

static bool
is_text(const char *one, const char *other)
{
	return one && other ? !strcmp(one, other) : one == other;
}

static bool
has_key(const struct cs_report_row *row, const struct cs_report_row *key)
{
	return row->coll == key->coll && row->bin == key->bin &&
	       row->is_deferred == key->is_deferred && !strcmp(row->algorithm, key->algorithm) &&
	       !strcmp(row->why, key->why) && is_text(row->place, key->place);
}

static struct cs_report_row *
make_row(const struct cs_report_row *key)
{
	struct cs_report_row *row = calloc(1, sizeof *row);
	char *algorithm = strdup(key->algorithm), *why = strdup(key->why),
	     *place = key->place ? strdup(key->place) : NULL;
	if (!row || !algorithm || !why || (key->place && !place)) {
		free(row);
		free(algorithm);
		free(why);
		free(place);
		return NULL;
	}
	row->coll = key->coll;
	row->bin = key->bin;
	row->is_deferred = key->is_deferred;
	row->algorithm = algorithm;
	row->why = why;
	row->place = place;
	return row;
}

struct cs_report_row *
cs_report_find_row(const struct cs_report_row *key)
{
	uint64_t hash = cs_hash_number(CS_HASH_START, (uint64_t)key->coll << 16 |
				       (uint64_t)key->bin << 1 | key->is_deferred);
	hash = cs_hash_text(cs_hash_text(cs_hash_text(hash, key->algorithm), key->why), key->place);
	size_t at = (hash ^ hash >> 32) % CS_REPORT_HASH;
	while (cs_report.rows[at] && !has_key(cs_report.rows[at], key))
		at = (at + 1) % CS_REPORT_HASH;
	if (!cs_report.rows[at] && cs_report.rows_made < CS_REPORT_ROWS) {
		cs_report.rows[at] = make_row(key);
		cs_report.rows_made += cs_report.rows[at] != NULL;
	}
	return cs_report.rows[at] ? cs_report.rows[at] : &cs_report.overflow;
}

struct cs_report_row *
cs_report_rule_row(int coll, size_t bytes, bool is_deferred, const char *algorithm, const char *why,
		   const char *place)
{
	int saved = errno;
	pthread_mutex_lock(&cs_report.lock);
	struct cs_report_row *row = cs_report_find_row(&(struct cs_report_row){
		.coll = coll, .bin = cs_report_bin(bytes), .is_deferred = is_deferred,
		.algorithm = algorithm, .why = why, .place = place });
	pthread_mutex_unlock(&cs_report.lock);
	errno = saved;
	return row;
}

struct cs_report_row *
cs_report_host_row(int coll, size_t bytes, const char *why)
{
	static _Thread_local struct cs_report_row *last;
	static _Thread_local const char *last_why;
	if (!last || last->coll != coll || last->bin != cs_report_bin(bytes) || last_why != why) {
		last = cs_report_row(coll, bytes, true, "host", why);
		last_why = why;
	}
	return last;
}

int
cs_report_trial(int place, const struct cs_report_trial *trial)
{
	pthread_mutex_lock(&cs_report.lock);
	if (place < 0 && cs_report.trials_used < CS_REPORT_TRIALS)
		place = cs_report.trials_used++;
	if (place >= 0)
		cs_report.trials[place] = *trial;
	pthread_mutex_unlock(&cs_report.lock);
	return place;
}

void
cs_report_trial_calls(int place, uint64_t calls)
{
	pthread_mutex_lock(&cs_report.lock);
	cs_report.trials[place].calls = calls;
	pthread_mutex_unlock(&cs_report.lock);
}

void
cs_report_spend(struct cs_report_row *row, uint64_t nanoseconds)
{
	atomic_fetch_add_explicit(&row->nanoseconds, nanoseconds, memory_order_relaxed);
}

void
cs_report_wait(struct cs_report_row *row, uint64_t nanoseconds, uint64_t waiting)
{
	waiting = waiting < nanoseconds ? waiting : nanoseconds;
	atomic_fetch_add_explicit(&row->known_calls, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&row->known_nanoseconds, nanoseconds, memory_order_relaxed);
	atomic_fetch_add_explicit(&row->waiting_nanoseconds, waiting, memory_order_relaxed);
}

void
cs_report_add_time(struct cs_report_row *row, uint64_t calls, uint64_t nanoseconds)
{
	cs_report_spend(row, calls * nanoseconds);
	atomic_fetch_add_explicit(&row->times[cs_report_time_bin(nanoseconds)], (uint32_t)calls,
				  memory_order_relaxed);
}

void
cs_report_count(struct cs_report_row *row, size_t bytes, uint64_t nanoseconds)
{
	atomic_fetch_add_explicit(&row->calls, 1, memory_order_relaxed);
	cs_report_add_time(row, 1, nanoseconds);
	if (bytes != CS_BYTES_UNKNOWN)
		atomic_fetch_add_explicit(&row->bytes, bytes, memory_order_relaxed);
}

/* A fact of that name, new if need be; NULL without memory: then the report is one line shorter. */
static struct cs_fact *
fact_of(const char *name)
{
	for (size_t i = 0; i < cs_report.facts_used; i++)
		if (!strcmp(cs_report.facts[i].name, name))
			return &cs_report.facts[i];
	if (cs_report.facts_used == cs_report.facts_room) {
		size_t room = cs_report.facts_room ? 2 * cs_report.facts_room : 16;
		struct cs_fact *more = realloc(cs_report.facts, room * sizeof *more);
		if (!more)
			return NULL;
		cs_report.facts = more;
		cs_report.facts_room = room;
	}
	char *copy = strdup(name);
	if (!copy)
		return NULL;
	cs_report.facts[cs_report.facts_used] = (struct cs_fact){ .name = copy };
	return &cs_report.facts[cs_report.facts_used++];
}

void
cs_report_fact(const char *name, const char *value)
{
	int saved = errno;
	char *copy = strdup(value);
	pthread_mutex_lock(&cs_report.lock);
	struct cs_fact *fact = copy ? fact_of(name) : NULL;
	if (fact) {
		free(fact->value);
		fact->value = copy;
	} else {
		free(copy);
	}
	pthread_mutex_unlock(&cs_report.lock);
	errno = saved;
}

static void
set_number(const char *name, uint64_t value)
{
	struct cs_fact *fact = fact_of(name);
	if (fact) {
		free(fact->value);
		fact->value = NULL;
		fact->number = value;
	}
}

uint64_t
cs_report_more(enum cs_report_sum of)
{
	return atomic_fetch_add_explicit(&cs_report.sums[of], 1, memory_order_relaxed);
}

void
cs_report_number(const char *name, uint64_t value)
{
	int saved = errno;
	pthread_mutex_lock(&cs_report.lock);
	set_number(name, value);
	pthread_mutex_unlock(&cs_report.lock);
	errno = saved;
}

void
cs_report_tell_sums(void)
{
	static const char *const names[CS_REPORT_SUMS] = {
		[CS_SUM_REFUSED] = "single copies refused",
		[CS_SUM_SHARED] = "results found in shared windows",
		[CS_SUM_MAPPED] = "results mapped copy-on-write",
	};
	for (int i = 0; i < CS_REPORT_SUMS; i++)
		if (cs_report_all.sums[i])
			set_number(names[i], cs_report_all.sums[i]);
}

void
cs_report_uncounted(const char *why)
{
	pthread_mutex_lock(&cs_report.lock);
	cs_report.uncounted = why;
	pthread_mutex_unlock(&cs_report.lock);
}

/* --- where it goes ---------------------------------------------------------------------------- */

/* The whole report in memory first, so that it leaves in one write and ranks' lines do not come in
 * between. */
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
		cs_warn_once("report: %s is there already and stays as it is; the report of this "
			     "run is %s.%u", path, path, number);
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
	} else if (*destination == '/' || !start_folder || asprintf(&path, "%s/%s", start_folder,
								    destination) < 0) {
		write_json(destination);
	} else {
		write_json(path);
		free(path);
	}
	errno = saved;
}
