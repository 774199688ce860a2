#include "algorithms/plans/ring.h"

#include <stdlib.h>

#define STARTUP (16 << 10) /* bytes, where nothing is known of the network */
#define LEAST_BLOCK 64       /* bytes: smaller ones are all start-up */
/* Full ones of all blocks together, which bounds the steps of a plan */
#define MOST_SEGMENTS 16384u

/* The segments that come past one link of the ring, in their order. */
struct stream {
	struct cs_builder *builder;
	const struct cs_ring *ring;
	int place; /* in the ring, of the rank that is built for */
	int back;  /* the block is that of the rank so many places before */
	size_t done; /* bytes of it that are past */
};

static int
rank_at(const struct cs_problem *problem, const struct cs_ring *ring, int place)
{
	place = (place + problem->ranks) % problem->ranks;
	return ring->order ? ring->order[place] : place;
}

static int
place_of(const struct cs_ring *ring, int rank)
{
	int place = ring->order ? 0 : rank;
	while (ring->order && ring->order[place] != rank)
		place++;
	return place;
}

static size_t
segments(const struct cs_problem *problem, int rank, size_t block)
{
	size_t bytes = cs_problem_size(problem, rank);
	return bytes / block + (bytes % block != 0);
}

/* The next segment of the stream, which must have one: its place and bytes. */
static size_t
next(struct stream *stream, struct cs_place *from)
{
	const struct cs_problem *problem = stream->builder->problem;
	int rank = rank_at(problem, stream->ring, stream->place - stream->back);
	while (stream->done == cs_problem_size(problem, rank)) {
		rank = rank_at(problem, stream->ring, stream->place - ++stream->back);
		stream->done = 0;
	}
	size_t left = cs_problem_size(problem, rank) - stream->done, most = stream->ring->block;
	size_t segments = left / most + (left % most != 0), even = (left + segments - 1) / segments;
	size_t bytes = stream->ring->is_even ? even : left < most ? left : most;
	*from = stream->back ? cs_build_block(stream->builder, rank)
			     : cs_build_own(stream->builder);
	*from = cs_plus(*from, stream->done);
	stream->done += bytes;
	return bytes;
}

/* Receives from the left: requests by segment. */
struct intake {
	struct stream stream;
	int left;
	int *requests;
	size_t count, started, waited;
};

static void
start_until(struct intake *intake, size_t end)
{
	for (; intake->started < intake->count && intake->started < end; intake->started++) {
		struct cs_place to;
		size_t bytes = next(&intake->stream, &to);
		intake->requests[intake->started] =
			cs_build_recv(intake->stream.builder, intake->left, to, bytes);
	}
}

static void
wait_until(struct intake *intake, size_t end)
{
	while (intake->waited < end)
		cs_build_wait(intake->stream.builder, intake->requests[intake->waited++]);
}

static void
pass(struct intake *intake, size_t own, int right, size_t gives)
{
	struct stream give = intake->stream;
	struct cs_builder *builder = give.builder;
	size_t window = give.ring->window;
	int sends[CS_RING_MOST_WINDOW];
	give.back = 0;
	for (size_t k = 0; k < gives; k++) {
		if (k == window) /* the first messages are under way meanwhile */
			cs_build_keep_own(builder);
		struct cs_place from;
		size_t bytes = next(&give, &from);
		builder->note = (uint32_t)k;
		start_until(intake, k + window);
		if (k >= own)
			wait_until(intake, k - own + 1);
		if (k >= window)
			cs_build_wait(builder, sends[k % window]);
		sends[k % window] = cs_build_send(builder, right, from, bytes);
	}
	if (gives <= window)
		cs_build_keep_own(builder);
	while (intake->started < intake->count) {
		if (intake->started >= window)
			wait_until(intake, intake->started - window + 1);
		start_until(intake, intake->started + 1);
	}
}

void
cs_ring_build(struct cs_builder *builder, const struct cs_ring *ring)
{
	const struct cs_problem *problem = builder->problem;
	int self = problem->rank, place = place_of(ring, self),
	    right = rank_at(problem, ring, place + 1);
	size_t all = 0, own = segments(problem, self, ring->block);
	for (int rank = 0; rank < problem->ranks; rank++)
		all += segments(problem, rank, ring->block);
	struct intake intake =
		{ .stream = { .builder = builder, .ring = ring, .place = place, .back = 1 },
				 .left = rank_at(problem, ring, place - 1), .count = all - own };
	intake.requests = malloc((intake.count + 1) * sizeof *intake.requests);
	if (intake.requests)
		pass(&intake, own, right, all - segments(problem, right, ring->block));
	else
		cs_build_no_memory(builder);
	free(intake.requests);
}

void
cs_ring_cost(const struct cs_problem *problem, struct cs_cost *cost)
{
	size_t smallest = cs_problem_size(problem, 0), total = cs_problem_total(problem);
	for (int rank = 0; rank < problem->ranks; rank++)
		if (cs_problem_size(problem, rank) < smallest)
			smallest = cs_problem_size(problem, rank);
	cost->rounds = total ? (uint64_t)problem->ranks - 1 : 0;
	cost->bytes = problem->ranks > 1 ? total - smallest : 0;
}

/* --- the size of a segment -------------------------------------------------------------------- */

static uint64_t
root_of(uint64_t square)
{
	uint64_t root = 0;
	for (uint64_t bit = (uint64_t)1 << 31; bit; bit /= 2)
		if ((root + bit) * (root + bit) <= square)
			root += bit;
	return root;
}

/* Least and largest block, and how many are empty. */
struct spread {
	size_t least, most;
	uint64_t empty;
};

static struct spread
spread_of(const struct cs_problem *problem)
{
	struct spread spread = { .least = cs_problem_size(problem, 0) };
	for (int rank = 0; rank < problem->ranks; rank++) {
		size_t size = cs_problem_size(problem, rank);
		spread.least = size < spread.least ? size : spread.least;
		spread.most = size > spread.most ? size : spread.most;
		spread.empty += size == 0;
	}
	return spread;
}

/* Block by seed 001, 2.4: equal blocks stay whole. One block only is a pipeline of p - 1 links,
 * which takes m / B + p - 2 rounds. Else equation 2: m / B + (p + z) / 2 - 1 + floor(z / (p - z))
 * rounds, z of p blocks empty, half of the others with a partial segment. Rounds of a + bB each
 * take the least time at B = sqrt(m a / b / c), c the rounds that do not depend on B; a / b is the
 * parameter `startup`. In whole numbers, for all ranks must find the same. */
static uint64_t
best_block(const struct cs_problem *problem)
{
	struct spread spread = spread_of(problem);
	uint64_t startup = problem->params[CS_RING_STARTUP] ? problem->params[CS_RING_STARTUP]
							    : STARTUP;
	uint64_t p = (uint64_t)problem->ranks, z = spread.empty, square;
	if (spread.least == spread.most)
		return spread.most;
	uint64_t twice = z == p - 1 ? 2 * (p - 2) : p + z - 2 + 2 * (z / (p - z));
	if (!twice || __builtin_mul_overflow((uint64_t)cs_problem_total(problem), 2 * startup,
					     &square))
		return spread.most;
	return root_of(square / twice);
}

static size_t
block_of(const struct cs_problem *problem)
{
	uint64_t block = problem->params[CS_RING_SEGMENT] ? problem->params[CS_RING_SEGMENT]
							  : best_block(problem);
	size_t least = cs_problem_total(problem) / MOST_SEGMENTS;
	least = least < LEAST_BLOCK ? LEAST_BLOCK : least;
	return block < least ? least : (size_t)block;
}

void
cs_ring_build_by(struct cs_builder *builder, const int *order)
{
	const struct cs_problem *problem = builder->problem;
	cs_ring_build(builder, &(struct cs_ring){ .order = order, .block = block_of(problem),
						  .window = problem->params[CS_RING_WINDOW],
						  .is_even = problem->params[CS_RING_EVEN] });
}
