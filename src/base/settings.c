/* base/settings.c — reads the variables of collshim from the environment, by a table of them, and
 * says what is wrong. */
#include "base/settings.h"

#include "base/agreement.h"
#include "base/fake_nodes.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/nearest.h"
#include "base/parse.h"
#include "base/printable.h"
#include "base/settings_kinds.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

#define PREFIX "COLLSHIM_"
#define UNKNOWN_SHOWN 5 /* unknown variables that get a line of their own */

/* ---- the report's path ----------------------------------------------------------------------- */

const char *const cs_settings_jobs[] = { "SLURM_JOB_ID", "SLURM_JOBID", "PBS_JOBID", "LSB_JOBID",
					 "OAR_JOB_ID", "FLUX_JOB_ID", "COBALT_JOBID", "PJM_JOBID",
					 "LOADL_STEP_ID", NULL };

/* The batch system's name of the job, or of its task of an array: the first variable that is set.
 * Grid Engine's JOB_ID could be anybody's, so it counts only beside a variable that all its jobs
 * have. */
static const char *
batch_id(bool is_task)
{
	static const char *const tasks[] = { "SLURM_ARRAY_TASK_ID", "PBS_ARRAY_INDEX",
					     "PBS_ARRAYID", "LSB_JOBINDEX",
					     "OAR_ARRAY_INDEX", "PJM_BULKNUM", "SGE_TASK_ID",
					     NULL };
	const char *text = NULL;
	const char *const *name = is_task ? tasks : cs_settings_jobs;
	for (; *name && !(text && *text); name++)
		text = getenv(*name);
	if (!is_task && !(text && *text) && getenv("SGE_TASK_ID"))
		text = getenv("JOB_ID");
	/* As Grid Engine says it of a job that is no array. */
	return text && *text && strcmp(text, "undefined") ? text : NULL;
}

/* The job's name: the batch system's, else that which PMIx gives it (mpirun of Open MPI). */
static const char *
job_id(void)
{
	const char *batch = batch_id(false), *pmix = batch ? NULL : getenv("PMIX_NAMESPACE");
	return pmix && *pmix ? pmix : batch;
}

const char *
cs_settings_job(void)
{
	return job_id();
}

/* The text for %j, %a, %p, %h and %% of a path; NULL: as it is. Characters of an id that a file's
 * name cannot have are left out. */
static const char *
file_name_part(char letter, char *room, size_t bytes)
{
	const char *id = letter == 'j' ? job_id() : letter == 'a' ? batch_id(true) : NULL;
	switch (letter) {
	case 'j':
	case 'p':
		snprintf(room, bytes, "%ld", (long)getpid());
		break;
	case 'a':
		snprintf(room, bytes, "0");
		break;
	case 'h':
		if (gethostname(room, bytes) != 0)
			snprintf(room, bytes, "unknown");
		room[bytes - 1] = '\0';
		break;
	case '%':
		return "%";
	default:
		return NULL;
	}
	if (id)
		snprintf(room, bytes, "%s", id);
	for (char *at = room; *at; at++)
		if (*at == '/' || (unsigned char)*at <= ' ' || *at == 0x7f)
			*at = '_';
	return room;
}

#define REPORT_NAME "collshim-%j.json" /* of a report without a name of its own */

/* `is_rest`: the path has other parts, which are replaced later, and %% with them. */
static bool
read_path_of(const struct cs_setting *row, const char *text, void *field, bool is_rest)
{
	char *path, part[256];
	size_t bytes;
	FILE *out = open_memstream(&path, &bytes);
	if (!out)
		return cs_setting_read_text(row, text, field);
	for (const char *at = text; *at; at++) {
		const char *stands_for = *at == '%' && at[1]
					 ? file_name_part(at[1], part, sizeof part) : NULL;
		if (stands_for && is_rest && at[1] == '%')
			fputs("%%", out);
		else if (stands_for)
			fputs(stands_for, out);
		else
			putc(*at, out);
		at += stands_for != NULL;
	}
	bool is_whole = !ferror(out);
	is_whole = fclose(out) == 0 && is_whole;
	cs_setting_read_text(row, is_whole ? path : text, field);
	free(path);
	return true;
}

static bool
read_path(const struct cs_setting *row, const char *text, void *field)
{
	return read_path_of(row, text, field, false);
}

static bool
read_report(const struct cs_setting *row, const char *text, void *field)
{
	bool is_on;
	char *inside;
	if (cs_setting_read_flag(row, text, &is_on)) {
		*(const char **)field = is_on ? "1" : NULL;
		return true;
	}
	if (!strcmp(text, "json"))
		return read_path(row, REPORT_NAME, field);
	if (text[strlen(text) - 1] != '/' || asprintf(&inside, "%s%s", text, REPORT_NAME) < 0)
		return read_path(row, text, field);
	read_path(row, inside, field);
	free(inside);
	return true;
}

static const struct cs_setting_kind report_kind =
	{ read_report, cs_setting_write_text, cs_setting_hash_text };

static bool
read_ranks(const struct cs_setting *row, const char *text, void *field)
{
	return read_path_of(row, text, field, true);
}

static const struct cs_setting_kind ranks_kind =
	{ read_ranks, cs_setting_write_text, cs_setting_hash_text };

char *
cs_settings_rank_path(const char *text, int rank)
{
	char *path;
	size_t bytes;
	bool is_said = false;
	FILE *out = open_memstream(&path, &bytes);
	if (!out)
		return NULL;
	for (const char *at = text; *at; at++) {
		bool is_rank = *at == '%' && at[1] == 'r';
		if (is_rank)
			fprintf(out, "%d", rank);
		else
			putc(*at, out);
		at += is_rank || (*at == '%' && at[1] == '%');
		is_said = is_said || is_rank;
	}
	if (!is_said)
		fprintf(out, ".%d", rank);
	bool is_whole = !ferror(out);
	if (fclose(out) == 0 && is_whole)
		return path;
	free(path);
	return NULL;
}

/* A path from here, whatever directory the program changes to later. */
static bool
read_here(const struct cs_setting *row, const char *text, void *field)
{
	char *folder = *text == '/' ? NULL : getcwd(NULL, 0), *path = NULL;
	if (folder && asprintf(&path, "%s/%s", folder, text) < 0)
		path = NULL;
	cs_setting_read_text(row, path ? path : text, field);
	free(path);
	free(folder);
	return true;
}

static const struct cs_setting_kind here_kind =
	{ read_here, cs_setting_write_text, cs_setting_hash_text };

/* ---- the table ------------------------------------------------------------------------------- */

static const char *const shm_words[] = { "auto", "memfd", "named", "off", NULL };
static const char *const wire_words[] = { "as tuned", "auto", "host", "ib", NULL };
static const char *const arrival_words[] = { "completion", "flag", NULL };
static const char *const progress_words[] = { "auto", "calls", "thread", NULL };
static const char *const imbalance_words[] = { "measured", "balanced", "moderate", "strong", NULL };
static const char *const switch_words[] = { "auto", "on", "off", NULL };

_Static_assert(sizeof(enum cs_shm_kind) == sizeof(unsigned), "read_word stores an unsigned");
_Static_assert(sizeof(enum cs_wire_kind) == sizeof(unsigned), "read_word stores an unsigned");
_Static_assert(sizeof(enum cs_ib_arrival) == sizeof(unsigned), "read_word stores an unsigned");
_Static_assert(sizeof(enum cs_balance_kind) == sizeof(unsigned), "read_word stores an unsigned");
_Static_assert(sizeof(enum cs_switch) == sizeof(unsigned), "read_word stores an unsigned");

#define FIELD(member) .offset = offsetof(struct cs_settings, member)
/* Indexed as enum cs_coll, which this room does not see; a unit test compares the names. */
#define FORCE(index, NAME, values)                                                                 \
	{ NAME, values, "which algorithm serves this collective, whatever the tuning says",        \
	  &cs_text_kind, FIELD(force[index]), .is_agreed = true },                                 \
	{ "I" NAME, values, "the same for its non-blocking calls alone",                           \
	  &cs_text_kind, FIELD(force[17 + (index)]), .is_agreed = true }
#define SIZED "host or an algorithm, sizes as 0-4K=host,4K-inf=hier:host, or ^hier:host"
#define UNSIZED "host or an algorithm, or ^hier:host"

static const struct cs_setting rows[] = {
	{ "DISABLE", "0 or 1 (or no, off, false; yes, on, true)", "1: every call goes straight to "
								  "the MPI",
	  &cs_flag_kind,
	  FIELD(is_disabled), .is_agreed = true },
	{ "PROFILE", "0 or 1 (or no, off, false; yes, on, true)",
	  "1: the MPI does everything, and is timed for the report (collshim-run "
	  "--profile sets it)", &cs_flag_kind, FIELD(is_profile), .is_agreed = true },
	{ "VERBOSE", "0, 1 or 2", "lines on stderr about what is done; 0: warnings only",
	  &cs_count_kind, FIELD(verbosity), .high = 2 },
	{ "REPORT", "0 or 1 (or no, off, false; yes, on, true), json, or a path",
	  "at the end, of all ranks: 1 a table on stderr, a path the same as JSON in that file, "
	  "with %j for the job, %a its task of an array, %p rank 0's pid, %h its host, %% for %; "
	  "json, or a path that ends with /: a file " REPORT_NAME,
	  &report_kind,
	  FIELD(report) },
	{ "ARRIVALS", "a path",
	  "where each rank records when it came to its collectives and left them, in a file of its "
	  "own: %r for its rank (else that is put behind), and the report's %j, %a, %p, %h, %%",
	  &ranks_kind, FIELD(arrivals) },
	{ "ARRIVALS_LIMIT", "a number from 1 to 1000000000",
	  "calls that a rank records at most, 48 bytes each", &cs_count_kind,
	  FIELD(arrivals_limit), .low = 1, .high = 1000000000 },
	/* Not agreed: the same file may have other paths on other nodes. select's digest covers
	 * what it says. */
	{ "TUNING", "a path, or builtin",
	  "tuning file to use instead of the installed one; builtin: none but the built-in rules",
	  &cs_text_kind, FIELD(tuning) },
	/* Not agreed, for the same reason. */
	{ "ADAPT_FILE", "a path",
	  "tuning file to which rank 0 adds at the end which algorithm was measured to be the "
	  "fastest, and from which later jobs start", &here_kind, FIELD(adapt_file) },
	{ "FAKE_NODES", "K, cyclic:K or ranks per node as 3,2,1",
	  "for tests: take this machine for several nodes", &cs_nodes_kind, FIELD(fake_nodes),
	  .is_agreed = true },
	{ "FAKE_DOMAINS", "a number from 0 to 1024",
	  "for tests: take each node's ranks for those of so many NUMA domains; 0: what the "
	  "machine has", &cs_count_kind, FIELD(fake_domains), .high = 1024, .is_agreed = true },
	{ "FAKE_LEVELS", "2x4x8, or ranks by cache and package as 3,5,1|8,8; or cyclic: before",
	  "for tests: take each node's ranks for those of such packages and caches",
	  &cs_levels_kind, FIELD(fake_levels), .is_agreed = true },
	{ "SHM", "auto, memfd, named or off",
	  "how shared segments are made; off: none, all calls go to the MPI",
	  &cs_word_kind, FIELD(shm), .words = shm_words, .is_agreed = true },
	{ "SHM_BUDGET", "a size from 4K to inf", "most bytes of shared segments on one node and "
						 "job",
	  &cs_size_kind, FIELD(shm_budget), .low = 4096, .high = CS_INF, .is_agreed = true },
	{ "CMA", "auto, on or off", "copies straight from another rank's memory (auto: where "
				    "measured to pay)",
	  &cs_word_kind, FIELD(cma), .words = switch_words, .is_agreed = true },
	{ "STREAM", "auto, on or off",
	  "large copies into and out of shared memory past the cache (auto: where measured to be "
	  "faster by far)", &cs_word_kind, FIELD(streams), .words = switch_words },
	{ "COW", "a size from 64K to inf",
	  "results of so many bytes of allgather and bcast over several nodes are mapped "
	  "copy-on-write, where that is safe; inf: none are", &cs_size_kind, FIELD(cow),
	  .low = 64 << 10, .high = CS_INF, .is_agreed = true },
	{ "TEAM_AFTER", "a number from 0 to 1000000",
	  "a communicator is served from its N-th blocking collective on", &cs_count_kind,
	  FIELD(team_after), .high = 1000000, .is_agreed = true },
	{ "INIT_TIMEOUT", "a number of seconds from 0 to 1000000",
	  "how long MPI_Init waits for ranks that have no collshim before the job ends; 0: for "
	  "ever", &cs_count_kind, FIELD(init_timeout), .high = 1000000 },
	/* Agreed: leaders' collectives are then begun and waited for. */
	{ "STALL", "off, or a time from 10ms to 1000h, as 60s, 2m or 0.5s",
	  "a collective in which a rank waits for so long is reported by one rank of each node: "
	  "who waits, who is in another call, who has not come", &cs_time_kind, FIELD(stall_ns),
	  .is_agreed = true },
	{ "REPRODUCIBLE", "0 or 1 (or no, off, false; yes, on, true)",
	  "1: floating-point and user-defined reductions in one order, on any placement and from "
	  "the first call on", &cs_flag_kind, FIELD(is_reproducible), .is_agreed = true },
	{ "ADAPT", "on or off (or 1, yes, true; 0, no, false)",
	  "on: algorithms that no site rule and no variable asks for are tried against the MPI "
	  "in the run, and the faster one serves", &cs_flag_kind, FIELD(is_adaptive),
	  .is_agreed = true },
	{ "NONBLOCKING", "on or off (or 1, yes, true; 0, no, false)",
	  "off: MPI_Ibcast and its like go to the MPI", &cs_flag_kind,
	  FIELD(is_nonblocking), .is_agreed = true },
	{ "PROGRESS", "auto, calls or thread",
	  "who steps non-blocking collectives: a thread of the library where cores are free or the "
	  "MPI has no other way (auto), calls of MPI, or always the thread", &cs_word_kind,
	  FIELD(progress), .words = progress_words, .is_agreed = true },
	{ "IMBALANCE", "measured, balanced, moderate or strong",
	  "how far apart ranks come, for rules that ask for it: as it is measured in the run, or "
	  "always so", &cs_word_kind, FIELD(imbalance), .words = imbalance_words,
	  .is_agreed = true },
	{ "WIRE", "auto, host or ib",
	  "what plans between nodes send by: verbs where every rank can (auto; ib: and say so "
	  "where not), or MPI", &cs_word_kind, FIELD(wire), .words = wire_words, .low = 1,
	  .is_agreed = true },
	{ "IB_DEVICE", "a device, or device:port with a port from 1 to 255",
	  "the RDMA device to use; default: the nearest that is active", &cs_device_kind,
	  FIELD(ib_device) },
	{ "IB_ARRIVAL", "completion or flag",
	  "how arrived data is noticed: by a completion, as the specification promises, or by a "
	  "flag behind it in memory", &cs_word_kind, FIELD(ib_arrival), .words = arrival_words,
	  .is_agreed = true },
	{ .name = "MODULE_DIR", .values = "a directory",
	  .meaning = "where libcollshim.so finds the module for the program's MPI" },
	FORCE(0, "ALLGATHER", SIZED),
	FORCE(1, "ALLGATHERV", SIZED),
	FORCE(2, "ALLREDUCE", SIZED),
	FORCE(3, "ALLTOALL", SIZED),
	FORCE(4, "ALLTOALLV", UNSIZED),
	FORCE(5, "ALLTOALLW", UNSIZED),
	FORCE(6, "BARRIER", UNSIZED),
	FORCE(7, "BCAST", SIZED),
	FORCE(8, "EXSCAN", SIZED),
	FORCE(9, "GATHER", SIZED),
	FORCE(10, "GATHERV", UNSIZED),
	FORCE(11, "REDUCE", SIZED),
	FORCE(12, "REDUCE_SCATTER", SIZED),
	FORCE(13, "REDUCE_SCATTER_BLOCK", SIZED),
	FORCE(14, "SCAN", SIZED),
	FORCE(15, "SCATTER", SIZED),
	FORCE(16, "SCATTERV", UNSIZED),
};

#define ROW_COUNT (sizeof rows / sizeof *rows)

static const struct cs_settings defaults = { .team_after = -1, .init_timeout = CS_AGREED_SECONDS,
					     .is_adaptive = true, .is_nonblocking = true,
					     .arrivals_limit = 256 << 10, .cow = CS_INF };

static const void *
field_of(const struct cs_settings *settings, const struct cs_setting *row)
{
	return (const char *)settings + row->offset;
}

/* An empty value is an unset one: scripts clear variables that way. */
static const char *
value_of(const struct cs_setting *row)
{
	char name[64];
	snprintf(name, sizeof name, PREFIX "%s", row->name);
	const char *text = getenv(name);
	return text && *text ? text : NULL;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* A line on stderr, once per variable since settings are read once per process; or on `out`. */
static void __attribute__((format(printf, 2, 3)))
complain(FILE *out, const char *format, ...)
{
	char text[512];
	_Atomic int said = 0;
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	if (!out) {
		cs_log_warn(&said, "settings: %s", text);
		return;
	}
	cs_printable_make(text, false);
	fprintf(out, "%s\n", text);
}

/* Returns how many there are. */
static size_t
warn_unknown(FILE *out)
{
	size_t unknown = 0;
	for (char **entry = environ; entry && *entry; entry++) {
		if (strncmp(*entry, PREFIX, strlen(PREFIX)))
			continue;
		char name[64];
		size_t length = strcspn(*entry, "=") - strlen(PREFIX);
		snprintf(name, sizeof name, "%.*s", (int)length, *entry + strlen(PREFIX));
		struct cs_nearest nearest = { .word = name };
		bool is_known = false;
		for (size_t i = 0; i < ROW_COUNT && !is_known; i++) {
			is_known = strlen(rows[i].name) == length && !strcmp(rows[i].name, name);
			cs_nearest_try(&nearest, rows[i].name);
		}
		if (is_known || ++unknown > UNKNOWN_SHOWN)
			continue;
		complain(out, PREFIX "%s is not a variable of collshim and is ignored%s%s%s", name,
			 nearest.best ? "; did you mean " PREFIX : "",
			 nearest.best ? nearest.best : "", nearest.best ? "?" : "");
	}
	if (unknown > UNKNOWN_SHOWN)
		complain(out, "%zu more unknown " PREFIX "* variables are ignored",
			 unknown - UNKNOWN_SHOWN);
	return unknown;
}

static size_t
read_all(struct cs_settings *settings, FILE *out)
{
	size_t wrong = 0;
	*settings = defaults;
	for (const struct cs_setting *row = rows; row < rows + ROW_COUNT; row++) {
		const char *text = row->kind ? value_of(row) : NULL;
		if (!text || row->kind->read(row, text, (char *)settings + row->offset))
			continue;
		complain(out, PREFIX "%s=%.100s is not understood: expected %s; it is ignored",
			 row->name, text, row->values);
		wrong++;
	}
	return wrong + warn_unknown(out);
}

static void
leave_all_to_mpi(struct cs_settings *settings)
{
	for (size_t i = 0; i < sizeof settings->force / sizeof *settings->force; i++)
		settings->force[i] = "host";
	settings->is_adaptive = settings->is_nonblocking = settings->is_reproducible = false;
	settings->adapt_file = NULL;
}

void
cs_settings_read(struct cs_settings *settings)
{
	int saved = errno;
	read_all(settings, NULL);
	if (settings->is_profile)
		leave_all_to_mpi(settings);
	cs_log_set_verbosity(settings->verbosity);
	errno = saved;
}

void
cs_settings_fit(struct cs_settings *settings, size_t ranks)
{
	size_t needed = settings->fake_nodes ? cs_fake_nodes_ranks(settings->fake_nodes) : 0;
	if (needed > ranks) {
		complain(NULL, PREFIX "FAKE_NODES=%.100s takes %zu ranks or more, and the job has "
				      "%zu; it is ignored",
			 settings->fake_nodes, needed, ranks);
		settings->fake_nodes = NULL;
	}
	if ((size_t)settings->fake_domains > ranks) {
		complain(NULL, PREFIX "FAKE_DOMAINS=%d takes %d ranks or more, and the job has "
				      "%zu; it is ignored",
			 settings->fake_domains, settings->fake_domains, ranks);
		settings->fake_domains = 0;
	}
}

size_t
cs_settings_check(FILE *out)
{
	struct cs_settings settings;
	return read_all(&settings, out);
}

bool
cs_settings_is_reproducible(void)
{
	bool is_on = false;
	for (const struct cs_setting *row = rows; row < rows + ROW_COUNT; row++)
		if (row->kind && row->offset == offsetof(struct cs_settings, is_reproducible)) {
			const char *text = value_of(row);
			return text && row->kind->read(row, text, &is_on) && is_on;
		}
	return false;
}

bool
cs_settings_wants_report(void)
{
	for (const struct cs_setting *row = rows; row < rows + ROW_COUNT; row++)
		if (row->kind && row->offset == offsetof(struct cs_settings, report))
			return value_of(row);
	return false;
}

const char *
cs_settings_module_dir(void)
{
	const char *text = getenv(PREFIX "MODULE_DIR");
	return text && *text ? text : NULL;
}

/* "8", or Slurm's "8(x3),7", of whose nodes nobody says which this is: the most. */
static int
most_ranks(const char *text)
{
	long most = 0;
	for (char *end; *text; text = end) {
		long ranks = strtol(text, &end, 10);
		if (end == text || ranks < 0 || ranks > INT_MAX)
			return 0;
		most = ranks > most ? ranks : most;
		if (*end == '(')
			end += strcspn(end, ",");
		end += *end == ',';
	}
	return (int)most;
}

int
cs_settings_local_ranks(void)
{
	static const char *const names[] = { "MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE",
					     "PMI_LOCAL_SIZE", "PALS_LOCAL_SIZE",
					     "MV2_COMM_WORLD_LOCAL_SIZE",
					     "SLURM_STEP_TASKS_PER_NODE" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const char *text = getenv(names[i]);
		int ranks = text ? most_ranks(text) : 0;
		if (ranks)
			return ranks;
	}
	return 0;
}

uint64_t
cs_settings_digest(const struct cs_settings *settings)
{
	uint64_t hash = CS_HASH_START;
	for (const struct cs_setting *row = rows; row < rows + ROW_COUNT; row++) {
		if (row->is_agreed)
			hash = row->kind->hash(hash, field_of(settings, row));
	}
	return hash;
}

static void
print_meaning(FILE *out, const struct cs_setting *row)
{
	fprintf(out, "      %s\n      values: %s; default: ", row->meaning, row->values);
	if (row->kind)
		row->kind->write(out, row, field_of(&defaults, row));
	else
		fputs("the installed one", out);
	fputc('\n', out);
}

static void
print_value(FILE *out, const struct cs_setting *row, const struct cs_settings *settings)
{
	fprintf(out, "  " PREFIX "%s = ", row->name);
	if (row->kind)
		row->kind->write(out, row, field_of(settings, row));
	else
		cs_printable_put(out, value_of(row) ? value_of(row) : "not set");
	fputc('\n', out);
}

void
cs_settings_print(FILE *out, const struct cs_settings *settings)
{
	for (const struct cs_setting *row = rows; row < rows + ROW_COUNT; row++) {
		print_value(out, row, settings);
		print_meaning(out, row);
	}
}

bool
cs_settings_print_set(FILE *out, const struct cs_settings *settings)
{
	bool is_any = false;
	for (const struct cs_setting *row = rows; row < rows + ROW_COUNT; row++)
		if (value_of(row)) {
			print_value(out, row, settings);
			is_any = true;
		}
	return is_any;
}
