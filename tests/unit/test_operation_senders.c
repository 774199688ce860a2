/* Plans between nodes whose ports several ranks of each node drive (plan/senders.h): virtual ranks
 * are stepped in any order, some of them starved, with operations beside each other and plans that
 * are refused. */
#include "operation_run.h"

#include <string.h>

/* Nodes of two to four ranks, as many as there is room for. */
static void
place(struct setting *setting, uint64_t seed)
{
	int left = WORLD_MOST, node = 0, most = 2 + (int)(seed % 6);
	while (left >= 4 && node < most) {
		int size = 2 + (int)((seed >> node) % 3);
		setting->sizes[node++] = size;
		left -= size;
	}
	setting->sizes[node] = 0;
}

static int
check_row(const struct cs_algorithm *algorithm, int cases)
{
	enum { MOST_CALLS = 16 };
	const struct cs_algorithm *called[MOST_CALLS];
	uint64_t first = first_seed();
	unsigned *count = &run_by_senders[cs_algorithm_number(algorithm)];
	*count = 0;
	for (int call = 0; call < MOST_CALLS; call++)
		called[call] = algorithm;
	for (uint64_t seed = first; seed < first + (uint64_t)cases; seed++) {
		struct setting setting = setting_of(seed, true, 1 + (int)(seed % 3));
		setting.algorithms = called;
		setting.senders = 2 + seed % 4;
		setting.is_starving = seed % 2;
		setting.refuses = seed % 5 == 0;
		setting.cyclic = setting.cyclic && !cs_colls[algorithm->coll].reduces;
		place(&setting, seed);
		expect_right(&setting);
	}
	if (*count < (unsigned)cases)
		fail_msg("%s %s: %u times by several senders", cs_colls[algorithm->coll].name,
			 algorithm->name, *count);
	return 1;
}

/* By a plan's ports, or by messages of its own. */
static bool
has_senders(const struct cs_algorithm *algorithm)
{
	bool has_ports = algorithm->inner ? algorithm->inner->has_ports
					  : !strcmp(algorithm->name, "hier:overlap");
	return has_ports && cs_algorithm_role(algorithm, CS_ROLE_SENDERS) >= 0;
}

TEST(senders_share_the_messages_of_a_node_in_any_order)
{
	int rows = 0;
	for (int i = 0; cs_algorithm_at(i); i++) {
		const struct cs_algorithm *algorithm = cs_algorithm_at(i);
		if (has_senders(algorithm))
			rows += check_row(algorithm, cases_wanted(60));
	}
	assert_int_equal(rows, 1 + 2 + 4 * 6 + 2 * 2 + 3 * 2 + 2 + 4);
}

TEST(no_rank_leaves_a_barrier_by_senders_before_the_last_one_has_come)
{
	enum { NODES = 7, RANKS = 2 * NODES };
	const struct cs_algorithm *barrier = cs_algorithm_by_name(CS_BARRIER,
								  "hier:dissemination");
	for (int late = 0; late < RANKS; late++) {
		int order[RANKS];
		for (int i = 0; i < RANKS; i++)
			order[i] = (late + 1 + i) % RANKS;
		struct setting setting = setting_of(first_seed() + (uint64_t)late, true, 1);
		for (int node = 0; node <= NODES; node++)
			setting.sizes[node] = node < NODES ? 2 : 0;
		setting.calls = 1;
		setting.algorithms = &barrier;
		setting.senders = 2;
		setting.order = order;
		expect_right(&setting);
	}
}

RUN_TESTS(NULL, NULL)
