/* Gatherv, linear (seed 000, 5.1.2 and 5.2.2): all send their block to the root, which takes them in any order.
 *
 *   p = 4, root 0:   0 1 2 3  |  0123 . . .
 *
 * Price: one round, none if there is no block to send; the root receives each block but its own. A rank needs no size
 * but its own. For large blocks, for few ranks, and where sizes differ much. */
#include "algorithms/patterns/handout.h"

static void
build(struct cs_builder *builder)
{
	struct cs_cuts cuts;
	cs_cuts_even(&cuts, CS_CUTS_FLAT);
	cs_handout_gather(builder, &cuts, 0);
}

static void
price(const struct cs_problem *problem, struct cs_price *price)
{
	struct cs_cuts cuts;
	cs_cuts_even(&cuts, CS_CUTS_FLAT);
	cs_handout_price(problem, &cuts, 0, price);
}

const struct cs_algorithm cs_algorithm_gatherv_linear = {
	.coll = CS_GATHERV,
	.name = "linear",
	.summary = "all send their block to the root at once",
	.build = build,
	.price = price,
};
