/* Blocking calls as a program makes them, small ones at once where there is a way for that: ranks
 * wait as in a job, with the host's blocking collectives and messages between nodes, and the others
 * go on in random order. */
#include "operation_crew.h"
#include "operation_table.h"

TEST(each_algorithm_for_each_number_of_ranks)
{
	table_walk(true, expect_right_blocking);
}

static struct setting
blocking(uint64_t seed, bool several_nodes)
{
	struct setting setting = setting_of(seed, several_nodes, 1);
	setting.is_blocking = true;
	return setting;
}

/* With parameters by chance some rows have no such call. */
#define ROWS_OF_SMALL 10

/* On one node, straight on the flags: each algorithm that has such a way, for each number of
 * ranks. */
TEST(small_calls_at_once)
{
	uint64_t seed = first_seed();
	for (int i = 0; cs_algorithm_at(i); i++) {
		const struct cs_algorithm *algorithm = cs_algorithm_at(i), *calls[8];
		for (size_t k = 0; k < COUNT(calls); k++)
			calls[k] = algorithm;
		int left = ROWS_OF_SMALL, ranks = 2;
		while (algorithm->fast && ranks <= WORLD_MOST) {
			struct setting setting = blocking(seed++, false);
			setting.sizes[0] = ranks;
			/* It would have vectors of several small blocks, which are scattered. */
			setting.has_cma = false;
			setting.algorithms = calls;
			setting.calls = COUNT(calls);
			setting.most_bytes = CS_INLINE;
			expect_right_blocking(&setting);
			if (run_at_once[cs_algorithm_number(algorithm)][ranks]) {
				left = ROWS_OF_SMALL;
				ranks++;
			} else if (!--left)
				fail_msg("%s %s has done no small call at once on %d ranks",
					 cs_colls[algorithm->coll].name, algorithm->name, ranks);
		}
	}
}

TEST(calls_of_any_size)
{
	uint64_t first = first_seed();
	for (uint64_t seed = first; seed < first + (uint64_t)cases_wanted(150); seed++) {
		struct setting setting = blocking(seed, seed % 2);
		setting.calls += 4;
		expect_right_blocking(&setting);
	}
}

static bool
has_lanes(const struct cs_algorithm *algorithm)
{
	for (int i = 0; i < CS_MAX_PARAMS && algorithm->params[i].name; i++)
		if (!strcmp(algorithm->params[i].name, "lanes"))
			return true;
	return false;
}

/* Lanes that a team is without: each algorithm that uses some, until a call of it has made them. */
TEST(lanes_are_made_by_calls_that_ask_for_more)
{
	static const int nodes[WORLD_MOST + 1] = { 4, 4, 4, 4 };
	uint64_t seed = first_seed();
	for (int i = 0; cs_algorithm_at(i); i++) {
		const struct cs_algorithm *algorithm = cs_algorithm_at(i), *calls[8];
		int before = run_lanes_made, left = 200;
		for (size_t k = 0; k < COUNT(calls); k++)
			calls[k] = algorithm;
		while (has_lanes(algorithm) && run_lanes_made == before) {
			struct setting setting = blocking(seed++, true);
			memcpy(setting.sizes, nodes, sizeof nodes);
			setting.cyclic = false;
			setting.lanes = 3;
			setting.algorithms = calls;
			setting.calls = COUNT(calls);
			expect_right_blocking(&setting);
			if (!--left)
				fail_msg("no call of %s %s has made lanes",
					 cs_colls[algorithm->coll].name, algorithm->name);
		}
	}
}

/* Small calls at once and scripts follow each other, while some ranks have no turn as long as
 * others can go on. */
TEST(rows_of_small_calls_with_ranks_far_apart)
{
	uint64_t first = first_seed();
	for (uint64_t seed = first; seed < first + (uint64_t)cases_wanted(40); seed++) {
		struct setting setting = blocking(seed, seed % 4 == 0);
		setting.calls = 200;
		setting.is_starving = setting.are_scripts = true;
		setting.has_one_root = seed % 2;
		setting.most_bytes = seed % 3 ? 2200 : CS_INLINE;
		setting.sizes[0] = seed % 4 ? 2 + setting.sizes[0] % 5 : setting.sizes[0];
		expect_right_blocking(&setting);
	}
}

RUN_TESTS(NULL, NULL)
