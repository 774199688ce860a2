/* Allgather, gather and broadcast (seed 000, 5.3.2): all blocks to rank 0, from there all to all.
 * Both by binomial trees.
 *
 *   p = 4      gather                         broadcast
 *   rank 0     0 . . .  0 1 . .  0 1 2 3      0 1 2 3  0 1 2 3
 *   rank 1     . 1 . .  . 1 . .  . 1 . .      . 1 . .  0 1 2 3
 *   rank 2     . . 2 .  . . 2 3  . . 2 3      0 1 2 3  0 1 2 3
 *   rank 3     . . . 3  . . . 3  . . . 3      . . . 3  0 1 2 3
 *
 * Cost: 2 floor(log2 p) rounds; rank 0 sends everything ceil(log2 p) times. For few bytes where no
 * better algorithm is at hand; the one that others are compared with. */
#include "algorithms/algorithm.h"
#include "algorithms/plans/packed_blocks.h"
#include "algorithms/plans/pieces.h"

/* Blocks that `rank`, `mask` below its parent, has gathered. */
static int
gathered(int p, int rank, int mask)
{
	return p - rank < mask ? p - rank : mask;
}

/* The mask of the rank's parent; for rank 0 the first power of two that is p or more. */
static int
parent_mask(int p, int rank)
{
	int mask = 1;
	while (mask < p && !(rank & mask))
		mask *= 2;
	return mask;
}

/* Gather to rank 0. `together`: all blocks, one after another, into which children's blocks
 * come. */
static void
gather(struct cs_builder *builder, struct cs_place together, int top)
{
	const struct cs_problem *problem = builder->problem;
	int p = problem->ranks, self = problem->rank;
	size_t own = cs_problem_before(problem, self);
	for (int mask = 1; mask < top && self + mask < p; mask *= 2)
		cs_build_recv(builder, self + mask,
			      cs_plus(together, own + cs_build_run_bytes(builder, self, mask)),
			      cs_build_run_bytes(builder, self + mask,
						 gathered(p, self + mask, mask)));
	cs_build_copy(builder, cs_plus(together, own), cs_build_own(builder),
		      cs_problem_size(problem, self));
	cs_build_wait_all(builder);
	if (self)
		cs_build_wait(builder, cs_build_send(builder, self - top, cs_plus(together, own),
						     cs_build_run_bytes(builder, self,
									gathered(p, self, top))));
}

static void
build(struct cs_builder *builder)
{
	const struct cs_problem *problem = builder->problem;
	int p = problem->ranks, self = problem->rank, top = parent_mask(p, self);
	size_t total = cs_problem_total(problem);
	bool is_run = cs_build_is_run(builder, 0, p);
	struct cs_place together = is_run ? cs_build_block(builder, 0)
					  : cs_build_tmp(builder, total);
	gather(builder, together, top);
	builder->note = 1;
	if (self)
		cs_build_wait(builder, cs_build_recv(builder, self - top, together, total));
	for (int mask = top / 2; mask; mask /= 2)
		if (self + mask < p)
			cs_build_send(builder, self + mask, together, total);
	if (!is_run)
		cs_packed_unpack(builder, together, 0, p);
}

const struct cs_algorithm cs_algorithm_allgather_gather_bcast = {
	.colls = CS_SET(CS_ALLGATHER),
	.name = "gather-bcast",
	.summary = "binomial gather to rank 0, binomial broadcast from there",
	.build = build,
};
