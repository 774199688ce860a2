/* trace/imbalance.h — patterns of late arrival at a call, and the bound of its times by its data
 * dependences (seed 002, 3.3 and 3.8). collshim-bench and the examples replay patterns by sleeping,
 * collshim-sim lets its ranks start by them.
 *
 *   rank 0  ----a0======e0          a: arrival, e: exit; time in the call: e - a of each rank
 *   rank 1  --------------a1===e1   time after the last arrival: last e - last a
 *
 * Bound of the mean time in a call: no rank leaves before all ranks whose data it needs have
 * arrived.
 *
 *   reduce, gather(v)    the root waits for all, the others for nobody
 *   bcast, scatter(v)    each waits for the root
 *   scan, exscan         each waits for the ranks below its own
 *   all others           each waits for all
 *
 * The time of moving data is beyond the bound. */
#ifndef CS_TRACE_IMBALANCE_H
#define CS_TRACE_IMBALANCE_H

#include "base/status.h"
#include "coll/coll.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cs_imbalance_kind {
	CS_IMBALANCE_NONE,        /* all arrive at once */
	CS_IMBALANCE_UNIFORM,     /* each rank by its own, evenly from 0 to `late` */
	CS_IMBALANCE_LATE,        /* one rank, the same in each call */
	CS_IMBALANCE_TURNING,     /* one rank, another one in each call */
	CS_IMBALANCE_EXPONENTIAL, /* each rank by its own; `late` is the mean */
	CS_IMBALANCE_FIRST_NODE,  /* all ranks of node 0 */
	CS_IMBALANCE_LAST_NODE,
	CS_IMBALANCE_FILE,        /* as in recorded calls (trace/arrivals_file.h) */
	CS_IMBALANCE_KINDS,
};

#define CS_IMBALANCE_SEED 1 /* default */

struct cs_imbalance {
	enum cs_imbalance_kind kind;
	int rank;      /* of LATE */
	int64_t late;  /* ns */
	uint64_t seed; /* of UNIFORM and EXPONENTIAL */
	/* Path of kind FILE, within the text read. */
	const char *path;
	/* Delays in recorded calls, [calls][ranks], in ns, set by cs_replay_load, or by a caller
	 * that received them; NULL before. */
	int64_t *recorded;
	size_t calls;
};

/* Participants, with each rank's node, from 0 on. */
struct cs_imbalance_job {
	int ranks, nodes;
	const int *node_of;
};

/* "500us": a time in ns, us, ms or s, up to 100 s. False: it is none. */
bool cs_imbalance_read_time(const char *text, int64_t *ns);
/* "none", "uniform:500us", "late:3:2ms", "turning:2ms", "exponential:300us", "first-node",
 * "last-node:1.5ms": times in ns, us, ms or s, up to 100 s; 2 ms by default for a node. "file:PATH"
 * is to be loaded (trace/replay.h). CS_BAD_INPUT: `complaint` names the error and the allowed
 * texts, *imbalance is unchanged. The seed is CS_IMBALANCE_SEED. */
CS_CHECKED enum cs_status cs_imbalance_read(const char *text, struct cs_imbalance *imbalance,
					    char *complaint, size_t room);
/* Checks that a job of so many ranks has the pattern's rank. CS_BAD_INPUT, with a complaint. */
CS_CHECKED enum cs_status cs_imbalance_fits(const struct cs_imbalance *imbalance, int ranks,
					    char *complaint, size_t room);
/* Delay of the rank, in ns, at the call of that number (from 0 on; recorded calls repeat). The same
 * everywhere for the same seed. With TURNING, the late rank is not a root that turns by the calls'
 * number, but once in as many turns as there are ranks. */
int64_t cs_imbalance_delay(const struct cs_imbalance *imbalance,
			   const struct cs_imbalance_job *job, uint64_t call, int rank);

/* Waits until that time of cs_clock_ns: sleeps until about 100 us before it, and then yields the
 * core between readings of the clock. Returns at once if the time is over. */
void cs_imbalance_come_at(uint64_t ns);

/* Data dependences between ranks of a call. No rank waits for blocks without bytes. */
struct cs_dependence {
	enum cs_coll coll;
	int ranks, root;
	bool is_empty;       /* no bytes at all; false for a barrier */
	const size_t *sizes; /* of each rank's block, in allgatherv, gatherv, scatterv and
			      * reduce_scatter; NULL: none is empty */
	/* Has `from` bytes for `to`, in alltoallv and alltoallw? NULL: all pairs have. */
	bool (*has_pair)(const void *context, int from, int to);
	const void *context;
};

/* Durations of one call, in the unit of the stamps, which count from the arrival of a rank that is
 * not late. */
struct cs_imbalance_times {
	double mean;        /* of the ranks' own times, exit minus arrival */
	double bound;       /* of that mean */
	double after_last;  /* last exit minus last arrival */
	double last_exit;
	double spread;      /* last arrival minus first */
};

/* Sets earliest[rank]: the last arrival of the ranks whose data it needs, itself included. */
void cs_imbalance_earliest(const struct cs_dependence *dependence, const int64_t *arrivals,
			   int64_t *earliest);
/* Fills *times. `earliest`: memory for one number per rank, from the caller. */
void cs_imbalance_measure(const struct cs_dependence *dependence, const int64_t *arrivals,
			  const int64_t *exits, int64_t *earliest,
			  struct cs_imbalance_times *times);

#endif
