/* Alltoall, Bruck (Bruck et al. 1997; seed 000, 5.3.2 has its allgather, seed 002, 3.7.3 its place): a block for the
 * rank i further on travels by the digits of i to the base k + 1: in the round of weight w all blocks with digit v go
 * on by v * w.
 *
 *   p = 6, k = 1, rank 0's blocks by distance i (of: to); a round moves those whose bit is set
 *
 *                 0    1    2    3    4    5
 *               0:0  0:1  0:2  0:3  0:4  0:5
 *   by 1 rank     .  5:0    .  5:2    .  5:4
 *   by 2 ranks    .    .  4:0  3:0    .    .        block i has arrived after its highest digit: rank 0 - i's
 *   by 4 ranks    .    .    .    .  2:0  1:0
 *
 * Price: ceil(log p to the base k + 1) rounds of up to k messages at once; each rank sends and receives every block
 * once for each digit of its distance that is not 0, about p/2 log2 p blocks for k = 1, each packed and unpacked. For
 * small blocks. A larger k takes fewer rounds and bytes where the wire carries several messages at once.
 *
 * Blocks whose lower digits are all 0 are packed out of IN, and those whose higher digits are all 0 unpacked to OUT,
 * so the rotations before and after cost no copy of their own. In place the blocks are saved first. */
#include "algorithms/patterns/pairs.h"

struct work {
	struct cs_builder *builder;
	int self, p;
	size_t bytes;
	struct cs_place saved;         /* in place */
	struct cs_place kept;          /* by distance: blocks on their way */
	struct cs_place given, taken;  /* packed */
};

static int
smaller(int a, int b)
{
	return a < b ? a : b;
}

/* Distances below p whose digit of weight w is v. */
static int
count_of(int p, int w, int base, int v)
{
	int64_t cycle = (int64_t)w * base, rest = p % cycle - (int64_t)v * w;
	return (int)(p / cycle * w + (rest < 0 ? 0 : rest > w ? w : rest));
}

/* Blocks that a rank sends in the round of weight w. */
static int
count_moving(int p, int w, int base)
{
	int count = 0;
	for (int v = 1; v < base && (int64_t)v * w < p; v++)
		count += count_of(p, w, base, v);
	return count;
}

static struct cs_place
input_of(const struct work *work, int distance)
{
	if (work->builder->problem->is_in_place)
		return cs_plus(work->saved, (size_t)(distance - 1) * work->bytes);
	return cs_pairs_in(work->builder->problem, (work->self + distance) % work->p);
}

/* The first of a run of distances with the same digits from w upwards has none below; the others have moved before. */
static void
pack(const struct work *work, struct cs_place to, int w, int base, int v)
{
	for (int64_t first = (int64_t)v * w; first < work->p; first += (int64_t)w * base) {
		int run = smaller(w, work->p - (int)first);
		cs_build_copy(work->builder, to, input_of(work, (int)first), work->bytes);
		cs_build_copy(work->builder, cs_plus(to, work->bytes),
			      cs_plus(work->kept, (size_t)(first + 1) * work->bytes), (size_t)(run - 1) * work->bytes);
		to = cs_plus(to, (size_t)run * work->bytes);
	}
}

/* The first run has no higher digits: its blocks have arrived. */
static void
unpack(const struct work *work, struct cs_place from, int w, int base, int v)
{
	int first_run = smaller(w, work->p - v * w);
	for (int distance = v * w; distance < v * w + first_run; distance++) {
		int rank = (work->self + work->p - distance) % work->p;
		cs_build_copy(work->builder, cs_pairs_out(work->builder->problem, rank), from, work->bytes);
		from = cs_plus(from, work->bytes);
	}
	for (int64_t first = (int64_t)v * w + (int64_t)w * base; first < work->p; first += (int64_t)w * base) {
		size_t run = (size_t)smaller(w, work->p - (int)first) * work->bytes;
		cs_build_copy(work->builder, cs_plus(work->kept, (size_t)first * work->bytes), from, run);
		from = cs_plus(from, run);
	}
}

static void
exchange(const struct work *work, int w, int base)
{
	size_t at = 0;
	for (int v = 1; v < base && (int64_t)v * w < work->p; v++) {
		size_t bytes = (size_t)count_of(work->p, w, base, v) * work->bytes;
		int to = (work->self + v * w) % work->p, from = (work->self + work->p - v * w) % work->p;
		pack(work, cs_plus(work->given, at), w, base, v);
		cs_build_recv(work->builder, from, cs_plus(work->taken, at), bytes);
		cs_build_send(work->builder, to, cs_plus(work->given, at), bytes);
		at += bytes;
	}
	cs_build_wait_all(work->builder);
	at = 0;
	for (int v = 1; v < base && (int64_t)v * w < work->p; v++) {
		unpack(work, cs_plus(work->taken, at), w, base, v);
		at += (size_t)count_of(work->p, w, base, v) * work->bytes;
	}
}

static void
build(struct cs_builder *builder)
{
	const struct cs_problem *problem = builder->problem;
	struct work work = { .builder = builder, .self = problem->rank, .p = problem->ranks, .bytes = problem->bytes };
	int base = (int)problem->params[0] + 1, most = 0;
	for (int64_t w = 1; w < work.p; w *= base)
		if (count_moving(work.p, (int)w, base) > most)
			most = count_moving(work.p, (int)w, base);
	if (problem->is_in_place)
		work.saved = cs_pairs_save(builder);
	work.kept = cs_build_tmp(builder, (size_t)work.p * work.bytes);
	work.given = cs_build_tmp(builder, (size_t)most * work.bytes);
	work.taken = cs_build_tmp(builder, (size_t)most * work.bytes);
	cs_pairs_keep_own(builder);
	for (int64_t w = 1; w < work.p; w *= base) {
		exchange(&work, (int)w, base);
		builder->note++;
	}
}

static void
price(const struct cs_problem *problem, struct cs_price *price)
{
	int base = (int)problem->params[0] + 1;
	uint64_t blocks = 0, rounds = 0;
	for (int64_t w = 1; w < problem->ranks; w *= base) {
		blocks += (uint64_t)count_moving(problem->ranks, (int)w, base);
		rounds++;
	}
	price->rounds = problem->bytes ? rounds : 0;
	price->bytes = blocks * problem->bytes;
}

const struct cs_algorithm cs_algorithm_alltoall_bruck = {
	.coll = CS_ALLTOALL,
	.name = "bruck",
	.summary = "blocks travel by the digits of their distance, log p rounds",
	.params = { { "ports", "messages of a round that go at once", 1, 1, 64 } },
	.build = build,
	.price = price,
};
