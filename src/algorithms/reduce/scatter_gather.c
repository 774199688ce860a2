/* Reduce, scatter and gather (seed 002, 3.7.4: MPICH's for larger sizes): partners exchange halves
 * of their vectors, so that each rank ends with the sum of one piece; the pieces are gathered at
 * the root the same way back.
 *
 *   p = 4, root 0, pieces that a rank has the sums of, and of how many ranks:
 *
 *     rank 0      1      2      3
 *     0123 1   0123 1  0123 1  0123 1
 *       23 2   01 2      23 2  01 2
 *        3 4    1 4       2 4   0 4
 *       23 4   01 4
 *     0123 4
 *
 * Sums are always of neighbouring ranks and their order is kept: non-commutative operations too. p
 * not a power of two: neighbours are folded, the root staying in (plans/butterfly.h). With fewer
 * elements than ranks the last pieces are empty.
 *
 * Cost: 2 log2 p rounds and one more if the root is among the folded ranks; the root receives the
 * vector about twice, or three times. For large vectors. */
#include "algorithms/plans/butterfly.h"

static void
build(struct cs_builder *builder)
{
	struct cs_butterfly fly;
	cs_butterfly_begin(&fly, builder, CS_BUTTERFLY_BINARY, builder->problem->root, true);
	cs_butterfly_scatter(&fly);
	cs_butterfly_gather(&fly);
}

const struct cs_algorithm cs_algorithm_reduce_scatter_gather = {
	.colls = CS_SET(CS_REDUCE),
	.name = "scatter-gather",
	.summary = "partners exchange halves, then the root gathers the sums of all pieces",
	.build = build,
};
