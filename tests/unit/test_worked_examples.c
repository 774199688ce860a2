/* The algorithms of docs/one-more-algorithm.md, whose files are taken out of that page, are right
 * for 2 to 17 ranks of one node, or for 3 to 17 on two to four nodes: as operations in any order,
 * and as blocking calls at once. */
#include "operation_crew.h"

#define CALLS 6

extern const struct cs_algorithm cs_algorithm_bcast_star, cs_algorithm_barrier_chain,
	cs_algorithm_bcast_posted, cs_algorithm_allgather_hier_staged;

static struct setting
setting_for(int ranks, int nodes, const struct cs_algorithm *const *calls)
{
	struct setting setting = setting_of(first_seed() + (uint64_t)ranks, nodes > 1,
					    1 + ranks % RUN_MOST_UNDER_WAY);
	memset(setting.sizes, 0, sizeof setting.sizes);
	for (int rank = 0; rank < ranks; rank++)
		setting.sizes[rank % nodes]++;
	setting.algorithms = calls;
	setting.calls = CALLS;
	setting.may_be_left = true;
	return setting;
}

static void
prove(const struct cs_algorithm *example, enum cs_coll coll, bool several_nodes)
{
	struct cs_algorithm row = *example;
	const struct cs_algorithm *calls[CALLS];
	row.coll = coll;
	for (int i = 0; i < CALLS; i++)
		calls[i] = &row;
	for (int ranks = several_nodes ? 3 : 2; ranks <= WORLD_MOST; ranks++) {
		struct setting setting = setting_for(ranks, several_nodes ? 2 + ranks % 3 : 1,
						     calls);
		expect_right(&setting);
		setting.is_blocking = true;
		setting.under_way = 1;
		expect_right_blocking(&setting);
	}
}

TEST(plan_of_messages)
{
	prove(&cs_algorithm_bcast_star, CS_BCAST, false);
}

TEST(script_and_its_fast_form)
{
	prove(&cs_algorithm_barrier_chain, CS_BARRIER, false);
}

TEST(script_that_posts_data)
{
	prove(&cs_algorithm_bcast_posted, CS_BCAST, false);
}

TEST(script_over_several_nodes)
{
	prove(&cs_algorithm_allgather_hier_staged, CS_ALLGATHER, true);
}

RUN_TESTS(NULL, NULL)
