/* late/fragments.h — which part of what a node sends to others goes next, while the ranks of
 * the node bring it one after the other (seed 002, 3.7.3: opportunistic message fragmentation).
 * Arithmetic only.
 *
 *   a region: what goes to one node, a segment from each local rank
 *   . not there   + there   # sent
 *
 *   + + + +    1a  all of it
 *   # + + #    1b  between what has been sent, or the edges: it cannot grow any more
 *   # + + .    2a  it might grow, but leaves no new gap
 *   . + + .    2b  it might grow on both sides
 *
 * Of several the first of these kinds goes, but 2a and 2b are one kind: there the longer one goes,
 * and of two that are as long one of 2a. Else the one for the nearest node above the own one
 * goes. */
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
	bool is_adjacent; /* to what has been sent, or to an edge */
};

/* Looks at all runs of a region, and takes the best one if it is better than *best. Asked for the
 * regions in the order of their nodes, the nearest above the own one first. A run that might grow
 * is one of `least` bytes or more. */
void cs_fragment_consider(struct cs_fragment *best, int region,
			  const struct cs_region_segment *segments, int count, size_t least);

#endif
