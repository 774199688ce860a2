/* Every parameter of an algorithm that is a plan does something: two of its values give different
 * plans for some ranks and sizes. One that is read nowhere would be accepted, and mean nothing. */
#include "unit.h"

#include "algorithms/algorithm.h"
#include "plan/build.h"

#define MOST_RANKS 24
#define BLOCK 8192

/* Ranks, and how many of them are on a node. */
static const int shapes[][2] = { { 5, 1 }, { 16, 1 }, { 8, 4 }, { 24, 6 } };
#define SHAPES_OF_ONE 2 /* the first of them: one rank on each node */

struct blocks {
	size_t sizes[MOST_RANKS];
	int node_of[MOST_RANKS];
};

static struct cs_problem
problem_of(enum cs_coll coll, const int shape[2], bool is_uneven, struct blocks *blocks)
{
	for (int rank = 0; rank < shape[0]; rank++) {
		blocks->node_of[rank] = rank / shape[1];
		blocks->sizes[rank] = rank % 2 ? 8 : BLOCK * (size_t)(rank + 1) + 8;
	}
	struct cs_problem problem = { .coll = coll, .ranks = shape[0],
				      .unit = cs_colls[coll].reduces ? 8 : 1, .bytes = BLOCK,
				      .is_commutative = true, .node_of = shape[1] > 1
				      ? blocks->node_of : NULL };
	bool has_sizes = coll == CS_ALLGATHERV || coll == CS_GATHERV || coll == CS_SCATTERV ||
			 coll == CS_REDUCE_SCATTER;
	problem.sizes = has_sizes && is_uneven ? blocks->sizes : NULL;
	return problem;
}

/* Of the steps of all ranks, or of the messages that they send; 0: it refuses. */
static uint64_t
digest(const struct cs_algorithm *algorithm, const struct cs_problem *call, const size_t *params,
       bool is_all)
{
	struct cs_problem problem = *call;
	uint64_t all = 1;
	bool is_built = true;
	problem.params = params;
	for (problem.rank = 0; problem.rank < call->ranks; problem.rank++) {
		struct cs_builder builder;
		struct cs_plan plan;
		cs_builder_init(&builder, &problem, &plan);
		algorithm->build(&builder);
		is_built = cs_builder_finish(&builder) == CS_OK && is_built;
		for (size_t i = 0; i < plan.count; i++) {
			const struct cs_step *step = &plan.steps[i];
			const uint64_t words[] = { step->kind, step->to, step->from, step->with,
						   (uint64_t)step->request, (uint64_t)step->peer,
						   step->bytes, step->to_at, step->from_at,
						   step->with_at };
			const uint64_t sent[] = { (uint64_t)problem.rank, (uint64_t)step->peer,
						  step->bytes };
			for (size_t k = 0; is_all && k < COUNT(words); k++)
				all = (all ^ words[k]) * 0x9e3779b97f4a7c15u ^ all >> 29;
			for (size_t k = 0; !is_all && step->kind == CS_STEP_SEND && k < COUNT(sent);
			     k++)
				all = (all ^ sent[k]) * 0x9e3779b97f4a7c15u ^ all >> 29;
		}
		cs_plan_fini(&plan);
	}
	return is_built ? all : 0;
}

static bool
differ(const struct cs_algorithm *algorithm, int changed, const struct cs_problem *call)
{
	const struct cs_param *param = &algorithm->params[changed];
	const size_t values[] = { param->low, param->low + 1, param->fallback, 512, param->high };
	size_t params[CS_MAX_PARAMS] = { 0 };
	uint64_t first = 0;
	for (int i = 0; i < CS_MAX_PARAMS && algorithm->params[i].name; i++)
		params[i] = algorithm->params[i].fallback;
	/* Windows count segments, of which there are to be some. */
	for (int i = 0; i < CS_MAX_PARAMS && algorithm->params[i].name; i++)
		if (i != changed && strcmp(param->name, "startup") != 0 &&
		    !strcmp(algorithm->params[i].name, "segment"))
			params[i] = 256;
	for (size_t i = 0; i < COUNT(values); i++) {
		if (values[i] < param->low || values[i] > param->high)
			continue;
		params[changed] = values[i];
		uint64_t next = digest(algorithm, call, params, true);
		if (first && next && next != first)
			return true;
		first = first ? first : next;
	}
	return false;
}

static bool
has_effect(const struct cs_algorithm *algorithm, int changed, size_t shape_count)
{
	struct blocks blocks;
	for (size_t shape = 0; shape < shape_count; shape++)
		for (int is_uneven = 0; is_uneven < 2; is_uneven++) {
			struct cs_problem call = problem_of(algorithm->coll, shapes[shape],
							    is_uneven, &blocks);
			if (differ(algorithm, changed, &call))
				return true;
		}
	return false;
}

TEST(each_parameter_of_a_plan_changes_some_plan)
{
	int idle = 0, seen = 0;
	const struct cs_algorithm *algorithm;
	for (int row = 0; (algorithm = cs_algorithm_at(row)); row++)
		for (int i = 0; algorithm->build && i < CS_MAX_PARAMS && algorithm->params[i].name;
		     i++, seen++)
			if (!has_effect(algorithm, i, COUNT(shapes))) {
				print_error("%s:%s: %s changes nothing\n",
					    cs_colls[algorithm->coll].name, algorithm->name,
					    algorithm->params[i].name);
				idle++;
			}
	assert_int_equal(idle, 0);
	assert_true(seen > 30);
}

/* Between nodes there is one rank of each: what counts ranks of a node says that it does nothing
 * there, and only that. */
TEST(parameters_without_effect_between_nodes_say_so)
{
	const struct cs_algorithm *algorithm;
	int seen = 0;
	for (int at = 0; (algorithm = cs_algorithm_at(at)); at++)
		for (int i = 0; algorithm->inner && i < CS_MAX_PARAMS &&
		     algorithm->inner->params[i].name; i++) {
			bool is_said = strstr(algorithm->params[i].meaning, "no effect") != NULL;
			if (has_effect(algorithm->inner, i, SHAPES_OF_ONE) == is_said)
				fail_msg("%s:%s: %s %s", cs_colls[algorithm->coll].name,
					 algorithm->name, algorithm->params[i].name,
					 is_said ? "has an effect" : "has none");
			seen += is_said;
		}
	assert_true(seen >= 2);
}

/* And an algorithm for which nodes matter says which other one it is there: the same messages in
 * the same order. */
TEST(algorithms_that_equal_another_one_between_nodes_name_it)
{
	const struct cs_algorithm *algorithm;
	int seen = 0;
	for (int at = 0; (algorithm = cs_algorithm_at(at)); at++) {
		const struct cs_algorithm *inner = algorithm->inner, *same = NULL;
		size_t params[2][CS_MAX_PARAMS] = { 0 };
		struct blocks blocks;
		if (!inner || !inner->alone)
			continue;
		same = cs_algorithm_by_name(inner->coll, inner->alone);
		assert_non_null(same);
		assert_contains(algorithm->summary, "as hier:");
		assert_contains(algorithm->summary, inner->alone);
		for (int i = 0; i < CS_MAX_PARAMS && inner->params[i].name; i++)
			params[0][i] = inner->params[i].fallback;
		/* Where the other one has no such value it has its own. */
		for (int i = 0; i < CS_MAX_PARAMS && same->params[i].name; i++)
			params[1][i] = params[0][i] >= same->params[i].low
				       ? params[0][i] : same->params[i].fallback;
		for (int shape = 0; shape < SHAPES_OF_ONE; shape++)
			for (int is_uneven = 0; is_uneven < 2; is_uneven++) {
				struct cs_problem call = problem_of(inner->coll, shapes[shape],
								    is_uneven, &blocks);
				uint64_t wanted = digest(same, &call, params[1], false);
				if (digest(inner, &call, params[0], false) != wanted || wanted <= 1)
					fail_msg("%s:%s does not send what %s does, %d ranks",
						 cs_colls[inner->coll].name, inner->name,
						 same->name, call.ranks);
			}
		seen++;
	}
	assert_true(seen >= 8);
}

/* How many ranks of the first node have messages of other nodes. */
static int
ranks_outward(const struct cs_algorithm *algorithm, const struct cs_problem *call,
	      const size_t *params)
{
	struct cs_problem problem = *call;
	int count = 0;
	problem.params = params;
	for (problem.rank = 0; problem.node_of[problem.rank] == 0; problem.rank++) {
		struct cs_builder builder;
		struct cs_plan plan;
		bool is_outward = false;
		cs_builder_init(&builder, &problem, &plan);
		algorithm->build(&builder);
		assert_int_equal(cs_builder_finish(&builder), CS_OK);
		for (size_t i = 0; i < plan.count; i++) {
			const struct cs_step *step = &plan.steps[i];
			bool is_message = step->kind == CS_STEP_SEND || step->kind == CS_STEP_RECV;
			is_outward = is_outward || (is_message && problem.node_of[step->peer] != 0);
		}
		count += is_outward;
		cs_plan_fini(&plan);
	}
	return count;
}

/* That many ranks of a node share its messages is more than a wider tree. */
TEST(as_many_ranks_of_a_node_as_asked_for_have_messages_outside)
{
	static const enum cs_coll colls[] = { CS_GATHER, CS_GATHERV, CS_SCATTER, CS_SCATTERV };
	struct blocks blocks;
	for (size_t i = 0; i < COUNT(colls); i++) {
		const struct cs_algorithm *algorithm =
			cs_algorithm_by_name(colls[i], "multi-sender");
		assert_non_null(algorithm);
		for (size_t k = 1; k <= 3; k++) {
			struct cs_problem call = problem_of(colls[i], shapes[3], true, &blocks);
			const size_t params[CS_MAX_PARAMS] = { k };
			assert_int_equal(ranks_outward(algorithm, &call, params), k);
		}
	}
}

RUN_TESTS(NULL, NULL)
