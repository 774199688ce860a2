/* comm/calls/ordered.h — reductions whose order depends on the number of ranks alone
 * (COLLSHIM_REPRODUCIBLE).
 *
 *   result = x0 op (x1 op (x2 op ... x(p-1)))   x0, x1, ..: contributions by rank, each element
 *
 * That is what the algorithms of one node do. Elsewhere, and where there is no team (yet), nothing
 * but contributions travel, by whatever serves an alltoallv, gather or allgatherv there, and each
 * rank reduces a part of the vector:
 *
 *   rank    0      1      2                        short vectors: all to everybody, or to the root
 *          a0b0c0 a1b1c1 a2b2c2     alltoallv
 *          a0a1a2 b0b1b2 c0c1c2     reduce
 *          A      B      C          allgatherv, gatherv to the root; reduce_scatter: nothing more
 *
 * Scans grow from rank to rank, ((x0 op x1) op x2) ..., and there a rank that has a slice of all
 * vectors adds them up and gives each rank its sum back, by another alltoallv; short vectors
 * everybody adds up.
 *
 * So a vector moves twice, and p times over where all ranks reduce it; longer ones in pieces, for
 * which memory is bounded. */
#ifndef CS_COMM_CALLS_ORDERED_H
#define CS_COMM_CALLS_ORDERED_H

#include "comm/calls/serving.h"

/* Can a call on this communicator be reduced in the order of ranks? `unit`: bytes from one element
 * to the next. Counts the call, and may make the team. All ranks get the same answer. */
bool cs_ordered_may(struct cs_comm *communicator, size_t unit);

/* Serves the operation's call. Returns what the program gets; its error handler has been called if
 * that is an error. */
int cs_ordered_run(struct cs_serving *serving);

/* Memory to be freed; ends the job if there is none (the others are waiting already). */
void *cs_ordered_need(size_t bytes);

/* Around one call, for the report, which has a row for it and none for what it is made of. */
struct cs_ordered_time {
	bool is_timed;
	uint64_t start;
};
struct cs_ordered_time cs_ordered_begin(struct cs_serving *serving);
/* `bytes`: the size of the call as select counts. */
void cs_ordered_end(struct cs_serving *serving, const struct cs_ordered_time *time,
		    enum cs_coll coll, size_t bytes);

#endif
