/* Allgather, two-way ring (seed 002, 2.3.2): blocks travel both ways round the ring, each half way.
 *
 *   p = 5, rank 0's blocks:   0 . . . .  |  0 1 . . 4  |  0 1 2 3 4
 *   from                                   1 and 4       1 and 4
 *
 * In round i a rank sends block self - i to the next rank and block self + i to the one before it.
 * p even: in the last round blocks go up only.
 *
 * With two senders (plan/senders.h) each of them has one direction, and they never meet.
 *
 * Cost: ceil((p - 1) / 2) rounds; each rank receives every block but its own once. For large blocks
 * on a network that carries a message each way at a time to and from two neighbours. */
#include "algorithms/algorithm.h"
#include "plan/build.h"

static void
start_send(struct cs_builder *builder, int peer, int rank)
{
	bool is_own = rank == builder->problem->rank;
	cs_build_send(builder, peer, is_own ? cs_build_own(builder) : cs_build_block(builder, rank),
		      cs_problem_size(builder->problem, rank));
}

static void
start_recv(struct cs_builder *builder, int peer, int rank)
{
	cs_build_recv(builder, peer, cs_build_block(builder, rank),
		      cs_problem_size(builder->problem, rank));
}

static void
build(struct cs_builder *builder)
{
	const struct cs_problem *problem = builder->problem;
	int p = problem->ranks, self = problem->rank, up = p / 2, down = (p - 1) / 2;
	int right = (self + 1) % p, left = (self + p - 1) % p;
	cs_build_keep_own(builder);
	for (int round = 0; round < up; round++) {
		builder->note = (uint32_t)round;
		start_recv(builder, left, (left + p - round) % p);
		builder->port = 1;
		if (round < down)
			start_recv(builder, right, (right + round) % p);
		builder->port = 0;
		start_send(builder, right, (self + p - round) % p);
		builder->port = 1;
		if (round < down)
			start_send(builder, left, (self + round) % p);
		builder->port = 0;
		cs_build_wait_all(builder);
	}
}

const struct cs_algorithm cs_algorithm_allgather_two_way_ring = {
	.colls = CS_SET(CS_ALLGATHER),
	.name = "two-way-ring",
	.summary = "blocks travel both ways round the ring, each half way",
	.build = build,
	.has_ports = true,
};
