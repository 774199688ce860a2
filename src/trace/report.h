/* trace/report.h — counts of calls by algorithm and by call site, and the report at the end.
 *
 * One table of rows per process. Rows are keyed by (collective, size bin, what served it, why); a
 * row is found or made by cs_report_row() when a team's choice is cached, so that counting a call
 * is a few additions. At the end rank 0 merges the rows of all ranks (trace/report_ranks.h). */
#ifndef CS_TRACE_REPORT_H
#define CS_TRACE_REPORT_H

#include "base/status.h"
#include "coll/coll.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

/* 0: size 0; k: 2^(k-1) <= bytes < 2^k; the last: not known, or not the same on all ranks. */
#define CS_REPORT_BINS 66
#define CS_REPORT_UNKNOWN (CS_REPORT_BINS - 1)
static inline int
cs_report_bin(size_t bytes)
{
	return bytes == CS_BYTES_UNKNOWN ? CS_REPORT_UNKNOWN : bytes == 0
	       ? 0 : 64 - __builtin_clzll(bytes);
}

/* Durations of calls are counted by powers of two: bin k has 2^k <= ns < 2^(k+1), the first one
 * less and the last one more, too. */
#define CS_REPORT_TIMES 40
static inline int
cs_report_time_bin(uint64_t nanoseconds)
{
	int bin = 63 - __builtin_clzll(nanoseconds | 1);
	return bin < CS_REPORT_TIMES ? bin : CS_REPORT_TIMES - 1;
}

/* Counters of one row; threads add with relaxed atomics. The row lives as long as the process. */
struct cs_report_row {
	_Atomic uint64_t calls;
	_Atomic uint64_t nanoseconds; /* time inside the calls on this rank */
	_Atomic uint64_t bytes;
	/* Calls with a known arrival of the last rank that this one depends on: their number, the
	 * time inside them, and the part of that time before the arrival. */
	_Atomic uint64_t known_calls, known_nanoseconds, waiting_nanoseconds;
	_Atomic uint32_t times[CS_REPORT_TIMES]; /* calls, by cs_report_time_bin */
	struct cs_report_sample { /* a profile's (trace/sampled.c) */
		_Atomic uint64_t due; /* number of the next call to be timed */
		/* The last timed call's number, ns, and call site; the mean distance. */
		uint64_t number, nanoseconds;
		const void *caller;
		uint32_t stride;
	} sample;
	/* The key, set by cs_report_row, then constant. */
	int coll;              /* enum cs_coll, or enum cs_left */
	int bin;               /* cs_report_bin's */
	bool is_deferred;      /* the host MPI did it */
	const char *algorithm; /* "hier:host", or "host"; static or owned by the report */
	const char *why;       /* copied */
	const char *place;     /* copied: where the rule stands, "tuning.yaml:12"; NULL: no rule */
	uint32_t packed, line; /* trace/report_ranks.c's numbers of it; 0: none */
};

/* Finds or makes the row; never NULL (when memory or the table (4096 rows) is exhausted: one common
 * overflow row, shown as "other"). Thread safe. Strings are copied if new. */
struct cs_report_row *cs_report_rule_row(int coll, size_t bytes, bool is_deferred,
					 const char *algorithm, const char *why, const char *place);
static inline struct cs_report_row *
cs_report_row(int coll, size_t bytes, bool is_deferred, const char *algorithm, const char *why)
{
	return cs_report_rule_row(coll, bytes, is_deferred, algorithm, why, NULL);
}
/* The row of calls that the MPI did without a choice of ours. `why`: a constant. */
struct cs_report_row *cs_report_host_row(int coll, size_t bytes, const char *why);

/* Counts one call in that row. */
void cs_report_count(struct cs_report_row *row, size_t bytes, uint64_t nanoseconds);
/* Adds a counted call's duration, and the part of it spent waiting for other ranks. */
void cs_report_wait(struct cs_report_row *row, uint64_t nanoseconds, uint64_t waiting);
/* Adds a counted call to its call site, `caller` (cs_report_caller's), and to the time line. Times
 * by cs_clock_ns; `waited`: ns of it before the arrival of the last rank that this one depends on,
 * or CS_REPORT_NOT_KNOWN. Thread safe. */
#define CS_REPORT_NOT_KNOWN UINT64_MAX
void cs_report_site(const void *caller, struct cs_report_row *row, uint64_t arrived,
		    uint64_t left, uint64_t waited);
/* Adds time to a call that was added before: to its row, its call site and the time line. */
void cs_report_site_spend(const void *caller, struct cs_report_row *row, uint64_t from,
			  uint64_t to);
/* Called around a call that the MPI does: counts it in `row` (NULL: nowhere) when it begins, and
 * returns the time of its begin by cs_clock_ns. 0: it need not be timed and has no end to be told,
 * as a profile samples the calls of a row that are short beside what timing takes; never with
 * `always`. The end adds its time, and as much for each call since the last timed one, to the row,
 * the call site and the time line. Thread safe. */
uint64_t cs_report_call(struct cs_report_row *row, size_t bytes, bool always);
void cs_report_called(struct cs_report_row *row, const void *caller, uint64_t start, uint64_t end);
/* Called around a call whose C entry does not return to the program, since a layer comes between
 * (of Fortran names, say): notes `caller`, the layer's return address, for cs_report_caller, unless
 * this thread is in such a call already. `frame`: the layer's, by which that is known after an
 * error handler's longjmp, too. */
void cs_report_enter(const void *caller, const char *frame);
void cs_report_leave(const char *frame);
/* The call site of a call that this thread is in and whose C entry returns to `caller`. */
const void *cs_report_caller(const void *caller);
/* Begins the time line: the run, as the report tells of it. */
void cs_report_begin(void);

/* Other calls of the MPI, where they are measured (a profile). */
enum cs_report_mpi_kind {
	CS_REPORT_POINT_TO_POINT,
	CS_REPORT_OTHER_MPI,
	CS_REPORT_NONBLOCKING, /* waits and tests for non-blocking collectives */
	CS_REPORT_MPI_KINDS
};
/* Counts calls and the time that they took together. Thread safe. */
void cs_report_mpi(enum cs_report_mpi_kind kind, uint64_t calls, uint64_t nanoseconds);
/* Says that all such calls are counted: else nothing is known of them. */
void cs_report_mpi_measured(void);

/* Adds time to that row. */
void cs_report_spend(struct cs_report_row *row, uint64_t nanoseconds);

/* A class of calls whose algorithms were tried in this run (run/trial.h), as last judged. */
#define CS_REPORT_WAYS 4
struct cs_report_trial {
	int coll; /* enum cs_coll */
	size_t low, last; /* bytes, both included, as in cs_facts; SIZE_MAX: no end, or not
			   * known */
	int ranks, nodes; /* of its communicator */
	/* Algorithms with the time of a call, all ranks' as agreed on; 0 ns: not known. */
	struct cs_report_way {
		const char *algorithm; /* "hier:host", or "host"; static */
		uint64_t nanoseconds;
	} ways[CS_REPORT_WAYS];
	int count, serving; /* ways; the one that serves */
	/* Numbers of the class's calls, from 1 on: of the last verdict, and of the first call by
	 * the serving algorithm, 0: it has served from the begin. */
	uint64_t judged_at, changed_at;
	uint64_t regret_ns; /* of tried calls beyond the serving algorithm's time */
	uint64_t calls;     /* of the class so far */
};

/* Replaces the class at `place`, which an earlier call returned, or adds one (`place` below 0).
 * Returns its place; -1: there are CS_REPORT_TRIALS. Copied; thread safe. */
#define CS_REPORT_TRIALS 256
int cs_report_trial(int place, const struct cs_report_trial *trial);
/* Sets the number of calls of the class at `place`. */
void cs_report_trial_calls(int place, uint64_t calls);

/* A line of facts shown above the table, e.g. ("mpi", "Open MPI v4.1.4"). Copied; a repeated name
 * replaces. */
void cs_report_fact(const char *name, const char *value);
/* Facts with a number ("teams made", "shm bytes now", "shm bytes peak"); value replaces. */
void cs_report_number(const char *name, uint64_t value);

/* Counts one more of these; the report has the sums over all ranks that are not 0. Returns their
 * number in this process before. Thread safe. */
enum cs_report_sum { CS_SUM_REFUSED, CS_SUM_SHARED, CS_SUM_MAPPED, CS_REPORT_SUMS };
uint64_t cs_report_more(enum cs_report_sum of);

/* Says in the place of the rows why calls were not counted (a constant text): no rows does not mean
 * no calls. */
void cs_report_uncounted(const char *why);

/* Prints the table, columns: collective, size bin, algorithm, why, calls, time, and, if known, the
 * mean times of waiting for others and of the rest; deferred rows with their reasons after the
 * served ones; sorted by collective then size; then a line for each class on trial, and one for
 * each reason of deferred calls that something can be done about. */
void cs_report_print(FILE *out);
/* Prints the report as one JSON object (docs/report.md): null for what is not known. */
void cs_report_json(FILE *out);
/* Returns what a user may do about calls left to the MPI for that reason; NULL: nothing. */
const char *cs_report_remedy(const char *why);
/* Resolves relative paths of the report from the present working directory, whatever directory the
 * program changes to later. */
void cs_report_from_here(void);
/* Writes the report: "1" -> table on stderr, else JSON into the path `destination`, or path.2 and
 * so on if there is something in that file already (base/file.h), which one line says. A file that
 * cannot be written: one line with errno, and the table on stderr instead. */
void cs_report_write(const char *destination);

#endif
