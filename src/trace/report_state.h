/* trace/report_state.h — counts of this process, and of all ranks. Private to trace: report.c and
 * report_sites.c count, report_ranks.c merges, report_print.c and report_json.c show. */
#ifndef CS_TRACE_REPORT_STATE_H
#define CS_TRACE_REPORT_STATE_H

#include "base/parse.h"
#include "trace/report.h"
#include "trace/report_ranks.h"

#include <pthread.h>
#include <stdbool.h>

#define CS_REPORT_ROWS 4096
/* A power of two; half empty at worst, so a probe ends soon */
#define CS_REPORT_HASH (2 * CS_REPORT_ROWS)

struct cs_fact {
	char *name;
	char *value; /* NULL: the number counts */
	uint64_t number;
};

/* Everything in it but the counters of rows is under `lock`. Rows are never freed or moved: teams
 * keep pointers to them. */
struct cs_report {
	pthread_mutex_t lock;
	struct cs_report_row *rows[CS_REPORT_HASH];
	size_t rows_made;
	struct cs_report_row overflow;
	struct cs_fact *facts;
	size_t facts_used, facts_room;
	struct cs_report_trial trials[CS_REPORT_TRIALS];
	int trials_used;
	_Atomic uint64_t sums[CS_REPORT_SUMS]; /* of this process */
	const char *uncounted; /* why there are no rows; NULL: there were no calls */
};
extern struct cs_report cs_report;

/* The row of that key (coll, bin, is_deferred, algorithm, why, place), new if necessary; with
 * cs_report.lock. */
struct cs_report_row *cs_report_find_row(const struct cs_report_row *key);

/* Makes facts of what cs_report_more has counted on the ranks; with cs_report.lock. */
void cs_report_tell_sums(void);

/* Adds calls that took as long each. */
void cs_report_add_time(struct cs_report_row *row, uint64_t calls, uint64_t nanoseconds);

/* --- call sites and the time line of this process (report_sites.c) ---------------------------- */

#define CS_REPORT_SITES 1024 /* call sites, each with its rows */

struct cs_report_site {
	const void *caller;
	struct cs_report_row *row; /* NULL: unused */
	uint64_t calls, nanoseconds, known_nanoseconds, waiting;
};

/* Bins of one length, which doubles when the run is longer. Nanoseconds in calls, in those with a
 * known wait, and waiting. */
#define CS_REPORT_BEATS 256
enum cs_report_beat { CS_BEAT_CALLS, CS_BEAT_KNOWN, CS_BEAT_WAITING, CS_BEATS };
struct cs_report_line_of_time {
	uint64_t start, each_ns;
	uint64_t of[CS_BEATS][CS_REPORT_BEATS];
};

struct cs_report_spots {
	pthread_mutex_t lock;
	struct cs_report_site sites[2 * CS_REPORT_SITES]; /* open addressing */
	size_t used;
	struct cs_report_line_of_time time;
	int load; /* when the run began, as in cs_report_node */
	bool is_mpi_measured;
	struct {
		_Atomic uint64_t calls, nanoseconds;
	} mpi[CS_REPORT_MPI_KINDS];
};
extern struct cs_report_spots cs_report_spots;

/* Adds calls that took `took` ns together and ended at `left`, as cs_report_site; with the lock. */
void cs_report_site_add(const void *caller, struct cs_report_row *row, uint64_t calls,
			uint64_t took, uint64_t left, uint64_t waited);

/* Load of the last minute, in hundredths; -1: not known. */
int cs_report_load(void);
/* Makes the bins of *time at least that long. */
void cs_report_stretch(struct cs_report_line_of_time *time, uint64_t each_ns);

/* --- all ranks (report_ranks.c), under cs_report.lock ----------------------------------------- */

/* A number of each of some ranks. */
struct cs_report_span {
	uint64_t least, most, sum;
	int rank, ranks; /* the one with most; how many */
};

struct cs_report_line {
	const struct cs_report_row *row; /* its key */
	uint64_t calls, bytes;           /* of the rank with most calls */
	uint64_t calls_all;
	struct cs_report_span time; /* ns of a rank in these calls */
	uint64_t known, known_ns, waiting_ns; /* calls with a known wait, and sums over them */
	struct cs_report_span waiting, moving; /* of the whole time, by the known part */
	uint64_t times[CS_REPORT_TIMES];
};

struct cs_report_site_line {
	const char *module; /* NULL: not known */
	uint64_t offset;
	uint32_t line; /* of lines */
	uint64_t calls, calls_all;
	struct cs_report_span time, waiting, moving;
};

struct cs_report_rank {
	bool is_here;
	int node;
	uint64_t run_ns, calls, nanoseconds;
	uint64_t known_ns, waiting; /* in rows of which a part is known, and that part's share */
	uint64_t mpi_calls[CS_REPORT_MPI_KINDS], mpi_ns[CS_REPORT_MPI_KINDS];
};

#define CS_REPORT_CPU_WORDS 16
struct cs_report_node {
	char machine[64]; /* "": not known */
	int first_rank, ranks;
	uint64_t cpus[CS_REPORT_CPU_WORDS]; /* that its ranks may use, a bit each */
	int load_before, load; /* at the begin and at the end, in hundredths; -1: not known */
	uint64_t memory, memory_free, shm_peak, shm_budget;
	int has_cma; /* -1: not known */
};

/* Sampled calls: arrivals of ranks after the first one. */
struct cs_report_late {
	int ranks, calls;
	int *world;        /* by rank */
	struct cs_report_late_call {
		int coll;
		bool is_deferred;
		uint64_t at, last; /* ns since the run's begin; the last arrival after the first */
	} *call;
	uint32_t *after;   /* ns, saturated, [rank][call] */
};

struct cs_report_all {
	int ranks, reported; /* of MPI_COMM_WORLD; merged */
	bool is_gathered;
	const char *alone; /* why only one rank's counts are here, or NULL */
	bool is_mpi_measured;
	struct cs_report_rank *rank; /* by rank in MPI_COMM_WORLD; NULL without memory */
	struct cs_report_node *node;
	int nodes;
	struct cs_report_line lines[CS_REPORT_ROWS + 1];
	uint32_t line_count;
	struct cs_report_site_line sites[CS_REPORT_SITES];
	uint32_t site_count;
	struct cs_report_line_of_time time;
	struct cs_report_late late;
	uint64_t sums[CS_REPORT_SUMS];
};
extern struct cs_report_all cs_report_all;

/* Merges this process's counts, if those of all ranks have not been gathered. */
void cs_report_settle(void);
/* Fills `sorted` (CS_REPORT_ROWS + 1 pointers) with the lines that were called: served before
 * deferred, "other" last; then collective, size, algorithm, why. Returns their number. */
size_t cs_report_sorted(const struct cs_report_line **sorted);
/* A number over all reported ranks. */
struct cs_report_span cs_report_over_ranks(uint64_t (*of)(const struct cs_report_rank *rank));
/* Nanoseconds of a rank: of its run, in collectives, and as far as known in their parts. */
uint64_t cs_report_rank_run(const struct cs_report_rank *rank);
uint64_t cs_report_rank_collectives(const struct cs_report_rank *rank);
uint64_t cs_report_rank_waiting(const struct cs_report_rank *rank);
uint64_t cs_report_rank_moving(const struct cs_report_rank *rank);

static inline uint64_t
cs_report_bin_low(int bin)
{
	return bin == 0 ? 0 : UINT64_C(1) << (bin - 1);
}

static inline uint64_t
cs_report_bin_high(int bin)
{
	return bin == 0 ? 0 : bin == 64 ? UINT64_MAX : UINT64_C(1) << bin;
}

static inline uint64_t
cs_report_moving_ns(const struct cs_report_line *line)
{
	return line->known_ns > line->waiting_ns ? line->known_ns - line->waiting_ns : 0;
}

/* part * whole / of, without overflow. */
static inline uint64_t
cs_report_scale(uint64_t part, uint64_t whole, uint64_t of)
{
	return of ? (uint64_t)((unsigned __int128)part * whole / of) : 0;
}

/* Has the range of sizes an end? */
static inline bool
cs_report_trial_is_bounded(const struct cs_report_trial *trial)
{
	return trial->last < CS_INF - 1;
}

/* Gain by trials in the calls of the class: the MPI's time less the serving algorithm's, in the
 * proportion that calls in the run have to those of the trials, if they are shorter; less the time
 * of trying. False: the MPI was not tried, or serves. */
bool cs_report_trial_gain(const struct cs_report_trial *trial, int64_t *gain_ns);

#endif
