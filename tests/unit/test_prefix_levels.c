/* Scans by levels and by flat forms, of virtual ranks that move their data: the same bits as a sum
 * from left to right, of an operation that is neither associative nor commutative; and ranks that
 * disagree about the size. */
#include "unit.h"
#include "virtual_node.h"

#include "algorithms/node/tree.h"
#include "coll/call.h"

#include <stdlib.h>

#define MOST_COUNT 520 /* elements: beyond CS_SMALL */

static struct {
	struct virtual_node virtual;
	float send[VIRTUAL_MOST][MOST_COUNT], recv[VIRTUAL_MOST][MOST_COUNT];
} node;

static void
fold(void *out, const void *left, const void *right, size_t count)
{
	for (size_t i = 0; i < count; i++)
		((float *)out)[i] = ((const float *)left)[i] * 0.7f + ((const float *)right)[i];
}

static void
reduce_local(const struct cs_reduction *reduction, const void *in, void *inout, size_t count)
{
	(void)reduction;
	fold(inout, in, inout, count);
}

static void
take_nothing(void)
{
}

static const struct cs_host host = { .progress = take_nothing, .reduce_local = reduce_local };

/* A run of all ranks. */
struct scan {
	enum cs_coll coll;
	const char *algorithm;
	size_t counts[2]; /* of all ranks, and of rank `odd` */
	int odd;          /* -1: none */
	bool has_kernel;
};

static size_t
count_of(const struct scan *scan, int rank)
{
	return scan->counts[rank == scan->odd];
}

/* In place if the rank's number is odd. */
static void
begin(const struct scan *scan, int rank)
{
	const struct cs_algorithm *algorithm = cs_algorithm_by_name(scan->coll, scan->algorithm);
	size_t params[CS_MAX_PARAMS], count = count_of(scan, rank), bytes = count * sizeof(float);
	bool takes = scan->coll == CS_SCAN || rank, is_in_place = takes && rank % 2;
	struct cs_op *op = &node.virtual.ops[rank];
	for (size_t i = 0; i < count; i++) {
		node.send[rank][i] = 1 + (float)((size_t)rank * 7919 + i) / 1013;
		node.recv[rank][i] = is_in_place ? node.send[rank][i] : -1;
	}
	op->call = (struct cs_call){ .coll = scan->coll, .root = -1, .bytes = bytes, .count = count,
				     .reduction = { .unit = sizeof(float),
						    .kernel = scan->has_kernel ? fold : NULL } };
	op->call.recv.base = takes ? (char *)node.recv[rank] : NULL;
	op->call.send.base = (char *)(is_in_place ? node.recv : node.send)[rank];
	op->node.outcome = (struct cs_outcome){ 0 };
	node.virtual.teams[rank].host = &host;
	cs_op_join(op, &node.virtual.teams[rank], cs_call_signature(scan->coll, 1) | bytes);
	op->node.extras = 0;
	virtual_params(params, algorithm);
	algorithm->run(op, params);
}

/* All ranks' calls, in chance's order, which is seeded. */
static void
run(const struct scan *scan)
{
	int ranks = node.virtual.ranks, left = 2 * ranks, state[VIRTUAL_MOST] = { 0 };
	uint64_t random = (uint64_t)ranks;
	for (long turns = 0; left && turns < 1000000; turns++) {
		int rank = (int)random_below(&random, (uint32_t)ranks);
		if (state[rank] == 2)
			continue;
		if (state[rank] == 0)
			begin(scan, rank);
		else if (cs_op_step(&node.virtual.ops[rank]) == CS_AGAIN)
			continue;
		else
			virtual_end(&node.virtual, rank);
		state[rank]++;
		left--;
	}
	assert_int_equal(left, 0);
}

static void
expect_sums(const struct scan *scan, const char *text)
{
	float sum[MOST_COUNT];
	size_t count = scan->counts[0];
	run(scan);
	for (int rank = 0; rank < node.virtual.ranks; rank++) {
		bool is_first = scan->coll == CS_EXSCAN && !rank;
		if (scan->coll == CS_SCAN && rank)
			fold(sum, sum, node.send[rank], count);
		else if (!rank)
			memcpy(sum, node.send[0], count * sizeof *sum);
		for (size_t i = 0; i < count; i++)
			if (memcmp(&node.recv[rank][i], is_first ? &(float){ -1 } : &sum[i],
				   sizeof *sum) != 0)
				fail_msg("%s %s of %zu, %s, %d ranks: rank %d, element %zu",
					 cs_colls[scan->coll].name, scan->algorithm, count, text,
					 node.virtual.ranks, rank, i);
		if (scan->coll == CS_EXSCAN && rank)
			fold(sum, sum, node.send[rank], count);
	}
}

static const char *const texts[] = { "2x8x8", "3,5,1|8,8", "cyclic:2x8x8", "17,1|40", "1x24x8",
				     "cyclic:3,1|2" };

/* Vectors of one element, of as many as fit by levels, and of one more. */
TEST(scans_have_the_bits_of_a_sum_from_left_to_right)
{
	for (size_t i = 0; i < COUNT(texts); i++)
		for (int ranks = 2; ranks <= VIRTUAL_MOST; ranks += ranks < 20 ? 1 : 43) {
			size_t most = CS_SMALL / sizeof(float) / (size_t)ranks;
			size_t counts[] = { 1, most, most + 1 };
			virtual_make(&node.virtual, texts[i], ranks, 4096, NULL);
			for (int k = 0; k < 2 * 3 * 2 * 2; k++) {
				struct scan scan = { .coll = k % 2 ? CS_SCAN : CS_EXSCAN,
						     .counts = { counts[k / 2 % 3] },
						     .algorithm = k / 6 % 2 ? "hier:levels"
									    : "hier:host",
						     .odd = -1, .has_kernel = k / 12 };
				/* Beyond that the flat ones double, and have other bits. */
				if (scan.counts[0] * sizeof(float) * (size_t)ranks <= 16 << 10)
					expect_sums(&scan, texts[i]);
			}
			virtual_drop(&node.virtual);
		}
}

/* The error reaches all ranks along the tree, and calls after it are right. */
TEST(one_rank_of_another_size_is_found_by_all)
{
	for (int ranks = 3; ranks <= 130; ranks += ranks < 9 ? 1 : 60)
		for (int k = 0; k < 3 * 2 * 2; k++) {
			size_t most = CS_SMALL / sizeof(float) / (size_t)ranks;
			struct scan scan = { .coll = k % 2 ? CS_SCAN : CS_EXSCAN,
					     .algorithm = "hier:levels", .has_kernel = true,
					     .odd = k / 4 * (ranks - 1) / 2,
					     .counts = { most / 2 } };
			scan.counts[1] = k / 2 % 2 ? most : most / 2 + 1;
			virtual_make(&node.virtual, "2x2x2", ranks, 4096, NULL);
			for (int rank = 0; rank < ranks; rank++)
				node.virtual.teams[rank].node.host = &host;
			run(&scan);
			for (int rank = 0; rank < ranks; rank++)
				if (!(node.virtual.ops[rank].node.outcome.bits &
				      CS_OUTCOME_STOPPED))
					fail_msg("%s, %d ranks, rank %d has another size: rank %d "
						 "has found nothing", cs_colls[scan.coll].name,
						 ranks, scan.odd, rank);
			scan.odd = -1;
			expect_sums(&scan, "2x2x2");
			virtual_drop(&node.virtual);
		}
}

RUN_TESTS(NULL, NULL)
