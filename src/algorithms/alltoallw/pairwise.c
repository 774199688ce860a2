/* Alltoallw, pairwise exchange (seed 002, 3.7.3): in round i each rank sends to rank xor i and receives from it if p
 * is a power of two, else sends to rank + i and receives from rank - i; one round after another.
 *
 *   p = 4:   0-1 2-3  |  0-2 1-3  |  0-3 1-2          p = 3:   0>1>2>0  |  0>2>1>0
 *
 * In place both ranks of an exchange name each other for every p: ranks whose sum is the round, modulo p or p - 1,
 * whichever is odd; the incoming block waits in CS_TMP until the outgoing one has left its place.
 *
 *   p = 5:   1-4 2-3  |  0-1 2-4  |  0-2 3-4  |  0-3 1-2  |  0-4 1-3
 *
 * A rank knows its own row and column of the matrix of sizes, which tell it all its messages: an empty block is none,
 * on both sides. Price (patterns/pairs.h says how far it is exact): p - 1 rounds, in place p if p is odd, less if the
 * last blocks are empty; bytes: the larger sum of a rank's row and column. For large blocks of like size: a round
 * lasts as long as its largest block. */
#include "algorithms/patterns/pairs.h"

static void
build(struct cs_builder *builder)
{
	cs_pairs_pairwise(builder);
}

static void
price(const struct cs_problem *problem, struct cs_price *price)
{
	cs_pairs_pairwise_price(problem, price);
}

const struct cs_algorithm cs_algorithm_alltoallw_pairwise = {
	.coll = CS_ALLTOALLW,
	.name = "pairwise",
	.summary = "p - 1 exchanges, one after another",
	.build = build,
	.price = price,
};
