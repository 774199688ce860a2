/* tools/arrivals.h — collshim-info --arrivals: how unevenly ranks came to their collectives, from
 * the files that they recorded (trace/arrivals_file.h), by the measures of seed 002, 3.3:
 *
 *   delta    of a rank: from its arrival to the mean one of the call; mean over ranks
 *   omega    from the first arrival of a call to the last
 *   iota     of a rank: from its arrival to its leaving; mean over ranks
 *   waiting  of iota what lies before the arrival of the last rank that it depends on
 *            (coll/coll.h: enum cs_depends); moving is what remains
 *
 * Imbalance factors are delta and omega over Min_Lat, the time that a message takes. */
#ifndef CS_TOOLS_ARRIVALS_H
#define CS_TOOLS_ARRIVALS_H

#include "trace/arrivals_file.h"
#include "trace/report.h"

#include <stdbool.h>
#include <stdio.h>

/* The files of one job that can be used. */
struct cs_arrival_files {
	struct cs_arrivals *files;
	int *node;         /* by file: numbered from 0 in the order of their lowest rank */
	int count, nodes;
	uint32_t ranks;    /* of MPI_COMM_WORLD, files missing or not */
	bool is_one_clock; /* all files' times may be compared */
	uint64_t residual_ns; /* the largest one of a clock */
	uint64_t left_out;    /* calls, of all ranks */
	uint64_t least_ns;    /* half of the shortest round trip between two nodes; 0: not known */
};

/* Reads the files. Each faulty one gives a line on `complaints`; a file of another job than the
 * first one, or of a rank that has one already, is left out. The number of files that could not be
 * used is in *unusable. CS_NO_MEMORY; the caller's: cs_arrival_files_close. */
CS_CHECKED enum cs_status cs_arrival_files_open(struct cs_arrival_files *files, char *const *paths,
						int count, FILE *complaints, int *unusable);
void cs_arrival_files_close(struct cs_arrival_files *files);

/* One call as all ranks of its communicator made it. Times are nanoseconds from the first arrival,
 * by rank in the communicator. */
struct cs_arrival_call {
	uint64_t comm, call, bytes;
	enum cs_coll coll;
	bool is_deferred;
	int root, size;
	const int64_t *arrived, *left;
	const int *file;
};

/* Number of calls, and of those that could not be used. */
struct cs_arrival_calls {
	uint64_t whole;
	uint64_t partial; /* not of all ranks: killed, or left out by a limit */
	uint64_t differ;  /* in collective or root: ranks were numbered differently */
};

/* Calls each(user, call) for all whole calls, by communicator and then in their order. */
CS_CHECKED enum cs_status cs_arrival_files_walk(const struct cs_arrival_files *files,
						void (*each)(void *user,
							     const struct cs_arrival_call *call),
						void *user, struct cs_arrival_calls *calls);

/* Sums over calls of one collective and size; divide by calls. */
struct cs_arrival_sums {
	uint64_t calls, deferred;
	double ranks, delta, omega, iota, waiting; /* ns, means over ranks */
	int64_t worst; /* the largest omega */
	/* The same of the first and of the last ranks of the nodes. */
	double first_delta, first_omega, last_delta, last_omega;
};

/* Bins of arrivals about the mean one of their node: the middle one is within half a microsecond of
 * it, the k-th behind that up to 2^(k-1) us later, and before it earlier. */
#define CS_ARRIVAL_BINS 24

struct cs_arrival_measures {
	struct cs_arrival_sums sums[CS_COLL_COUNT][CS_REPORT_BINS];
	uint64_t histogram[2 * CS_ARRIVAL_BINS + 1];
	/* By file: calls in which it was the first or the last of all, or of its node. */
	uint64_t *first, *last, *node_first, *node_last;
	int64_t *node_of_call; /* scratch, by node */
	int count, nodes;
	const int *node;
};

CS_CHECKED enum cs_status cs_arrival_measures_init(struct cs_arrival_measures *measures,
						   const struct cs_arrival_files *files);
void cs_arrival_measures_add(void *measures, const struct cs_arrival_call *call);
void cs_arrival_measures_fini(struct cs_arrival_measures *measures);

/* Writes a heat map of arrivals, rank by call, as in the seed's figure 3.5: of the communicator
 * with the most arrivals. */
CS_CHECKED enum cs_status cs_arrivals_svg(const struct cs_arrival_files *files, FILE *out);

/* The command: `argv` is behind --arrivals. Returns collshim-info's exit code. */
int cs_tools_arrivals(int argc, char **argv);

#endif
