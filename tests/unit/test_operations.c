/* Virtual ranks step operations in random order, several of them under way at a time: the result of each is what the
 * collective's definition says, whoever comes first. */
#include "operation_run.h"

#include <stdlib.h>

static void
ranks_of_a_node_in_any_order(void **state)
{
	uint64_t seed = first_seed();
	for (int i = 0; i < cases_wanted(600); i++) {
		struct setting setting = setting_of(seed + (uint64_t)i, false, 1);
		expect_right(&setting);
	}
}

/* Lines are used again, and those who need not wait are far ahead. */
static void
rows_of_calls_longer_than_there_are_lines(void **state)
{
	uint64_t seed = first_seed();
	for (int i = 0; i < cases_wanted(12); i++) {
		struct setting setting = setting_of(seed + (uint64_t)i, false, 1);
		setting.calls = 80;
		setting.sizes[0] = 2 + setting.sizes[0] % 4;
		expect_right(&setting);
	}
}

/* As long as others can go on, some ranks have no turn: roots are far ahead, lines and small slots are used again, rings go
 * round, and a message is there long before it is asked for. */
static void
rows_of_small_calls_with_ranks_far_apart(void **state)
{
	uint64_t seed = first_seed();
	for (int i = 0; i < cases_wanted(40); i++) {
		struct setting setting = setting_of(seed + (uint64_t)i, i % 2, i / 2 % 2 ? several(seed + (uint64_t)i) : 1);
		setting.calls = 120 + 60 * (i % 3);
		setting.is_starving = true;
		setting.most_bytes = 2200;
		if (i % 2 == 0)
			setting.sizes[0] = 2 + setting.sizes[0] % 5;
		expect_right(&setting);
	}
}

/* Calls of one root, for which nobody else waits, or which waits for nobody. */
static void
roots_far_ahead_or_far_behind(void **state)
{
	static const uint32_t colls[] = { CS_SET(CS_BCAST), CS_SET(CS_SCATTER) | CS_SET(CS_SCATTERV) | CS_SET(CS_BCAST),
					  CS_SET(CS_REDUCE), CS_SET(CS_GATHER) | CS_SET(CS_GATHERV) | CS_SET(CS_REDUCE),
					  CS_SET(CS_SCAN) | CS_SET(CS_EXSCAN) };
	uint64_t seed = first_seed();
	int lead = 0;
	for (int i = 0; i < cases_wanted(10 * COUNT(colls)); i++) {
		struct setting setting = setting_of(seed + (uint64_t)i, i % 2, i / 2 % 2 ? several(seed + (uint64_t)i) : 1);
		setting.calls = 160;
		setting.is_starving = setting.has_one_root = setting.are_scripts = true;
		setting.most_bytes = i % 3 ? 2200 : CS_INLINE;
		setting.colls = colls[i % COUNT(colls)];
		setting.cyclic = false; /* scans need it */
		if (i % 2 == 0)
			setting.sizes[0] = 2 + setting.sizes[0] % 5;
		int own = expect_right(&setting);
		lead = own > lead ? own : lead;
	}
	assert_true(lead >= CS_LINES); /* as far as one can be on a node, and so lines were used again */
}

static void
calls_of_any_size_with_ranks_far_apart(void **state)
{
	uint64_t seed = first_seed();
	for (int i = 0; i < cases_wanted(200); i++) {
		struct setting setting = setting_of(seed + (uint64_t)i, i % 2, i / 2 % 2 ? several(seed + (uint64_t)i) : 1);
		setting.calls += 4;
		setting.is_starving = true;
		expect_right(&setting);
	}
}

static void
several_operations_of_a_node_at_once(void **state)
{
	uint64_t seed = first_seed();
	for (int i = 0; i < cases_wanted(600); i++) {
		struct setting setting = setting_of(seed + (uint64_t)i, false, several(seed + (uint64_t)i));
		setting.calls += 2;
		expect_right(&setting);
	}
}

static void
ranks_of_several_nodes_in_any_order(void **state)
{
	uint64_t seed = first_seed();
	for (int i = 0; i < cases_wanted(400); i++) {
		struct setting setting = setting_of(seed + (uint64_t)i, true, 1);
		expect_right(&setting);
	}
}

static void
several_operations_of_several_nodes_at_once(void **state)
{
	uint64_t seed = first_seed();
	for (int i = 0; i < cases_wanted(400); i++) {
		struct setting setting = setting_of(seed + (uint64_t)i, true, several(seed + (uint64_t)i));
		setting.calls += 2;
		expect_right(&setting);
	}
}

/* On all ranks, whoever comes first: between nodes the host serves in the place of the plan, also in the midst of an
 * operation; between all ranks the call is left to the host as it came. */
static void
what_is_refused_goes_to_the_host(void **state)
{
	uint64_t seed = first_seed();
	refuse_built = refuse_refused = 0;
	for (int i = 0; i < cases_wanted(600); i++) {
		struct setting setting = setting_of(seed + (uint64_t)i, i % 3, i % 2 ? 1 : several(seed + (uint64_t)i));
		setting.refuses = true;
		expect_right(&setting);
	}
	assert_true(refuse_built > 1000 && refuse_refused > 1000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranks_of_a_node_in_any_order),
		cmocka_unit_test(rows_of_calls_longer_than_there_are_lines),
		cmocka_unit_test(rows_of_small_calls_with_ranks_far_apart),
		cmocka_unit_test(roots_far_ahead_or_far_behind),
		cmocka_unit_test(calls_of_any_size_with_ranks_far_apart),
		cmocka_unit_test(several_operations_of_a_node_at_once),
		cmocka_unit_test(ranks_of_several_nodes_in_any_order),
		cmocka_unit_test(several_operations_of_several_nodes_at_once),
		cmocka_unit_test(what_is_refused_goes_to_the_host),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
