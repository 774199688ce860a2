/* Allreduce, Rabenseifner's (Thakur, Rabenseifner and Gropp, reference 12 of seed 002): partners
 * exchange halves of their vectors, so that each rank ends with the sum of one piece; then the
 * pieces go back the same way.
 *
 *   p = 4, pieces that a rank has the sums of, and of how many ranks:
 *
 *     rank 0      1      2      3
 *     0123 1   0123 1  0123 1  0123 1
 *       23 2   01 2      23 2  01 2
 *        3 4    1 4       2 4   0 4
 *       23 4   01 4      23 4  01 4
 *     0123 4   0123 4  0123 4  0123 4
 *
 * Distances grow while pieces shrink, so sums are always of neighbouring ranks and their order is
 * kept. p not a power of two: neighbours are folded (plans/butterfly.h). Every rank has the same
 * result to the bit: the sum of an element is finished at one rank and copied from there.
 *
 * Cost: 2 log2 p rounds, and 2 more if p is not a power of two; a rank sends and receives the
 * vector about twice, a folded one three times. For medium and large vectors. */
#include "algorithms/plans/butterfly.h"

static void
build(struct cs_builder *builder)
{
	struct cs_butterfly fly;
	cs_butterfly_begin(&fly, builder, CS_BUTTERFLY_BINARY, 0, true);
	cs_butterfly_scatter(&fly);
	cs_butterfly_allgather(&fly);
	cs_butterfly_unfold(&fly);
}

const struct cs_algorithm cs_algorithm_allreduce_rabenseifner = {
	.colls = CS_SET(CS_ALLREDUCE),
	.name = "rabenseifner",
	.summary = "partners exchange halves, then halves of halves, and back",
	.build = build,
};
