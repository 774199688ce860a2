/* Allgather, Bruck (seed 000, 5.3.2; seed 002, 2.3.2): in each round a rank sends all its blocks to
 * k ranks below it.
 *
 *   p = 6, k = 1, rank 1: 1 . . . . . | 1 2 . . . . | 1 2 3 4 . . | 1 2 3 4 5 0 | OUT: 0 1 2 3 4 5
 *   from                                2             3             5             rotated
 *
 * With n blocks on each rank, rank r sends them to r - n, r - 2n .. r - kn at once, and has (k + 1)
 * n then; in the last round only as many as are missing. Blocks are in the order of the ranks from
 * r on, so each message is one piece. The papers work in OUT and rotate there with half as much
 * beside it; here the work buffer is of CS_TMP, and the rotation copies each byte once. Rank 0
 * works in OUT if the blocks are one after another there.
 *
 * Cost: ceil(log_(k+1) p) rounds; each rank receives each block once. For small blocks and any p;
 * k: as many messages as the network starts at once at no cost. */
#include "algorithms/algorithm.h"
#include "algorithms/plans/packed_blocks.h"
#include "algorithms/plans/ports.h"

/* Parameters. */
enum { K };

static void
build(struct cs_builder *builder)
{
	const struct cs_problem *problem = builder->problem;
	int p = problem->ranks, self = problem->rank, k = (int)problem->params[K];
	bool is_there = self == 0 && cs_build_is_run(builder, 0, p);
	struct cs_place work = is_there ? cs_build_block(builder, 0)
					: cs_build_tmp(builder, cs_problem_total(problem));
	cs_build_copy(builder, work, cs_build_own(builder), cs_problem_size(problem, self));
	for (int n = 1; n < p; n *= k + 1) {
		for (int distance = n, port = 0; port < k && distance < p; port++, distance += n) {
			int blocks = cs_ports_blocks(p, n, distance), from = (self + distance) % p;
			cs_build_recv(builder, from,
				      cs_plus(work, cs_build_run_bytes(builder, self, distance)),
				      cs_build_run_bytes(builder, from, blocks));
		}
		for (int distance = n, port = 0; port < k && distance < p; port++, distance += n)
			cs_build_send(builder, (self - distance + p) % p, work,
				      cs_build_run_bytes(builder, self,
							 cs_ports_blocks(p, n, distance)));
		cs_build_wait_all(builder);
		builder->note++;
	}
	if (is_there)
		return;
	cs_build_keep_own(builder);
	cs_packed_unpack(builder, cs_plus(work, cs_problem_size(problem, self)), (self + 1) % p,
			 p - 1);
}

static void
cost(const struct cs_problem *problem, struct cs_cost *cost)
{
	cs_ports_cost(problem, problem->params[K], cost);
}

const struct cs_algorithm cs_algorithm_allgather_bruck = {
	.colls = CS_SET(CS_ALLGATHER),
	.name = "bruck",
	.summary = "what a rank has grows (k + 1)-fold in each round; rotated at the end",
	.params = { [K] = { "k", "messages that a rank sends at once", 1, 1, 64 } },
	.build = build,
	.cost = cost,
};
