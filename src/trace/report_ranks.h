/* trace/report_ranks.h — counts of all ranks, brought together on rank 0.
 *
 *   each rank   cs_report_pack -> bytes ----+
 *   rank 0      cs_report_expect, cs_report_take(bytes of rank 0, 1, ...); then it is written
 *
 * The caller moves the bytes (comm/teams/recording.c). The processes are of one build, as the
 * agreement at MPI_Init has made sure. */
#ifndef CS_TRACE_REPORT_RANKS_H
#define CS_TRACE_REPORT_RANKS_H

#include "trace/report.h"
#include "trace/samples.h"

#include <stdbool.h>

/* Facts of a process that its report does not know by itself. */
struct cs_report_self {
	int node;      /* number of its node */
	bool is_first; /* the first rank of it, which reports for it */
	uint64_t shm_peak, shm_budget; /* bytes */
	int has_cma;   /* -1: not known */
};

/* Time in calls with a known wait, of one row of one rank (sampled calls). */
struct cs_report_known {
	uint64_t calls, nanoseconds, waiting;
};

/* Returns this process's counts, *length bytes that the caller frees, and sets *rows to the rows in
 * them; NULL without memory. */
char *cs_report_pack(const struct cs_report_self *self, size_t *length, uint32_t *rows);
/* Number of the row in what cs_report_pack has packed, from 1 on; 0: not in it. */
uint32_t cs_report_packed(const struct cs_report_row *row);

/* Rank 0, before cs_report_take: the report is of that many ranks. False without memory: it is then
 * of this process. */
bool cs_report_expect(int ranks);
/* Merges the counts of a rank of MPI_COMM_WORLD. `known`: by row, or NULL. False: the bytes are
 * damaged, and the rest of them is left out. */
bool cs_report_take(int rank, const char *bytes, size_t length,
		    const struct cs_report_known *known);
/* Keeps arrivals for the report's picture of them. `samples`: sorted, as cs_samples_tell leaves
 * them, with the rank in MPI_COMM_WORLD in the upper half of `row`. */
void cs_report_keep_late(const struct cs_sampled_call *samples, size_t count);
/* Says why the report is of one rank only (a constant text). */
void cs_report_alone(int ranks, const char *why);

#endif
