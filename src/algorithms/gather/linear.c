/* Gather(v), linear (seed 000, 5.1.2 and 5.2.2): all send their block to the root, which takes
 * them in any order.
 *
 *   p = 4, root 0:   0 1 2 3  |  0123 . . .
 *
 * Cost: one round, none if there is no block to send; the root receives each block but its own.
 * Nothing is copied but the own block, each byte crosses the network once, and a rank needs no size
 * but its own: for large blocks, for few ranks, and where sizes differ much. */
#include "algorithms/plans/tree_scatter.h"

static void
build(struct cs_builder *builder)
{
	struct cs_partition partition;
	cs_partition_even(&partition, CS_PARTITION_FLAT);
	cs_tree_gather(builder, &partition, 0);
}

const struct cs_algorithm cs_algorithm_gather_linear = {
	.colls = CS_SET(CS_GATHER) | CS_SET(CS_GATHERV),
	.name = "linear",
	.summary = "all send their block to the root at once",
	.build = build,
};
