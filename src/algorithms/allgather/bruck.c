/* Allgather, Bruck (seed 000, 5.3.2; seed 002, 2.3.2): in each round a rank sends all its blocks to
 * k ranks below it.
 *
 *   p = 6, k = 1, rank 1: 1 . . . . . | 1 2 . . . . | 1 2 3 4 . . | 1 2 3 4 5 0 | OUT: 0 1 2 3 4 5
 *   from                                2             3             5             rotated
 *
 * With n blocks on each rank, rank r sends them to r - n, r - 2n .. r - kn at once, and has (k + 1)
 * n then; in the last round only as many as are missing. Blocks are in the order of the ranks from
 * r on, so each message is one piece. The papers work in OUT and rotate there with half as much
 * beside it; here the work buffer is of CS_TMP, and the rotation copies each byte once. A rank
 * whose blocks are in that order in OUT works there.
 *
 * With several senders (plan/senders.h) each message of a round has a port, and so a sender, of its
 * own; they see each other's blocks once in a round. k is then their number at least.
 *
 * Cost: ceil(log_(k+1) p) rounds; each rank receives each block once. For small blocks and any p;
 * k: as many messages as the network starts at once at no cost. */
#include "algorithms/algorithm.h"
#include "algorithms/plans/packed_blocks.h"
#include "algorithms/plans/ports.h"

/* Parameters. */
enum { K };

/* Are the blocks from the own one on, modulo ranks, one after another in OUT? */
static bool
are_in_order(const struct cs_builder *builder)
{
	const struct cs_problem *problem = builder->problem;
	int p = problem->ranks, self = problem->rank;
	size_t end = cs_problem_at(problem, self);
	if (self && !problem->at)
		return false;
	for (int i = 0; problem->at && i < p; i++) {
		int rank = (self + i) % p;
		if (problem->at[rank] != end)
			return false;
		end += cs_problem_size(problem, rank);
	}
	return true;
}

static void
build(struct cs_builder *builder)
{
	const struct cs_problem *problem = builder->problem;
	int p = problem->ranks, self = problem->rank, k = (int)problem->params[K];
	bool is_there = are_in_order(builder);
	struct cs_place work = is_there ? cs_build_block(builder, self)
					: cs_build_tmp(builder, cs_problem_total(problem));
	k = k < cs_build_senders(builder) ? cs_build_senders(builder) : k;
	cs_build_copy(builder, work, cs_build_own(builder), cs_problem_size(problem, self));
	for (int n = 1; n < p; n *= k + 1) {
		if (n > 1 || !is_there)
			cs_build_meet(builder);
		for (int distance = n, port = 0; port < k && distance < p; port++, distance += n) {
			int blocks = cs_ports_blocks(p, n, distance), from = (self + distance) % p;
			builder->port = port;
			cs_build_recv(builder, from,
				      cs_plus(work, cs_build_run_bytes(builder, self, distance)),
				      cs_build_run_bytes(builder, from, blocks));
		}
		for (int distance = n, port = 0; port < k && distance < p;
		     port++, distance += n) {
			builder->port = port;
			cs_build_send(builder, (self - distance + p) % p, work,
				      cs_build_run_bytes(builder, self,
							 cs_ports_blocks(p, n, distance)));
		}
		cs_build_wait_all(builder);
		builder->note++;
		builder->port = 0;
	}
	if (is_there)
		return;
	cs_build_meet(builder);
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
	.has_ports = true,
	.cost = cost,
};
