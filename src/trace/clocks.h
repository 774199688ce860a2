/* trace/clocks.h — how far the clocks of several nodes are apart (seed 002, 3.4).
 *
 *        0            one process of each node; each asks the one above it for the time, and adds
 *      / | \          what that one is away from rank 0
 *     1  2  4
 *        |  | \       asks:     t0  ------->
 *        3  5  6                    <-------  P     offset = P - (t0 + t1) / 2
 *                               t1
 *
 * Listing 3.1 has rank 0 ask all others in turn, and takes the median of the offsets: here a
 * binomial tree asks, in log2(nodes) rounds, and what counts is the answer that took the shortest
 * time, since the offset is wrong by half of that at most. Two synchronisations give a line, so
 * that clocks may go at different speeds (Jones and Koenig, the seed's [45]). */
#ifndef CS_TRACE_CLOCKS_H
#define CS_TRACE_CLOCKS_H

#include "trace/arrivals_file.h"

/* Messages between those that synchronise, one in flight at a time between two of them. */
struct cs_clocks_wire {
	int rank, size;
	void *context; /* handed to each function */
	uint64_t (*now)(void *context); /* nanoseconds of the own clock */
	/* Each waits until it is done; false: it failed. */
	bool (*send)(void *context, const void *data, size_t bytes, int to);
	bool (*receive)(void *context, void *data, size_t bytes, int from);
};

/* Synchronises; collective over the wire's ranks. *clock: offset of the own clock towards rank 0's.
 * False: a message failed here; *clock is then not set. */
CS_CHECKED bool cs_clocks_synchronise(const struct cs_clocks_wire *wire,
				      struct cs_arrivals_clock *clock);

#endif
