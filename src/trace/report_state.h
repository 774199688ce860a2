/* trace/report_state.h — what has been counted in this process. Private to trace: report.c counts,
 * report_print.c shows. */
#ifndef CS_TRACE_REPORT_STATE_H
#define CS_TRACE_REPORT_STATE_H

#include "trace/report.h"

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
	const char *uncounted; /* why there are no rows; NULL: there were no calls */
};
extern struct cs_report cs_report;

#endif
