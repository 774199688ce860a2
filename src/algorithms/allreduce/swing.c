/* Allreduce, Swing (De Sensi et al., NSDI '24, sections 3 and 4, on a ring): partners at the
 * distances (1 - (-2)^(s + 1)) / 3 exchange halves of their vectors, and back. Half of the vector
 * goes the mirrored way at the same time, so both directions of a ring carry data in each step:
 *
 *   p = 8, partners of rank 0:   first half 1, 7, 3, and back 3, 7, 1   second half 7, 1, 5, ..
 *
 * p not a power of two: neighbours are folded (plans/butterfly.h), where the paper sends some
 * pieces by themselves. Every rank has the same result to the bit.
 *
 * Cost: 2 log2 p rounds, of two messages each, and up to two more if p is no power of two; a rank
 * sends and receives the vector about twice. For long vectors on rings and tori whose links carry
 * both directions; with one port it is `bine` in pieces. Commutative operations only. */
#include "algorithms/plans/butterfly.h"

/* Parameters. */
enum { PORTS };

static void
build(struct cs_builder *builder)
{
	bool is_split = builder->problem->params[PORTS] > 1;
	struct cs_butterfly fly, second;
	if (!cs_butterfly_begin(&fly, builder, CS_BUTTERFLY_BINE, 0, !is_split))
		return;
	if (is_split)
		cs_butterfly_split(&fly, &second);
	cs_butterfly_scatter(&fly);
	cs_butterfly_allgather(&fly);
	cs_butterfly_unfold(&fly);
}

const struct cs_algorithm cs_algorithm_allreduce_swing = {
	.colls = CS_SET(CS_ALLREDUCE),
	.name = "swing",
	.summary = "halves of the vector swing round a ring in both directions, and back",
	.needs = { .commutative = true },
	.params = { [PORTS] = { "ports", "directions used at once", 2, 1, 2 } },
	.build = build,
};
