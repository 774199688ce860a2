/* Virtual ranks step operations in random order, several of them under way at a time: the result of
 * each is what the collective's definition says, whoever comes first. */
#include "operation_run.h"

#include <stdlib.h>

TEST(ranks_of_a_node_in_any_order)
{
	uint64_t first = first_seed();
	for (uint64_t seed = first; seed < first + (uint64_t)cases_wanted(600); seed++) {
		struct setting setting = setting_of(seed, false, 1);
		expect_right(&setting);
	}
}

/* Lines are used again, and those who need not wait are far ahead. */
TEST(rows_of_calls_longer_than_there_are_lines)
{
	uint64_t first = first_seed();
	for (uint64_t seed = first; seed < first + (uint64_t)cases_wanted(12); seed++) {
		struct setting setting = setting_of(seed, false, 1);
		setting.calls = 80;
		setting.sizes[0] = 2 + setting.sizes[0] % 4;
		expect_right(&setting);
	}
}

/* As long as others can go on, some ranks have no turn: roots are far ahead, lines and small slots
 * are used again, rings go round, and a message is there long before it is asked for. */
TEST(rows_of_small_calls_with_ranks_far_apart)
{
	uint64_t first = first_seed();
	for (uint64_t seed = first; seed < first + (uint64_t)cases_wanted(40); seed++) {
		struct setting setting = setting_of(seed, seed % 2, seed / 2 % 2
						    ? several(seed) : 1);
		setting.calls = 120 + 60 * (int)(seed % 3);
		setting.is_starving = true;
		setting.most_bytes = 2200;
		setting.are_mixed = seed % 5 < 2;
		if (seed % 2 == 0)
			setting.sizes[0] = 2 + setting.sizes[0] % 5;
		expect_right(&setting);
	}
}

/* Calls of one root, for which nobody else waits, or which waits for nobody. */
TEST(roots_far_ahead_or_far_behind)
{
	static const uint32_t colls[] =
		{ CS_SET(CS_BCAST), CS_SET(CS_SCATTER) | CS_SET(CS_SCATTERV) | CS_SET(CS_BCAST),
					  CS_SET(CS_REDUCE), CS_SET(CS_GATHER) |
					  CS_SET(CS_GATHERV) | CS_SET(CS_REDUCE),
					  CS_SET(CS_SCAN) | CS_SET(CS_EXSCAN) };
	uint64_t first = first_seed();
	int lead = 0;
	for (uint64_t seed = first; seed < first + (uint64_t)cases_wanted(10 * COUNT(colls));
	     seed++) {
		struct setting setting = setting_of(seed, seed % 2, seed / 2 % 2
						    ? several(seed) : 1);
		setting.calls = 160;
		setting.is_starving = setting.has_one_root = setting.are_scripts = true;
		setting.most_bytes = seed % 3 ? 2200 : CS_INLINE;
		setting.colls = colls[seed % COUNT(colls)];
		setting.cyclic = false; /* scans need it */
		if (seed % 2 == 0)
			setting.sizes[0] = 2 + setting.sizes[0] % 5;
		int own = expect_right(&setting);
		lead = own > lead ? own : lead;
	}
	/* As far as one can be on a node, and so lines were used again. */
	assert_true(cases_share() > 1 || lead >= CS_LINES);
}

TEST(calls_of_any_size_with_ranks_far_apart)
{
	uint64_t first = first_seed();
	for (uint64_t seed = first; seed < first + (uint64_t)cases_wanted(200); seed++) {
		struct setting setting = setting_of(seed, seed % 2, seed / 2 % 2
						    ? several(seed) : 1);
		setting.calls += 4;
		setting.is_starving = true;
		setting.are_mixed = seed % 5 < 2;
		expect_right(&setting);
	}
}

TEST(several_operations_of_a_node_at_once)
{
	uint64_t first = first_seed();
	for (uint64_t seed = first; seed < first + (uint64_t)cases_wanted(600); seed++) {
		struct setting setting = setting_of(seed, false, several(seed));
		setting.calls += 2;
		setting.are_mixed = seed % 2;
		expect_right(&setting);
	}
}

TEST(ranks_of_several_nodes_in_any_order)
{
	uint64_t first = first_seed();
	for (uint64_t seed = first; seed < first + (uint64_t)cases_wanted(400); seed++) {
		struct setting setting = setting_of(seed, true, 1);
		expect_right(&setting);
	}
}

TEST(several_operations_of_several_nodes_at_once)
{
	uint64_t first = first_seed();
	for (uint64_t seed = first; seed < first + (uint64_t)cases_wanted(400); seed++) {
		struct setting setting = setting_of(seed, true, several(seed));
		setting.calls += 2;
		expect_right(&setting);
	}
}

/* On all ranks, whoever comes first: between nodes the host serves in the place of the plan, also
 * in the midst of an operation; between all ranks the call is left to the host as it came. */
TEST(what_is_refused_goes_to_the_host)
{
	uint64_t first = first_seed();
	refuse_built = refuse_refused = 0;
	for (uint64_t seed = first; seed < first + (uint64_t)cases_wanted(600); seed++) {
		struct setting setting = setting_of(seed, seed % 3, seed % 2 ? 1 : several(seed));
		setting.refuses = true;
		expect_right(&setting);
	}
	unsigned least = 1000 / (unsigned)cases_share();
	assert_true(refuse_built > least && refuse_refused > least);
}

/* One that is over has its line until all older ones are over, too. */
TEST(no_more_are_under_way_than_there_are_lines)
{
	struct setting setting = { .sizes = { 2 }, .shape = { .slots = 2, .slot_bytes = 4096 } };
	struct world world;
	struct cs_node_op ops[CS_LINES];
	world_make(&world, setting.sizes, false, 1, &setting.shape, 1);
	struct cs_node *node = &world.teams[0].node;
	int count = 0;
	for (; count < CS_LINES && cs_node_may_begin(node); count++) {
		cs_node_op_init(&ops[count], node, 0);
		cs_node_begin(&ops[count]);
		cs_node_go_on(&ops[count]);
	}
	assert_int_equal(count, CS_LINES - 1);
	for (int i = 1; i < count; i++) {
		cs_node_over(&ops[i]);
		assert_false(cs_node_may_begin(node));
	}
	cs_node_over(&ops[0]);
	assert_true(cs_node_may_begin(node));
	assert_int_equal(node->under_way, 0);
	world_clear(&world);
}

RUN_TESTS(NULL, NULL)
