/* Algorithms for ranks that come late: right in every order of arrival, each rank coming when those
 * before it can do nothing more; and what early ranks bring has moved before the last one comes. */
#include "operation_run.h"

#include <stdlib.h>

static const struct layout {
	int sizes[WORLD_MOST + 1];
	bool cyclic;
} layouts[] = {
	{ { 2, 1 }, false },	   { { 1, 2 }, true },	      { { 2, 2 }, true },
	{ { 1, 3 }, false },	   { { 1, 2, 1 }, false },    { { 3, 2 }, true },
	{ { 4, 1 }, false },	   { { 1, 1, 2, 1 }, false }, { { 2, 2, 2 }, false },
	{ { 3, 3 }, true },
};

static const struct {
	enum cs_coll coll;
	const char *name;
} algorithms[] = {
	{ CS_ALLTOALL, "hier:opportunistic" },
	{ CS_ALLTOALLV, "hier:opportunistic" },
	{ CS_BCAST, "patarasuk-yuan" },
	{ CS_BCAST, "hier:dynamic" },
	{ CS_BCAST, "hier:patarasuk-yuan" },
};

static struct setting
any_setting(uint64_t seed, const struct layout *layout, const struct cs_algorithm *const *called)
{
	struct setting setting = setting_of(seed, true, 1);
	memcpy(setting.sizes, layout->sizes, sizeof setting.sizes);
	setting.cyclic = layout->cyclic;
	setting.calls = 1;
	setting.most_bytes = 2200;
	setting.algorithms = called;
	return setting;
}

/* The next order; false: there is none. */
static bool
permute(int *order, int count)
{
	int i = count - 2, k = count - 1;
	while (i >= 0 && order[i] > order[i + 1])
		i--;
	if (i < 0)
		return false;
	while (order[k] < order[i])
		k--;
	int swapped = order[i];
	order[i] = order[k];
	order[k] = swapped;
	for (int low = i + 1, high = count - 1; low < high; low++, high--) {
		swapped = order[low];
		order[low] = order[high];
		order[high] = swapped;
	}
	return true;
}

TEST(right_in_every_order_of_up_to_six_ranks)
{
	uint64_t seed = first_seed();
	for (size_t i = 0; i < COUNT(layouts); i++)
		for (size_t k = 0; k < COUNT(algorithms); k++) {
			const struct cs_algorithm *called =
				cs_algorithm_by_name(algorithms[k].coll, algorithms[k].name);
			int ranks = 0, order[WORLD_MOST];
			for (int node = 0; layouts[i].sizes[node]; node++)
				ranks += layouts[i].sizes[node];
			for (int rank = 0; rank < ranks; rank++)
				order[rank] = rank;
			do {
				struct setting setting = any_setting(seed++, &layouts[i], &called);
				setting.order = order;
				expect_right(&setting);
			} while (permute(order, ranks));
		}
}

/* Runs a call of plain blocks until all ranks but the last one of the order have come and can do
 * nothing more. */
static struct run *
run_before_last(const struct setting *setting, const size_t *params, int count)
{
	struct run *run = calloc(1, sizeof *run);
	assert_non_null(run);
	run_make(run, setting);
	for (int i = 0; i < count; i++)
		run->specs[0].params[i] = params[i];
	for (long steps = 0; run->arrived < run->world.ranks && !*run->failure; steps++) {
		assert_true(steps < RUN_MOST_STEPS);
		run_turn(run);
	}
	assert_int_equal(run->begun[setting->order[run->world.ranks - 1]], 0);
	return run;
}

static void
run_to_end(struct run *run)
{
	for (long steps = 0; !run_is_over(run) && !*run->failure; steps++) {
		assert_true(steps < RUN_MOST_STEPS);
		run_turn(run);
	}
	run_end(run);
	if (*run->failure)
		run_say_failure(run);
	run_clear(run);
	free(run);
}

/* Has the rank the block from another one? Buffers are filled with one byte at first. */
static bool
has_block(const struct run *run, int rank, int from)
{
	const struct cs_blocks *blocks = &run->parts[rank][0].op.call.recv;
	const char *block = cs_blocks_at(blocks, from);
	for (size_t i = 1; i < cs_blocks_bytes(blocks, from); i++)
		if (block[i] != block[0])
			return true;
	return false;
}

static const struct setting two_nodes = {
	.seed = 1, .sizes = { 3, 3 }, .may_be_left = true, .lanes = 1, .calls = 1, .under_way = 1,
	.each = 4096,
	.shape = { .slots = 4, .slot_bytes = 64 << 10, .area_slots = 4, .area_bytes = 256 << 10,
		   .spin = 1, .yields = 1, .streams = CS_SWITCH_OFF },
};

/* By messages. Nodes 0 1 2 and 3 4 5: ranks 0 and 3 send, 2 and 5 hear. */
TEST(alltoall_sends_all_but_the_late_ranks_blocks)
{
	static const enum cs_coll colls[] = { CS_ALLTOALL, CS_ALLTOALLV };
	for (size_t i = 0; i < COUNT(colls); i++)
		for (int is_barred = 0; is_barred <= 1; is_barred++)
			for (int late = 1; late <= 4; late += 3) {
				const struct cs_algorithm *called =
					cs_algorithm_by_name(colls[i], "hier:opportunistic");
				struct setting setting = two_nodes;
				int order[] = { 0, 5, 2, 3, 5 - late, late };
				setting.algorithms = &called;
				setting.order = order;
				const size_t params[] = { 4096, (size_t)is_barred, 0 };
				struct run *run = run_before_last(&setting, params, 3);
				for (int rank = 0; rank < 6; rank++)
					for (int from = 0; rank != late && from < 6; from++) {
						bool is_near = rank / 3 == from / 3,
						     is_held = is_barred && !is_near &&
							       from / 3 == late / 3;
						assert_int_equal(has_block(run, rank, from),
								 from != late && !is_held);
					}
				run_to_end(run);
			}
}

/* Nobody hears: any rank but the two that send may be late. The messages of the call's first round
 * have been put in parts, where a rank of their node is late. */
TEST(alltoall_by_windows_needs_no_hearer)
{
	static const enum cs_coll colls[] = { CS_ALLTOALL, CS_ALLTOALLV };
	static const size_t bytes[] = { 150, 1200 };
	static const int lates[] = { 1, 2, 4, 5 };
	for (size_t i = 0; i < COUNT(colls) * COUNT(bytes) * COUNT(lates); i++) {
		const struct cs_algorithm *called =
			cs_algorithm_by_name(colls[i % 2], "hier:opportunistic");
		struct setting setting = two_nodes;
		int late = lates[i / 4], order[6], next = 0;
		for (int rank = 0; rank < 6; rank++)
			if (rank != late)
				order[next++] = rank;
		order[5] = late;
		setting.algorithms = &called;
		setting.order = order;
		setting.each = bytes[i / 2 % 2];
		const size_t params[] = { 0, 0, 1 };
		struct run *run = run_before_last(&setting, params, 3);
		assert_true(run->world.has_windows);
		for (int rank = 0; rank < 6; rank++)
			for (int from = 0; rank != late && from < 6; from++)
				if (has_block(run, rank, from) != (from != late))
					fail_msg("case %zu: rank %d has%s the block of %d before "
						 "rank %d comes", i, rank, from == late ? "" :
						 " not", from, late);
		assert_int_equal(run->world.parts_put > 0, 1);
		run_to_end(run);
	}
}

/* Of a broadcast from rank 0: with `late` all others are over before it comes, or those that wait
 * for it are not. Nodes 0 1 2 and 3 4 5. */
TEST(bcast_waits_for_no_late_rank)
{
	static const struct {
		const char *name;
		size_t params[5]; /* chunk, k, serial, group, control */
		int order[6];
		unsigned waiting; /* a bit for each rank */
	} cases[] = {
		/* Whoever comes first of a node leads, and the root is over when one has */
		{ "hier:dynamic", { 4096, 1, 0, 0, 0 }, { 0, 1, 2, 5, 4, 3 }, 0 },
		{ "hier:dynamic", { 4096, 1, 0, 0, 0 }, { 3, 4, 0, 1, 2, 5 }, 0 },
		{ "hier:dynamic", { 4096, 1, 1, 0, 0 }, { 5, 0, 2, 3, 4, 1 }, 0 },
		{ "hier:dynamic", { 4096, 1, 0, 0, 1 }, { 0, 1, 2, 5, 4, 3 }, 0 },
		/* The node's leader, its first rank as there is one lane, and another one */
		{ "hier:patarasuk-yuan", { 4096, 1, 0, 0, 0 }, { 0, 1, 2, 5, 4, 3 }, 071 },
		{ "hier:patarasuk-yuan", { 4096, 1, 0, 0, 0 }, { 0, 1, 2, 5, 3, 4 }, 0 },
		/* The root stays until all are there */
		{ "patarasuk-yuan", { 4096, 1, 0, 0, 0 }, { 1, 2, 0, 5, 4, 3 }, 01 },
		{ "patarasuk-yuan", { 4096, 3, 1, 2, 0 }, { 1, 2, 0, 5, 4, 3 }, 01 },
		/* All wait for it if it is the root */
		{ "hier:dynamic", { 4096, 1, 0, 0, 0 }, { 1, 2, 3, 5, 4, 0 }, 076 },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct cs_algorithm *called = cs_algorithm_by_name(CS_BCAST, cases[i].name);
		struct setting setting = two_nodes;
		int late = cases[i].order[5];
		setting.algorithms = &called;
		setting.order = cases[i].order;
		setting.each = 20000;
		struct run *run = run_before_last(&setting, cases[i].params, 5);
		unsigned waiting = cases[i].waiting;
		for (int rank = 0; rank < 6; rank++)
			if (rank != late && run->parts[rank][0].is_over == (waiting >> rank & 1))
				fail_msg("case %zu: rank %d is%s over before rank %d comes", i,
					 rank, waiting >> rank & 1 ? "" : " not", late);
		run_to_end(run);
	}
}

RUN_TESTS(NULL, NULL)
