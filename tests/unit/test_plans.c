/* The cache of plans: what stays in it, what goes first, how long plans are; and the answers that a
 * runner keeps. */
#include "unit.h"

#include "algorithms/algorithm.h"
#include "algorithms/op.h"
#include "base/log.h"
#include "base/parse.h"
#include "plan/build.h"
#include "plan/walk.h"
#include "run/run.h"
#include "wire/wire.h"

#define RANKS 4
#define SEGMENT 64
#define VECTOR 16384
#define STEPS_OF_SEGMENT 4 /* of the algorithm below: recv, wait, send, wait */
#define SEGMENT_BYTES (STEPS_OF_SEGMENT * sizeof(struct cs_step))
#define MOST_SEGMENTS (CS_PLAN_BUDGET / SEGMENT_BYTES) /* of a plan that is kept */

/* --- a team whose messages go nowhere --------------------------------------------------------- */

static size_t messages;
static uint64_t order; /* a digest of all that was begun and awaited, one after the other */

static void
note_order(uint64_t what, const void *memory, size_t bytes, const struct cs_request *request)
{
	const uint64_t words[] = { what, (uintptr_t)memory, bytes, (uintptr_t)request };
	for (size_t i = 0; i < COUNT(words); i++)
		order = ((order ^ words[i]) * 0x9e3779b97f4a7c15u) ^ order >> 29;
}

static void
send(struct cs_wire *wire, struct cs_request *request, int peer, uint64_t tag, const void *from,
     size_t bytes)
{
	messages++;
	note_order(2 * (uint64_t)peer, from, bytes, request);
}

static void
receive(struct cs_wire *wire, struct cs_request *request, int peer, uint64_t tag, void *to,
	size_t bytes)
{
	messages++;
	note_order(2 * (uint64_t)peer + 1, to, bytes, request);
}

static void
finish(struct cs_wire *wire, struct cs_request *request)
{
	request->told = 0;
	note_order(UINT64_MAX, NULL, 0, request);
}

static bool
is_over(struct cs_wire *wire, struct cs_request *request)
{
	request->told = 0;
	return true;
}

static struct cs_wire *
wire_of(void *group)
{
	static struct cs_wire wire = { .rank = 1, .ranks = RANKS, .send = send, .recv = receive,
				       .wait = finish, .test = is_over };
	return &wire;
}

static void __attribute__((noreturn))
end(const char *why)
{
	fail_msg("the job ended: %s", why);
	abort();
}

static const struct cs_host host = { .wire = wire_of, .abort = end };

/* Its plans are as long as is wanted: each segment has steps of its own. */
static void
build_segments(struct cs_builder *builder)
{
	for (size_t at = 0; at < builder->problem->bytes; at += SEGMENT) {
		cs_build_wait(builder, cs_build_recv(builder, 0, cs_out(at), SEGMENT));
		cs_build_wait(builder, cs_build_send(builder, 2, cs_out(at), SEGMENT));
	}
}

static const struct cs_algorithm segments_alone = { .coll = CS_BCAST, .name = "segments",
						    .build = build_segments };

struct fixture {
	struct cs_team team;
	struct cs_plans plans;
	struct cs_op_memory *idle;
};

static void
run(struct fixture *fixture, size_t segments)
{
	static char vector[SEGMENT]; /* nothing is moved */
	struct cs_problem problem = { .coll = CS_BCAST, .ranks = RANKS, .rank = 1, .unit = 1,
				      .bytes = segments * SEGMENT, .is_commutative = true };
	fixture->team.host = &host;
	fixture->team.idle = &fixture->idle;
	messages = 0;
	struct cs_op op = { 0 };
	cs_op_join(&op, &fixture->team, 0);
	assert_true(cs_plans_start(&op, &fixture->plans, NULL, &segments_alone, &problem, vector,
				   vector, NULL));
	cs_op_fini(&op);
	assert_true(fixture->plans.count <= CS_PLANS);
	assert_true(fixture->plans.bytes <= CS_PLAN_BUDGET);
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

/* --- what stays ------------------------------------------------------------------------------- */

TEST(a_plan_is_made_once_for_calls_of_its_shape)
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
TEST(a_plan_serves_its_own_shape_only)
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
		const struct cs_algorithm *algorithm =
			cs_algorithm_by_name(cases[i].coll, cases[i].name);
		const size_t params[CS_MAX_PARAMS] = { SEGMENT, 4 };
		bool has_sizes = cases[i].coll == CS_ALLGATHERV || cases[i].coll == CS_ALLTOALLV;
		bool has_both = cases[i].coll == CS_ALLTOALLV,
		     reduces = cs_colls[cases[i].coll].reduces;
		struct cs_problem problem = { .coll = cases[i].coll, .ranks = RANKS, .rank = 1,
					      .unit = reduces ? 8 : 1, .bytes = 2 * SEGMENT,
					      .sizes = has_sizes ? sizes[0] : NULL,
					      .at = has_sizes ? places[0] : NULL,
					      .recv_sizes = has_both ? sizes[0] : NULL,
					      .recv_at = has_both ? places[0] : NULL,
					      .params = params, .is_commutative = true };
		struct cs_problem other = problem;
		assert_non_null(algorithm);
		cases[i].change(&other);
		struct cs_op op = { 0 };
		fixture.team.idle = &fixture.idle;
		cs_op_join(&op, &fixture.team, 0);
		for (int turn = 0; turn < 2; turn++) {
			assert_true(cs_plans_start(&op, &fixture.plans, NULL, algorithm, &problem,
						   input, result, reduces ? &reduction : NULL));
			assert_true(cs_plans_start(&op, &fixture.plans, NULL, algorithm, &other,
						   input, result, reduces ? &reduction : NULL));
			if (fixture.plans.count != 2)
				fail_msg("%s: %d plans", cases[i].what, fixture.plans.count);
		}
		cs_op_fini(&op);
		clear(&fixture);
	}
}

TEST(of_more_than_64_plans_the_least_recently_used_goes_first)
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

TEST(of_more_than_8_mib_of_plans_the_least_recently_used_go_first)
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

TEST(a_plan_that_fills_the_cache_stays_alone)
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

/* --- what is too large ------------------------------------------------------------------------ */

TEST(a_plan_that_is_too_large_does_not_stay_and_drives_nothing_out)
{
	struct fixture fixture = { 0 };
	struct said said;
	for (size_t segments = 1; segments <= CS_PLANS; segments++)
		run(&fixture, segments);
	said_begin(&said);
	run(&fixture, MOST_SEGMENTS + 1);
	run(&fixture, MOST_SEGMENTS + 1);
	assert_string_equal(said_end(&said), "");
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

static int builds;

static void
refuse_all(struct cs_builder *builder)
{
	builds++;
	cs_build_refuse(builder, "it is planted");
	cs_build_refuse(builder, "and again");
}

static void
need_too_much(struct cs_builder *builder)
{
	builds++;
	for (int i = 0; i < 3; i++)
		cs_build_tmp(builder, SIZE_MAX / 4);
	cs_build_send(builder, 0, cs_tmp(0), 8);
}

/* Nothing is done, the operation knows why, and nobody asks again for a call of that shape. */
TEST(a_refusal_is_told_with_its_reason_and_kept)
{
	static const struct cs_algorithm refusing[] = {
		{ .coll = CS_BCAST, .name = "refusing", .build = refuse_all },
		{ .coll = CS_BCAST, .name = "wanting", .build = need_too_much },
	};
	static const char *const reasons[] =
		{ "it is planted", "its plan needs more memory than there can be" };
	for (size_t i = 0; i < COUNT(refusing); i++) {
		struct fixture fixture = { .team.host = &host };
		char vector[SEGMENT];
		fixture.team.idle = &fixture.idle;
		builds = 0;
		messages = 0;
		for (size_t shape = 0; shape < 2 * CS_PLANS; shape++) {
			struct cs_problem problem = { .coll = CS_BCAST, .ranks = RANKS, .rank = 1,
						      .unit = 1, .bytes = 1 + shape / 2 };
			struct cs_op op = { 0 };
			cs_op_join(&op, &fixture.team, 0);
			assert_false(cs_plans_start(&op, &fixture.plans, NULL, &refusing[i],
						    &problem, vector, vector, NULL));
			assert_true(op.node.outcome.bits & CS_OUTCOME_REFUSED);
			assert_string_equal(op.node.outcome.refused, reasons[i]);
			assert_int_equal(builds, 1 + shape / 2);
			cs_op_fini(&op);
		}
		assert_int_equal(messages, 0);
		run(&fixture, 3);
		assert_int_equal(fixture.plans.count, CS_PLANS); /* a refusal gave way */
		clear(&fixture);
	}
}

static int builds_without_memory;

static void
want_memory(struct cs_builder *builder)
{
	if (builds_without_memory-- > 0)
		cs_build_no_memory(builder);
	build_segments(builder);
}

/* The least recently used ones first, no more of them than it takes. */
TEST(memory_that_is_out_is_taken_from_plans_that_are_kept)
{
	static const struct cs_algorithm wanting =
		{ .coll = CS_BCAST, .name = "wanting", .build = want_memory };
	struct fixture fixture = { 0 };
	char vector[SEGMENT];
	struct cs_problem problem = { .coll = CS_BCAST, .ranks = RANKS, .rank = 1, .unit = 1,
				      .bytes = 9 * SEGMENT };
	struct cs_op op = { 0 };
	for (size_t segments = 1; segments <= 5; segments++)
		run(&fixture, segments);
	run(&fixture, 1);
	messages = 0;
	builds_without_memory = 3;
	cs_op_join(&op, &fixture.team, 0);
	assert_true(cs_plans_start(&op, &fixture.plans, NULL, &wanting, &problem, vector, vector,
				   NULL));
	cs_op_fini(&op);
	assert_int_equal(messages, 2 * 9);
	assert_int_equal(fixture.plans.count, 3);
	assert_non_null(kept(&fixture, 1));
	assert_non_null(kept(&fixture, 5));
	assert_non_null(kept(&fixture, 9));
	assert_int_equal(fixture.plans.bytes, (1 + 5 + 9) * SEGMENT_BYTES);
	clear(&fixture);
}

/* One that may not wait asks again when another one's plan is over, which then gives its memory. */
TEST(memory_that_is_out_is_awaited_from_plans_that_are_run)
{
	static const struct cs_algorithm wanting =
		{ .coll = CS_BCAST, .name = "wanting", .build = want_memory };
	struct fixture fixture = { .team.host = &host };
	char vector[SEGMENT] = { 0 };
	struct cs_problem problem = { .coll = CS_BCAST, .ranks = RANKS, .rank = 1, .unit = 1,
				      .bytes = 5 * SEGMENT };
	struct cs_op first = { 0 }, second = { 0 };
	fixture.team.idle = &fixture.idle;
	cs_op_join(&first, &fixture.team, 0);
	cs_op_join(&second, &fixture.team, 0);
	first.node.extras |= CS_OP_NONBLOCKING;
	second.node.extras |= CS_OP_NONBLOCKING;
	assert_true(cs_plans_start(&first, &fixture.plans, NULL, &segments_alone, &problem, vector,
				   vector, NULL));
	assert_int_equal(cs_plans_have_begun(&first), CS_OK);
	builds_without_memory = 2;
	assert_true(cs_plans_start(&second, &fixture.plans, NULL, &wanting, &problem, vector,
				   vector, NULL));
	assert_int_equal(cs_plans_have_begun(&second), CS_AGAIN);
	assert_int_equal(second.node.awaited.local, CS_AWAITS_MESSAGE);
	assert_int_equal(fixture.plans.count, 1);
	assert_int_equal(cs_plans_go(&first), CS_OK);
	messages = 0;
	assert_true(cs_plans_start(&second, &fixture.plans, NULL, &wanting, &problem, vector,
				   vector, NULL));
	assert_int_equal(cs_plans_have_begun(&second), CS_OK);
	assert_int_equal(builds_without_memory, -1);
	assert_int_equal(fixture.plans.count, 1); /* the first one's has given way */
	assert_int_equal(cs_plans_go(&second), CS_OK);
	assert_int_equal(messages, 2 * 5);
	cs_op_fini(&first);
	cs_op_fini(&second);
	clear(&fixture);
}

/* Bytes, of which malloc has no more at once. */
static size_t most_at_once = SIZE_MAX;

void *__real_realloc(void *memory, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
void *
__wrap_realloc(void *memory, size_t bytes)
{
	return bytes > most_at_once ? NULL : __real_realloc(memory, bytes);
}

#define PARTED_RANKS 300
#define PARTED_STEPS 128 /* there is memory for */

static uint64_t
order_of(struct cs_op *op, struct fixture *fixture, const struct cs_algorithm *algorithm,
	 const struct cs_problem *problem)
{
	static char in[PARTED_RANKS * SEGMENT], out[PARTED_RANKS * SEGMENT];
	const struct cs_reduction sum = { .unit = 8, .kernel = add_nothing };
	order = messages = 0;
	assert_true(cs_plans_start(op, &fixture->plans, NULL, algorithm, problem, in, out,
				   cs_colls[problem->coll].reduces ? &sum : NULL));
	note_order(0, NULL, messages, NULL);
	return order;
}

/* Steps of the plan. The operation's memory stays where it is. */
static size_t
expect_the_same_in_parts(enum cs_coll coll, const char *name)
{
	const struct cs_algorithm *algorithm = cs_algorithm_by_name(coll, name);
	const size_t params[CS_MAX_PARAMS] = { SEGMENT, 4 };
	struct cs_problem problem = { .coll = coll, .ranks = PARTED_RANKS, .rank = 1, .root = 1,
				      .unit = 8, .bytes = cs_coll_has_blocks(&cs_colls[coll])
				      ? SEGMENT : PARTED_RANKS * SEGMENT, .is_commutative = true,
				      .params = params };
	struct fixture fixture = { .team.host = &host }, without = { 0 };
	struct cs_op op = { 0 };
	fixture.team.idle = &fixture.idle;
	assert_non_null(algorithm);
	cs_op_join(&op, &fixture.team, 0);
	uint64_t whole = order_of(&op, &fixture, algorithm, &problem);
	size_t count = fixture.plans.cached[0].plan.count;
	run(&without, 1); /* the cache has its memory */
	most_at_once = PARTED_STEPS * sizeof(struct cs_step);
	uint64_t parts = order_of(&op, &without, algorithm, &problem);
	most_at_once = SIZE_MAX;
	assert_int_equal(without.plans.count, count <= PARTED_STEPS ? 2 : 0);
	if (parts != whole)
		fail_msg("%s:%s does something else in parts", cs_colls[coll].name, name);
	clear(&without);
	cs_op_fini(&op);
	clear(&fixture);
	return count;
}

/* One step after the other, as if there were memory: also what is done of each of many segments. */
TEST(a_plan_that_there_is_no_memory_for_is_run_in_parts)
{
	static const struct {
		enum cs_coll coll;
		const char *name;
		size_t least; /* steps */
	} cases[] = { { CS_ALLGATHER, "ring", 2 * CS_PLAN_PART },
		      { CS_ALLTOALL, "pairwise", 2 * CS_PLAN_PART },
		      { CS_ALLTOALL, "scattered", 2 * CS_PLAN_PART },
		      { CS_GATHER, "linear", 2 * CS_PLAN_PART },
		      { CS_REDUCE_SCATTER_BLOCK, "pairwise", 2 * CS_PLAN_PART },
		      { CS_REDUCE_SCATTER_BLOCK, "ring", 2 * CS_PLAN_PART },
		      { CS_BCAST, "linear", 2 * CS_PLAN_PART },
		      { CS_BCAST, "pipelined-binomial", 1 },
		      { CS_SCAN, "chain", 1 } };
	for (size_t i = 0; i < COUNT(cases); i++) {
		size_t steps = expect_the_same_in_parts(cases[i].coll, cases[i].name);
		if (steps < cases[i].least)
			fail_msg("%s:%s has %zu steps only", cs_colls[cases[i].coll].name,
				 cases[i].name, steps);
	}
}

/* Loops of one step and of many, with steps before and behind them: parts do not end within. */
static void
build_loops(struct cs_builder *builder)
{
	for (size_t length = 1; 2 * length < CS_PLAN_PART; length += 14) { /* up to 127 */
		build_segments(builder);
		cs_build_repeat(builder, 3, SEGMENT, 1);
		for (size_t i = 0; i < length; i++)
			cs_build_wait(builder, cs_build_send(builder, 2, cs_in(i), 1));
		cs_build_repeated(builder);
		cs_build_repeat(builder, 1, SEGMENT, 1); /* which is none */
		build_segments(builder);
		cs_build_repeated(builder);
	}
}

TEST(loops_are_in_one_part)
{
	static const struct cs_algorithm loops =
		{ .coll = CS_BCAST, .name = "loops", .build = build_loops };
	for (size_t segments = 0; segments < 80; segments++) {
		struct fixture fixture = { .team.host = &host }, without = { 0 };
		struct cs_problem problem = { .coll = CS_BCAST, .ranks = RANKS, .rank = 1,
					      .unit = 1, .bytes = segments * SEGMENT };
		struct cs_op op = { 0 };
		fixture.team.idle = &fixture.idle;
		cs_op_join(&op, &fixture.team, 0);
		uint64_t whole = order_of(&op, &fixture, &loops, &problem);
		run(&without, 1);
		most_at_once = PARTED_STEPS * sizeof(struct cs_step);
		uint64_t parts = order_of(&op, &without, &loops, &problem);
		most_at_once = SIZE_MAX;
		assert_int_equal(without.plans.count, 0);
		assert_true(whole == parts);
		clear(&without);
		cs_op_fini(&op);
		clear(&fixture);
	}
}

/* --- how long plans are ----------------------------------------------------------------------- */

static const struct {
	enum cs_coll coll;
	const char *name;
} pipelines[] = { { CS_BCAST, "chain" }, { CS_BCAST, "pipelined-binomial" }, { CS_SCAN, "chain" },
		  { CS_EXSCAN, "chain" } };

/* Of a vector in so many segments that its plan, written out, would take more than there is memory.
 * What is done for most of them is written once. */
TEST(a_pipeline_of_any_length_is_a_plan_of_few_steps)
{
	uint64_t random = first_seed();
	for (int i = 0; i < 2000; i++) {
		uint64_t before = random;
		size_t which = random_below(&random, COUNT(pipelines)),
		       window = 1 + random_below(&random, 16);
		const struct cs_algorithm *algorithm =
			cs_algorithm_by_name(pipelines[which].coll, pipelines[which].name);
		const size_t params[CS_MAX_PARAMS] = { SEGMENT, window };
		int ranks = 2 + (int)random_below(&random, 60), depth = 1;
		while (1 << depth < ranks)
			depth++;
		struct cs_problem problem = { .coll = pipelines[which].coll, .ranks = ranks,
					      .unit = 8, .params = params };
		problem.rank = (int)random_below(&random, (uint32_t)ranks);
		problem.root = cs_colls[problem.coll].rooted
			       ? (int)random_below(&random, (uint32_t)ranks) : 0;
		problem.is_in_place = cs_colls[problem.coll].reduces && random_below(&random, 2);
		problem.bytes = ((size_t)1 << (20 + random_below(&random, 30))) + 8 *
				random_below(&random, 100);
		struct cs_builder builder;
		struct cs_plan plan;
		cs_builder_init(&builder, &problem, &plan);
		algorithm->build(&builder);
		assert_int_equal(cs_builder_finish(&builder), CS_OK);
		/* A window at each end, one that is repeated, what is left of one; of a segment two
		 * steps for each message, and two sums or copies. */
		size_t neighbours = (size_t)depth + 1, most = 4 * window * (2 * neighbours + 2) + 1;
		size_t segments = (problem.bytes + SEGMENT - 1) / SEGMENT;
		if (plan.count > most || cs_plan_length(&plan) < 2 * segments)
			fail_msg("TEST_SEED=%llu: %s:%s, rank %d of %d, %zu bytes, window %zu: %zu "
				 "steps written, %zu done", (unsigned long long)before,
				 cs_colls[problem.coll].name, algorithm->name, problem.rank, ranks,
				 problem.bytes, window, plan.count, cs_plan_length(&plan));
		cs_plan_fini(&plan);
	}
}

/* What a run on a wire does, in its order; `kind` is also which function was called. */
static struct done {
	int kind, peer;
	ptrdiff_t at; /* in the vector, or in CS_TMP; of a wait: which request */
	size_t bytes;
} *noted;
static size_t noted_count, noted_room;
static const struct cs_run *noted_run;
static char *vectors[CS_MEMORIES];
static uint64_t chance;

static void
note(int kind, int peer, ptrdiff_t at, size_t bytes)
{
	if (noted_count == noted_room) {
		noted_room = 2 * noted_room + 64;
		noted = realloc(noted, noted_room * sizeof *noted);
		assert_non_null(noted);
	}
	noted[noted_count++] = (struct done){ kind, peer, at, bytes };
}

static ptrdiff_t
place_of(const char *memory)
{
	for (enum cs_memory which = 0; which < CS_MEMORIES; which++)
		if (memory >= vectors[which] && memory < vectors[which] + VECTOR)
			return (ptrdiff_t)which * VECTOR + (memory - vectors[which]);
	fail_msg("outside all memory");
	return -1;
}

static void
note_send(struct cs_wire *wire, struct cs_request *request, int peer, uint64_t tag,
	  const void *from, size_t bytes)
{
	note(CS_STEP_SEND, peer, place_of(from), bytes);
}

static void
note_recv(struct cs_wire *wire, struct cs_request *request, int peer, uint64_t tag, void *to,
	  size_t bytes)
{
	note(CS_STEP_RECV, peer, place_of(to), bytes);
}

static void
note_wait(struct cs_wire *wire, struct cs_request *request)
{
	request->told = 0;
	note(CS_STEP_WAIT, -1, request - noted_run->requests, 0);
}

static bool
note_test(struct cs_wire *wire, struct cs_request *request)
{
	if (random_below(&chance, 2))
		return false;
	note_wait(wire, request);
	return true;
}

static void
note_sum(void *out, const void *a, const void *b, size_t count)
{
	note(CS_STEP_REDUCE, -1, place_of(out), count);
	note(CS_STEP_REDUCE, -1, place_of(a), count);
	note(CS_STEP_REDUCE, -1, place_of(b), count);
}

/* Runs the plan; what it does stands in `noted`. */
static void
note_run(const struct cs_plan *plan, bool in_one_go)
{
	struct cs_wire wire = { .send = note_send, .recv = note_recv, .wait = note_wait,
				.test = note_test };
	const struct cs_reduction sum = { .unit = 8, .kernel = note_sum };
	struct cs_request requests[256];
	struct cs_run run = { .plan = plan, .wire = &wire, .requests = requests, .reduction = &sum,
			      .memory = { vectors[CS_IN], vectors[CS_OUT], vectors[CS_TMP] } };
	assert_true(plan->requests <= (int)COUNT(requests) && plan->tmp_bytes <= VECTOR);
	noted_run = &run;
	noted_count = 0;
	if (in_one_go)
		cs_run_finish(&run);
	while (!in_one_go && cs_run_progress(&run) == CS_AGAIN)
		continue;
	assert_int_equal(run.next, plan->count);
	assert_ptr_equal(run.memory[CS_IN], vectors[CS_IN]);
	assert_ptr_equal(run.memory[CS_OUT], vectors[CS_OUT]);
}

/* At once, and left at any wait. */
TEST(a_loop_does_what_its_steps_would_one_by_one)
{
	uint64_t random = first_seed();
	int loops = 0;
	for (enum cs_memory memory = 0; memory < CS_MEMORIES; memory++)
		assert_non_null(vectors[memory] = calloc(1, VECTOR));
	for (int i = 0; i < 600; i++) {
		uint64_t before = random;
		size_t which = random_below(&random, COUNT(pipelines)),
		       window = 1 + random_below(&random, 16);
		const struct cs_algorithm *algorithm =
			cs_algorithm_by_name(pipelines[which].coll, pipelines[which].name);
		const size_t params[CS_MAX_PARAMS] = { SEGMENT, window };
		int ranks = 2 + (int)random_below(&random, 9);
		struct cs_problem problem = { .coll = pipelines[which].coll, .ranks = ranks,
					      .unit = 8, .params = params };
		problem.rank = (int)random_below(&random, (uint32_t)ranks);
		problem.is_in_place = cs_colls[problem.coll].reduces && random_below(&random, 2);
		problem.bytes = 8 * random_below(&random, VECTOR / 8);
		struct cs_builder builder;
		struct cs_plan plan, unrolled;
		cs_builder_init(&builder, &problem, &plan);
		algorithm->build(&builder);
		assert_int_equal(cs_builder_finish(&builder), CS_OK);
		assert_int_equal(cs_plan_unroll(&plan, &unrolled), CS_OK);
		assert_int_equal(unrolled.count, cs_plan_length(&plan));
		loops += plan.count < unrolled.count;
		note_run(&unrolled, true);
		struct done *expected = noted;
		size_t count = noted_count;
		noted = NULL;
		noted_room = 0;
		for (int in_one_go = 0; in_one_go < 2; in_one_go++) {
			note_run(&plan, in_one_go);
			if (noted_count != count ||
			    (count && memcmp(noted, expected, count * sizeof *noted) != 0))
				fail_msg("TEST_SEED=%llu: %s:%s, rank %d of %d, %zu bytes, window "
					 "%zu", (unsigned long long)before,
					 cs_colls[problem.coll].name, algorithm->name, problem.rank,
					 ranks, problem.bytes, window);
		}
		free(expected);
		cs_plan_fini(&plan);
		cs_plan_fini(&unrolled);
	}
	assert_true(loops > 200);
	for (enum cs_memory memory = 0; memory < CS_MEMORIES; memory++)
		free(vectors[memory]);
	free(noted);
}

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

TEST(no_plan_grows_with_the_bytes)
{
	enum { P = 16 };
	int seen = 0;
	const struct cs_algorithm *algorithm;
	for (int row = 0; (algorithm = cs_algorithm_at(row)); row++) {
		size_t params[CS_MAX_PARAMS] = { 0 };
		bool reduces = cs_colls[algorithm->coll].reduces;
		if (!algorithm->build)
			continue;
		for (int i = 0; i < CS_MAX_PARAMS && algorithm->params[i].name; i++) {
			bool is_size = !strcmp(algorithm->params[i].name, "segment");
			params[i] = is_size ? algorithm->params[i].low + 64
					    : algorithm->params[i].fallback;
		}
		struct cs_problem problem = { .coll = algorithm->coll, .ranks = P,
					      .unit = reduces ? 8 : 1, .bytes = (size_t)1 << 40,
					      .is_commutative = true, .params = params };
		size_t longest = longest_of(algorithm, &problem);
		if (longest * sizeof(struct cs_step) > CS_PLAN_BUDGET)
			fail_msg("%s:%s: %zu steps", cs_colls[problem.coll].name, algorithm->name,
				 longest);
		seen += longest > 0;
	}
	assert_true(seen > 30);
}

static const char *
open_group(void *group)
{
	return NULL;
}

/* A runner for calls of `ranks` on `nodes`, by that tuning and the collective's variable (NULL: not
 * set). */
static void
make_selection(struct cs_selection *selection, struct cs_team *team, const char *tuning,
	       enum cs_coll coll, const char *forced, int ranks, int nodes)
{
	static const struct cs_host opening = { .wire = wire_of, .abort = end, .open = open_group };
	static const struct cs_machine machine = { "mpich", "", "", 4 };
	struct cs_settings settings = { .team_after = -1, .tuning = tuning };
	struct cs_selector *selector;
	settings.force[coll] = forced;
	assert_int_equal(cs_selector_create(&selector, &settings, &machine), CS_OK);
	*team = (struct cs_team){ .host = &opening };
	*selection = (struct cs_selection){ .selector = selector, .team = team,
					    .facts = { .ranks = ranks, .nodes = nodes,
						       .ppn_min = ranks / nodes,
						       .ppn_max = (ranks + nodes - 1) / nodes,
						       .is_block_placed = true } };
}

static void
free_selection(struct cs_selection *selection)
{
	cs_selector_destroy((struct cs_selector *)selection->selector);
	cs_selection_fini(selection);
}

/* --- answers that are kept -------------------------------------------------------------------- */

static const char *
cached_of(struct cs_selection *selection, enum cs_coll coll, size_t bytes, int skew,
	  bool is_commutative)
{
	enum cs_order asked = !is_commutative ? CS_ORDER_KEPT
			      : cs_colls[coll].reduces ? CS_ORDER_FREE : CS_ORDER_NONE;
	const struct cs_cached_choice *cached = cs_selection_choose(selection, coll, bytes, skew,
								    asked);
	return cached->choice.algorithm ? cached->choice.algorithm->name : "host";
}

/* A collective is left to the host unseen once that is the answer for all of its calls, and not
 * before. */
TEST(the_host_for_some_calls_is_not_the_host_for_all)
{
	static const struct {
		const char *forced;
		size_t bytes;
		bool is_commutative, is_for_all;
		const char *otherwise; /* of 100 bytes, commutative */
	} cases[] = {
		{ "0-3000=recursive-doubling,3000-inf=host", 4000, true, false,
		  "recursive-doubling" },
		{ "0-10=host,10-inf=recursive-doubling", 4, true, false, "recursive-doubling" },
		{ "ring", 100, false, false, "ring" },
		{ "host", 100, false, false, "host" },
		{ "host", 100, true, true, "host" },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct cs_selection selection;
		struct cs_team team;
		make_selection(&selection, &team, "builtin", CS_ALLREDUCE, cases[i].forced, 4, 1);
		cs_log_set_speaker(false);
		assert_string_equal(cached_of(&selection, CS_ALLREDUCE, cases[i].bytes, 1,
					      cases[i].is_commutative), "host");
		assert_int_equal(selection.host_only, cases[i].is_for_all ? 1u << CS_ALLREDUCE : 0);
		assert_string_equal(cached_of(&selection, CS_ALLREDUCE, 100, 1, true),
				    cases[i].otherwise);
		free_selection(&selection);
	}
}

/* Where a rule asks how uneven the blocks are, an answer is for calls that are as uneven. */
TEST(answers_that_depend_on_skew_are_for_that_skew_only)
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
	struct cs_selection selection;
	struct cs_team team;
	char path[256];
	int file = mkstemp(temporary(path));
	assert_true(file >= 0);
	assert_int_equal(write(file, rules, sizeof rules - 1), sizeof rules - 1);
	close(file);
	make_selection(&selection, &team, path, CS_ALLGATHERV, NULL, 4, 1);
	unlink(path);
	for (size_t i = 0; i < COUNT(asked); i++)
		assert_string_equal(cached_of(&selection, CS_ALLGATHERV, 1000, asked[i].skew, true),
				    asked[i].name);
	assert_int_equal(selection.host_only, 0);
	free_selection(&selection);
}

/* --- small calls at once ---------------------------------------------------------------------- */

static int ran_at_once, ran_by_phases;

static bool
at_once(struct cs_op *op, const size_t *params)
{
	ran_at_once++;
	return true;
}

static void
by_phases(struct cs_op *op, const size_t *params)
{
	ran_by_phases++;
}

/* The done word of a call at once would say that an older operation is over. */
TEST(no_call_is_made_at_once_past_an_operation_under_way)
{
	const struct cs_algorithm algorithm = { .fast = at_once, .run = by_phases };
	struct cs_cached_choice cached = { .choice.algorithm = &algorithm };
	struct cs_team team = { .node.under_way = 1 };
	struct cs_op op = { .team = &team };
	cs_selection_run_quietly(&cached, &op);
	assert_int_equal(ran_at_once, 0);
	assert_int_equal(ran_by_phases, 1);
	team.node.under_way = 0;
	cs_selection_run_quietly(&cached, &op);
	assert_int_equal(ran_at_once, 1);
	assert_int_equal(ran_by_phases, 1);
}

RUN_TESTS(NULL, NULL)
