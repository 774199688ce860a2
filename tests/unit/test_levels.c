/* Levels of a node's ranks, the trees of small calls on them, and the lines that ranks read in
 * these: counted in calls of up to 192 virtual ranks, by where the line's writer is. */
#include "unit.h"

#include "virtual_node.h"

#include "algorithms/counted.h"
#include "algorithms/node/tree.h"
#include "base/fake_levels.h"
#include "topo/topo.h"

#include <stdlib.h>

#define MOST VIRTUAL_MOST
#define LINE 64 /* bytes, as on most machines */

enum { SAME_CACHE, SAME_PACKAGE, FAR, DISTANCES };

static int package[MOST], cache[MOST];

static void
make_levels(struct cs_levels *levels, const char *text, int ranks)
{
	virtual_levels(levels, text, ranks, package, cache);
}

static int
distance(int one, int other)
{
	return cache[one] == cache[other] ? SAME_CACHE
	       : package[one] == package[other] ? SAME_PACKAGE : FAR;
}

static const char *const texts[] = { "2x8x8", "1x1x1024", "2x4x3", "3,5,1|8,8", "1,1,1,1|1,1,1,1",
				     "cyclic:2x8x8", "17,1|40", "4x12x1", "1x24x8",
				     "cyclic:3,1|2" };

TEST(fake_levels_are_read)
{
	int at_package, at_cache;
	static const char *const wrong[] = { "", "2x", "2x4", "2x4x", "2x4x8x", "0x1x1", "1x0x1",
					     "3,", ",3", "3|", "3,,4", "3||4", "x", "2048",
					     "64x64x1", "cyclic:", "-1", "3, 4", "3|4|", "2!",
					     "!2", "2!x", "2!3!4", "2x2x2!-1" };
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		if (cs_fake_levels_are(wrong[i]))
			fail_msg("\"%s\" is taken", wrong[i]);
	cs_fake_levels_of("3,5,1|8,8", 8, &at_package, &at_cache);
	assert_int_equal(at_package, 0);
	assert_int_equal(at_cache, 2);
	cs_fake_levels_of("3,5,1|8,8", 9, &at_package, &at_cache);
	assert_int_equal(at_package, 1);
	assert_int_equal(at_cache, 3);
	cs_fake_levels_of("3,5,1|8,8", 25, &at_package, &at_cache); /* begins again */
	assert_int_equal(at_cache, 0);
	cs_fake_levels_of("cyclic:2x2x9", 6, &at_package, &at_cache);
	assert_int_equal(at_package, 1);
	assert_int_equal(at_cache, 2);
	assert_true(cs_fake_levels_are("3,5|8!12"));
	assert_int_equal(cs_fake_levels_fault("3,5|8!12"), 12);
	assert_int_equal(cs_fake_levels_fault("2x2x2"), -1);
	cs_fake_levels_of("3,5|8!12", 15, &at_package, &at_cache);
	assert_int_equal(at_cache, 2);
}

TEST(digests_tell_other_groups)
{
	struct cs_levels one, other;
	make_levels(&one, "2x2x2", 8);
	make_levels(&other, "2x2x2", 8);
	assert_true(cs_levels_digest(&one) == cs_levels_digest(&other));
	other.below[CS_BCAST]++;
	assert_true(cs_levels_digest(&one) != cs_levels_digest(&other));
	cs_levels_fini(&other);
	assert_true(cs_levels_digest(&one) != cs_levels_digest(&other)); /* none */
	static const char *const others[] = { "1x4x2", "2,2|1,2,1", "cyclic:2x2x2", "8" };
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		make_levels(&other, others[i], 8);
		assert_true(cs_levels_digest(&one) != cs_levels_digest(&other));
		cs_levels_fini(&other);
	}
	cs_levels_fini(&one);
}

TEST(ranks_that_alternate_between_packages_are_grouped_by_them)
{
	struct cs_levels levels;
	for (int rank = 0; rank < 32; rank++) {
		package[rank] = rank % 2;
		cache[rank] = rank % 2 * 4 + rank / 2 % 4;
	}
	assert_true(cs_levels_init(&levels, 32, package, cache));
	assert_int_equal(levels.count, 3);
	for (int place = 0; place < 32; place++) {
		assert_int_equal(levels.end[0][place] - levels.first[0][place], 4);
		assert_int_equal(levels.first[1][place], place < 16 ? 0 : 16);
		assert_int_equal(package[levels.order[place]], place >= 16);
	}
	cs_levels_fini(&levels);
}

/* A container that shows CPUs 0 to 15 of 32, which ranks use, too: four caches, two packages. Rank
 * 7 may use CPUs of two caches, and rank 9 one that is shown and one that is not. */
TEST(half_of_a_machine_makes_levels_of_what_is_seen)
{
	static struct cs_topo_machine machine;
	struct cs_levels levels;
	memset(machine.of, 0xff, sizeof machine.of);
	for (int cpu = 0; cpu < 16; cpu++) {
		machine.of[CS_TOPO_PACKAGE][cpu] = (uint16_t)(cpu / 8);
		machine.of[CS_TOPO_CACHE][cpu] = (uint16_t)(cpu / 4);
	}
	for (int rank = 0; rank < 32; rank++) {
		uint64_t cpus[CS_TOPO_WORDS] = { UINT64_C(1) << rank };
		cpus[0] |= rank == 7 ? 1 : rank == 9 ? UINT64_C(1) << 20 : 0;
		struct cs_spot spot = cs_topo_spot(&machine, cpus);
		package[rank] = spot.at[CS_TOPO_PACKAGE];
		cache[rank] = spot.at[CS_TOPO_CACHE];
	}
	assert_int_equal(package[7], 0);
	assert_int_equal(cache[7], -1);
	assert_int_equal(package[9], -1);
	assert_true(cs_levels_init(&levels, 32, package, cache));
	int groups[32], count = 0;
	for (int place = 0; place < 32; place = levels.end[0][place])
		groups[count++] = levels.end[0][place] - place;
	/* 17 ranks of no known package, among them rank 9, are parted by eights. */
	static const int wanted[] = { 4, 3, 1, 3, 4, 8, 8, 1 };
	assert_int_equal(count, 8);
	assert_memory_equal(groups, wanted, sizeof wanted);
	assert_int_equal(levels.end[levels.count - 1][0], 32);
	cs_levels_fini(&levels);
}

TEST(levels_that_a_model_does_not_tell_apart_are_merged)
{
	struct cs_node_model model = cs_node_kind_by_name("epyc")->model;
	struct cs_levels levels;
	static const struct {
		int64_t near, far; /* ps; in a cache 20000 */
		int count, first;  /* levels; ranks of the first group of the lowest one */
	} cases[] = { { 100000, 200000, 3, 4 }, { 25000, 200000, 2, 8 }, { 100000, 129000, 2, 4 },
		      { 25000, 32000, 1, 16 } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		model.t[0] = 20000;
		model.t[1] = cases[i].near;
		model.t[2] = cases[i].far;
		make_levels(&levels, "2x2x4", 16);
		cs_levels_fini(&levels);
		cs_levels_merge(&model, 16, package, cache);
		assert_true(cs_levels_init(&levels, 16, package, cache));
		assert_int_equal(levels.count, cases[i].count);
		assert_int_equal(levels.end[0][0], cases[i].first);
		cs_levels_fini(&levels);
	}
}

/* Never up to 16 ranks, nor where the model has one group. */
TEST(long_reductions_go_by_slices_where_the_model_says_so)
{
	static const struct {
		const char *kind, *text;
		int ranks;
		size_t allreduce, reduce, reduce_scatter, hybrid; /* SIZE_MAX: none */
	} cases[] = { { "epyc", "2x8x8", 16, SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX },
		      { "epyc", "2x8x8", 20, 4096, 4096, 4096, SIZE_MAX },
		      { "epyc", "2x8x8", 128, 4096, 4096, 4096, 8192 },
		      { "epyc", "2x32x1", 64, 4096, 4096, 4096, SIZE_MAX },
		      { "xeon", "2x1x24", 48, 4096, 4096, 4096, SIZE_MAX },
		      { "xeon", "2x1x64", 128, 4096, 4096, 4096, 8192 },
		      { "xeon", "1x1x64", 64, SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct cs_node_kind *kind = cs_node_kind_by_name(cases[i].kind);
		struct cs_levels levels;
		make_levels(&levels, cases[i].text, cases[i].ranks);
		cs_levels_price(&levels, package, cache, &kind->model, kind->shape.cache);
		assert_true(levels.from[CS_BCAST] == SIZE_MAX);
		assert_true(levels.from[CS_REDUCE_SCATTER] ==
			    levels.from[CS_REDUCE_SCATTER_BLOCK]);
		if (levels.from[CS_ALLREDUCE] != cases[i].allreduce ||
		    levels.from[CS_REDUCE_SCATTER] != cases[i].reduce_scatter ||
		    levels.from[CS_REDUCE] != cases[i].reduce ||
		    levels.hybrid_from != cases[i].hybrid || !levels.hybrid_fan)
			fail_msg("%s, %d ranks: allreduce %zu, reduce %zu, reduce_scatter %zu, "
				 "hybrid %zu",
				 cases[i].kind, cases[i].ranks, levels.from[CS_ALLREDUCE],
				 levels.from[CS_REDUCE], levels.from[CS_REDUCE_SCATTER],
				 levels.hybrid_from);
		cs_levels_fini(&levels);
	}
}

/* Flat up to 16 ranks, by levels from 64 on, and in between as the model says. */
TEST(small_calls_go_by_levels_where_the_model_says_so)
{
	const struct cs_node_kind *epyc = cs_node_kind_by_name("epyc"),
				  *xeon = cs_node_kind_by_name("xeon");
	static const struct {
		const char *kind, *text;
		int ranks;
		size_t barrier, bcast, alltoall, scan; /* SIZE_MAX: any */
	} cases[] = { { "epyc", "2x8x8", 16, 0, 0, 0, 0 },
		      { "epyc", "2x8x8", 20, 2049, 129, 9, 0 },
		      { "epyc", "2x8x8", 48, 2049, 2049, 17, 33 },
		      { "xeon", "2x1x64", 48, 2049, 257, 9, 0 },
		      { "xeon", "2x1x64", 64, SIZE_MAX, SIZE_MAX, 17, SIZE_MAX },
		      { "epyc", "2x8x8", 128, SIZE_MAX, SIZE_MAX, 65, SIZE_MAX } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct cs_node_kind *kind = *cases[i].kind == 'e' ? epyc : xeon;
		struct cs_levels levels;
		make_levels(&levels, cases[i].text, cases[i].ranks);
		cs_levels_price(&levels, package, cache, &kind->model, kind->shape.cache);
		if (levels.below[CS_BARRIER] != cases[i].barrier ||
		    levels.below[CS_BCAST] != cases[i].bcast ||
		    levels.below[CS_ALLTOALL] != cases[i].alltoall ||
		    levels.below[CS_SCAN] != cases[i].scan ||
		    levels.below[CS_EXSCAN] != cases[i].scan || levels.below[CS_ALLGATHERV])
			fail_msg("%s, %d ranks: barrier %zu, bcast %zu, alltoall %zu, scan %zu",
				 cases[i].kind, cases[i].ranks, levels.below[CS_BARRIER],
				 levels.below[CS_BCAST], levels.below[CS_ALLTOALL],
				 levels.below[CS_SCAN]);
		cs_levels_fini(&levels);
	}
}

/* Each rank but the root has one parent, of which it is a child; subtrees are disjoint and make up
 * the node; no rank has more children than there are members in the groups that it leads. */
static void
expect_tree(const char *text, int ranks, int root)
{
	struct cs_levels levels;
	struct cs_tree trees[MOST];
	int found[MOST] = { 0 }, edges = 0;
	make_levels(&levels, text, ranks);
	for (int local = 0; local < ranks; local++)
		cs_tree_begin(&trees[levels.place[local]], &levels, CS_TREE_BLOCKS, local, root, 8);
	for (int place = 0; place < ranks; place++) {
		int first, end, child, below = 0;
		while ((child = cs_tree_child(&trees[place], &first, &end)) >= 0) {
			if (trees[child].parent != place || trees[child].first != first ||
			    trees[child].end != end || first < trees[place].first ||
			    end > trees[place].end)
				fail_msg("%s, %d ranks, root %d: place %d is no child of %d", text,
					 ranks, root, child, place);
			found[child]++;
			below += end - first;
			edges++;
			trees[place].next = end;
		}
		assert_int_equal(below + 1, trees[place].end - trees[place].first);
	}
	assert_int_equal(edges, ranks - 1);
	for (int place = 0; place < ranks; place++)
		assert_int_equal(found[place], place != levels.place[root]);
	assert_int_equal(trees[levels.place[root]].parent, -1);
	cs_levels_fini(&levels);
}

TEST(trees_span_the_node_from_each_root)
{
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		for (int ranks = 2; ranks <= MOST; ranks += ranks < 40 ? 1 : 19)
			for (int root = 0; root < ranks; root += 1 + ranks / 7)
				expect_tree(texts[i], ranks, root);
}

TEST(unknown_places_are_one_group)
{
	struct cs_levels levels;
	for (int local = 0; local < 64; local++) {
		package[local] = local < 32 ? 0 : -1;
		cache[local] = local < 8 ? 1 : -1;
	}
	assert_true(cs_levels_init(&levels, 64, package, cache));
	assert_int_equal(levels.end[0][8], 16); /* a part of those whose cache is not known */
	assert_int_equal(levels.end[1][0], 8);  /* the cache that is known */
	assert_int_equal(levels.end[levels.count - 1][63], 64);
	cs_levels_fini(&levels);
	for (int local = 0; local < 16; local++)
		package[local] = cache[local] = -1;
	assert_true(cs_levels_init(&levels, 16, package, cache));
	assert_int_equal(levels.count, 1); /* flat */
	cs_levels_fini(&levels);
}

/* --- lines that are read ---------------------------------------------------------------------- */

static struct {
	struct virtual_node virtual;
	int ranks;
	bool seen[MOST][MOST][3]; /* reader, writer, step */
	uint64_t steps;           /* that are seen */
	uint64_t lines[DISTANCES], by_rank[MOST];
	bool is_of_several; /* nodes */
	size_t each;
	enum cs_coll coll;
} node;

/* A flag, and data that is elsewhere. */
static uint64_t
lines_for(size_t bytes)
{
	return 1 + (bytes + LINE - 1) / LINE;
}

static int
group_size(const struct cs_levels *levels, int place)
{
	return levels->end[0][place] - levels->first[0][place];
}

/* Of the ranks outside of a group, those that the member at this place reads for it. */
static size_t
sources_of(const struct cs_levels *levels, int place)
{
	size_t sources = 0;
	for (int i = place - levels->first[0][place], group = group_size(levels, place);
	     i < levels->size - group; i += group)
		sources++;
	return sources;
}

/* Cache lines that a reader of the writer's step fetches. */
static uint64_t
lines_of(int reader, int writer, uint64_t step)
{
	struct cs_tree tree;
	const struct cs_levels *levels = &node.virtual.teams[0].shape.levels;
	if (node.coll == CS_ALLTOALL && step == 1)
		return lines_for((size_t)group_size(levels, levels->place[reader]) * node.each);
	if (node.coll == CS_ALLTOALL)
		return lines_for((1 + sources_of(levels, levels->place[writer])) * node.each);
	cs_tree_begin(&tree, levels, CS_TREE_BLOCKS, writer, levels->order[0], node.each);
	if (cs_coll_is_scan(&cs_colls[node.coll]) && step == 2) {
		struct cs_tree own;
		cs_tree_begin(&own, levels, CS_TREE_ALIKE, reader, levels->order[0], node.each);
		size_t all = (size_t)(tree.end - tree.first) * node.each;
		return lines_for(all > CS_INLINE ? (size_t)(own.end - own.first) * node.each : 0);
	}
	size_t bytes = step == 1 && node.coll != CS_BCAST
		       ? (size_t)(tree.end - tree.first) * node.each
		       : node.coll == CS_ALLGATHER ? (size_t)node.ranks * node.each : node.each;
	return lines_for(bytes > CS_INLINE ? bytes : 0);
}

static void
told(struct cs_node_op *op, int local, uint64_t step)
{
	int self = op->node->shape.local;
	if (local == self || node.seen[self][local][step])
		return;
	node.seen[self][local][step] = true;
	node.steps++;
	node.lines[distance(self, local)] += lines_of(self, local, step);
	node.by_rank[self] += lines_of(self, local, step);
}

/* Copies and reductions of watched operations move nothing. */
static bool
work(struct cs_node_op *op, bool reduces, size_t bytes)
{
	(void)op, (void)reduces, (void)bytes;
	return false;
}

/* Nor do messages between nodes. */
static void
send(struct cs_node_op *op, const struct cs_problem *problem)
{
	(void)op, (void)problem;
}

static const struct cs_node_watch watch = { .told = told, .work = work, .between = send };

static void
make_node(const char *text, int ranks)
{
	virtual_make(&node.virtual, text, ranks, 4096, &watch);
	memcpy(package, node.virtual.package, sizeof package);
	memcpy(cache, node.virtual.cache, sizeof cache);
	node.ranks = ranks;
	memset(node.seen, 0, sizeof node.seen);
	memset(node.lines, 0, sizeof node.lines);
	node.steps = 0;
	memset(node.by_rank, 0, sizeof node.by_rank);
	for (int rank = 0; rank < ranks; rank++)
		node.virtual.teams[rank].shape.nodes = 1 + node.is_of_several;
}

/* One call of all ranks, whose lines are counted: in chance's order, but seeded. */
static void
call(enum cs_coll coll, size_t each)
{
	const struct cs_algorithm *algorithm =
		cs_algorithm_by_name(coll, node.is_of_several ? "hier:host" : "hier:levels");
	size_t params[CS_MAX_PARAMS];
	char *data = calloc((size_t)node.ranks + 1, each + 1);
	const struct cs_call made = { .coll = coll, .bytes = each,
				      .send = { .base = data, .each = each },
				      .recv = { .base = data, .each = each },
				      .reduction = { .unit = 1 }, .count = each };
	int left = node.ranks;
	bool is_over[MOST] = { false };
	uint64_t random = 1;
	virtual_params(params, algorithm);
	node.each = each;
	node.coll = coll;
	for (int rank = 0; rank < node.ranks; rank++) {
		node.virtual.ops[rank].between =
			node.is_of_several ? cs_algorithm_by_name(coll, "dissemination") : NULL;
		virtual_begin(&node.virtual, rank, algorithm, params, &made);
	}
	for (long turns = 0; left && turns < 10000000; turns++) {
		int rank = (int)random_below(&random, (uint32_t)node.ranks);
		if (is_over[rank] || cs_op_step(&node.virtual.ops[rank]) == CS_AGAIN)
			continue;
		is_over[rank] = true;
		virtual_end(&node.virtual, rank);
		left--;
	}
	assert_int_equal(left, 0);
	free(data);
}

static void
drop_node(void)
{
	virtual_drop(&node.virtual);
}

static void
expect_lines(enum cs_coll coll, size_t each, const char *text, int ranks,
	     const uint64_t wanted[DISTANCES])
{
	make_node(text, ranks);
	call(coll, each);
	for (int i = 0; i < DISTANCES; i++)
		if (node.lines[i] != wanted[i])
			fail_msg("%s %zu, %s, %d ranks: %llu lines at distance %d, not %llu",
				 cs_colls[coll].name, each, text, ranks,
				 (unsigned long long)node.lines[i], i,
				 (unsigned long long)wanted[i]);
	drop_node();
}

/* Two packages of eight caches of eight ranks: all against all would read 16,256 lines. */
TEST(lines_of_128_ranks_are_as_the_formula_says)
{
	expect_lines(CS_BARRIER, 0, "2x8x8", 128, (uint64_t[]){ 224, 28, 2 });
	expect_lines(CS_ALLREDUCE, 4, "2x8x8", 128, (uint64_t[]){ 224, 28, 1 + 4 + 1 });
	expect_lines(CS_BCAST, 8, "2x8x8", 128, (uint64_t[]){ 112, 14, 1 });
	/* up: blocks of 1, 8 and 64 ranks; down: all blocks, 16 lines and a flag */
	expect_lines(CS_ALLGATHER, 8, "2x8x8", 128,
		     (uint64_t[]){ 112 + 112 * 17, 14 * 2 + 14 * 17, 9 + 17 });
	expect_lines(CS_GATHER, 8, "2x8x8", 128, (uint64_t[]){ 112, 14 * 2, 9 });
	/* the same down, where each rank reads its subtree's part of its parent's */
	for (int i = 0; i < 2; i++)
		expect_lines(i ? CS_EXSCAN : CS_SCAN, 8, "2x8x8", 128,
			     (uint64_t[]){ 112 + 112 * 2, 14 * 2 + 14 * 2, 9 + 9 });
}

/* Lines that no rank is to read more of: its parent's, and one of each other member of all the
 * groups that the root leads. */
static uint64_t
most_of_a_rank(const struct cs_levels *levels)
{
	uint64_t most = 1;
	for (int level = 0; level < levels->count; level++)
		for (int to = 0, end = levels->end[level][0]; to < levels->size && to < end; most++)
			to = level ? levels->end[level - 1][to] : to + 1;
	return most;
}

/* A barrier reads 2 (p - 1) lines, and one of each group but the root's from outside of it; no rank
 * reads more than its groups have members. */
static void
expect_two_lines_for_each_rank(void)
{
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		for (int ranks = 2; ranks <= MOST; ranks += ranks < 20 ? 1 : 43) {
			bool is_new[1024], is_new_package[1024];
			uint64_t caches = 0, packages = 0;
			make_node(texts[i], ranks);
			if (node.virtual.teams[0].shape.levels.count < 2) { /* flat */
				drop_node();
				continue;
			}
			call(CS_BARRIER, 0);
			for (int rank = 0; rank < ranks; rank++)
				assert_in_range(node.by_rank[rank], 1, CS_LEVEL_MOST *
						node.virtual.teams[0].shape.levels.count);
			assert_in_range(node.by_rank[0], 1,
					most_of_a_rank(&node.virtual.teams[0].shape.levels));
			memset(is_new, 1, sizeof is_new);
			memset(is_new_package, 1, sizeof is_new_package);
			for (int local = 0; local < ranks; local++) {
				caches += is_new[cache[local]];
				packages += is_new_package[package[local]];
				is_new[cache[local]] = is_new_package[package[local]] = false;
			}
			uint64_t far = node.lines[FAR], near = node.lines[SAME_PACKAGE];
			drop_node();
			if (node.lines[SAME_CACHE] + near + far != 2 * (uint64_t)(ranks - 1) ||
			    far != 2 * (packages - 1) || near != 2 * (caches - packages))
				fail_msg("%s, %d ranks: %llu, %llu, %llu lines", texts[i], ranks,
					 (unsigned long long)node.lines[SAME_CACHE],
					 (unsigned long long)near, (unsigned long long)far);
		}
}

TEST(barriers_read_two_lines_for_each_rank)
{
	expect_two_lines_for_each_rank();
}

static void
expect_steps(enum cs_coll coll, size_t each, const char *text, uint64_t wanted)
{
	memset(node.seen, 0, sizeof node.seen);
	node.steps = 0;
	call(coll, each);
	if (node.steps != wanted)
		fail_msg("%s %zu, %s, %d ranks: %llu steps seen, not %llu", cs_colls[coll].name,
			 each, text, node.ranks, (unsigned long long)node.steps,
			 (unsigned long long)wanted);
}

/* As long as all vectors fit into a small slot; else each rank looks at all before it. */
TEST(scans_read_two_lines_for_each_rank)
{
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		for (int ranks = 2; ranks <= MOST; ranks += i ? 43 : ranks < 20 ? 1 : 4) {
			uint64_t p = (uint64_t)ranks, all = p * (p - 1) / 2;
			size_t most = CS_SMALL / p;
			enum cs_coll coll = ranks % 2 ? CS_SCAN : CS_EXSCAN;
			make_node(texts[i], ranks);
			bool is_flat = node.virtual.teams[0].shape.levels.count < 2;
			expect_steps(coll, 8, texts[i], is_flat ? all : 2 * (p - 1));
			expect_steps(coll, most, texts[i], is_flat ? all : 2 * (p - 1));
			expect_steps(coll, most + 1, texts[i], all);
			drop_node();
		}
}

TEST(a_node_of_several_meets_along_the_tree)
{
	node.is_of_several = true;
	expect_two_lines_for_each_rank();
	make_node("2x8x8", 128);
	call(CS_BARRIER, 0);
	assert_int_equal(node.by_rank[0], 7 + 7 + 1); /* flat: 127 */
	drop_node();
	node.is_of_several = false;
}

/* In an alltoall each rank's blocks are read once for each other group, and each rank reads those
 * that its mates have fetched. */
TEST(alltoalls_read_a_rank_once_for_each_group)
{
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		for (int ranks = 2; ranks <= MOST; ranks += ranks < 20 ? 1 : 43) {
			uint64_t wanted[DISTANCES] = { 0 };
			make_node(texts[i], ranks);
			const struct cs_levels *levels = &node.virtual.teams[0].shape.levels;
			bool is_flat = levels->count < 2;
			for (int to = 0; to < ranks; to++) {
				int first = levels->first[0][to], end = levels->end[0][to];
				size_t group = (size_t)(end - first);
				for (int from = 0; from < ranks && !is_flat; from++) {
					bool is_mate = first <= from && from < end;
					if (from == to || (!is_mate && to != first))
						continue;
					int far = distance(levels->order[from], levels->order[to]);
					size_t blocks = is_mate ? 1 + sources_of(levels, from)
								: group;
					wanted[far] += lines_for(8 * blocks);
				}
			}
			drop_node();
			if (!is_flat)
				expect_lines(CS_ALLTOALL, 8, texts[i], ranks, wanted);
		}
	/* 16 groups: (1 + 1) of 120 ranks outside by one member, 2 * (1 + 2) of 7 mates. */
	expect_lines(CS_ALLTOALL, 8, "2x8x8", 128,
		     (uint64_t[]){ 128 * 7 * 3, 16 * 56 * 2, 16 * 64 * 2 });
}

RUN_TESTS(NULL, NULL)
