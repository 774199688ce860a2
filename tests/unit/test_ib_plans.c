/* Plans over verbs: right data, and no more requests, completions and bytes than their messages
 * need. */
#include "ib_world.h"
#include "many_plans.h"

#include "algorithms/algorithm.h"
#include "ib/internal.h"
#include "plan/build.h"
#include "plan/execute.h"

static struct world_group group;

static const struct cs_algorithm *
algorithm_of(const char *name)
{
	const struct cs_algorithm *algorithm;
	for (int row = 0; (algorithm = cs_algorithm_at(row)); row++)
		if (algorithm->coll == CS_ALLGATHER && algorithm->build &&
		    !strcmp(algorithm->name, name))
			return algorithm;
	fail_msg("there is no allgather:%s", name);
	return NULL;
}

struct rank {
	struct cs_plan plan;
	struct cs_run run;
	struct cs_request *requests;
	char *in, *out, *tmp;
	size_t sends, bytes; /* of the plan's */
};

static void
make_rank(struct rank *rank, const struct cs_algorithm *algorithm, int number, int ranks,
	  size_t bytes)
{
	size_t params[CS_MAX_PARAMS] = { 0 };
	for (int i = 0; i < CS_MAX_PARAMS && algorithm->params[i].name; i++)
		params[i] = algorithm->params[i].fallback;
	struct cs_problem problem = { .coll = CS_ALLGATHER, .rank = number, .ranks = ranks,
				      .unit = 1, .bytes = bytes, .params = params,
				      .is_commutative = true };
	struct cs_builder builder;
	*rank = (struct rank){ .in = malloc(bytes), .out = malloc(bytes * (size_t)ranks) };
	cs_builder_init(&builder, &problem, &rank->plan);
	algorithm->build(&builder);
	assert_int_equal(cs_builder_finish(&builder), CS_OK);
	rank->tmp = malloc(rank->plan.tmp_bytes + 1);
	assert_true(rank->in && rank->out && rank->tmp);
	memset(rank->in, number + 1, bytes);
	for (size_t i = 0; i < rank->plan.count; i++)
		if (rank->plan.steps[i].kind == CS_STEP_SEND) {
			rank->sends++;
			rank->bytes += rank->plan.steps[i].bytes;
		}
	rank->requests = calloc((size_t)rank->plan.requests + 1, sizeof *rank->requests);
	assert_non_null(rank->requests);
}

static void
gather(struct rank *all, int ranks, size_t bytes)
{
	int left = ranks;
	bool is_done[WORLD_MOST] = { false };
	for (int i = 0; i < ranks; i++) {
		memset(all[i].out, 0xee, bytes * (size_t)ranks);
		all[i].run = (struct cs_run){ .plan = &all[i].plan, .wire = group.wires[i],
					      .requests = all[i].requests,
					      .memory = { all[i].in, all[i].out, all[i].tmp } };
	}
	for (int turn = 0; left; turn++) {
		int i = (int)random_below(&world.random, (uint32_t)ranks);
		assert_true(turn < 1000000);
		if (!is_done[i] && cs_run_progress(&all[i].run) == CS_OK) {
			is_done[i] = true;
			left--;
		}
	}
	for (int i = 0; i < ranks; i++)
		for (size_t at = 0; at < bytes * (size_t)ranks; at++)
			assert_int_equal(all[i].out[at], at / bytes + 1);
}

static void
count_plan(const char *name, int ranks, size_t bytes)
{
	enum { TIMES = 20 };
	static const int members[] = { 0, 1, 2, 3, 4 };
	struct rank all[WORLD_MOST];
	struct cs_ib_counters before, after;
	struct cs_ib_options options = world_options();
	fake_reset();
	world.random = first_seed();
	options.slots = 16;
	options.slot_bytes = 1024;
	options.cache = 0; /* large buffers here are not kept; small ones never are registered */
	world_open(ranks, &options, false);
	world_group_open(&group, members, ranks);
	for (int i = 0; i < ranks; i++)
		make_rank(&all[i], algorithm_of(name), i, ranks, bytes);
	gather(all, ranks, bytes);
	for (int i = 0; i < 5000; i++)
		world_progress();
	uint64_t requests = 0, credits = 0, sends = 0, payload = 0, completions = 0, carried = 0;
	for (int pass = 0; pass < 2; pass++) {
		for (int i = 0; i < ranks; i++) {
			cs_ib_count(world.ibs[i], pass ? &after : &before);
			const struct cs_ib_counters *now = pass ? &after : &before;
			requests = pass ? requests + now->requests : requests - now->requests;
			credits = pass ? credits + now->credits : credits - now->credits;
			completions = pass ? completions + now->completions
					   : completions - now->completions;
			carried = pass ? carried + now->bytes : carried - now->bytes;
			sends += pass ? all[i].sends * TIMES : 0;
			payload += pass ? all[i].bytes * TIMES : 0;
			if (pass)
				/* The slots' and the arena's */
				assert_int_equal(now->registrations, 2);
		}
		for (int turn = 0; !pass && turn < TIMES; turn++)
			gather(all, ranks, bytes);
		for (int turn = 0; !pass && turn < 5000; turn++)
			world_progress();
	}
	print_message("allgather:%s, %d ranks, %zu bytes: for a call %.1f requests (messages "
		      "%.1f), %.1f completions, %.1f bytes "
		      "(payload %.1f)\n", name, ranks, bytes, (double)requests / TIMES,
		      (double)sends / TIMES, (double)completions / TIMES, (double)carried / TIMES,
		      (double)payload / TIMES);
	/* A request each, and credits for at most one of half the slots. */
	assert_int_equal(requests - credits, sends);
	assert_true(credits <= sends / 8 + (uint64_t)(ranks * ranks));
	/* Each arrives by one completion; of the sends, one of eight completes. */
	assert_true(completions <= requests + requests / 8 + (uint64_t)(ranks * ranks));
	assert_true(carried <= payload + sends * (sizeof(struct cs_trailer) + 7));
	for (int i = 0; i < ranks; i++) {
		cs_plan_fini(&all[i].plan);
		free(all[i].requests);
		free(all[i].in);
		free(all[i].out);
		free(all[i].tmp);
	}
	world_group_close(&group);
	world_close();
}

TEST(test_a_message_is_one_request_and_one_completion)
{
	count_plan("recursive-doubling", 4, 8);
	count_plan("bruck", 4, 8);
	count_plan("bruck", 5, 8);
	count_plan("bruck", 5, 100);
	count_plan("ring", 5, 100);
}

/* --- several at once -------------------------------------------------------------------------- */

static const char *
run_case(struct many_plans *many, uint64_t seed, bool has_one_tag)
{
	static const int members[] = { 0, 1, 2, 3, 4 };
	struct cs_ib_options options = world_options();
	fake_reset();
	fake_seed(seed);
	world.random = seed;
	options.polls_flags = random_below(&world.random, 2);
	*many = (struct many_plans){ .ranks = 2 + (int)random_below(&world.random, WORLD_MOST - 1),
				     .plans = 2 + (int)random_below(&world.random, MANY_PLANS - 1),
				     .first_tag = random_below(&world.random, 1 << 20),
				     .has_one_tag = has_one_tag, .turn = world_progress };
	world_open(many->ranks, &options, false);
	world_group_open(&group, members, many->ranks);
	many->wires = group.wires;
	world.may_abort = has_one_tag;
	if (has_one_tag && setjmp(world.jump))
		return "the job was ended";
	const char *trouble = many_plans_run(many, &world.random);
	if (!trouble) {
		world_group_close(&group);
		world_close();
	}
	return trouble;
}

TEST(test_several_plans_at_once)
{
	struct many_plans many;
	for (uint64_t i = 0; i < 60; i++) {
		const char *trouble = run_case(&many, first_seed() + i, false);
		if (trouble)
			fail_msg("seed %llu, %d ranks,%s: %s",
				 (unsigned long long)(first_seed() + i), many.ranks, many.names,
				 trouble);
	}
}

/* In a child, as what goes wrong may end a job or leave all as it is. */
static const char *
use_a_tag_twice(const void *argument)
{
	const uint64_t *seed = argument;
	struct many_plans many;
	return run_case(&many, *seed, true) ? NULL : "it was not seen";
}

TEST(test_a_tag_used_twice_is_seen)
{
	unsigned found = 0;
	for (uint64_t i = 0; i < 20; i++) {
		uint64_t seed = first_seed() + i;
		found += world_apart_is_well(use_a_tag_twice, &seed);
	}
	print_message("a tag that is used twice: seen in %u of 20 cases\n", found);
	assert_true(found >= 5);
}

RUN_TESTS(NULL, NULL)
