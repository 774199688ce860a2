/* Barrier, binomial tree (the tree of seed 000, 5.1.3): signals up to the root, and down again; k
 * children per step.
 *
 *   p = 6, k = 1, root 0:   1, 2 -> 0;  4, 5 -> 3  |  3 -> 0  |  0 -> 3, 2, 1  |  3 -> 5, 4
 *
 * Cost: 2 floor(log2 p) rounds for k = 1, no bytes; 2 (p - 1) messages in all, the fewest that
 * there are. For networks that many messages at once slow down. With k = p - 1 or more it is
 * linear: all signal the root, 2 rounds. */
#include "algorithms/plans/tree_scatter.h"

/* Parameters. */
enum { K };

static void
build(struct cs_builder *builder)
{
	const struct cs_problem *problem = builder->problem;
	struct cs_partition partition;
	cs_partition_even(&partition, (int)problem->params[K]);
	struct cs_subtree part = cs_subtree_of(&partition, problem->ranks, problem->rank);
	for (struct cs_subtree rest = part; rest.count > 1;)
		cs_build_hear(builder, cs_subtree_cut(&partition, &rest).first);
	cs_build_wait_all(builder);
	builder->note++;
	if (part.depth) {
		cs_build_signal(builder, part.parent);
		cs_build_wait(builder, cs_build_hear(builder, part.parent));
	}
	for (struct cs_subtree rest = part; rest.count > 1;)
		cs_build_signal(builder, cs_subtree_cut(&partition, &rest).first);
}

const struct cs_algorithm cs_algorithm_barrier_binomial = {
	.colls = CS_SET(CS_BARRIER),
	.name = "binomial",
	.summary = "signals up a binomial tree, and down again",
	.params = { [K] = { "k", "children per step", 1, 1, 1 << 20 } },
	.build = build,
};
