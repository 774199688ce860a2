/* late/fragments.h — choice of the run of segments that a node sends next, while its ranks come one
 * after the other (seed 002, 3.7.3: opportunistic message fragmentation). Arithmetic only.
 *
 *   a region: the message to one node, a segment from each local rank
 *   . not there   + there   # sent
 *
 *   + + + +    1a  all of it
 *   # + + #    1b  between sent segments, or edges: it cannot grow any more
 *   # + + .    2a  it might grow, but leaves no new gap
 *   . + + .    2b  it might grow on both sides
 *
 * The best run is of the first of these kinds, 2a and 2b being one; then the longest, then one of
 * 2a before 2b, then the one for the nearest node above the own one. */
#ifndef CS_ALGORITHMS_LATE_FRAGMENTS_H
#define CS_ALGORITHMS_LATE_FRAGMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cs_segment_state { CS_SEGMENT_ABSENT, CS_SEGMENT_HERE, CS_SEGMENT_SENT };

struct cs_region_segment {
	enum cs_segment_state state;
	uint32_t bytes; /* once it is here */
};

/* The best run so far. */
struct cs_fragment {
	enum { CS_FRAGMENT_NONE, CS_FRAGMENT_OPEN, CS_FRAGMENT_CLOSED, CS_FRAGMENT_WHOLE } kind;
	int region;       /* as its owner numbers them */
	int first, count; /* segments */
	size_t bytes;
	bool is_adjacent; /* to a sent segment, or to an edge */
};

/* Puts a region's best run in *best if it is better. Call it for regions in the order of their
 * nodes, the nearest above the own one first. A run that might grow counts from `least` bytes. */
void cs_fragment_consider(struct cs_fragment *best, int region,
			  const struct cs_region_segment *segments, int count, size_t least);

#endif
