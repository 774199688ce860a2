/* Reduce, Bine (De Sensi et al., SC '25): the broadcast's tree the other way, of whole vectors
 * (bcast/bine.c); those above `whole` are reduced by halves, nearest ranks first, and the pieces
 * gathered at the root along the same butterfly (plans/butterfly.h).
 *
 *   p = 8, root 0:   1 -> 0, 6 -> 7, 2 -> 3, 5 -> 4   |   7 -> 0, 4 -> 3   |   3 -> 0
 *
 * Cost: ceil(log2 p) rounds of whole vectors; in pieces 2 log2 p rounds and up to one more if p is
 * no power of two, the root receives the vector about twice. Commutative operations only. As
 * binomial and scatter-gather, with messages that go about two thirds as far. */
#include "algorithms/plans/butterfly.h"
#include "algorithms/plans/tree_partition.h"

/* Parameters. */
enum { WHOLE };

/* Receive the vectors of the children, the nearest first, and add each. */
static struct cs_place
add_children(struct cs_builder *builder, const struct cs_partition *partition, int start,
	     struct cs_subtree part)
{
	const struct cs_problem *problem = builder->problem;
	int children[CHAR_BIT * sizeof(int)], count = 0;
	struct cs_place sum = cs_in(0);
	while (part.count > 1)
		children[count++] = cs_subtree_cut(partition, &part).head;
	if (!count)
		return sum;
	struct cs_place into = problem->rank == problem->root
			       ? cs_out(0) : cs_build_tmp(builder, problem->bytes);
	struct cs_place spare = cs_build_tmp(builder, problem->bytes);
	while (count--) {
		int child = (start + children[count]) % problem->ranks;
		cs_build_wait(builder, cs_build_recv(builder, child, spare, problem->bytes));
		cs_build_reduce(builder, into, sum, spare, problem->bytes);
		sum = into;
		builder->note++;
	}
	return sum;
}

static void
build_tree(struct cs_builder *builder)
{
	const struct cs_problem *problem = builder->problem;
	struct cs_partition partition;
	int p = problem->ranks, start;
	cs_partition_bine(&partition);
	struct cs_subtree part = cs_subtree_of_rank(&partition, problem, &start);
	struct cs_place sum = add_children(builder, &partition, start, part);
	if (part.depth)
		cs_build_send(builder, (start + part.parent) % p, sum, problem->bytes);
}

static void
build(struct cs_builder *builder)
{
	const struct cs_problem *problem = builder->problem;
	struct cs_butterfly fly;
	if (!problem->is_commutative) {
		cs_build_refuse(builder, CS_NOT_COMMUTATIVE);
		return;
	}
	if (problem->bytes <= problem->params[WHOLE] && problem->ranks > 1) {
		build_tree(builder);
		return;
	}
	if (!cs_butterfly_begin(&fly, builder, CS_BUTTERFLY_BINE, problem->root, true))
		return;
	cs_butterfly_scatter(&fly);
	cs_butterfly_gather(&fly);
}

const struct cs_algorithm cs_algorithm_reduce_bine = {
	.colls = CS_SET(CS_REDUCE),
	.name = "bine",
	.summary = "tree by negabinary distances; long vectors by halves, then gathered",
	.needs = { .commutative = true },
	.params = { [WHOLE] = { "whole", "bytes up to which a vector is not cut", 32 << 10, 0,
				(size_t)1 << 40 } },
	.build = build,
};
