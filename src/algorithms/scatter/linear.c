/* Scatter(v), linear (seed 000, 5.1.2): the root sends each rank its block, all messages at once.
 *
 *   p = 4, root 0:   0123 . . .  |  0 1 2 3
 *
 * Cost: one round, none if there is no block to send; the root sends each block but its own.
 * Nothing is copied but the own block, each byte crosses the network once, and a rank needs no size
 * but its own: for large blocks, for few ranks, and where sizes differ much. */
#include "algorithms/plans/tree_scatter.h"

static void
build(struct cs_builder *builder)
{
	struct cs_partition partition;
	cs_partition_even(&partition, CS_PARTITION_FLAT);
	cs_tree_scatter(builder, &partition, 0);
}

const struct cs_algorithm cs_algorithm_scatter_linear = {
	.colls = CS_SET(CS_SCATTER) | CS_SET(CS_SCATTERV),
	.name = "linear",
	.summary = "the root sends each rank its block, all at once",
	.build = build,
};
