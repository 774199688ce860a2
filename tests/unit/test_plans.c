/* The cache of plans: what stays in it, what goes first, what is said of a plan that is too large for it, and which calls are
 * left to the host so that none is made. */
#include "unit.h"

#include "algorithms/algorithm.h"
#include "algorithms/op.h"
#include "base/log.h"
#include "base/parse.h"
#include "plan/build.h"
#include "run/run.h"
#include "wire/wire.h"

#define RANKS 4
#define SEGMENT 64
#define STEPS_OF_SEGMENT 4 /* of a rank in the midst of a chain: recv, wait, send, wait */
#define SEGMENT_BYTES (STEPS_OF_SEGMENT * sizeof(struct cs_step))
#define MOST_SEGMENTS (CS_PLAN_BUDGET / SEGMENT_BYTES) /* of a plan that is kept */

/* --- a team whose messages go nowhere ----------------------------------------------------------------------------- */

static size_t messages;

static void
send(struct cs_wire *wire, struct cs_request *request, int peer, uint64_t tag, const void *from, size_t bytes)
{
	messages++;
}

static void
receive(struct cs_wire *wire, struct cs_request *request, int peer, uint64_t tag, void *to, size_t bytes)
{
	messages++;
}

static void
finish(struct cs_wire *wire, struct cs_request *request)
{
	request->told = 0;
}

static struct cs_wire *
wire_of(void *group)
{
	static struct cs_wire wire = { .rank = 1, .ranks = RANKS, .send = send, .recv = receive, .wait = finish };
	return &wire;
}

static void __attribute__((noreturn))
end(const char *why)
{
	fail_msg("the job ended: %s", why);
	abort();
}

static const struct cs_host host = { .wire = wire_of, .abort = end };

struct fixture {
	struct cs_team team;
	struct cs_plans plans;
	struct cs_op_memory *idle;
};

static void
run_of(struct fixture *fixture, const char *name, size_t segments)
{
	static char vector[SEGMENT]; /* nothing is moved */
	const struct cs_algorithm *algorithm = cs_algorithm_by_name(CS_BCAST, name);
	size_t params[CS_MAX_PARAMS] = { SEGMENT, 4 };
	struct cs_problem problem = { .coll = CS_BCAST, .ranks = RANKS, .rank = 1, .unit = 1,
				      .bytes = segments * SEGMENT, .params = params, .is_commutative = true };
	assert_non_null(algorithm);
	fixture->team.host = &host;
	fixture->team.idle = &fixture->idle;
	messages = 0;
	struct cs_op op;
	cs_op_init(&op, &fixture->team, 0);
	cs_plans_run(&op, &fixture->plans, NULL, algorithm, &problem, vector, vector, NULL);
	cs_op_fini(&op);
	assert_true(fixture->plans.count <= CS_PLANS);
	assert_true(fixture->plans.bytes <= CS_PLAN_BUDGET);
}

static void
run(struct fixture *fixture, size_t segments)
{
	run_of(fixture, "chain", segments);
	assert_int_equal(messages, 2 * segments);
}

/* The steps of the plan that is kept for so many segments, or NULL. */
static const struct cs_step *
kept(const struct fixture *fixture, size_t segments)
{
	const struct cs_plans *plans = &fixture->plans;
	for (int i = 0; i < plans->count; i++)
		if (plans->cached[i].plan.count == segments * STEPS_OF_SEGMENT)
			return plans->cached[i].plan.steps;
	return NULL;
}

static void
clear(struct fixture *fixture)
{
	cs_plans_fini(&fixture->plans);
	assert_int_equal(fixture->plans.count, 0);
	assert_int_equal(fixture->plans.bytes, 0);
	cs_op_memory_free(&fixture->idle);
}

/* --- what stays --------------------------------------------------------------------------------------------------- */

static void
a_plan_is_made_once_for_calls_of_its_shape(void **state)
{
	struct fixture fixture = { 0 };
	run(&fixture, 3);
	const struct cs_step *steps = kept(&fixture, 3);
	assert_non_null(steps);
	run(&fixture, 4);
	run(&fixture, 3);
	assert_ptr_equal(kept(&fixture, 3), steps);
	assert_int_equal(fixture.plans.count, 2);
	assert_int_equal(fixture.plans.bytes, 7 * SEGMENT_BYTES);
	clear(&fixture);
}

static void
add_nothing(void *out, const void *a, const void *b, size_t count)
{
}

static char input[RANKS * SEGMENT * 2], result[RANKS * SEGMENT * 2];
static const size_t sizes[2][RANKS] = { { 8, 16, 24, 32 }, { 8, 16, 24, 40 } };
static const size_t places[2][RANKS] = { { 0, 40, 80, 120 }, { 120, 80, 40, 0 } };

static void
change_params(struct cs_problem *problem)
{
	static const size_t other[CS_MAX_PARAMS] = { 2 * SEGMENT, 4 };
	problem->params = other;
}

static void
change_last_param(struct cs_problem *problem)
{
	static const size_t other[CS_MAX_PARAMS] = { SEGMENT, 5 };
	problem->params = other;
}

static void
change_root(struct cs_problem *problem)
{
	problem->root = 3;
}

static void
change_bytes(struct cs_problem *problem)
{
	problem->bytes += 8;
}

static void
change_unit(struct cs_problem *problem)
{
	problem->unit = 16;
}

static void
change_order(struct cs_problem *problem)
{
	problem->is_commutative = false;
}

static void
change_place(struct cs_problem *problem)
{
	problem->is_in_place = true;
}

static void
change_sizes(struct cs_problem *problem)
{
	problem->sizes = sizes[1];
}

static void
change_at(struct cs_problem *problem)
{
	problem->at = places[1];
}

static void
change_recv_sizes(struct cs_problem *problem)
{
	problem->recv_sizes = sizes[1];
}

static void
change_recv_at(struct cs_problem *problem)
{
	problem->recv_at = places[1];
}

/* Problems that differ in one thing have plans of their own, and each finds its own again. */
static void
a_plan_serves_its_own_shape_only(void **state)
{
	static const struct {
		const char *what;
		enum cs_coll coll;
		const char *name;
		void (*change)(struct cs_problem *problem);
	} cases[] = {
		{ "params", CS_BCAST, "chain", change_params },
		{ "the last of params", CS_BCAST, "chain", change_last_param },
		{ "root", CS_BCAST, "chain", change_root },
		{ "bytes", CS_BCAST, "chain", change_bytes },
		{ "unit", CS_ALLREDUCE, "recursive-doubling", change_unit },
		{ "is_commutative", CS_ALLREDUCE, "recursive-doubling", change_order },
		{ "is_in_place", CS_ALLGATHERV, "ring", change_place },
		{ "sizes", CS_ALLGATHERV, "ring", change_sizes },
		{ "at", CS_ALLGATHERV, "ring", change_at },
		{ "recv_sizes", CS_ALLTOALLV, "pairwise", change_recv_sizes },
		{ "recv_at", CS_ALLTOALLV, "pairwise", change_recv_at },
	};
	const struct cs_reduction reduction = { .unit = 8, .kernel = add_nothing };
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct fixture fixture = { .team.host = &host };
		const struct cs_algorithm *algorithm = cs_algorithm_by_name(cases[i].coll, cases[i].name);
		const size_t params[CS_MAX_PARAMS] = { SEGMENT, 4 };
		bool has_sizes = cases[i].coll == CS_ALLGATHERV || cases[i].coll == CS_ALLTOALLV;
		bool has_both = cases[i].coll == CS_ALLTOALLV, reduces = cs_colls[cases[i].coll].reduces;
		struct cs_problem problem = { .coll = cases[i].coll, .ranks = RANKS, .rank = 1, .unit = reduces ? 8 : 1,
					      .bytes = 2 * SEGMENT, .sizes = has_sizes ? sizes[0] : NULL,
					      .at = has_sizes ? places[0] : NULL, .recv_sizes = has_both ? sizes[0] : NULL,
					      .recv_at = has_both ? places[0] : NULL, .params = params,
					      .is_commutative = true };
		struct cs_problem other = problem;
		assert_non_null(algorithm);
		cases[i].change(&other);
		struct cs_op op;
		fixture.team.idle = &fixture.idle;
		cs_op_init(&op, &fixture.team, 0);
		for (int turn = 0; turn < 2; turn++) {
			cs_plans_run(&op, &fixture.plans, NULL, algorithm, &problem, input, result,
				     reduces ? &reduction : NULL);
			cs_plans_run(&op, &fixture.plans, NULL, algorithm, &other, input, result,
				     reduces ? &reduction : NULL);
			if (fixture.plans.count != 2)
				fail_msg("%s: %d plans", cases[i].what, fixture.plans.count);
		}
		cs_op_fini(&op);
		clear(&fixture);
	}
}

static void
of_more_than_64_plans_the_least_recently_used_goes_first(void **state)
{
	struct fixture fixture = { 0 };
	for (size_t segments = 1; segments <= CS_PLANS; segments++)
		run(&fixture, segments);
	for (size_t segments = 1; segments <= CS_PLANS; segments++)
		assert_non_null(kept(&fixture, segments));
	run(&fixture, 1);
	run(&fixture, 3);
	const size_t gone[] = { 2, 4, 5, 6 };
	for (size_t i = 0; i < COUNT(gone); i++) {
		run(&fixture, CS_PLANS + 1 + i);
		assert_int_equal(fixture.plans.count, CS_PLANS);
		assert_null(kept(&fixture, gone[i]));
		assert_non_null(kept(&fixture, CS_PLANS + 1 + i));
	}
	for (size_t segments = 7; segments <= CS_PLANS; segments++)
		assert_non_null(kept(&fixture, segments));
	assert_non_null(kept(&fixture, 1));
	assert_non_null(kept(&fixture, 3));
	clear(&fixture);
}

static void
of_more_than_8_mib_of_plans_the_least_recently_used_go_first(void **state)
{
	struct fixture fixture = { 0 };
	size_t third = MOST_SEGMENTS / 3;
	run(&fixture, third);
	run(&fixture, third - 1);
	run(&fixture, third - 2);
	assert_int_equal(fixture.plans.count, 3);
	run(&fixture, third);
	run(&fixture, third - 3); /* one has to go, and the first was just used */
	assert_int_equal(fixture.plans.count, 3);
	assert_non_null(kept(&fixture, third));
	assert_null(kept(&fixture, third - 1));
	run(&fixture, 2 * third); /* two have to go */
	assert_int_equal(fixture.plans.count, 2);
	assert_null(kept(&fixture, third - 2));
	assert_null(kept(&fixture, third));
	assert_non_null(kept(&fixture, third - 3));
	clear(&fixture);
}

static void
a_plan_that_fills_the_cache_stays_alone(void **state)
{
	struct fixture fixture = { 0 };
	struct said said;
	run(&fixture, 1);
	run(&fixture, 2);
	said_begin(&said);
	run(&fixture, MOST_SEGMENTS);
	assert_string_equal(said_end(&said), "");
	assert_int_equal(fixture.plans.count, 1);
	assert_non_null(kept(&fixture, MOST_SEGMENTS));
	run(&fixture, 1);
	assert_int_equal(fixture.plans.count, 1);
	assert_non_null(kept(&fixture, 1));
	clear(&fixture);
}

/* --- what is too large -------------------------------------------------------------------------------------------- */

static void
a_plan_that_is_too_large_does_not_stay_and_drives_nothing_out(void **state)
{
	struct fixture fixture = { 0 };
	struct said said;
	cs_log_set_speaker(false);
	for (size_t segments = 1; segments <= CS_PLANS; segments++)
		run(&fixture, segments);
	said_begin(&said);
	run(&fixture, MOST_SEGMENTS + 1);
	run(&fixture, MOST_SEGMENTS + 1);
	assert_string_equal(said_end(&said), ""); /* rank 0 speaks for the job */
	assert_int_equal(fixture.plans.count, CS_PLANS);
	assert_null(kept(&fixture, MOST_SEGMENTS + 1));
	for (size_t segments = 1; segments <= CS_PLANS; segments++)
		assert_non_null(kept(&fixture, segments));
	clear(&fixture);
	/* As the first one, too. */
	run(&fixture, MOST_SEGMENTS + 1);
	assert_int_equal(fixture.plans.count, 0);
	clear(&fixture);
}

/* A process says each line once, so this is the only test that lets it speak of plans. */
static void
each_algorithm_with_such_plans_is_told_once_with_what_to_do(void **state)
{
	struct fixture fixture = { 0 };
	struct said said;
	char expected[128];
	cs_log_set_speaker(true);
	said_begin(&said);
	run(&fixture, MOST_SEGMENTS + 1);
	run(&fixture, MOST_SEGMENTS + 1);
	run(&fixture, MOST_SEGMENTS + 2);
	const char *lines = said_end(&said);
	assert_int_equal(count_lines(lines), 1);
	snprintf(expected, sizeof expected, "plans: a plan of bcast:chain takes %zu bytes and no more than 8M are kept",
		 (MOST_SEGMENTS + 1) * SEGMENT_BYTES);
	assert_contains(lines, expected);
	assert_contains(lines, "use a larger segment or another algorithm");
	said_begin(&said);
	run_of(&fixture, "pipelined-binomial", MOST_SEGMENTS); /* a leaf of its tree: half as much */
	run(&fixture, MOST_SEGMENTS + 1);
	assert_string_equal(said_end(&said), "");
	said_begin(&said);
	run_of(&fixture, "pipelined-binomial", 2 * MOST_SEGMENTS + 2);
	lines = said_end(&said);
	assert_int_equal(count_lines(lines), 1);
	assert_contains(lines, "a plan of bcast:pipelined-binomial takes ");
	clear(&fixture);
}

/* --- what is not made at all -------------------------------------------------------------------------------------- */

static const char *const of_any_length[] = { "chain", "pipelined-binomial" };

/* Steps of the longest plan of all ranks. */
static size_t
longest_of(const struct cs_algorithm *algorithm, const struct cs_problem *call)
{
	struct cs_problem problem = *call;
	size_t longest = 0;
	for (problem.rank = 0; problem.rank < call->ranks; problem.rank++) {
		struct cs_builder builder;
		struct cs_plan plan;
		cs_builder_init(&builder, &problem, &plan);
		algorithm->build(&builder);
		if (cs_builder_finish(&builder) != CS_OK)
			return 0; /* it refuses */
		longest = plan.count > longest ? plan.count : longest;
		cs_plan_fini(&plan);
	}
	return longest;
}

/* Told from what all ranks know alike: the same number whichever rank asks, and root. */
static void
steps_that_are_told_are_those_of_the_longest_plan(void **state)
{
	const size_t lengths[] = { 0, 1, SEGMENT, SEGMENT + 1, 10 * SEGMENT, 20 * SEGMENT + 7 };
	for (size_t name = 0; name < COUNT(of_any_length); name++)
		for (int p = 1; p <= 40; p++)
			for (size_t i = 0; i < COUNT(lengths); i++) {
				const struct cs_algorithm *algorithm = cs_algorithm_by_name(CS_BCAST, of_any_length[name]);
				const size_t params[CS_MAX_PARAMS] = { SEGMENT, 4 };
				struct cs_problem problem = { .coll = CS_BCAST, .ranks = p, .root = (int)i % p, .unit = 1,
							      .bytes = lengths[i], .params = params };
				size_t told = algorithm->steps(&problem);
				if (told != longest_of(algorithm, &problem))
					fail_msg("bcast:%s, %d ranks, %zu bytes: %zu steps, told %zu", algorithm->name, p,
						 lengths[i], longest_of(algorithm, &problem), told);
				for (problem.rank = 0; problem.rank < p; problem.rank++)
					assert_int_equal(algorithm->steps(&problem), told);
			}
}

/* Plans of no other algorithm grow with the bytes, so none of them has to tell. */
static void
other_plans_do_not_grow_with_bytes(void **state)
{
	enum { P = 16 };
	int seen = 0;
	const struct cs_algorithm *algorithm;
	for (int row = 0; (algorithm = cs_algorithm_at(row)); row++) {
		size_t params[CS_MAX_PARAMS] = { 0 };
		bool reduces = cs_colls[algorithm->coll].reduces;
		if (!algorithm->build || algorithm->steps)
			continue;
		for (int i = 0; i < CS_MAX_PARAMS && algorithm->params[i].name; i++) {
			bool is_size = !strcmp(algorithm->params[i].name, "segment");
			params[i] = is_size ? algorithm->params[i].low + 64 : algorithm->params[i].fallback;
		}
		struct cs_problem problem = { .coll = algorithm->coll, .ranks = P, .unit = reduces ? 8 : 1,
					      .bytes = (size_t)1 << 40, .is_commutative = true, .params = params };
		size_t longest = longest_of(algorithm, &problem);
		if (longest * sizeof(struct cs_step) > CS_PLAN_BUDGET)
			fail_msg("%s:%s: %zu steps", cs_colls[problem.coll].name, algorithm->name, longest);
		seen += longest > 0;
	}
	assert_true(seen > 30);
}

static const char *
open_group(void *group)
{
	return NULL;
}

/* A runner for calls of `ranks` on `nodes`, by that tuning and the collective's variable (NULL: not set). */
static void
make_runner_of(struct cs_runner *runner, struct cs_team *team, const char *tuning, enum cs_coll coll, const char *forced,
	       int ranks, int nodes)
{
	static const struct cs_host opening = { .wire = wire_of, .abort = end, .open = open_group };
	static const struct cs_machine machine = { "mpich", "", "", 4 };
	struct cs_settings settings = { .team_after = -1, .tuning = tuning };
	struct cs_selector *selector;
	settings.force[coll] = forced;
	assert_int_equal(cs_selector_create(&selector, &settings, &machine), CS_OK);
	*team = (struct cs_team){ .host = &opening };
	*runner = (struct cs_runner){ .selector = selector, .team = team,
				      .facts = { .ranks = ranks, .nodes = nodes, .ppn_min = ranks / nodes,
						 .ppn_max = (ranks + nodes - 1) / nodes, .is_block_placed = true } };
}

/* As COLLSHIM_BCAST=`forced` has it. */
static void
make_runner(struct cs_runner *runner, struct cs_team *team, const char *forced, int ranks, int nodes)
{
	make_runner_of(runner, team, "builtin", CS_BCAST, forced, ranks, nodes);
}

static void
free_runner(struct cs_runner *runner)
{
	cs_selector_destroy((struct cs_selector *)runner->selector);
	cs_runner_fini(runner);
}

/* Calls of `most` bytes go by the algorithm, one byte more to the host: asked for in this order, and in the other. */
static void
expect_limit(const char *forced, int ranks, int nodes, size_t most)
{
	for (int turn = 0; turn < 2; turn++) {
		struct cs_runner runner;
		struct cs_team team;
		make_runner(&runner, &team, forced, ranks, nodes);
		for (int i = 0; i < 4; i++) {
			bool is_more = (i + turn) % 2;
			struct cs_answer *answer = cs_runner_choose(&runner, CS_BCAST, most + is_more, 1, true);
			if (!answer->choice.algorithm != is_more)
				fail_msg("%s, %d ranks, %d nodes, %zu bytes: %s", forced, ranks, nodes, most + is_more,
					 answer->choice.algorithm ? answer->choice.algorithm->name : answer->choice.reason);
			if (is_more)
				assert_string_equal(answer->choice.reason, "plan too large");
			/* On the other side the selector's own limits. */
			if (is_more ? answer->low != most + 1 : answer->last != most)
				fail_msg("%s (%s), %d ranks, %d nodes, %zu bytes: from %zu to %zu", forced,
					 answer->choice.reason, ranks, nodes, most + is_more, answer->low, answer->last);
		}
		assert_int_equal(runner.answers[CS_BCAST].count, 2);
		free_runner(&runner);
	}
}

/* The plans just fit: of `most` bytes those of all ranks, and one segment more would not on one of them at least. */
static void
calls_with_plans_that_are_too_large_go_to_the_host(void **state)
{
	const size_t all = CS_PLAN_BUDGET / sizeof(struct cs_step) / 2;
	cs_log_set_speaker(false);
	expect_limit("chain:segment=64", 2, 1, all * 64);
	for (int p = 3; p < 20; p++)
		expect_limit("chain:segment=64", p, 1, all / 2 * 64);
	expect_limit("chain:segment=4096:window=16", 5, 2, all / 2 * 4096);
	for (int depth = 1; depth < 12; depth++)
		expect_limit("pipelined-binomial:segment=64", 1 << depth, 1, all / (size_t)depth * 64);
	/* Between nodes: as many ranks as nodes, and in pieces. */
	expect_limit("hier:chain:segment=64:wire_chunk=64M", 8, 2, all * 64);
	expect_limit("hier:chain:segment=64:wire_chunk=64M", 8, 4, all / 2 * 64);
}

static void
calls_with_plans_that_fit_are_not_cut(void **state)
{
	static const char *const cases[] = { "hier:chain:segment=64", "binomial", "hier:host", "hier:binomial" };
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct cs_runner runner;
		struct cs_team team;
		make_runner(&runner, &team, cases[i], 8, 2);
		struct cs_answer *answer = cs_runner_choose(&runner, CS_BCAST, (size_t)1 << 40, 1, true);
		assert_non_null(answer->choice.algorithm);
		assert_int_equal(answer->last, CS_INF - 1);
		free_runner(&runner);
	}
}

static void
what_goes_to_the_host_is_told_once(void **state)
{
	struct cs_runner runner;
	struct cs_team team;
	struct said said;
	cs_log_set_speaker(true);
	said_begin(&said);
	for (int i = 0; i < 2; i++) {
		make_runner(&runner, &team, "chain:segment=64", 4, 1);
		cs_runner_choose(&runner, CS_BCAST, 16 << 20, 1, true);
		cs_runner_choose(&runner, CS_BCAST, 1000, 1, true);
		free_runner(&runner);
	}
	const char *lines = said_end(&said);
	assert_int_equal(count_lines(lines), 1);
	assert_contains(lines, "between 4 a plan of bcast:chain may take more than the 8M that are kept, so such calls stay with "
			       "this MPI; use a larger segment or another algorithm for them");
}

/* --- answers that are kept ---------------------------------------------------------------------------------------- */

static const char *
answer_of(struct cs_runner *runner, enum cs_coll coll, size_t bytes, int skew, bool is_commutative)
{
	const struct cs_answer *answer = cs_runner_choose(runner, coll, bytes, skew, is_commutative);
	return answer->choice.algorithm ? answer->choice.algorithm->name : "host";
}

/* A collective is left to the host unseen once that is the answer for all of its calls, and not before. */
static void
the_host_for_some_calls_is_not_the_host_for_all(void **state)
{
	static const struct {
		const char *forced;
		size_t bytes;
		bool is_commutative, is_for_all;
		const char *otherwise; /* of 100 bytes, commutative */
	} cases[] = {
		{ "0-3000=recursive-doubling,3000-inf=host", 4000, true, false, "recursive-doubling" },
		{ "0-10=host,10-inf=recursive-doubling", 4, true, false, "recursive-doubling" },
		{ "ring", 100, false, false, "ring" },
		{ "host", 100, false, false, "host" },
		{ "host", 100, true, true, "host" },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct cs_runner runner;
		struct cs_team team;
		make_runner_of(&runner, &team, "builtin", CS_ALLREDUCE, cases[i].forced, 4, 1);
		cs_log_set_speaker(false);
		assert_string_equal(answer_of(&runner, CS_ALLREDUCE, cases[i].bytes, 1, cases[i].is_commutative), "host");
		assert_int_equal(runner.host_only, cases[i].is_for_all ? 1u << CS_ALLREDUCE : 0);
		assert_string_equal(answer_of(&runner, CS_ALLREDUCE, 100, 1, true), cases[i].otherwise);
		free_runner(&runner);
	}
}

/* Where a rule asks how uneven the blocks are, an answer is for calls that are as uneven. */
static void
answers_that_depend_on_skew_are_for_that_skew_only(void **state)
{
	static const char rules[] =
		"version: 1\n"
		"blocks:\n"
		"  - name: test\n"
		"    provenance: {date: 2026-01-01, library: any, machine: any, command: none}\n"
		"    rules:\n"
		"      - {collective: allgatherv, skew: 1-4, use: ring}\n"
		"      - {collective: allgatherv, skew: 8-inf, use: \"host\"}\n"
		"      - {collective: allgatherv, use: pipelined-ring}\n";
	static const struct {
		int skew;
		const char *name;
	} asked[] = { { 9, "host" }, { 1, "ring" }, { 5, "pipelined-ring" },
		      { 9, "host" }, { 2, "ring" }, { 5, "pipelined-ring" } };
	struct cs_runner runner;
	struct cs_team team;
	char path[256];
	int file = mkstemp(temporary(path));
	assert_true(file >= 0);
	assert_int_equal(write(file, rules, sizeof rules - 1), sizeof rules - 1);
	close(file);
	make_runner_of(&runner, &team, path, CS_ALLGATHERV, NULL, 4, 1);
	unlink(path);
	for (size_t i = 0; i < COUNT(asked); i++)
		assert_string_equal(answer_of(&runner, CS_ALLGATHERV, 1000, asked[i].skew, true), asked[i].name);
	assert_int_equal(runner.host_only, 0);
	free_runner(&runner);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_plan_is_made_once_for_calls_of_its_shape),
		cmocka_unit_test(a_plan_serves_its_own_shape_only),
		cmocka_unit_test(of_more_than_64_plans_the_least_recently_used_goes_first),
		cmocka_unit_test(of_more_than_8_mib_of_plans_the_least_recently_used_go_first),
		cmocka_unit_test(a_plan_that_fills_the_cache_stays_alone),
		cmocka_unit_test(a_plan_that_is_too_large_does_not_stay_and_drives_nothing_out),
		cmocka_unit_test(each_algorithm_with_such_plans_is_told_once_with_what_to_do),
		cmocka_unit_test(steps_that_are_told_are_those_of_the_longest_plan),
		cmocka_unit_test(other_plans_do_not_grow_with_bytes),
		cmocka_unit_test(calls_with_plans_that_are_too_large_go_to_the_host),
		cmocka_unit_test(calls_with_plans_that_fit_are_not_cut),
		cmocka_unit_test(what_goes_to_the_host_is_told_once),
		cmocka_unit_test(the_host_for_some_calls_is_not_the_host_for_all),
		cmocka_unit_test(answers_that_depend_on_skew_are_for_that_skew_only),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
