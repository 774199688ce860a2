#include "algorithms/plans/reduce_scatter_ring.h"

#include "algorithms/plans/pieces.h"

struct ring {
	struct cs_builder *builder;
	struct cs_pieces pieces;
	size_t stride;              /* bytes of a piece of a block, but for the last */
	int most;                   /* pieces of the largest block */
	struct cs_place sums[2];    /* of even and of odd rounds: for the largest block each */
	/* requests, by piece */
	int send[CS_REDUCE_SCATTER_RING_PIECES], recv[CS_REDUCE_SCATTER_RING_PIECES];
};

/* The block that this rank sends in a round; it receives the one of the next round. */
static int
block_of(const struct ring *ring, int round)
{
	int p = ring->builder->problem->ranks;
	return (ring->builder->problem->rank + 2 * p - 1 - round) % p;
}

static size_t
piece_bytes(const struct ring *ring, int block, int piece)
{
	size_t bytes = cs_pieces_bytes(&ring->pieces, block, 1), at = (size_t)piece * ring->stride;
	size_t rest = at < bytes ? bytes - at : 0;
	return rest < ring->stride ? rest : ring->stride;
}

static struct cs_place
input(const struct ring *ring, int block, int piece)
{
	return cs_in(cs_pieces_before(&ring->pieces, block) + (size_t)piece * ring->stride);
}

static struct cs_place
sum(const struct ring *ring, int round, int piece)
{
	return cs_plus(ring->sums[round % 2], (size_t)piece * ring->stride);
}

/* Start a round's messages of a piece: in round 0 input is sent, else the sum of the round
 * before. */
static void
start(struct ring *ring, int round, int piece)
{
	struct cs_builder *builder = ring->builder;
	int p = builder->problem->ranks, self = builder->problem->rank,
	    block = block_of(ring, round);
	builder->note = (uint32_t)round;
	ring->recv[piece] = cs_build_recv(builder, (self + p - 1) % p, sum(ring, round, piece),
					  piece_bytes(ring, block_of(ring, round + 1), piece));
	ring->send[piece] = cs_build_send(builder, (self + 1) % p,
					  round ? sum(ring, round - 1, piece)
						: input(ring, block, piece),
					  piece_bytes(ring, block, piece));
}

/* Add the own input to a received piece, in the last round into the result. Waits for the sent
 * piece, before the next one comes into its place. */
static void
finish(struct ring *ring, int round, int piece)
{
	bool is_last = round == ring->builder->problem->ranks - 2;
	int block = block_of(ring, round + 1);
	struct cs_place come = sum(ring, round, piece);
	cs_build_wait(ring->builder, ring->recv[piece]);
	cs_build_reduce(ring->builder, is_last ? cs_out((size_t)piece * ring->stride) : come, come,
			input(ring, block, piece), piece_bytes(ring, block, piece));
	cs_build_wait(ring->builder, ring->send[piece]);
}

static size_t
largest_block(const struct cs_problem *problem)
{
	size_t most = 0;
	for (int rank = 0; rank < problem->ranks; rank++)
		if (cs_problem_size(problem, rank) > most)
			most = cs_problem_size(problem, rank);
	return most;
}

/* Choose whole elements, by numbers that all ranks know. */
static void
choose_stride(struct ring *ring, size_t segment, size_t largest)
{
	size_t unit = ring->builder->problem->unit, elements = largest / unit;
	size_t each = segment ? segment / unit : elements,
	       least = elements / CS_REDUCE_SCATTER_RING_PIECES;
	least += elements % CS_REDUCE_SCATTER_RING_PIECES != 0;
	each = each < least ? least : each;
	each = each ? each : 1;
	ring->stride = each * unit;
	ring->most = (int)(elements / each) + (elements % each != 0);
}

void
cs_reduce_scatter_ring_build(struct cs_builder *builder)
{
	const struct cs_problem *problem = builder->problem;
	struct ring ring = { .builder = builder };
	int p = problem->ranks;
	if (!problem->is_commutative) {
		cs_build_refuse(builder, CS_NOT_COMMUTATIVE);
		return;
	}
	if (cs_pieces_of_blocks(&ring.pieces, problem) != CS_OK) {
		cs_build_no_memory(builder);
		return;
	}
	size_t largest = largest_block(problem);
	choose_stride(&ring, problem->params[CS_REDUCE_SCATTER_RING_SEGMENT], largest);
	for (int i = 0; i < 2; i++)
		ring.sums[i] = cs_build_tmp(builder, i + 1 < p ? largest : 0);
	if (p == 1)
		cs_build_copy(builder, cs_out(0), cs_in(0), largest);
	for (int piece = 0; p > 1 && piece < ring.most; piece++)
		start(&ring, 0, piece);
	for (int round = 0; round < p - 1; round++)
		for (int piece = 0; piece < ring.most; piece++) {
			finish(&ring, round, piece);
			if (round + 1 < p - 1)
				start(&ring, round + 1, piece);
		}
	cs_pieces_fini(&ring.pieces);
}

void
cs_reduce_scatter_ring_cost(const struct cs_problem *problem, struct cs_cost *cost)
{
	size_t total = 0, least = SIZE_MAX;
	for (int rank = 0; rank < problem->ranks; rank++) {
		size_t size = cs_problem_size(problem, rank);
		total += size;
		least = size < least ? size : least;
	}
	cost->rounds = total ? (uint64_t)problem->ranks - 1 : 0;
	cost->bytes = problem->ranks > 1 ? total - least : 0;
}
