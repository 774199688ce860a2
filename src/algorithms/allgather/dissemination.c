/* Allgather, dissemination (seed 000, 5.3.2): in round i a rank sends all its blocks to the rank
 * 2^i above it.
 *
 *   p = 6, rank 1's OUT:   . 1 . . . .  |  0 1 . . . .  |  0 1 . . 4 5  |  0 1 2 3 4 5
 *   from                               0               5               3
 *
 * Blocks go right to their places in OUT, so nothing is rotated at the end (Bruck); a run that
 * wraps round the end of the ranks (4 5 and 0 1 from rank 1 to rank 5) is two messages. If OUT has
 * holes each message is packed.
 *
 * Cost: ceil(log2 p) rounds; each rank receives each block once. For blocks for which a copy costs
 * more than a second message. */
#include "algorithms/algorithm.h"
#include "algorithms/plans/packed_blocks.h"
#include "algorithms/plans/ports.h"

/* Blocks [first, first + count), modulo ranks, as two packed blocks that do not wrap; the second
 * may be empty. */
static void
lay(struct cs_builder *builder, struct cs_packed_blocks *packs, int first, int count)
{
	int p = builder->problem->ranks, upper = first + count > p ? p - first : count;
	cs_packed_lay(builder, &packs[0], first, upper);
	cs_packed_lay(builder, &packs[1], 0, count - upper);
}

static void
build(struct cs_builder *builder)
{
	const struct cs_problem *problem = builder->problem;
	int p = problem->ranks, self = problem->rank;
	struct cs_packed_blocks give[2] = { 0 }, take[2] = { 0 };
	cs_build_keep_own(builder);
	for (int n = 1; n < p; n *= 2) {
		int blocks = cs_ports_blocks(p, n, n), from = (self - n + p) % p;
		lay(builder, give, (self - blocks + 1 + p) % p, blocks);
		lay(builder, take, (from - blocks + 1 + p) % p, blocks);
		for (int part = 0; part < 2; part++)
			cs_packed_recv(builder, &take[part], from);
		for (int part = 0; part < 2; part++)
			cs_packed_send(builder, &give[part], (self + n) % p);
		cs_build_wait_all(builder);
		for (int part = 0; part < 2; part++)
			cs_packed_open(builder, &take[part]);
		builder->note++;
	}
}

const struct cs_algorithm cs_algorithm_allgather_dissemination = {
	.colls = CS_SET(CS_ALLGATHER),
	.name = "dissemination",
	.summary = "what a rank has doubles in each round, every block in its place at once",
	.build = build,
};
