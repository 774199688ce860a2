/* Trials of classes of calls: which calls are compared, and what serves in the end, with times and
 * an epoch's exchange that are made up, on one rank of four. */
#include "unit.h"

#include "run/trial.h"

#define WAIT 16 /* calls from an epoch's cut to its verdict */
#define BYTES 1024

struct game {
	struct cs_selector *selector;
	struct cs_selection selection;
	struct cs_team team;
	enum cs_coll coll;
	enum cs_order order;
	uint64_t calls, served_by_host, judged;
	uint64_t words[CS_EPOCH_WORDS];
};

static int numbers[] = { 0, 1, 2, 3 }, zeros[4];

static void
begin(struct game *game, enum cs_coll coll, enum cs_order order)
{
	const struct cs_machine machine = { .cpu = "", .host = "" };
	struct cs_settings settings;
	memset(game, 0, sizeof *game);
	cs_settings_read(&settings);
	settings.tuning = "builtin";
	assert_int_equal(cs_selector_create(&game->selector, &settings, &machine), CS_OK);
	game->coll = coll;
	game->order = order;
	game->team.shape = (struct cs_shape){ .ranks = 4, .nodes = 1, .locals = 1, .ppn_min = 4,
					      .ppn_max = 4, .node_of = zeros, .local_of = numbers };
	game->selection.selector = game->selector;
	game->selection.team = &game->team;
	game->selection.facts = (struct cs_facts){ .ranks = 4, .nodes = 1, .ppn_min = 4,
						   .ppn_max = 4, .is_block_placed = true,
						   .wire = CS_WIRE_HOST };
	game->selection.trials = cs_trials_new();
}

static void
end(struct game *game)
{
	cs_selection_fini(&game->selection);
	cs_selector_destroy(game->selector);
}

/* A call of the class, in which an algorithm takes `served`, and the host `hosts`. Returns the
 * class if the call is measured. */
static struct cs_class_trial *
call(struct game *game, int root, uint64_t served, uint64_t hosts)
{
	struct cs_selection *selection = &game->selection;
	struct cs_op op = { .team = &game->team, .call = { .coll = game->coll, .root = root } };
	struct cs_cached_choice *cached = cs_selection_choose(selection, game->coll, BYTES, 1,
							      game->order);
	game->calls++;
	if (cached->goes_to_host) {
		game->served_by_host++;
		return NULL;
	}
	if (--cached->left < 0)
		cached = cs_selection_try(selection, cached, root);
	game->served_by_host += !cached->choice.algorithm;
	struct cs_class_trial *class = selection->on_trial;
	if (class) {
		struct cs_cached_choice *dry = cs_trials_dry(selection);
		const struct cs_cached_choice *timed = dry ? dry : cached;
		cs_trials_note(selection, &op, 1000,
			       1000 + (timed->choice.algorithm ? served : hosts), true);
	}
	if (game->calls % WAIT == 0) {
		uint64_t windows = cs_trials_sum.windows;
		cs_trials_hear(selection, game->words);
		game->judged += cs_trials_sum.windows - windows;
		memset(game->words, 0, sizeof game->words);
		cs_trials_say(selection, game->words);
	}
	return class;
}

TEST(faster_host_serves_without_being_looked_at)
{
	struct game game;
	(void)state;
	begin(&game, CS_BCAST, CS_ORDER_NONE);
	for (int i = 0; i < 200; i++)
		call(&game, 0, 500, 100);
	assert_true(game.served_by_host > 100);
	assert_true(game.selection.cached_choices[CS_BCAST].cached[0].goes_to_host);
	end(&game);
}

TEST(slower_host_is_tried_once)
{
	struct game game;
	(void)state;
	begin(&game, CS_BCAST, CS_ORDER_NONE);
	for (int i = 0; i < 200; i++)
		call(&game, 0, 100, 500);
	assert_int_equal(game.served_by_host, 1);
	end(&game);
}

/* The first rank of a node and another one as roots in turn. */
TEST(window_has_roots_of_one_kind)
{
	struct game game;
	int kinds[2] = { 0 };
	(void)state;
	begin(&game, CS_BCAST, CS_ORDER_NONE);
	for (int i = 0, first = 0; i < 500; i++) {
		int root = i / 3 % 2;
		const struct cs_class_trial *class = call(&game, root, 100, root ? 110 : 1000);
		if (!class)
			continue;
		first = class->trial.done == 1 ? root : first;
		assert_int_equal(root, first);
		kinds[root]++;
	}
	assert_true(kinds[0] + kinds[1] > 8);
	assert_true(game.judged >= 2);
	end(&game);
}

/* A root that is of the first call's kind never again. */
TEST(window_ends_without_calls_of_its_kind)
{
	struct game game;
	(void)state;
	begin(&game, CS_SCATTER, CS_ORDER_NONE);
	call(&game, 0, 500, 100);
	for (int i = 0; i < 1000; i++)
		call(&game, 2, 500, 100);
	assert_true(game.judged >= 2);
	assert_true(game.selection.cached_choices[CS_SCATTER].cached[0].goes_to_host);
	end(&game);
}

/* The order of a sum of floating-point numbers changes once at most, and the program's calls are
 * the serving algorithm's alone. */
TEST(inexact_reductions_are_tried_in_dry_calls)
{
	(void)state;
	for (enum cs_coll coll = 0; coll < CS_COLL_COUNT; coll++) {
		struct game game;
		if (!cs_colls[coll].reduces)
			continue;
		begin(&game, coll, CS_ORDER_FREE);
		for (int i = 0; i < 300 && !game.served_by_host; i++)
			call(&game, 0, 500, 100);
		assert_in_range(game.calls, 20, 200);
		uint64_t before = game.served_by_host;
		for (int i = 0; i < 300; i++)
			call(&game, 0, 50, 100);
		assert_int_equal(game.served_by_host, before + 300);
		end(&game);
	}
}

/* The mean of a node's ranks is exchanged. */
TEST(imbalance_is_judged_by_means)
{
	struct game game;
	uint64_t words[CS_EPOCH_WORDS] = { 0 };
	(void)state;
	begin(&game, CS_BCAST, CS_ORDER_NONE);
	game.selection.measured = CS_STRONG;
	for (int i = 0; i < 10; i++)
		call(&game, 0, 500, 100);
	cs_trials_say(&game.selection, words);
	assert_true(words[0] == (CS_EPOCH_MEAN | 500));
	assert_true(words[1] == (CS_EPOCH_MEAN | 100));
	assert_int_equal(words[CS_TRIAL_WAYS], 0);
	for (int i = 0; i < 200; i++)
		call(&game, 0, 500, 100);
	assert_true(game.selection.cached_choices[CS_BCAST].cached[0].goes_to_host);
	end(&game);
}

RUN_TESTS(NULL, NULL)
