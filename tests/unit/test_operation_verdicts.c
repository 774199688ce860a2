/* Live choice by virtual ranks (operation_verdicts.h): ranks agree about each call's algorithm,
 * whoever comes late, and what would be wrong is seen. */
#include "operation_verdicts.h"

#define CASES 10 /* of each fault */

static void
say_failure(const struct verdict_setting *setting, const char *failure)
{
	fail_msg("seed %llu, %d teams, %d calls%s%s%s%s%s%s%s, noise %u, late %llu ns, epochs of "
		 "%llu calls%s",
		 (unsigned long long)setting->seed, setting->teams, setting->calls,
		 setting->several_nodes ? ", several nodes" : "", setting->are_sums ? ", sums" : "",
		 setting->is_crowded ? ", crowded" : "",
		 setting->is_starving ? ", starving" : "",
		 setting->is_recycled ? ", recycled" : "",
		 setting->is_imbalanced ? ", imbalanced" : "",
		 setting->changes_speed ? ", other speeds" : "", setting->noise,
		 (unsigned long long)setting->late_ns, (unsigned long long)setting->epoch, failure);
}

TEST(ranks_agree_about_each_call)
{
	const char *share = getenv("TEST_SHARE"), *times = getenv("TEST_TIMES");
	int count = 120 * (times ? atoi(times) : 1) / (share ? atoi(share) : 1);
	uint64_t seed = first_seed();
	char failure[1024];
	(void)state;
	for (int i = 0; i < count; i++) {
		struct verdict_setting setting = verdict_setting_of(seed + (uint64_t)i);
		if (!verdicts_are_right(&setting, failure))
			say_failure(&setting, failure);
	}
	const struct verdicts_seen *seen = &verdicts_seen;
	assert_true(share || (seen->windows > 500 && seen->unknown && seen->dry_changes > 10 &&
			      seen->to_host > 20 && seen->from_host > 20 && seen->imbalances > 20 &&
			      seen->recycled > 10));
	print_message("%u windows (%u unknown), %u changes (%u of sums, %u to the host, %u from "
		      "it), %u dry calls, %u calls of the host, imbalance %u times\n",
		      seen->windows, seen->unknown, seen->changes, seen->dry_changes, seen->to_host,
		      seen->from_host, seen->dry_calls, seen->host_calls, seen->imbalances);
}

/* How many of some short cases go wrong? */
static int
wrong_cases(enum verdict_fault fault, bool are_sums, int calls)
{
	int wrong = 0;
	char failure[1024];
	for (uint64_t seed = 1; seed <= CASES; seed++) {
		struct verdict_setting setting = verdict_setting_of(seed);
		setting.teams = 1;
		setting.calls = calls;
		setting.epoch = 32;
		setting.are_sums = are_sums;
		setting.is_crowded = setting.is_recycled = setting.changes_speed = false;
		setting.is_imbalanced = false;
		setting.noise = 0;
		setting.fault = fault;
		wrong += !verdicts_are_right(&setting, failure);
	}
	return wrong;
}

static void
expect_seen(enum verdict_fault fault, bool are_sums, int calls, int least)
{
	int right = wrong_cases(VERDICTS_RIGHT, are_sums, calls),
	    wrong = wrong_cases(fault, are_sums, calls);
	if (right)
		fail_msg("%d of %d cases go wrong without a fault", right, CASES);
	print_message("seen in %d of %d cases\n", wrong, CASES);
	if (wrong < least)
		fail_msg("seen in %d of %d cases", wrong, CASES);
}

TEST(verdict_that_one_rank_reads_a_call_late_is_seen)
{
	(void)state;
	expect_seen(VERDICT_LATE, false, 250, CASES / 2);
}

TEST(words_in_another_slot_are_seen)
{
	(void)state;
	expect_seen(WORDS_IN_OTHER_SLOT, false, 250, 2);
}

TEST(trial_that_ends_on_one_rank_is_seen)
{
	(void)state;
	expect_seen(ENDED_BY_ONE, false, 250, CASES / 2);
}

TEST(call_of_the_host_without_a_number_on_one_rank_is_seen)
{
	(void)state;
	expect_seen(NUMBER_BY_SOME, false, 250, 2);
}

TEST(sum_that_is_tried_in_the_programs_calls_is_seen)
{
	(void)state;
	expect_seen(SUM_TRIED_IN_CALLS, true, 250, 2);
}

TEST(more_tried_uses_than_the_regret_allows_are_seen)
{
	(void)state;
	expect_seen(TRIED_TOO_OFTEN, false, 600, 2);
}

RUN_TESTS(NULL, NULL)
