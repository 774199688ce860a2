/* Several teams, which have processes in common and memory and messages of their own: operations of
 * all of them are under way, and those of one may be left for another's at any step. What a process
 * keeps for all its teams serves them all. */
#include "operation_crew.h"

#include <stdlib.h>

static void
expect_right_teams(uint64_t seed, bool is_blocking)
{
	struct setting settings[CREW_TEAMS];
	struct crew *crew = malloc(sizeof *crew);
	int count = 2 + (int)(seed % 2);
	assert_non_null(crew);
	for (int i = 0; i < count; i++) {
		uint64_t own = seed * CREW_TEAMS + (uint64_t)i;
		settings[i] = setting_of(own, own % 5 < 3, is_blocking ? 1 : several(own));
		settings[i].calls += 4;
		settings[i].is_starving = !is_blocking && seed % 3 == 0;
		settings[i].is_blocking = is_blocking;
	}
	crew_make(crew, settings, count);
	if (is_blocking)
		crew_block(crew);
	else
		crew_step(crew);
	if (crew_failure(crew)) {
		print_error("teams of seed %llu:\n", (unsigned long long)seed);
		run_say_failure(crew_failure(crew));
	}
	crew_clear(crew);
	free(crew);
}

TEST(operations_of_several_teams_in_any_order)
{
	uint64_t seed = first_seed();
	for (int i = 0; i < cases_wanted(250); i++)
		expect_right_teams(seed + (uint64_t)i, false);
}

TEST(blocking_calls_of_several_teams)
{
	uint64_t seed = first_seed();
	for (int i = 0; i < cases_wanted(80); i++)
		expect_right_teams(seed + (uint64_t)i, true);
}

RUN_TESTS(NULL, NULL)
