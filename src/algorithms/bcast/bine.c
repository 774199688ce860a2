/* Broadcast, Bine (De Sensi et al., SC '25): a tree of whole vectors by negabinary distances
 * (plans/bine.h), each head sending to the mirror image in the other half of its arc of ranks;
 * vectors above `whole` are scattered along the butterfly's tree, nearest ranks first, and the
 * pieces exchanged back (plans/butterfly.h).
 *
 *   p = 8, root 0:   0 -> 3   |   0 -> 7, 3 -> 4   |   0 -> 1, 7 -> 6, 3 -> 2, 4 -> 5
 *
 * Cost: ceil(log2 p) rounds of whole vectors; in pieces 2 log2 p rounds and one more if p is no
 * power of two, the root sends the vector about twice. As binomial and scatter-allgather, with
 * messages that go about two thirds as far. */
#include "algorithms/plans/butterfly.h"
#include "algorithms/plans/tree_partition.h"

/* Parameters. */
enum { WHOLE };

static void
build_tree(struct cs_builder *builder)
{
	const struct cs_problem *problem = builder->problem;
	struct cs_partition partition;
	int p = problem->ranks, start;
	cs_partition_bine(&partition);
	struct cs_subtree part = cs_subtree_of_rank(&partition, problem, &start);
	struct cs_place data = part.depth ? cs_out(0) : cs_in(0);
	if (part.depth)
		cs_build_wait(builder, cs_build_recv(builder, (start + part.parent) % p, data,
						     problem->bytes));
	while (part.count > 1) {
		int child = cs_subtree_cut(&partition, &part).head;
		cs_build_send(builder, (start + child) % p, data, problem->bytes);
	}
}

static void
build(struct cs_builder *builder)
{
	const struct cs_problem *problem = builder->problem;
	struct cs_butterfly fly;
	if (problem->bytes <= problem->params[WHOLE]) {
		build_tree(builder);
		return;
	}
	cs_butterfly_join(&fly, builder, CS_BUTTERFLY_BINE, problem->root);
	fly.sum = problem->rank == problem->root ? cs_in(0) : cs_out(0);
	cs_butterfly_spread(&fly);
	cs_butterfly_unfold(&fly);
}

const struct cs_algorithm cs_algorithm_bcast_bine = {
	.colls = CS_SET(CS_BCAST),
	.name = "bine",
	.summary = "tree by negabinary distances; long vectors scattered and exchanged",
	.params = { [WHOLE] = { "whole", "bytes up to which a vector is not cut", 32 << 10, 0,
				(size_t)1 << 40 } },
	.build = build,
};
