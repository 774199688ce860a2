/* Allreduce, recursive doubling (the exchange of seed 000, 5.3.2, with sums instead of blocks;
 * Thakur, Rabenseifner and Gropp, reference 12 of seed 002): in each round partners exchange their
 * sums and add the other's.
 *
 *   p = 4, ranks in each one's sum:   0  |  1  |  2  |  3     p = 6: 1 gives its to 0, 3 to 2
 *                                     01 | 01  |  23 |  23    first, and gets the result last
 *                                   0123 |0123 |0123 |0123    (plans/butterfly.h)
 *
 * The order of ranks is kept. Every rank has the same result to the bit: partners combine the same
 * two sums with the same one on the left, so after each round all ranks of a group have equal sums.
 *
 * Cost: log2 p rounds of the whole vector; p not a power of two: one or two more. For small
 * vectors. */
#include "algorithms/plans/butterfly.h"

static void
build(struct cs_builder *builder)
{
	struct cs_butterfly fly;
	cs_butterfly_begin(&fly, builder, CS_BUTTERFLY_BINARY, 0, false);
	cs_butterfly_combine(&fly);
	cs_butterfly_unfold(&fly);
}

/* A chain of all exchanges ends at the number with all bits turned. It has both fold and unfold if
 * both numbers of such a pair are folded, that is if more than half are. */
static void
cost(const struct cs_problem *problem, struct cs_cost *cost)
{
	struct cs_butterfly fly;
	cs_butterfly_shape(&fly, problem, CS_BUTTERFLY_BINARY, 0);
	int ends = (fly.folds > 0) + (2 * fly.folds > fly.size);
	cost->rounds = problem->bytes ? (uint64_t)(fly.levels + ends) : 0;
	cost->bytes = (uint64_t)(fly.levels + (fly.folds > 0)) * problem->bytes;
}

const struct cs_algorithm cs_algorithm_allreduce_recursive_doubling = {
	.colls = CS_SET(CS_ALLREDUCE),
	.name = "recursive-doubling",
	.summary = "partners exchange whole sums, farther in each round",
	.build = build,
	.cost = cost,
};
