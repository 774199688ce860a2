/* Long reductions by slices of caches, packages and the node: results, and the bytes that cross
 * borders, in calls of up to 192 virtual ranks. */
#include "unit.h"
#include "virtual_node.h"

#include "algorithms/node/radix.h"

#include <stdlib.h>

#define MOST_COUNT 3000 /* elements of a vector: rounds of half a slot, the last one short */
#define SLOT 4096

enum { SAME_CACHE, SAME_PACKAGE, FAR, DISTANCES };

static struct {
	struct virtual_node virtual;
	uint64_t bytes[DISTANCES];
	size_t counts[VIRTUAL_MOST]; /* of reduce_scatter's blocks */
	uint32_t send[VIRTUAL_MOST][MOST_COUNT], recv[VIRTUAL_MOST][MOST_COUNT], sum[MOST_COUNT];
} node;

static const char *const texts[] = { "2x8x8", "2x4x3", "3,5,1|8,8", "cyclic:2x8x8", "17,1|40",
				     "1x24x8", "cyclic:3,1|2", "1x2x64", "4x12x1", "1,1,1,1|9" };

static void
told(struct cs_node_op *op, int local, uint64_t step)
{
	(void)op, (void)local, (void)step;
}

static bool
work(struct cs_node_op *op, bool reduces, size_t bytes)
{
	(void)op, (void)reduces, (void)bytes;
	return true;
}

static void
read_it(struct cs_node_op *op, int local, void *to, uint64_t remote, size_t bytes)
{
	(void)to, (void)remote;
	const struct virtual_node *virtual = &node.virtual;
	int self = op->node->shape.local;
	bool is_near = virtual->package[self] == virtual->package[local];
	node.bytes[virtual->cache[self] == virtual->cache[local] ? SAME_CACHE
		   : is_near ? SAME_PACKAGE : FAR] += bytes;
}

static const struct cs_node_watch watch = { .told = told, .work = work, .read = read_it };

static void
add(void *out, const void *left, const void *right, size_t count)
{
	for (size_t i = 0; i < count; i++)
		((uint32_t *)out)[i] = ((const uint32_t *)left)[i] + ((const uint32_t *)right)[i];
}

static void
fill(int ranks, size_t count)
{
	memset(node.sum, 0, sizeof node.sum);
	for (int rank = 0; rank < ranks; rank++)
		for (size_t i = 0; i < count; i++)
			node.sum[i] += node.send[rank][i] =
				(uint32_t)(i + 1) * 2654435761u + (uint32_t)rank * 40503u;
}

/* Begins a rank's call; in place if its number is odd. */
static void
begin(enum cs_coll coll, int rank, int root, size_t count)
{
	const struct cs_algorithm *algorithm = cs_algorithm_by_name(coll, "hier:levels");
	size_t params[CS_MAX_PARAMS], bytes = count * sizeof(uint32_t);
	bool takes = coll != CS_REDUCE || rank == root, is_in_place = takes && rank % 2;
	struct cs_call made = { .coll = coll, .root = root, .bytes = bytes, .count = count,
				.send.base = (char *)node.send[rank],
				.recv.base = takes ? (char *)node.recv[rank] : NULL,
				.counts = coll == CS_REDUCE_SCATTER ? node.counts : NULL,
				.reduction = { .unit = sizeof(uint32_t), .is_exact = true,
					       .kernel = add } };
	memset(node.recv[rank], 0xff, sizeof node.recv[rank]);
	if (is_in_place) {
		memcpy(node.recv[rank], node.send[rank], bytes);
		made.send.base = made.recv.base;
	}
	virtual_params(params, algorithm);
	virtual_begin(&node.virtual, rank, algorithm, params, &made);
}

static void
end(enum cs_coll coll, int rank, int root, size_t count)
{
	bool takes = coll != CS_REDUCE || rank == root;
	size_t first = 0, own = count;
	if (coll == CS_REDUCE_SCATTER) {
		own = node.counts[rank];
		for (int before = 0; before < rank; before++)
			first += node.counts[before];
	} else if (coll == CS_REDUCE_SCATTER_BLOCK) {
		own = count / (size_t)node.virtual.ranks;
		first = (size_t)rank * own;
	}
	virtual_end(&node.virtual, rank);
	for (size_t i = 0; takes && i < own; i++)
		if (node.recv[rank][i] != node.sum[first + i])
			fail_msg("%s, %d ranks, root %d, %zu elements: rank %d, element %zu",
				 cs_colls[coll].name, node.virtual.ranks, root, count, rank, i);
}

/* Blocks of any sizes, some of none. */
static void
share_out(int ranks, size_t count)
{
	uint64_t random = count;
	for (int rank = 0; rank < ranks; rank++) {
		uint32_t most = (uint32_t)(2 * count / (size_t)ranks + 1);
		size_t wanted = rank % 5 ? (size_t)random_below(&random, most) : 0;
		node.counts[rank] = rank == ranks - 1 || wanted > count ? count : wanted;
		count -= node.counts[rank];
	}
}

/* Calls in a row, in chance's order, which is seeded. False: the node has no caches. */
static bool
reduce(enum cs_coll coll, const char *text, int ranks, int root, size_t count, int calls)
{
	uint64_t random = (uint64_t)ranks;
	int left = calls * ranks, over[VIRTUAL_MOST] = { 0 };
	bool is_under_way[VIRTUAL_MOST] = { false };
	memset(node.bytes, 0, sizeof node.bytes);
	virtual_make(&node.virtual, text, ranks, SLOT, &watch);
	bool fits = cs_radix_fits(&node.virtual.teams[0], sizeof(uint32_t));
	if (coll == CS_REDUCE_SCATTER_BLOCK)
		count -= count % (size_t)ranks;
	share_out(ranks, count);
	fill(ranks, count);
	for (long turns = 0; fits && left && turns < 100000000; turns++) {
		int rank = (int)random_below(&random, (uint32_t)ranks);
		if (over[rank] == calls)
			continue;
		if (!is_under_way[rank])
			begin(coll, rank, root, count);
		is_under_way[rank] = cs_op_step(&node.virtual.ops[rank]) == CS_AGAIN;
		if (is_under_way[rank])
			continue;
		end(coll, rank, root, count);
		over[rank]++;
		left--;
	}
	assert_true(!fits || !left);
	virtual_drop(&node.virtual);
	return fits;
}

/* Each group reads all of each of its parts' sums but one, which is its own. */
static void
expect_bytes(enum cs_coll coll, const char *text, int ranks, size_t bytes)
{
	bool is_new_cache[1024], is_new_package[1024];
	uint64_t caches = 0, packages = 0, ways = coll == CS_ALLREDUCE ? 2 : 1;
	memset(is_new_cache, 1, sizeof is_new_cache);
	memset(is_new_package, 1, sizeof is_new_package);
	for (int rank = 0; rank < ranks; rank++) {
		int cache = node.virtual.cache[rank], package = node.virtual.package[rank];
		caches += is_new_cache[cache];
		packages += is_new_package[package];
		is_new_cache[cache] = is_new_package[package] = false;
	}
	uint64_t far = ways * (packages - 1) * bytes, near = ways * (caches - packages) * bytes;
	/* Of its own package's sums a rank's slice may be in another cache: once each way. */
	uint64_t more = ways * packages * bytes;
	if (node.bytes[FAR] != far || node.bytes[SAME_PACKAGE] < near ||
	    node.bytes[SAME_PACKAGE] > near + more)
		fail_msg("%s of %zu bytes, %s, %d ranks: %llu bytes far, not %llu; %llu near, not "
			 "%llu", cs_colls[coll].name, bytes, text, ranks,
			 (unsigned long long)node.bytes[FAR], (unsigned long long)far,
			 (unsigned long long)node.bytes[SAME_PACKAGE], (unsigned long long)near);
}

static void
expect_all(enum cs_coll coll)
{
	static const size_t counts[] = { MOST_COUNT, 513, 1024 };
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		for (int ranks = 2; ranks <= VIRTUAL_MOST; ranks += ranks < 24 ? 1 : 56) {
			bool is_small = ranks < 24;
			for (size_t j = 0; j < (is_small ? COUNT(counts) : 1); j++)
				reduce(coll, texts[i], ranks, ranks / 3, counts[j],
				       is_small ? 3 : 1);
		}
}

TEST(all_ranks_get_the_sum)
{
	expect_all(CS_ALLREDUCE);
}

TEST(the_root_gets_the_sum)
{
	expect_all(CS_REDUCE);
}

TEST(each_rank_gets_its_block)
{
	expect_all(CS_REDUCE_SCATTER);
	expect_all(CS_REDUCE_SCATTER_BLOCK);
	/* One way, and each rank has the same far from it as in an allreduce. */
	reduce(CS_REDUCE_SCATTER_BLOCK, "2x8x8", 128, 0, 2048, 1);
	assert_int_equal(node.bytes[FAR], 8192);
}

TEST(a_vector_crosses_each_border_once_each_way)
{
	unsigned counted = 0;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		for (int ranks = 2; ranks <= VIRTUAL_MOST; ranks += ranks < 24 ? 1 : 56) {
			if (!reduce(CS_ALLREDUCE, texts[i], ranks, 0, MOST_COUNT, 1))
				continue;
			expect_bytes(CS_ALLREDUCE, texts[i], ranks, MOST_COUNT * sizeof(uint32_t));
			counted++;
		}
	assert_in_range(counted, 150, 1000);
	/* 16 caches of two packages, flat: 2 * 128 / 128 * 64 vectors between packages. */
	reduce(CS_ALLREDUCE, "2x8x8", 128, 0, 2048, 1);
	assert_int_equal(node.bytes[FAR], 2 * 8192);
	assert_in_range(node.bytes[SAME_PACKAGE], 28 * 8192, 32 * 8192);
}

RUN_TESTS(NULL, NULL)
