/* trace/report_sites.c — call sites, the time line, and other calls of the MPI. */
#include "trace/report_state.h"

#include "base/clock.h"

#define FIRST_BEAT_NS 1000000 /* length of a bin in a short run */

struct cs_report_spots cs_report_spots = { .lock = PTHREAD_MUTEX_INITIALIZER };

static _Thread_local struct {
	const char *frame;
	const void *caller;
} outermost;

void
cs_report_enter(const void *caller, const char *frame)
{
	if (outermost.frame && frame < outermost.frame) /* deeper in the stack */
		return;
	outermost.frame = frame;
	outermost.caller = caller;
}

void
cs_report_leave(const char *frame)
{
	if (outermost.frame == frame)
		outermost.frame = outermost.caller = NULL;
}

const void *
cs_report_caller(const void *caller)
{
	return outermost.caller ? outermost.caller : caller;
}

/* As /proc/loadavg begins; no floating point: the locale's comma, and programs that trap. */
int
cs_report_load(void)
{
	int whole = 0, part = 0;
	FILE *file = fopen("/proc/loadavg", "re");
	bool is_read = file && fscanf(file, "%d.%d", &whole, &part) == 2;
	if (file)
		fclose(file);
	return is_read ? 100 * whole + part : -1;
}

void
cs_report_begin(void)
{
	cs_report_spots.load = cs_report_load();
	cs_report_spots.time.start = cs_clock_ns();
	cs_report_spots.time.each_ns = FIRST_BEAT_NS;
}

void
cs_report_stretch(struct cs_report_line_of_time *time, uint64_t each_ns)
{
	for (; time->each_ns < each_ns; time->each_ns *= 2)
		for (int beat = 0; beat < CS_BEATS; beat++)
			for (int i = 0; i < CS_REPORT_BEATS; i++) {
				int from = 2 * i;
				uint64_t *bins = time->of[beat];
				bins[i] = from < CS_REPORT_BEATS ? bins[from] + bins[from + 1] : 0;
			}
}

/* Adds a duration to the bins that it lies in. */
static void
spread(struct cs_report_line_of_time *time, enum cs_report_beat beat, uint64_t from, uint64_t to)
{
	while (from < to) {
		uint64_t bin = from / time->each_ns, end = (bin + 1) * time->each_ns;
		end = end < to ? end : to;
		time->of[beat][bin] += end - from;
		from = end;
	}
}

static void
add_time(struct cs_report_line_of_time *time, uint64_t arrived, uint64_t left, uint64_t waited)
{
	if (!time->each_ns || left < arrived || left < time->start)
		return;
	arrived = arrived > time->start ? arrived : time->start;
	arrived -= time->start;
	left -= time->start;
	uint64_t each = time->each_ns;
	while (left / each >= CS_REPORT_BEATS)
		each *= 2;
	cs_report_stretch(time, each);
	spread(time, CS_BEAT_CALLS, arrived, left);
	if (waited == CS_REPORT_NOT_KNOWN)
		return;
	spread(time, CS_BEAT_KNOWN, arrived, left);
	spread(time, CS_BEAT_WAITING, arrived, arrived + waited < left ? arrived + waited : left);
}

/* Its place; NULL: the table is full. */
static struct cs_report_site *
site_of(const void *caller, struct cs_report_row *row)
{
	const size_t room = sizeof cs_report_spots.sites / sizeof *cs_report_spots.sites;
	uintptr_t hash = ((uintptr_t)caller * 31 + (uintptr_t)row / sizeof *row) * 2654435761u;
	struct cs_report_site *sites = cs_report_spots.sites;
	size_t at = (hash ^ hash >> 16) % room;
	while (sites[at].row && (sites[at].row != row || sites[at].caller != caller))
		at = (at + 1) % room;
	if (!sites[at].row) {
		if (cs_report_spots.used == CS_REPORT_SITES)
			return NULL;
		cs_report_spots.used++;
		sites[at].caller = caller;
		sites[at].row = row;
	}
	return &sites[at];
}

void
cs_report_site_add(const void *caller, struct cs_report_row *row, uint64_t calls, uint64_t took,
		   uint64_t left, uint64_t waited)
{
	struct cs_report_site *site = site_of(caller, row);
	if (site) {
		site->calls += calls;
		site->nanoseconds += took;
	}
	if (site && waited != CS_REPORT_NOT_KNOWN) {
		site->known_nanoseconds += took;
		site->waiting += waited < took ? waited : took;
	}
	add_time(&cs_report_spots.time, left - took, left, waited);
}

void
cs_report_site(const void *caller, struct cs_report_row *row, uint64_t arrived, uint64_t left,
	       uint64_t waited)
{
	pthread_mutex_lock(&cs_report_spots.lock);
	cs_report_site_add(caller, row, 1, left - arrived, left, waited);
	pthread_mutex_unlock(&cs_report_spots.lock);
}

void
cs_report_site_spend(const void *caller, struct cs_report_row *row, uint64_t from, uint64_t to)
{
	cs_report_spend(row, to - from);
	pthread_mutex_lock(&cs_report_spots.lock);
	struct cs_report_site *site = site_of(caller, row);
	if (site)
		site->nanoseconds += to - from;
	add_time(&cs_report_spots.time, from, to, CS_REPORT_NOT_KNOWN);
	pthread_mutex_unlock(&cs_report_spots.lock);
}

void
cs_report_mpi(enum cs_report_mpi_kind kind, uint64_t calls, uint64_t nanoseconds)
{
	atomic_fetch_add_explicit(&cs_report_spots.mpi[kind].calls, calls, memory_order_relaxed);
	atomic_fetch_add_explicit(&cs_report_spots.mpi[kind].nanoseconds, nanoseconds,
				  memory_order_relaxed);
}

void
cs_report_mpi_measured(void)
{
	cs_report_spots.is_mpi_measured = true;
}
