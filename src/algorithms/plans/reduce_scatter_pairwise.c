#include "algorithms/plans/reduce_scatter_pairwise.h"

#include "algorithms/plans/cyclic_sum.h"
#include "algorithms/plans/pieces.h"

struct pairwise {
	struct cs_builder *builder;
	struct cs_pieces pieces;
	struct cs_cyclic_sum sum;
	int recv, send; /* requests of the round that is under way */
};

static void
start(struct pairwise *pairwise, int round)
{
	struct cs_builder *builder = pairwise->builder;
	int p = builder->problem->ranks, self = builder->problem->rank;
	int to = (self + round) % p, from = (self + p - round) % p;
	builder->note = (uint32_t)round - 1;
	pairwise->recv = cs_build_recv(builder, from, cs_cyclic_sum_room(&pairwise->sum, round),
				       pairwise->sum.bytes);
	pairwise->send = cs_build_send(builder, to, cs_in(cs_pieces_before(&pairwise->pieces, to)),
				       cs_pieces_bytes(&pairwise->pieces, to, 1));
}

static void
by_one(struct pairwise *pairwise)
{
	struct cs_builder *builder = pairwise->builder;
	int p = builder->problem->ranks;
	if (p > 1)
		start(pairwise, 1);
	for (int round = 1; round < p; round++) {
		cs_build_wait(builder, pairwise->recv);
		cs_build_wait(builder, pairwise->send);
		if (round + 1 < p)
			start(pairwise, round + 1);
		cs_cyclic_sum_add(&pairwise->sum, round);
	}
}

/* Port 0 adds; the others exchange in turn, into two rooms each. */
static void
by_senders(struct pairwise *pairwise)
{
	struct cs_builder *builder = pairwise->builder;
	int p = builder->problem->ranks, others = cs_build_senders(builder) - 1,
	    rooms = pairwise->sum.rooms;
	struct cs_ticket added[2 * CS_SENDERS_MOST];
	for (int round = 1; round < p; round++) {
		int port = 1 + (round - 1) % others, room = (round - 1) % rooms;
		if (round > rooms)
			cs_build_hear_of(builder, port, added[room]);
		builder->port = port;
		start(pairwise, round);
		cs_build_wait(builder, pairwise->recv);
		cs_build_wait(builder, pairwise->send);
		builder->port = 0;
		cs_build_hear_of(builder, 0, cs_build_tell(builder, port));
		cs_cyclic_sum_add(&pairwise->sum, round);
		if (round + rooms < p)
			added[room] = cs_build_tell(builder, 0);
	}
}

void
cs_reduce_scatter_pairwise_build(struct cs_builder *builder)
{
	const struct cs_problem *problem = builder->problem;
	struct pairwise pairwise = { .builder = builder };
	int p = problem->ranks, self = problem->rank, senders = cs_build_senders(builder);
	if (cs_pieces_of_blocks(&pairwise.pieces, problem) != CS_OK) {
		cs_build_no_memory(builder);
		return;
	}
	cs_cyclic_sum_begin(&pairwise.sum, builder, self, p,
			    cs_in(cs_pieces_before(&pairwise.pieces, self)), cs_out(0),
			    cs_pieces_bytes(&pairwise.pieces, self, 1),
			    senders > 1 ? 2 * (senders - 1) : 2);
	(senders > 1 ? by_senders : by_one)(&pairwise);
	cs_cyclic_sum_end(&pairwise.sum);
	cs_pieces_fini(&pairwise.pieces);
}

void
cs_reduce_scatter_pairwise_cost(const struct cs_problem *problem, struct cs_cost *cost)
{
	uint64_t others = (uint64_t)problem->ranks - 1, total = 0, least = UINT64_MAX, most = 0;
	for (int rank = 0; rank < problem->ranks; rank++) {
		uint64_t size = cs_problem_size(problem, rank);
		total += size;
		least = size < least ? size : least;
		most = size > most ? size : most;
	}
	if (!least && most) { /* chains end at empty blocks */
		*cost = CS_PRICE_NONE;
		return;
	}
	cost->rounds = most ? others : 0;
	cost->bytes = others * most > total - least ? others * most : total - least;
}
