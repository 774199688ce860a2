/* comm/calls/ordered.h — reductions whose order depends on the number of ranks alone
 * (COLLSHIM_REPRODUCIBLE).
 *
 *   result = x0 op (x1 op (x2 op ... x(p-1)))   x0, x1, ..: contributions by rank, each element
 *
 * The algorithms of one node reduce so. With several nodes, or without a team, contributions are
 * moved by an alltoallv, gatherv or allgatherv of the team or the host, and each rank reduces a
 * slice of the vector:
 *
 *   rank    0      1      2                        short vectors: all to all ranks, or to the root
 *          a0b0c0 a1b1c1 a2b2c2     alltoallv
 *          a0a1a2 b0b1b2 c0c1c2     reduce
 *          A      B      C          allgatherv, gatherv to the root; reduce_scatter: nothing more
 *
 * Scans add from rank to rank, ((x0 op x1) op x2) ...: a rank that has a slice of all vectors adds
 * them up and sends each rank its sum, by another alltoallv. Short vectors are added up by every
 * rank.
 *
 * So a vector is moved twice, or p times if all ranks reduce it; long ones in pieces, so that
 * memory is bounded. */
#ifndef CS_COMM_CALLS_ORDERED_H
#define CS_COMM_CALLS_ORDERED_H

#include "comm/calls/serving.h"

/* Can a call on this communicator be reduced in rank order? `unit`: bytes from one element to the
 * next. Counts the call, and may make the team. The same answer on all ranks. */
bool cs_ordered_may(struct cs_comm *communicator, size_t unit);

/* Serves the operation's call. Returns the MPI error code for the program; its error handler has
 * been called if it is an error. */
int cs_ordered_run(struct cs_serving *serving);

/* Allocates memory for the caller to free. Ends the job if there is none (the others are waiting
 * already). */
void *cs_ordered_need(size_t bytes);

/* Called around one call, for the report: it has one row, and the calls that move its data none. */
struct cs_ordered_time {
	bool is_timed;
	uint64_t start;
};
struct cs_ordered_time cs_ordered_begin(struct cs_serving *serving);
/* `bytes`: the size of the call as select counts. */
void cs_ordered_end(struct cs_serving *serving, const struct cs_ordered_time *time,
		    enum cs_coll coll, size_t bytes);

#endif
