/* plans/pieces.h — a vector in as many pieces as there are ranks, no element split.
 *
 * Either cut as evenly as elements allow, the first pieces one element longer (with fewer elements
 * than pieces the last ones are empty):
 *
 *   11 elements, 4 pieces:   0 1 2 | 3 4 5 | 6 7 8 | 9 10
 *
 * or as the program cut it: reduce_scatter's blocks. */
#ifndef CS_ALGORITHMS_PLANS_PIECES_H
#define CS_ALGORITHMS_PLANS_PIECES_H

#include "base/status.h"
#include "coll/problem.h"

struct cs_pieces {
	size_t each, unit; /* bytes */
	int longer;        /* so many at the front have `unit` more */
	size_t *before;    /* blocks of several sizes: bytes before each, and of all; else NULL */
};

/* problem->bytes in `count` pieces. Needs no cs_pieces_fini. */
struct cs_pieces cs_pieces_of_vector(const struct cs_problem *problem, int count);
/* The problem's blocks. CS_NO_MEMORY or CS_OK; then cs_pieces_fini. */
CS_CHECKED enum cs_status cs_pieces_of_blocks(struct cs_pieces *pieces,
					      const struct cs_problem *problem);
void cs_pieces_fini(struct cs_pieces *pieces);

/* Bytes before piece `index`, which may be the number of pieces. */
static inline size_t
cs_pieces_before(const struct cs_pieces *pieces, int index)
{
	if (pieces->before)
		return pieces->before[index];
	return (size_t)index * pieces->each +
	       (size_t)(index < pieces->longer ? index : pieces->longer) * pieces->unit;
}

/* Bytes of pieces [first, first + count). */
static inline size_t
cs_pieces_bytes(const struct cs_pieces *pieces, int first, int count)
{
	return cs_pieces_before(pieces, first + count) - cs_pieces_before(pieces, first);
}

/* The same of `total` pieces, indices modulo their number; first < total, count <= total. */
static inline size_t
cs_pieces_run(const struct cs_pieces *pieces, int total, int first, int count)
{
	int left = total - first;
	return count <= left ? cs_pieces_bytes(pieces, first, count)
			     : cs_pieces_bytes(pieces, first, left) +
				     cs_pieces_bytes(pieces, 0, count - left);
}

#endif
