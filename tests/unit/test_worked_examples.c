/* The algorithms of docs/one-more-algorithm.md, whose files are taken out of that page, are right
 * for 2 to 17 ranks of one node: as operations in any order, and as blocking calls at once. */
#include "operation_crew.h"

#define CALLS 6

extern const struct cs_algorithm cs_algorithm_bcast_star, cs_algorithm_barrier_chain;

static struct setting
setting_for(int ranks, const struct cs_algorithm *const *calls)
{
	struct setting setting = setting_of(first_seed() + (uint64_t)ranks, false,
					    1 + ranks % RUN_MOST_UNDER_WAY);
	setting.sizes[0] = ranks;
	setting.algorithms = calls;
	setting.calls = CALLS;
	setting.may_be_left = true;
	return setting;
}

static void
prove(const struct cs_algorithm *example, enum cs_coll coll)
{
	struct cs_algorithm row = *example;
	const struct cs_algorithm *calls[CALLS];
	row.coll = coll;
	for (int i = 0; i < CALLS; i++)
		calls[i] = &row;
	for (int ranks = 2; ranks <= WORLD_MOST; ranks++) {
		struct setting setting = setting_for(ranks, calls);
		expect_right(&setting);
		setting.is_blocking = true;
		setting.under_way = 1;
		expect_right_blocking(&setting);
	}
}

static void
plan_of_messages(void **state)
{
	prove(&cs_algorithm_bcast_star, CS_BCAST);
}

static void
script_and_its_fast_form(void **state)
{
	prove(&cs_algorithm_barrier_chain, CS_BARRIER);
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(plan_of_messages),
					    cmocka_unit_test(script_and_its_fast_form) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
