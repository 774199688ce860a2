/* Allreduce, Bine (De Sensi et al., SC '25): partners at negabinary distances (plans/bine.h)
 * exchange whole vectors; those above `whole` by halves, nearest ranks first, and back.
 *
 *   p = 8, ranks in rank 0's sum:   0   |   0 1   |   0 1 6 7   |   all: partners 1, 7, 3
 *
 * p not a power of two: neighbours are folded (plans/butterfly.h). Every rank has the same result
 * to the bit: partners combine the same two sums with the same one on the left.
 *
 * Cost: log2 p rounds of whole vectors, twice as many of pieces, and up to two more if p is no
 * power of two. As recursive-doubling and rabenseifner, with messages that go about two thirds as
 * far. Commutative operations only. */
#include "algorithms/plans/butterfly.h"

/* Parameters. */
enum { WHOLE };

static void
build(struct cs_builder *builder)
{
	const struct cs_problem *problem = builder->problem;
	bool is_cut = problem->bytes > problem->params[WHOLE];
	struct cs_butterfly fly;
	if (!cs_butterfly_begin(&fly, builder, CS_BUTTERFLY_BINE, 0, is_cut))
		return;
	if (is_cut) {
		cs_butterfly_scatter(&fly);
		cs_butterfly_allgather(&fly);
	} else {
		cs_butterfly_combine(&fly);
	}
	cs_butterfly_unfold(&fly);
}

const struct cs_algorithm cs_algorithm_allreduce_bine = {
	.colls = CS_SET(CS_ALLREDUCE),
	.name = "bine",
	.summary = "partners at negabinary distances exchange sums, long ones by halves",
	.needs = { .commutative = true },
	.params = { [WHOLE] = { "whole", "bytes up to which a vector is not cut", 16 << 10, 0,
				(size_t)1 << 40 } },
	.build = build,
};
