/* Trials of ways: which serves in the end, and what that costs, with times that are made up. */
#include "unit.h"

#include "base/trial.h"

#define ROUND 16 /* uses from the end of a window to its judgement, as in an epoch */

struct game {
	struct cs_trial trial;
	struct cs_trial_samples samples;
	uint64_t uses, judge_at;
	uint64_t time, extra; /* of all uses; of tried ones beyond the serving way's */
	uint64_t served[CS_TRIAL_WAYS];
	uint64_t random;
};

static uint64_t
draw(struct game *game, uint64_t below)
{
	game->random = game->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return below ? (game->random >> 33) % below : 0;
}

static void
begin(struct game *game, int ways, int serving, uint64_t seed)
{
	*game = (struct game){ .random = seed, .judge_at = UINT64_MAX };
	cs_trial_init(&game->trial, ways, serving, 0, 1);
}

/* One use: costs[way], and up to `noise` hundredths more. */
static void
use(struct game *game, const uint64_t *costs, uint64_t noise)
{
	struct cs_trial *trial = &game->trial;
	uint64_t number = game->uses++;
	bool is_on_trial = number >= trial->at;
	int way = is_on_trial ? cs_trial_next(trial, number) : trial->serving;
	uint64_t took = costs[way] + draw(game, costs[way] * noise / 100);
	game->time += took;
	game->served[way]++;
	if (costs[way] > costs[trial->serving])
		game->extra += costs[way] - costs[trial->serving];
	if (is_on_trial && cs_trial_is_timed(trial))
		cs_trial_sample(&game->samples, way, took);
	if (is_on_trial && trial->is_over)
		game->judge_at = game->uses + ROUND;
	if (game->uses == game->judge_at) {
		struct cs_trial_times times;
		cs_trial_sum_up(&game->samples, trial->serving, &times);
		cs_trial_judge(trial, game->uses, &times);
		game->samples = (struct cs_trial_samples){ 0 };
		game->judge_at = UINT64_MAX;
	}
}

static void
play(struct game *game, uint64_t uses, const uint64_t *costs, uint64_t noise)
{
	for (uint64_t i = 0; i < uses; i++)
		use(game, costs, noise);
}

TEST(fastest_way_serves_after_a_hundred_uses)
{
	(void)state;
	for (int best = 0; best < 3; best++)
		for (int serving = 0; serving < 3; serving++)
			for (uint64_t seed = 1; seed <= 20; seed++) {
				uint64_t costs[] = { 2000, 2000, 2000 };
				struct game game;
				costs[best] = 1000;
				begin(&game, 3, serving, seed);
				play(&game, 100, costs, 5);
				if (game.trial.serving != best)
					fail_msg("seed %d: %d serves, begun with %d, not %d",
						 (int)seed, game.trial.serving, serving, best);
			}
}

TEST(alone_serves_without_windows)
{
	const uint64_t costs[] = { 5 };
	struct game game;
	(void)state;
	begin(&game, 1, 0, 1);
	play(&game, 1000, costs, 0);
	assert_int_equal(game.trial.at, UINT64_MAX);
	assert_int_equal(game.served[0], 1000);
}

/* At most a 33rd of all time and three uses, and what each way's first use takes more. */
TEST(regret_stays_within_its_bound)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 30; seed++) {
		struct game game;
		uint64_t costs[4] = { 1000 };
		begin(&game, 4, 0, seed);
		for (int way = 1; way < 4; way++)
			costs[way] = 1000 + draw(&game, 2000);
		for (uint64_t uses = 64; uses <= 20000; uses *= 2) {
			play(&game, uses, costs, 0);
			uint64_t most = game.time / CS_TRIAL_SHARE + CS_TRIAL_FREE * costs[0];
			/* Each way's first use cannot be known to be slow. */
			most += costs[1] + costs[2] + costs[3] - 3 * costs[0];
			if (!game.trial.done) /* else it is not judged yet */
				assert_int_equal(game.trial.regret, game.extra);
			if (game.extra > most)
				fail_msg("seed %d, %llu uses: %llu beyond, %llu allowed", (int)seed,
					 (unsigned long long)game.uses,
					 (unsigned long long)game.extra, (unsigned long long)most);
		}
		assert_int_equal(game.trial.changes, 0);
	}
}

TEST(hopeless_way_is_used_once_and_again_after_sixteen_times_as_many)
{
	const uint64_t costs[] = { 100, 301 };
	struct game game;
	(void)state;
	begin(&game, 2, 0, 1);
	play(&game, 300, costs, 0);
	assert_int_equal(game.served[1], 1);
	uint64_t again = game.trial.way_of[1].again_at;
	assert_true(again >= 16 * 5);
	play(&game, 16 * again, costs, 0);
	assert_in_range(game.served[1], 2, 3);
}

TEST(speed_that_changes_changes_sides_once)
{
	const uint64_t before[] = { 1000, 1500 }, after[] = { 2500, 1500 };
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct game game;
		begin(&game, 2, 0, seed);
		play(&game, 500, before, 20);
		assert_int_equal(game.trial.changes, 0);
		play(&game, 3000, after, 20);
		assert_int_equal(game.trial.serving, 1);
		assert_int_equal(game.trial.changes, 1);
		play(&game, 20000, after, 20);
		assert_int_equal(game.trial.changes, 1);
	}
}

/* Less than a tenth, or than the spread, changes nothing. */
TEST(small_differences_change_nothing)
{
	const uint64_t costs[] = { 1000, 920 }, noisy[] = { 1000, 900 };
	struct game game;
	(void)state;
	begin(&game, 2, 0, 1);
	play(&game, 10000, costs, 0);
	assert_int_equal(game.trial.changes, 0);
	begin(&game, 2, 0, 2);
	play(&game, 10000, noisy, 60);
	assert_true(game.trial.changes <= 2);
}

/* Ranks with the same numbers and times agree: nothing else enters. A window of which no time is
 * known is made again, later and later. */
TEST(unknown_times_judge_nothing)
{
	const struct cs_trial_times none = { .way = { 0 } };
	struct cs_trial trial;
	uint64_t use = 0, apart = 0;
	(void)state;
	cs_trial_init(&trial, 3, 1, 10, 1);
	for (int window = 0; window < 5; window++) {
		assert_true(trial.at >= use + apart);
		apart = (uint64_t)CS_TRIAL_APART << window;
		for (use = trial.at; !trial.is_over; use++)
			cs_trial_next(&trial, use);
		assert_int_equal(trial.at, UINT64_MAX);
		assert_false(cs_trial_judge(&trial, use, &none));
		assert_int_equal(trial.serving, 1);
	}
	assert_int_equal(trial.regret, 0);
}

/* A way whose time is not known in a window has a later one, and serves if it is faster. */
TEST(late_time_is_judged_later)
{
	struct cs_trial trial;
	uint64_t use = 0;
	(void)state;
	cs_trial_init(&trial, 2, 0, 0, 1);
	for (int window = 0; window < 2; window++) {
		const struct cs_trial_times times = { .way = { 1000, window ? 300 : 0 } };
		for (use = trial.at; !trial.is_over; use++)
			cs_trial_next(&trial, use);
		assert_int_equal(cs_trial_judge(&trial, use, &times), window);
		assert_true(window || trial.at == use + CS_TRIAL_APART);
	}
	assert_int_equal(trial.serving, 1);
}

/* A first window of several uses, the first of which is not timed. */
TEST(first_window_has_the_least_uses)
{
	struct cs_trial trial;
	(void)state;
	for (int least = 1; least <= CS_TRIAL_USES; least++) {
		int uses = 0, timed = 0;
		cs_trial_init(&trial, 2, 0, 0, least);
		for (uint64_t use = 0; !trial.is_over; use++)
			if (cs_trial_next(&trial, use) == 1) {
				uses++;
				timed += cs_trial_is_timed(&trial);
			}
		assert_int_equal(uses, least);
		assert_int_equal(timed, least > 1 ? least - 1 : 1);
		/* Hopeless, whatever number of uses showed it. */
		assert_false(cs_trial_judge(&trial, 10,
					    &(struct cs_trial_times){ .way = { 10, 31 } }));
		assert_int_equal(trial.way_of[1].again_at, CS_TRIAL_PAUSE * 10);
		assert_int_equal(trial.regret, 21 * least);
	}
}

TEST(median_and_spread)
{
	struct cs_trial_samples samples = { .count = { 0 } };
	struct cs_trial_times times;
	(void)state;
	const uint64_t of[] = { 70, 10, 1000, 12, 11 };
	for (size_t i = 0; i < COUNT(of); i++)
		cs_trial_sample(&samples, 0, of[i]);
	cs_trial_sample(&samples, 0, 1); /* more than there is room for */
	cs_trial_sample(&samples, 2, 5);
	cs_trial_sum_up(&samples, 0, &times);
	assert_int_equal(times.way[0], 12);
	assert_int_equal(times.way[1], 0);
	assert_int_equal(times.way[2], 5);
	assert_int_equal(times.spread, 2);
}

RUN_TESTS(NULL, NULL)
