/* plans/pairs.h — alltoall, alltoallv and alltoallw as a message from every rank to every other.
 * They differ only in where the sizes come from. In place IN and OUT are the same memory, and both
 * directions of a pair have the same size.
 *
 * Costs are exact where blocks have one size. With a matrix of sizes a rank knows its own row and
 * column only: its cost has its own bytes, and as rounds the most messages of a chain that ends
 * with one of its blocks, whatever the others' sizes are. No rank knows all three messages of the
 * chain a > b > c > d, so no rank knows whether an empty one breaks it. The call's cost is the
 * largest of all ranks': exact in bytes, and in rounds if no block is empty, else an upper
 * bound. */
#ifndef CS_ALGORITHMS_PLANS_PAIRS_H
#define CS_ALGORITHMS_PLANS_PAIRS_H

#include "algorithms/algorithm.h"
#include "plan/build.h"

#define CS_PAIRS_WINDOW 256 /* the largest */

/* Place of the block for `rank` in IN, and of the one from `rank` in OUT. */
struct cs_place cs_pairs_in(const struct cs_problem *problem, int rank);
struct cs_place cs_pairs_out(const struct cs_problem *problem, int rank);
/* Bytes that come from `rank`. */
size_t cs_pairs_recv_size(const struct cs_problem *problem, int rank);
/* Copy the own block into OUT, unless in place. */
void cs_pairs_keep_own(struct cs_builder *builder);
/* For calls in place: copy the blocks for all other ranks to CS_TMP, one after another from rank +
 * 1 on. */
struct cs_place cs_pairs_save(struct cs_builder *builder);

/* Peers in the order rank + 1, rank + 2, ...; at most `width` sends and as many receives are under
 * way (0: all), not counting empty blocks. In place all blocks are copied to CS_TMP first and sent
 * from there. */
void cs_pairs_scattered(struct cs_builder *builder, size_t width);
void cs_pairs_scattered_cost(const struct cs_problem *problem, size_t width, struct cs_cost *cost);

/* One exchange after another. In place partners give each other their blocks, so that CS_TMP holds
 * one of them. */
void cs_pairs_pairwise(struct cs_builder *builder);
void cs_pairs_pairwise_cost(const struct cs_problem *problem, struct cs_cost *cost);

#endif
