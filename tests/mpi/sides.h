/* tests/mpi/sides.h — the send and the receive side of a call: blocks in a buffer, in random
 * layouts. */
#ifndef SIDES_H
#define SIDES_H

#include "diff.h"

/* malloc that ends the job where there is no memory. */
void *allocate(size_t bytes);

/* Equal blocks one after the other; blocks of nothing as elements of a type without bytes if
 * is_nothing_typed. */
void side_fixed(struct side *side, const struct call *call, int blocks, int units,
		bool is_nothing_typed, struct rng *rng);
/* Uneven blocks anywhere. Every units[] is a multiple of `step`. */
void side_uneven(struct side *side, const struct call *call, int blocks, const int *units, int step,
		 struct rng *rng);
/* Every block with a type of its own (alltoallw). */
void side_typed(struct side *side, const struct call *call, int blocks, const int *units, int step,
		struct rng *rng);
/* Elements of the call's reduction. */
void side_reduced(struct side *side, struct call *call, long count, struct rng *rng);
void side_in_place(struct side *side);
void side_ignored(struct side *side, const struct call *call, struct rng *rng);

/* Random bytes into set FIRST; FIRST's bytes into the other sets. */
void side_fill(struct side *side, struct rng *rng);
void side_spread(struct side *side);
void side_free(struct side *side);
/* Some divisor of units, often a small one; 1 for 0. */
int divisor_of(int units, struct rng *rng);

#endif
