/* plans/ring.h — allgather(v) round a ring of the ranks, each block in segments that follow one
 * another.
 *
 *   order 0 1 2, blocks aa . b  0 -> 1: a a b  1 -> 2: a a  2 -> 0: b  ('.': empty)
 *
 * A rank sends the segments of its own block, then those from the left in the order in which they
 * come, but not those of its right neighbour. It keeps `window` receives started ahead of its
 * sends, and waits for the send `window` before it starts one.
 *
 * No deadlock on any wire: look at the rank that has started the fewest sends, k, and waits. Its
 * send k - window is received, because its right neighbour has as many receives started. The
 * segment that send k hands on, receive k - own, was sent if `own`, the segments of its own block,
 * is at least one, as its left neighbour has started k sends; and if it is none, then the same
 * holds for the nearest to the left that has a block and k sends. */
#ifndef CS_ALGORITHMS_PLANS_RING_H
#define CS_ALGORITHMS_PLANS_RING_H

#include "algorithms/algorithm.h"
#include "plan/build.h"

#define CS_RING_MOST_WINDOW 64

/* Parameters of the pipelined rings, which cs_ring_build_by reads. */
enum { CS_RING_SEGMENT, CS_RING_STARTUP, CS_RING_WINDOW, CS_RING_EVEN };
#define CS_RING_PARAMS \
	{ [CS_RING_SEGMENT] = \
		{ "segment", "most bytes of a segment, at least 64 and a 16384th of all blocks; " \
			     "0: chosen from the sizes", 0, 0, \
		  1 << 30 }, \
	  [CS_RING_STARTUP] = { "startup", "bytes that a link moves while a message starts; 0: " \
					   "by the site's model, 16K without", 0, 0, 1 << 20 }, \
	  [CS_RING_WINDOW] = { "window", "segments under way at a time", 4, 1, \
			       CS_RING_MOST_WINDOW }, \
	  [CS_RING_EVEN] = { "even", "1: a block's segments are equally long, not the last one " \
				     "shorter", 0, 0, 1 } }

struct cs_ring {
	const int *order; /* ranks as they follow in the ring, alike on all; NULL: by number */
	size_t block;     /* most bytes of a segment */
	size_t window;    /* 1 .. CS_RING_MOST_WINDOW */
	bool is_even;     /* a block's segments are equally long, to a byte (seed 001, 2.3) */
};

void cs_ring_build(struct cs_builder *builder, const struct cs_ring *ring);
/* Builds the ring that the parameters describe. A segment's bytes are those of the parameter, or if
 * that is 0 by the blocks (seed 001, 2.4); at least 64, and so many that all blocks together have
 * no more than 16384 full segments. */
void cs_ring_build_by(struct cs_builder *builder, const int *order);

/* Cost of any order, block and window: the first segment takes p - 1 messages to its last rank, and
 * later ones wait for no more messages. A rank receives all but its own block, and sends all but
 * the next rank's; the most is all but the smallest. */
void cs_ring_cost(const struct cs_problem *problem, struct cs_cost *cost);

#endif
