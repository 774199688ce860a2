/* trace/report_ranks.c — packs the counts of a process, and merges those of all ranks. */
#include "trace/report_state.h"

#include "base/clock.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#define MAGIC 0x43535250u
#define MOST_TEXT 4096 /* bytes of a row's texts */

struct cs_report_all cs_report_all;

/* --- packing ---------------------------------------------------------------------------------- */

struct head {
	uint32_t magic, rows, sites;
	bool is_mpi_measured;
	uint64_t run_ns, mpi_calls[CS_REPORT_MPI_KINDS], mpi_ns[CS_REPORT_MPI_KINDS];
	int node;
	bool is_first;
	struct cs_report_node of_node; /* if is_first, but for its cpus: each rank's own */
	struct cs_report_line_of_time time;
	uint64_t sums[CS_REPORT_SUMS];
};

/* Texts follow, each with its end; a place of 0 bytes is none. */
struct packed_row {
	int coll, bin;
	bool is_deferred;
	uint32_t algorithm, why, place; /* bytes */
	uint64_t calls, nanoseconds, bytes, known, known_ns, waiting;
	uint32_t times[CS_REPORT_TIMES];
};

struct packed_site {
	uint32_t row;    /* from 0 on */
	uint32_t module; /* bytes of its path, which follows; 0: not known */
	uint64_t offset, calls, nanoseconds, known_ns, waiting;
};

static uint64_t
read_memory(const char *name)
{
	unsigned long long found = 0, kilobytes;
	char line[128];
	size_t length = strlen(name);
	FILE *file = fopen("/proc/meminfo", "re");
	while (file && fgets(line, sizeof line, file))
		if (!strncmp(line, name, length) &&
		    sscanf(line + length, ": %llu", &kilobytes) == 1)
			found = kilobytes * 1024;
	if (file)
		fclose(file);
	return found;
}

static void
look_at_node(const struct cs_report_self *self, struct cs_report_node *node)
{
	struct utsname system;
	if (uname(&system) == 0)
		memcpy(node->machine, system.nodename,
		       strnlen(system.nodename, sizeof node->machine - 1));
	node->load_before = cs_report_spots.load;
	node->load = cs_report_load();
	node->memory = read_memory("MemTotal");
	node->memory_free = read_memory("MemAvailable");
	node->shm_peak = self->shm_peak;
	node->shm_budget = self->shm_budget;
	node->has_cma = self->has_cma;
}

static void
pack_row(FILE *out, struct cs_report_row *row, uint32_t *count)
{
	struct packed_row packed = {
		.coll = row->coll, .bin = row->bin, .is_deferred = row->is_deferred,
		.algorithm = (uint32_t)strlen(row->algorithm) + 1,
		.why = (uint32_t)strlen(row->why) + 1,
		.place = row->place ? (uint32_t)strlen(row->place) + 1 : 0,
		.calls = atomic_load(&row->calls),
		.nanoseconds = atomic_load(&row->nanoseconds),
		.bytes = atomic_load(&row->bytes),
		.known = atomic_load(&row->known_calls),
		.known_ns = atomic_load(&row->known_nanoseconds),
		.waiting = atomic_load(&row->waiting_nanoseconds),
	};
	row->packed = 0;
	if (!packed.calls)
		return;
	row->packed = ++*count;
	for (int i = 0; i < CS_REPORT_TIMES; i++)
		packed.times[i] = atomic_load(&row->times[i]);
	fwrite(&packed, sizeof packed, 1, out);
	fwrite(row->algorithm, packed.algorithm, 1, out);
	fwrite(row->why, packed.why, 1, out);
	if (row->place)
		fwrite(row->place, packed.place, 1, out);
}

static void
pack_site(FILE *out, const struct cs_report_site *site)
{
	Dl_info info;
	bool is_known = dladdr(site->caller, &info) && info.dli_fname;
	struct packed_site packed = {
		.row = site->row->packed - 1,
		.module = is_known ? (uint32_t)strlen(info.dli_fname) + 1 : 0,
		.offset = (uintptr_t)site->caller - (is_known ? (uintptr_t)info.dli_fbase : 0),
		.calls = site->calls, .nanoseconds = site->nanoseconds,
		.known_ns = site->known_nanoseconds, .waiting = site->waiting,
	};
	fwrite(&packed, sizeof packed, 1, out);
	if (is_known)
		fwrite(info.dli_fname, packed.module, 1, out);
}

static void
pack(FILE *out, const struct cs_report_self *self, struct head *head)
{
	*head = (struct head){ .magic = MAGIC, .node = self->node, .is_first = self->is_first,
			       .is_mpi_measured = cs_report_spots.is_mpi_measured,
			       .time = cs_report_spots.time };
	if (head->time.start)
		head->run_ns = cs_clock_ns() - head->time.start;
	for (int kind = 0; kind < CS_REPORT_MPI_KINDS; kind++) {
		head->mpi_calls[kind] = atomic_load(&cs_report_spots.mpi[kind].calls);
		head->mpi_ns[kind] = atomic_load(&cs_report_spots.mpi[kind].nanoseconds);
	}
	for (int i = 0; i < CS_REPORT_SUMS; i++)
		head->sums[i] = atomic_load(&cs_report.sums[i]);
	if (self->is_first)
		look_at_node(self, &head->of_node);
	cpu_set_t cpus;
	if (sched_getaffinity(0, sizeof cpus, &cpus) == 0)
		for (unsigned cpu = 0; cpu < 64 * CS_REPORT_CPU_WORDS && cpu < CPU_SETSIZE; cpu++)
			if (CPU_ISSET(cpu, &cpus))
				head->of_node.cpus[cpu / 64] |= UINT64_C(1) << cpu % 64;
	fwrite(head, sizeof *head, 1, out); /* once more when it is whole */
	for (size_t i = 0; i < CS_REPORT_HASH; i++)
		if (cs_report.rows[i])
			pack_row(out, cs_report.rows[i], &head->rows);
	pack_row(out, &cs_report.overflow, &head->rows);
	const size_t room = sizeof cs_report_spots.sites / sizeof *cs_report_spots.sites;
	for (size_t i = 0; i < room; i++) {
		const struct cs_report_site *site = &cs_report_spots.sites[i];
		if (!site->row || !site->row->packed)
			continue;
		pack_site(out, site);
		head->sites++;
	}
}

static char *
pack_all(const struct cs_report_self *self, size_t *length, uint32_t *rows)
{
	char *bytes;
	FILE *out = open_memstream(&bytes, length);
	struct head head;
	if (!out)
		return NULL;
	pthread_mutex_lock(&cs_report_spots.lock);
	pack(out, self, &head);
	pthread_mutex_unlock(&cs_report_spots.lock);
	bool is_whole = !ferror(out);
	if (fclose(out) != 0 || !is_whole) {
		free(bytes);
		return NULL;
	}
	memcpy(bytes, &head, sizeof head);
	*rows = head.rows;
	return bytes;
}

char *
cs_report_pack(const struct cs_report_self *self, size_t *length, uint32_t *rows)
{
	pthread_mutex_lock(&cs_report.lock);
	char *bytes = pack_all(self, length, rows);
	pthread_mutex_unlock(&cs_report.lock);
	return bytes;
}

uint32_t
cs_report_packed(const struct cs_report_row *row)
{
	return row ? row->packed : 0;
}

/* --- merging ---------------------------------------------------------------------------------- */

struct reader {
	const char *at;
	size_t left;
};

static bool
get(struct reader *reader, void *to, size_t bytes)
{
	if (reader->left < bytes)
		return false;
	memcpy(to, reader->at, bytes);
	reader->at += bytes;
	reader->left -= bytes;
	return true;
}

/* A text of so many bytes with its end; NULL if it has none. */
static const char *
get_text(struct reader *reader, uint32_t bytes)
{
	const char *text = reader->at;
	if (!bytes || bytes > MOST_TEXT || reader->left < bytes || text[bytes - 1])
		return NULL;
	reader->at += bytes;
	reader->left -= bytes;
	return text;
}

static void
add(struct cs_report_span *span, int rank, uint64_t number)
{
	if (!span->ranks || number < span->least)
		span->least = number;
	if (!span->ranks || number > span->most) {
		span->most = number;
		span->rank = rank;
	}
	span->sum += number;
	span->ranks++;
}

/* The line of a row's key, new if necessary: rows of other ranks get one here, without calls. */
static struct cs_report_line *
line_of(const struct packed_row *packed, const char *algorithm, const char *why, const char *place)
{
	struct cs_report_all *all = &cs_report_all;
	struct cs_report_row *row = &cs_report.overflow;
	if (packed->coll != CS_COLL_COUNT)
		row = cs_report_find_row(&(struct cs_report_row){
			.coll = packed->coll, .bin = packed->bin,
			.is_deferred = packed->is_deferred, .algorithm = algorithm, .why = why,
			.place = place });
	if (!row->line) {
		row->line = ++all->line_count;
		all->lines[row->line - 1] = (struct cs_report_line){ .row = row };
	}
	return &all->lines[row->line - 1];
}

static bool
take_row(struct reader *reader, int rank, const struct cs_report_known *known, uint32_t *line)
{
	struct packed_row packed;
	const char *algorithm, *why, *place = NULL;
	if (!get(reader, &packed, sizeof packed) || packed.bin < 0 ||
	    packed.bin >= CS_REPORT_BINS || !(algorithm = get_text(reader, packed.algorithm)) ||
	    !(why = get_text(reader, packed.why)) ||
	    (packed.place && !(place = get_text(reader, packed.place))))
		return false;
	struct cs_report_line *merged = line_of(&packed, algorithm, why, place);
	struct cs_report_rank *of = cs_report_all.rank ? &cs_report_all.rank[rank] : NULL;
	*line = (uint32_t)(merged - cs_report_all.lines);
	if (known) {
		packed.known += known->calls;
		packed.known_ns += known->nanoseconds;
		packed.waiting += known->waiting;
	}
	if (packed.calls > merged->calls) {
		merged->calls = packed.calls;
		merged->bytes = packed.bytes;
	}
	merged->calls_all += packed.calls;
	merged->known += packed.known;
	merged->known_ns += packed.known_ns;
	merged->waiting_ns += packed.waiting;
	add(&merged->time, rank, packed.nanoseconds);
	for (int i = 0; i < CS_REPORT_TIMES; i++)
		merged->times[i] += packed.times[i];
	if (of) {
		of->calls += packed.calls;
		of->nanoseconds += packed.nanoseconds;
	}
	if (!packed.known_ns)
		return true;
	uint64_t waiting = cs_report_scale(packed.waiting, packed.nanoseconds, packed.known_ns);
	add(&merged->waiting, rank, waiting);
	add(&merged->moving, rank, packed.nanoseconds - (waiting < packed.nanoseconds
							 ? waiting : packed.nanoseconds));
	if (of) {
		of->known_ns += packed.nanoseconds;
		of->waiting += waiting;
	}
	return true;
}

/* One copy of a module's path, for good; NULL without memory. */
static const char *
keep_module(const char *path)
{
	static char *kept[256];
	size_t i = 0;
	while (i < sizeof kept / sizeof *kept && kept[i] && strcmp(kept[i], path))
		i++;
	if (i == sizeof kept / sizeof *kept)
		return NULL;
	if (!kept[i])
		kept[i] = strdup(path);
	return kept[i];
}

static struct cs_report_site_line *
site_line_of(const char *module, uint64_t offset, uint32_t line)
{
	/* Numbers of sites, one more, by hash. */
	static uint16_t places[4 * CS_REPORT_SITES];
	const size_t room = sizeof places / sizeof *places;
	struct cs_report_all *all = &cs_report_all;
	if (!all->site_count)
		memset(places, 0, sizeof places);
	size_t at = (size_t)((offset * 31 + line) * 2654435761u >> 8) % room;
	for (; places[at]; at = (at + 1) % room) {
		struct cs_report_site_line *site = &all->sites[places[at] - 1];
		if (site->offset == offset && site->line == line && site->module == module)
			return site;
	}
	if (all->site_count == CS_REPORT_SITES)
		return NULL;
	places[at] = (uint16_t)++all->site_count;
	struct cs_report_site_line *site = &all->sites[places[at] - 1];
	*site = (struct cs_report_site_line){ .module = module, .offset = offset, .line = line };
	return site;
}

/* `lines`: of this rank's rows. */
static bool
take_site(struct reader *reader, int rank, const uint32_t *lines, uint32_t rows)
{
	struct packed_site packed;
	const char *module = NULL;
	if (!get(reader, &packed, sizeof packed) || packed.row >= rows ||
	    (packed.module && !(module = get_text(reader, packed.module))))
		return false;
	module = module ? keep_module(module) : NULL;
	struct cs_report_site_line *site = site_line_of(module, packed.offset, lines[packed.row]);
	if (!site)
		return true;
	site->calls = packed.calls > site->calls ? packed.calls : site->calls;
	site->calls_all += packed.calls;
	add(&site->time, rank, packed.nanoseconds);
	if (!packed.known_ns)
		return true;
	uint64_t waiting = cs_report_scale(packed.waiting, packed.nanoseconds, packed.known_ns);
	add(&site->waiting, rank, waiting);
	add(&site->moving, rank, packed.nanoseconds - waiting);
	return true;
}

static void
take_head(const struct head *head, int rank)
{
	struct cs_report_all *all = &cs_report_all;
	struct cs_report_line_of_time time = head->time;
	all->reported++;
	all->is_mpi_measured = head->is_mpi_measured && (all->reported == 1 ||
							 all->is_mpi_measured);
	if (!all->time.each_ns)
		all->time.each_ns = time.each_ns;
	if (time.each_ns) {
		uint64_t each = time.each_ns > all->time.each_ns ? time.each_ns : all->time.each_ns;
		cs_report_stretch(&time, each);
		cs_report_stretch(&all->time, each);
	}
	for (int beat = 0; beat < CS_BEATS; beat++)
		for (int i = 0; i < CS_REPORT_BEATS; i++)
			all->time.of[beat][i] += time.of[beat][i];
	for (int i = 0; i < CS_REPORT_SUMS; i++)
		all->sums[i] += head->sums[i];
	if (!all->rank)
		return;
	struct cs_report_rank *of = &all->rank[rank];
	of->is_here = true;
	of->node = head->node >= 0 && head->node < all->ranks ? head->node : 0;
	of->run_ns = head->run_ns;
	memcpy(of->mpi_calls, head->mpi_calls, sizeof of->mpi_calls);
	memcpy(of->mpi_ns, head->mpi_ns, sizeof of->mpi_ns);
	struct cs_report_node *node = &all->node[of->node];
	struct cs_report_node before = *node;
	if (head->is_first) {
		*node = head->of_node;
		node->first_rank = rank;
		node->machine[sizeof node->machine - 1] = '\0';
	}
	node->ranks = before.ranks + 1;
	for (int i = 0; i < CS_REPORT_CPU_WORDS; i++)
		node->cpus[i] = before.cpus[i] | head->of_node.cpus[i];
	all->nodes = of->node >= all->nodes ? of->node + 1 : all->nodes;
}

static bool
take(int rank, const char *bytes, size_t length, const struct cs_report_known *known)
{
	struct reader reader = { bytes, length };
	struct head head;
	if (!get(&reader, &head, sizeof head) || head.magic != MAGIC ||
	    head.rows > CS_REPORT_ROWS + 1)
		return false;
	uint32_t *lines = malloc((head.rows + 1) * sizeof *lines);
	take_head(&head, rank);
	bool is_good = lines;
	for (uint32_t i = 0; is_good && i < head.rows; i++)
		is_good = take_row(&reader, rank, known ? &known[i] : NULL, &lines[i]);
	for (uint32_t i = 0; is_good && i < head.sites; i++)
		is_good = take_site(&reader, rank, lines, head.rows);
	free(lines);
	return is_good;
}

bool
cs_report_take(int rank, const char *bytes, size_t length, const struct cs_report_known *known)
{
	pthread_mutex_lock(&cs_report.lock);
	bool is_good = rank >= 0 && rank < cs_report_all.ranks && take(rank, bytes, length, known);
	pthread_mutex_unlock(&cs_report.lock);
	return is_good;
}

/* --- the whole -------------------------------------------------------------------------------- */

static bool
begin(int ranks)
{
	struct cs_report_all *all = &cs_report_all;
	for (uint32_t i = 0; i < all->line_count; i++)
		((struct cs_report_row *)all->lines[i].row)->line = 0;
	free(all->rank);
	free(all->node);
	all->line_count = all->site_count = 0;
	all->time = (struct cs_report_line_of_time){ 0 };
	memset(all->sums, 0, sizeof all->sums);
	all->reported = all->nodes = 0;
	all->ranks = ranks;
	all->rank = calloc((size_t)ranks, sizeof *all->rank);
	all->node = calloc((size_t)ranks, sizeof *all->node);
	if (all->rank && all->node)
		return true;
	free(all->rank);
	free(all->node);
	all->rank = NULL;
	all->node = NULL;
	return false;
}

bool
cs_report_expect(int ranks)
{
	pthread_mutex_lock(&cs_report.lock);
	cs_report_all.is_gathered = begin(ranks);
	cs_report_all.alone = NULL;
	pthread_mutex_unlock(&cs_report.lock);
	return cs_report_all.is_gathered;
}

void
cs_report_alone(int ranks, const char *why)
{
	cs_report_all.alone = ranks > 1 ? why : NULL;
	cs_report_all.ranks = ranks;
}

void
cs_report_settle(void)
{
	const struct cs_report_self self = { .is_first = true, .has_cma = -1 };
	size_t length;
	uint32_t rows;
	if (cs_report_all.is_gathered)
		return;
	int ranks = cs_report_all.ranks > 0 ? cs_report_all.ranks : 1;
	begin(ranks);
	char *bytes = pack_all(&self, &length, &rows);
	if (bytes)
		(void)take(0, bytes, length, NULL);
	free(bytes);
}

struct cs_report_span
cs_report_over_ranks(uint64_t (*of)(const struct cs_report_rank *rank))
{
	struct cs_report_span span = { .ranks = 0 };
	for (int rank = 0; cs_report_all.rank && rank < cs_report_all.ranks; rank++)
		if (cs_report_all.rank[rank].is_here)
			add(&span, rank, of(&cs_report_all.rank[rank]));
	return span;
}

uint64_t
cs_report_rank_run(const struct cs_report_rank *rank)
{
	return rank->run_ns;
}

uint64_t
cs_report_rank_collectives(const struct cs_report_rank *rank)
{
	return rank->nanoseconds;
}

uint64_t
cs_report_rank_waiting(const struct cs_report_rank *rank)
{
	return rank->waiting;
}

uint64_t
cs_report_rank_moving(const struct cs_report_rank *rank)
{
	return rank->known_ns > rank->waiting ? rank->known_ns - rank->waiting : 0;
}

/* Is the row of calls of that class that the serving algorithm made, or (`by_host`) that were given
 * to the MPI to compare? */
static bool
is_of_trial(const struct cs_report_row *row, const struct cs_report_trial *trial, bool by_host)
{
	return row->coll == trial->coll && row->is_deferred == by_host &&
	       (by_host ? row->why && !strcmp(row->why, "tried")
			: !strcmp(row->algorithm, trial->ways[trial->serving].algorithm)) &&
	       (row->bin == CS_REPORT_UNKNOWN || (cs_report_bin_low(row->bin) <= trial->last &&
						  (cs_report_bin_high(row->bin) > trial->low ||
						   row->bin == 0)));
}

/* Mean time of such a call over all ranks, without waiting for late ranks as far as that is known;
 * UINT64_MAX: none is counted. A trial times a call until all ranks have left it; in a program
 * ranks may leave a call that others are still in, and the next one begins meanwhile. */
static uint64_t
mean_in_run(const struct cs_report_trial *trial, bool by_host)
{
	uint64_t sum = 0, calls = 0;
	for (uint32_t i = 0; i < cs_report_all.line_count; i++) {
		const struct cs_report_line *line = &cs_report_all.lines[i];
		if (!is_of_trial(line->row, trial, by_host))
			continue;
		sum += line->known_ns ? cs_report_scale(line->time.sum, cs_report_moving_ns(line),
							line->known_ns) : line->time.sum;
		calls += line->calls_all;
	}
	return calls ? sum / calls : UINT64_MAX;
}

bool
cs_report_trial_gain(const struct cs_report_trial *trial, int64_t *gain_ns)
{
	const struct cs_report_way *serving = &trial->ways[trial->serving];
	uint64_t host = 0, calls = trial->calls - trial->changed_at;
	for (int i = 0; i < trial->count; i++)
		if (!strcmp(trial->ways[i].algorithm, "host"))
			host = trial->ways[i].nanoseconds;
	if (!host || !serving->nanoseconds || !strcmp(serving->algorithm, "host"))
		return false;
	/* If calls overlap, the MPI's are taken to take as much longer as in the trials. */
	uint64_t mean = mean_in_run(trial, false), host_mean = mean_in_run(trial, true);
	__int128 each = (__int128)host - serving->nanoseconds;
	if (mean < serving->nanoseconds)
		each = each * mean / serving->nanoseconds;
	/* The trials' times are of the slowest rank in a few calls. By the means of the same calls
	 * the gain may be less, but no loss. */
	if (mean != UINT64_MAX && host_mean != UINT64_MAX && each > 0) {
		uint64_t least = host_mean > mean ? host_mean - mean : 0;
		each = each < least ? each : least;
	}
	__int128 gain = each * calls - trial->regret_ns;
	*gain_ns = gain > INT64_MAX ? INT64_MAX : gain < INT64_MIN ? INT64_MIN : (int64_t)gain;
	return true;
}
