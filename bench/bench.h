/* bench/bench.h — collshim-bench: one MPI program that times each collective twice in the same run,
 * through MPI_X ("ours": whatever library is preloaded) and through PMPI_X ("the host's"), and
 * gives the ratio.
 *
 * 	options     what was asked for         distribution   how much each rank has
 * 	operation   buffers, the calls, known answers  measure        warm up, alternate, take times
 * 	first       from the first call on (--from-first)
 * 	imbalance   calls to which ranks come late (--imbalance)
 * 	overlap     calls that are computed over (--overlap)
 * 	facts       of a node, for a tuning file (--node)
 * 	node_model  of a node with many cores (the same)
 * 	copy_out    from a node's memory to each rank (--copy-out)
 * 	loggp       what a message costs (--loggp)     loggp_fit      parameters out of round trips
 * 	wire        what carries these messages
 * 	output      table, JSON, progress
 *
 * Barriers and everything else that the bench needs for itself go through PMPI only, so that what
 * is preloaded changes nothing but the calls that are timed. */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include "base/parse.h"
#include "base/status.h"
#include "coll/coll.h"
#include "trace/imbalance.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define BENCH_MAX_SIZES 64
#define BENCH_MAX_ROOTS 16
#define BENCH_MAX_ROWS 8
#define BENCH_MAX_ROUNDS 101
#define BENCH_MAX_BUFFERS 16
#define BENCH_MAX_CALLS 5000 /* timed calls (or rows of calls) in one block */
#define BENCH_MAX_CASES 1024 /* of --cases */
#define BENCH_MAX_PATTERNS 8 /* of --imbalance */
#define BENCH_MAX_INTERVALS 16 /* of --overlap */
#define BENCH_ONE_TEST SIZE_MAX /* among them */

enum bench_side { BENCH_HOST, BENCH_OURS, BENCH_SIDES };

/* --- distribution.c --------------------------------------------------------------------------- */

/* Distribution of a v-collective's bytes over the ranks (J. L. Traff et al., "A pipelined
 * algorithm for large, irregular all-gather problems", section 3). There the base count is the
 * mean for some and the total for others; here all have the same total, so that they can be
 * compared at one size. */
enum bench_distribution {
	BENCH_REGULAR,    /* all alike */
	BENCH_BROADCAST,  /* rank 0 has all */
	BENCH_SPIKE,      /* rank 0 has half, the others share the rest */
	BENCH_HALF,       /* even ranks only */
	BENCH_DECREASING, /* linearly, down to nothing at the last rank */
	BENCH_GEOMETRIC,  /* 1, 1/2, 1/2, 1/4 (four times), ... */
	BENCH_DISTRIBUTIONS,
};

extern const char *const bench_distribution_names[BENCH_DISTRIBUTIONS];

/* Fills counts[ranks] so that their sum is exactly `total`. */
void bench_distribute(enum bench_distribution distribution, size_t total, int ranks, int *counts);

/* --- median.c --------------------------------------------------------------------------------- */

/* Sorts the values; there is at least one. */
double bench_median(double *values, int count);

/* --- options.c -------------------------------------------------------------------------------- */

#define BENCH_ROOT_LAST (-1)
#define BENCH_ROOT_ROTATE (-2)

struct bench_case {
	enum cs_coll coll;
	size_t size; /* as asked for */
	int root;
	enum bench_distribution distribution;
	int row; /* calls in a row after one barrier; 1: single calls */
};

/* One of --imbalance. */
struct bench_pattern {
	const char *text; /* as asked for */
	struct cs_imbalance imbalance;
};

struct bench_options {
	struct bench_case cases[BENCH_MAX_CASES]; /* of --cases, without roots and rows; in place of
						   * the next three */
	int case_count;
	bool has_coll[CS_COLL_COUNT];
	size_t sizes[BENCH_MAX_SIZES];
	int size_count;
	int roots[BENCH_MAX_ROOTS]; /* a rank, or BENCH_ROOT_* */
	int root_count;
	bool has_distribution[BENCH_DISTRIBUTIONS];
	double seconds;       /* wanted per case */
	double limit;         /* a case that would need more seconds is left out */
	int rounds;           /* each: one block of the host's, one of ours */
	int rows[BENCH_MAX_ROWS]; /* calls in a row: each case is measured with each of these */
	int row_count;
	int row_rooted; /* the only one of the rooted collectives; 0: theirs are those of all */
	bool is_per_rank_max; /* always the longest time of one rank in the call, not last entry to
			       * last exit */
	int buffers;
	size_t memory;        /* bytes of buffers per rank */
	double bandwidth;     /* bytes a second of a core, for the bound; 0: measure */
	double line_seconds;  /* a cache line from core to core, for the bound; below 0: measure */
	struct bench_pattern patterns[BENCH_MAX_PATTERNS];
	int pattern_count;
	uint64_t seed; /* of random patterns */
	size_t intervals[BENCH_MAX_INTERVALS]; /* bytes between tests, 0: none; BENCH_ONE_TEST */
	int interval_count;
	double compute; /* times the host's blocking call */
	const char *json, *svg, *wire;
	bool is_quiet, wants_loggp, wants_facts, wants_copy_out, wants_first, wants_overlap,
	     wants_help, wants_version, wants_verbs, permutes;
};

/* CS_BAD_INPUT: *complaint is a line that says what is wrong and what was expected. */
CS_CHECKED enum cs_status bench_options_read(struct bench_options *options, int argc, char **argv,
					     int ranks, char complaint[256]);
void bench_options_help(FILE *out);
/* Number of row lengths that the collective is measured with, and the n-th of them. */
int bench_row_count(const struct bench_options *options, enum cs_coll coll);
int bench_row(const struct bench_options *options, enum cs_coll coll, int n);
/* "last", "rotate" or the number; static storage. */
const char *bench_root_name(int root);

/* --- operation.c ------------------------------------------------------------------------------ */

/* One collective made ready to be called: counts, displacements, buffers with contents. */
struct bench_operation {
	struct bench_case what;
	int rank, ranks;
	size_t bytes; /* what `size` became: reductions use whole ints, reduce_scatter_block whole
		       * equal blocks */
	size_t send_bytes, recv_bytes;
	int count;               /* of one block or vector: bytes, or ints in reductions */
	int *counts, *offsets;   /* per rank: receive side (send side of scatterv) */
	int *send_counts, *send_offsets; /* alltoallv, alltoallw */
	int buffers;
	unsigned char *send[BENCH_MAX_BUFFERS], *recv[BENCH_MAX_BUFFERS];
	void *allocation[2 * BENCH_MAX_BUFFERS];
	void *types; /* MPI_Datatype[ranks], alltoallw */
	const void *comm; /* MPI_Comm *, the caller's; NULL: MPI_COMM_WORLD */
};

/* A wrong result: what is not as it must be, in words. */
struct bench_fault {
	char text[256];
};

/* Does the coll take counts per rank? */
bool bench_is_irregular(enum cs_coll coll);

/* Bytes that one set of buffers of the case needs on any rank, SIZE_MAX if MPI's int counts cannot
 * express it. */
size_t bench_operation_memory(const struct bench_case *what, int ranks);
/* CS_NO_MEMORY, or CS_OK. Local: the caller has to agree with the other ranks. */
CS_CHECKED enum cs_status bench_operation_create(struct bench_operation **operation,
						 const struct bench_case *what, int rank, int ranks,
						 int buffers);
void bench_operation_destroy(struct bench_operation *operation);
/* The root of the n-th call. */
int bench_operation_root(const struct bench_operation *operation, int n);
/* The n-th call: takes the n-th root and the n-th buffers, round and round. */
void bench_operation_call(const struct bench_operation *operation, enum bench_side side, int n);
/* The n-th call's non-blocking form; `request` is an MPI_Request *, NULL: the blocking call. */
void bench_operation_start(const struct bench_operation *operation, enum bench_side side, int n,
			   void *request);
/* MPI_Wait of that side. */
void bench_wait(enum bench_side side, void *request);
/* Clears the receive buffer, makes the n-th call, and looks at every byte. False and *fault filled
 * in if one is wrong on this rank. */
bool bench_operation_check(const struct bench_operation *operation, enum bench_side side, int n,
			   bool is_nonblocking, struct bench_fault *fault);
/* Bytes that have to be read or written by all ranks together, whatever the algorithm. */
double bench_operation_least_bytes(const struct bench_operation *operation);

/* --- measure.c -------------------------------------------------------------------------------- */

struct bench_world {
	int rank, ranks;
	int nodes, ppn_min, ppn_max;
	bool is_block_placed; /* the ranks of each node follow each other */
	int cores; /* that the ranks of the job may use, when there is one node */
	bool has_one_clock;
	double clock_seconds; /* between two readings of the clock that follow each other: no part
			       * of a call */
	double line_seconds; /* a cache line's way from core to core; 0: not measured, or that was
			      * disturbed */
	char mpi[128];        /* "Open MPI v4.1.4" */
	char library[512];    /* file that serves MPI_X */
	bool is_interposed;   /* MPI_X is not PMPI_X */
	const void *comm;     /* that calls are on, MPI_Comm *; NULL: MPI_COMM_WORLD */
	int comm_rank;        /* in it; 0 at the world's rank 0 */
	int *comm_ranks;      /* of all; NULL: as in the world */
};

struct bench_result {
	struct bench_case what;
	size_t bytes;
	char skipped[160]; /* why there are no times; "" if there are */
	int rounds, calls;
	int batch; /* calls in a row that were made: a slow case has fewer than what.row */
	double seconds[BENCH_SIDES][BENCH_MAX_ROUNDS]; /* median of each round's calls */
	double median[BENCH_SIDES];                    /* of the rounds */
	double ratio, ratio_min, ratio_max;            /* host / ours, per round */
	double bound;                                  /* seconds; 0: not known, or measured too
							* high: it was beaten */
};

void bench_world_look(struct bench_world *world);
/* Collective over all ranks: calls are on a communicator of a random order of them, but of rank 0,
 * from now on. */
void bench_world_permute(struct bench_world *world, uint64_t seed);
/* Is it a single call of which the last rank to enter may find all done, since it had to wait for
 * its core while the others made theirs? Its time is the longest of the ranks' own then. */
bool bench_looks_free(const struct bench_case *what, const struct bench_world *world);

/* CLOCK_MONOTONIC in nanoseconds. */
int64_t bench_now(void);
/* Collective over all ranks: the longest time that `play` returns to local ranks 0 and 1 of the
 * node that `is_here` names; it gets 960 bytes of shared memory, all zero. 0 without
 * such. */
double bench_on_lines(bool is_here, double (*play)(char *lines, int local));
/* The same of a cache line's way from core to core. */
double bench_line_seconds(bool is_here);
/* Collective over all ranks. Ranks that come early sleep, and take no core from ranks that still
 * measure. */
void bench_gather_quietly(void);

/* Collective over all ranks; half a second. A line on rank 0's stderr if other processes keep cores
 * of a node busy. */
void bench_tell_busy(const struct bench_world *world);

/* Collective over all ranks: the buffers, on all of them or on none. NULL: `skipped` says why. */
struct bench_operation *bench_prepare(const struct bench_case *what,
				      const struct bench_options *options, int rank, int ranks,
				      char skipped[160]);
/* Collective over all ranks: makes the n-th call and looks at its result; with rotating roots three
 * calls stand for all. False if one was wrong, which has been told on stderr by then. */
bool bench_check(const struct bench_operation *op, enum bench_side side, int first_call,
		 bool is_nonblocking);
/* The same of both sides. */
bool bench_check_both(const struct bench_operation *op, int first_call, bool is_nonblocking);

/* Collective over all ranks. False if a result was wrong: the fault has been told on stderr by
 * then. The times are filled in at rank 0 only. */
bool bench_measure(struct bench_result *result, const struct bench_case *what,
		   const struct bench_options *options, const struct bench_world *world);

/* --- first.c ---------------------------------------------------------------------------------- */

#define BENCH_PARTS 5
#define BENCH_SOON 300 /* calls from the 2nd to this one are summed, ours and the host's */

struct bench_spread {
	double mean, most; /* over the ranks */
};

struct bench_first {
	struct bench_case what;
	size_t bytes;
	char skipped[160]; /* why nothing was measured; "" if something was */
	struct bench_part {
		bool is_there; /* false: it would have taken too long */
		int from, to;  /* calls, from 1 */
		double seconds, own_seconds; /* of a call: first rank in to last rank out; the
					      * longest of the ranks' own */
		struct bench_spread minor, major; /* page faults of a rank */
	} parts[BENCH_PARTS];
	/* Bytes of shared memory that a rank has touched in these calls, and of that what bears the
	 * library's name; below 0: not known. */
	struct bench_spread shared, ours;
	double soon[BENCH_SIDES], soon_own[BENCH_SIDES]; /* seconds of calls 2 to BENCH_SOON
							  * together; 0: not all were made */
};

/* Collective over all ranks: the calls of a case from the first one on, through MPI_X, and then, on
 * a communicator of their own, through PMPI_X. The first case of a job (`is_first`) is on
 * MPI_COMM_WORLD, and is right when nothing but this has been done with the MPI since MPI_Init;
 * each other one is on a duplicate that is never freed, so that it finds no former team's memory.
 * False if the last result was wrong: the fault has been told by then. The numbers are filled in at
 * rank 0 only. */
bool bench_first_measure(struct bench_first *first, const struct bench_case *what, bool is_first,
			 const struct bench_options *options, int rank, int ranks);

/* --- facts.c ---------------------------------------------------------------------------------- */

/* Collective over all ranks; some seconds. Rank 0 prints the facts of its node as limits of a
 * tuning file (docs/tuning.md). */
void bench_facts_print(const struct bench_world *world);

/* --- copy_out.c ------------------------------------------------------------------------------- */

/* Collective over all ranks; some seconds. Rank 0 prints what ways of a result from its node's
 * memory to each of its ranks take. */
void bench_copy_out_print(const struct bench_world *world);

/* --- imbalance.c ------------------------------------------------------------------------------ */

/* Calls of one case to which ranks come by one pattern, in seconds. */
struct bench_late {
	struct bench_case what;
	const char *pattern;
	size_t bytes;
	char skipped[160]; /* why there are no times; "" if there are */
	int rounds, calls; /* in each round, the same calls of both sides */
	struct bench_late_side {
		struct cs_imbalance_times rounds[BENCH_MAX_ROUNDS]; /* means of its calls */
		struct cs_imbalance_times median;                   /* of the rounds */
		double missed; /* mean distance of arrivals from what the pattern says */
	} side[BENCH_SIDES];
	double ratio, ratio_min, ratio_max; /* of the mean times in the call, host / ours, per
					     * round */
};

/* Collective over all ranks: the recorded arrivals that patterns name. False: `complaint` says why,
 * on rank 0. */
bool bench_late_load(struct bench_options *options, const struct bench_world *world,
		     char complaint[256]);
void bench_late_unload(struct bench_options *options);
/* Collective over all ranks. False if a result was wrong: the fault has been told on stderr by
 * then. The times are filled in at rank 0 only. If the nodes' clocks differ, times of a call count
 * from each rank's leaving of a barrier. */
bool bench_late_measure(struct bench_late *late, const struct bench_case *what,
			const struct bench_pattern *pattern, const struct bench_options *options,
			const struct bench_world *world);

/* --- overlap.c -------------------------------------------------------------------------------- */

enum bench_work { BENCH_CORE, BENCH_MEMORY, BENCH_WORKS }; /* computations, by their bound */

/* Calls of one case that are started, computed over and waited for, in seconds; all times are the
 * longest of the ranks' own, medians. */
struct bench_overlap {
	struct bench_case what;
	enum bench_work work;
	size_t bytes;
	char skipped[160];           /* why there are no times; "" if there are */
	int rounds, calls;           /* in each round, of each row and side */
	double compute;              /* alone */
	double blocking[BENCH_SIDES];
	int row_count;
	struct bench_overlap_row {
		size_t interval; /* as asked for; BENCH_ONE_TEST */
		int tests;
		struct bench_overlap_times {
			double init, tests, wait;
			double overhead; /* of these three */
			double total;    /* from start to end */
			double availability;
		} side[BENCH_SIDES];
		double ratio, ratio_min, ratio_max; /* of overheads, host / ours, per round */
	} rows[BENCH_MAX_INTERVALS];
};

/* Collective over all ranks. False if a result was wrong: the fault has been told on stderr by
 * then. The times are filled in at rank 0 only. */
bool bench_overlap_measure(struct bench_overlap *overlap, const struct bench_case *what,
			   enum bench_work work, const struct bench_options *options,
			   const struct bench_world *world);

/* --- loggp_fit.c ------------------------------------------------------------------------------ */

/* PRTT(n, 0, s) (seed 000, 4.3.3): n messages of s bytes, as fast as they go, until the answer of s
 * bytes to the last is there. */
struct bench_prtt {
	int n;
	size_t bytes;
	double seconds;
};

#define BENCH_ROWS 5
/* Messages of the smallest size in a row: what the processor needs for n sends, and to receive n
 * that have arrived; seconds of all n. */
struct bench_row {
	int n;
	double sends, receives;
};

/* LogGP parameters of a message, as sim/model.h has them; seconds, and seconds per byte. */
struct bench_loggp {
	double L, o_send, o_recv, g, G;
	double o_send_min, o_recv_min; /* of further messages in a row: at most the first's */
	int f;
	double error; /* mean of |predicted / measured - 1| over the times */
};

/* PRTT(n, 0, s) by the parameters, seconds. */
double bench_loggp_prtt(const struct bench_loggp *loggp, int n, size_t bytes);

/* The parameters for these times and rows. Each size needs n = 1; the smallest one also some n > 1.
 * A gap that is hidden by o_send at all sizes is found as 0. The overheads are o(n) = min + (max -
 * min) / n, by least squares (seed 000, 5.1.4); less is found if bursts, or a round trip, have no
 * room for them. */
void bench_loggp_fit(struct bench_loggp *found, const struct bench_prtt *times, int count,
		     const struct bench_row rows[BENCH_ROWS]);

/* --- loggp.c ---------------------------------------------------------------------------------- */

enum bench_level { BENCH_INTER, BENCH_INTRA, BENCH_LEVELS }; /* ranks on different nodes, on one */

#define BENCH_MAX_PRTT 64

struct bench_network {
	struct bench_level_costs {
		bool is_there;
		int ranks[2]; /* between which it was measured */
		struct bench_loggp loggp;
		struct bench_prtt times[BENCH_MAX_PRTT];
		int time_count;
		struct bench_row rows[BENCH_ROWS];
		char device[200]; /* "": the MPI's messages */
	} level[BENCH_LEVELS];
	/* On a node: seconds per byte of a copy, and of a sum's result, by one rank; of a copy by
	 * all its ranks at once; seconds that a flag takes from core to core. 0: not measured. */
	double copy, reduce, bus, flag;
};

#define BENCH_NETWORK_TEXT 640
/* "L=2.1e-05,os=...,intra.L=...,copy=...": what cs_model_read of sim/model.h reads. Returns
 * `text`. */
const char *bench_network_text(char text[BENCH_NETWORK_TEXT], const struct bench_network *network);
/* Error for messages between nodes if there are any, else within a node; -1 if there are none at
 * all. */
double bench_network_error(const struct bench_network *network);

/* Collective over all ranks; filled in at rank 0 only. Exit code, the same at all ranks: 1 without
 * memory, 3 without the verbs that were asked for; rank 0 has said so on stderr. */
int bench_network_measure(struct bench_network *network, const struct bench_options *options,
			  const struct bench_world *world);

/* --- output.c (rank 0) ------------------------------------------------------------------------ */

void bench_print_head(FILE *out, const struct bench_options *options,
		      const struct bench_world *world);
void bench_print_result(FILE *out, const struct bench_result *result);
void bench_print_network(FILE *out, const struct bench_network *network,
			 const struct bench_world *world);

/* A case of --from-first. */
void bench_print_first_head(FILE *out, const struct bench_options *options,
			    const struct bench_world *world, double init_seconds);
void bench_print_first(FILE *out, const struct bench_first *first, bool has_own_times);

/* A case of --imbalance. */
void bench_print_late_head(FILE *out, const struct bench_options *options,
			   const struct bench_world *world);
void bench_print_late(FILE *out, const struct bench_late *late);

/* A case of --overlap. */
void bench_print_overlap_head(FILE *out, const struct bench_options *options,
			      const struct bench_world *world);
void bench_print_overlap(FILE *out, const struct bench_overlap *overlap);
extern const char *const bench_work_names[BENCH_WORKS];
/* "none", "one", "4K". */
const char *bench_interval_text(char text[CS_NUMBER_TEXT], size_t interval);
/* Shared parts of all tables: the job; variables of collshim's that are set; the case's first
 * columns. */
void bench_print_world(FILE *out, const struct bench_world *world);
void bench_print_in_force(FILE *out, const struct bench_world *world);
void bench_print_case(FILE *out, const struct bench_case *what);

/* Results to write so far: cases, message costs, or calls from the first one on. */
struct bench_findings {
	const struct bench_result *results;
	const struct bench_first *firsts; /* NULL: not these */
	const struct bench_late *lates;   /* NULL: not these */
	const struct bench_overlap *overlaps; /* NULL: not these */
	double init_seconds;              /* the longest of the ranks' MPI_Init, with firsts */
	int count; /* of results, firsts, lates or overlaps */
	const struct bench_network *network; /* NULL: cases */
	bool is_complete;
};

/* The file is whole at any time (cs_file_replace), so that a job that is cut short leaves what it
 * has. To stdout ("-"), a device or a pipe only what is complete is written. False with errno
 * set. */
bool bench_write_json(const struct bench_options *options, const struct bench_world *world,
		      const struct bench_findings *findings);
/* The same text in memory that is the caller's; NULL with errno set. */
char *bench_json_text(const struct bench_options *options, const struct bench_world *world,
		      const struct bench_findings *findings, size_t *bytes);
/* Has the program collshim-report draw the curves to --svg's file: at first, to see that it can,
 * then each ten seconds and of all. False, with a line on stderr that says why, if it cannot. */
bool bench_write_svg(const struct bench_options *options, const struct bench_world *world,
		     const struct bench_findings *findings);
/* "37 % allgatherv 8K, about 12 s left" on stderr, not more often than twice a second. */
void bench_progress(const char *next, int done, int all);

#endif
