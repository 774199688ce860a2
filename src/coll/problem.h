/* coll/problem.h — one collective as an algorithm without shared memory sees it: so many ranks,
 * such blocks, this rank.
 *
 * From it a plan is built (plan/build.h) and a cost is told. The signature of the collective
 * (cs_colls) says which ranks have what in IN and in OUT:
 *
 *   CS_OWN_BLOCK   one block
 *   CS_ALL_BLOCKS  blocks by rank
 *   CS_VECTOR      `bytes` long, elements of `unit` where it is reduced; a bcast's root has no OUT.
 *                  For reduce_scatter(_block): all blocks by rank, one after another.
 *
 * IN is read only. If the call is in place the own block (allgather, gather: of OUT; scatter: of
 * IN) is already where it belongs and stays there; reductions and alltoall have IN and OUT in the
 * same memory (is_in_place; such a plan must not write OUT before it has read IN). */
#ifndef CS_COLL_PROBLEM_H
#define CS_COLL_PROBLEM_H

#include "coll/coll.h"

#include <stdbool.h>
#include <stddef.h>

struct cs_senders;

struct cs_problem {
	enum cs_coll coll;
	int ranks, rank, root;
	size_t unit;  /* reductions: bytes of an element, no message splits one; else 1 */
	/* Size of the vector, or of each block. Alltoallv/w: the largest that any rank sends to
	 * another, if the algorithm needs it (needs.largest). */
	size_t bytes;
	/* Blocks of several sizes, by rank; NULL: all have `bytes`. Alltoallv/w: what this rank
	 * sends to each. Gatherv and scatterv: the root knows all; another rank only its own,
	 * unless the algorithm needs more (needs.all_sizes). */
	const size_t *sizes;
	const size_t *recv_sizes; /* alltoallv/w: what this rank receives from each */
	/* Offset of block r in OUT (allgather, gather) or in IN (scatter); NULL: one after another.
	 * Alltoall: in IN, and recv_at in OUT. Every rank has its own. */
	const size_t *at, *recv_at;
	bool is_in_place;
	bool is_commutative;    /* reductions */
	const size_t *params;   /* the algorithm's, in its order */
	const int *node_of;     /* by rank; NULL: unknown or one rank per node */
	const struct cs_senders *senders; /* processes of this rank that share its steps
					   * (plan/senders.h); NULL: one does all */
};

static inline size_t
cs_problem_size(const struct cs_problem *problem, int rank)
{
	return problem->sizes ? problem->sizes[rank] : problem->bytes;
}

/* Bytes before block `rank` if blocks are one after another, by rank. O(rank) with sizes. */
static inline size_t
cs_problem_before(const struct cs_problem *problem, int rank)
{
	size_t before = 0;
	if (!problem->sizes)
		return (size_t)rank * problem->bytes;
	for (int r = 0; r < rank; r++)
		before += problem->sizes[r];
	return before;
}

static inline size_t
cs_problem_at(const struct cs_problem *problem, int rank)
{
	return problem->at ? problem->at[rank] : cs_problem_before(problem, rank);
}

/* Bytes of all blocks. */
static inline size_t
cs_problem_total(const struct cs_problem *problem)
{
	return cs_problem_before(problem, problem->ranks);
}

#endif
