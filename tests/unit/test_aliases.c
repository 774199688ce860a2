/* Former names of algorithms and parameters (algorithms/aliases.def) mean what they meant, wherever
 * a user gives them. */
#include "unit.h"

#include "algorithms/algorithm.h"
#include "select/force.h"
#include "select/tuning.h"

struct alias {
	uint32_t colls;
	const char *algorithm, *former, *name; /* algorithm NULL: the name is an algorithm's */
};

static const struct alias aliases[] = {
#define FORMER_NAME(colls, former, name) { colls, NULL, former, name },
#define FORMER_PARAM(colls, algorithm, former, name) { colls, algorithm, former, name },
#include "algorithms/aliases.def"
#undef FORMER_NAME
#undef FORMER_PARAM
};

static const struct cs_algorithm *
must_find(enum cs_coll coll, const char *name)
{
	const struct cs_algorithm *algorithm = cs_algorithm_by_name(coll, name);
	if (!algorithm)
		fail_msg("%s:%s is no algorithm", cs_colls[coll].name, name);
	return algorithm;
}

static bool
is_a_name(enum cs_coll coll, const char *name)
{
	const struct cs_algorithm *algorithm;
	for (int i = 0; (algorithm = cs_algorithm_at(i)); i++)
		if (algorithm->coll == coll && !strcmp(algorithm->name, name))
			return true;
	return false;
}

static void
check_name(const struct alias *alias, enum cs_coll coll)
{
	char former[80], name[80];
	assert_true(is_a_name(coll, alias->name));
	assert_false(is_a_name(coll, alias->former));
	assert_ptr_equal(must_find(coll, alias->former), must_find(coll, alias->name));
	snprintf(former, sizeof former, "hier:%s", alias->former);
	snprintf(name, sizeof name, "hier:%s", alias->name);
	assert_ptr_equal(cs_algorithm_by_name(coll, former), cs_algorithm_by_name(coll, name));
}

static void
check_param(const struct cs_algorithm *algorithm, const struct alias *alias)
{
	int number = cs_algorithm_param(algorithm, alias->name, strlen(alias->name));
	if (number < 0)
		fail_msg("%s:%s has no %s", cs_colls[algorithm->coll].name, algorithm->name,
			 alias->name);
	assert_int_equal(cs_algorithm_param(algorithm, alias->former, strlen(alias->former)),
			 number);
	for (int i = 0; i < CS_MAX_PARAMS && algorithm->params[i].name; i++)
		assert_string_not_equal(algorithm->params[i].name, alias->former);
}

static void
each_line_leads_from_a_name_that_is_free_to_one_that_is_there(void **state)
{
	int checked = 0;
	for (size_t i = 0; i < COUNT(aliases); i++)
		for (enum cs_coll coll = 0; coll < CS_COLL_COUNT; coll++) {
			if (!(aliases[i].colls & CS_SET(coll)))
				continue;
			if (aliases[i].algorithm)
				check_param(must_find(coll, aliases[i].algorithm), &aliases[i]);
			else
				check_name(&aliases[i], coll);
			checked++;
		}
	assert_true(checked >= (int)COUNT(aliases));
}

static void
between_nodes_former_names_stand_too(void **state)
{
	assert_ptr_equal(must_find(CS_ALLTOALL, "hier:spread"),
			 must_find(CS_ALLTOALL, "hier:scattered"));
	assert_ptr_equal(must_find(CS_GATHER, "hier:nway"), must_find(CS_GATHER, "hier:knomial"));
	const struct cs_algorithm *reduce = must_find(CS_REDUCE, "hier:knomial");
	assert_true(cs_algorithm_param(reduce, "k", 1) >= 0);
	assert_int_equal(cs_algorithm_param(reduce, "k", 1),
			 cs_algorithm_param(reduce, "radix", 5));
	assert_int_equal(cs_algorithm_param(reduce, "kk", 2), -1);
}

/* --- forced ----------------------------------------------------------------------------------- */

static const struct {
	enum cs_coll coll;
	const char *former, *now;
} uses[] = {
	{ CS_ALLTOALL, "spread:window=7", "scattered:window=7" },
	{ CS_ALLTOALLW, "hier:spread:lanes=2", "hier:scattered:lanes=2" },
	{ CS_BCAST, "0-4K=nway:k=2,4K-inf=hier:nway:k=7",
	  "0-4K=knomial:k=2,4K-inf=hier:knomial:k=7" },
	{ CS_GATHERV, "hier:bundle:bundle=24K", "hier:aggregated:aggregate=24K" },
	{ CS_GATHERV, "hier:aggregated:bundle=24K", "hier:aggregated:aggregate=24K" },
	{ CS_REDUCE, "knomial:k=8", "knomial:radix=8" },
	{ CS_REDUCE, "hier:knomial:k=8:lanes=1", "hier:knomial:radix=8:lanes=1" },
	{ CS_ALLGATHERV, "pipelined-ring:block=4K", "pipelined-ring:segment=4K" },
};

static void
forced_by_either_name_the_choice_is_one(void **state)
{
	char message[600];
	for (size_t i = 0; i < COUNT(uses); i++) {
		struct cs_force former, now;
		if (cs_force_parse(&former, uses[i].coll, uses[i].former, message,
				   sizeof message) != CS_OK ||
		    cs_force_parse(&now, uses[i].coll, uses[i].now, message, sizeof message) !=
		    CS_OK)
			fail_msg("%s or %s: %s", uses[i].former, uses[i].now, message);
		assert_int_equal(former.item_count, now.item_count);
		for (size_t k = 0; k < now.item_count; k++) {
			assert_ptr_equal(former.items[k].use.algorithm, now.items[k].use.algorithm);
			assert_memory_equal(former.items[k].use.params, now.items[k].use.params,
					    sizeof now.items[k].use.params);
		}
		cs_force_fini(&former);
		cs_force_fini(&now);
	}
}

static void
excluded_by_a_former_name_it_is_excluded(void **state)
{
	char message[600];
	struct cs_force force;
	assert_int_equal(cs_force_parse(&force, CS_SCATTER, "^nway", message, sizeof message),
			 CS_OK);
	assert_int_equal(force.excluded_count, 1);
	assert_ptr_equal(force.excluded[0], must_find(CS_SCATTER, "knomial"));
	cs_force_fini(&force);
}

static void
both_names_of_a_parameter_are_one_parameter_given_twice(void **state)
{
	char message[600];
	struct cs_force force;
	assert_int_equal(cs_force_parse(&force, CS_REDUCE, "knomial:k=8:radix=4", message,
					sizeof message), CS_BAD_INPUT);
	assert_contains(message, "found radix again");
}

/* However many there are: whoever reads the line looks the others up. */
static void
the_first_former_name_is_answered_with_one_line_and_later_ones_with_none(void **state)
{
	char message[600];
	struct said said;
	struct cs_force force;
	said_begin(&said);
	assert_int_equal(cs_force_parse(&force, CS_REDUCE, "knomial:k=8", message, sizeof message),
			 CS_OK);
	cs_force_fini(&force);
	assert_non_null(cs_algorithm_by_name(CS_BCAST, "hier:nway"));
	const char *text = said_end(&said);
	assert_int_equal(count_lines(text), 1);
	assert_contains(text, "collshim: algorithms: \"k\" of reduce:knomial is a former name of "
			      "radix");
}

/* --- in a tuning file ------------------------------------------------------------------------- */

#define FILE_OF(rules) \
	"version: 1\nblocks:\n  - name: x\n    provenance: {date: 2026-01-01, library: x, " \
	"machine: x, command: x}\n" \
	"    rules:\n" rules

static struct cs_tuning *
read_rules(const char *text)
{
	struct cs_tuning *tuning;
	struct cs_tuning_errors errors = { .out = stderr };
	if (cs_tuning_parse(&tuning, "t.yaml", text, strlen(text), &errors) != CS_OK)
		fail_msg("%s", errors.first);
	return tuning;
}

static void
rules_with_former_names_are_the_same_rules(void **state)
{
	struct cs_tuning *former = read_rules(FILE_OF(
		"      - {collective: alltoall, use: \"hier:spread\", with: {lanes: 2}}\n"
		"      - {collective: [gather, bcast], use: nway, with: {k: 3}}\n"
		"      - {collective: reduce, use: \"hier:knomial\", with: {k: 8}}\n"
		"      - {collective: scatterv, use: \"hier:bundle\", with: {bundle: 24K}}\n"));
	struct cs_tuning *now = read_rules(FILE_OF(
		"      - {collective: alltoall, use: \"hier:scattered\", with: {lanes: 2}}\n"
		"      - {collective: [gather, bcast], use: knomial, with: {k: 3}}\n"
		"      - {collective: reduce, use: \"hier:knomial\", with: {radix: 8}}\n"
		"      - {collective: scatterv, use: \"hier:aggregated\", with: {aggregate: "
		"24K}}\n"));
	assert_int_equal(now->rule_count, 5);
	assert_int_equal(former->rule_count, now->rule_count);
	for (size_t i = 0; i < now->rule_count; i++) {
		assert_ptr_equal(former->rules[i].use.algorithm, now->rules[i].use.algorithm);
		assert_memory_equal(former->rules[i].use.params, now->rules[i].use.params,
				    sizeof now->rules[i].use.params);
	}
	cs_tuning_destroy(former);
	cs_tuning_destroy(now);
}

static void
in_a_rule_both_names_are_one_parameter_given_twice(void **state)
{
	static const char text[] = FILE_OF("      - {collective: reduce, use: knomial, with: {k: "
					   "8, radix: 4}}\n");
	struct cs_tuning *tuning;
	struct cs_tuning_errors errors = { 0 };
	assert_int_equal(cs_tuning_parse(&tuning, "t.yaml", text, strlen(text), &errors),
			 CS_BAD_INPUT);
	assert_contains(errors.first, "found the parameter \"radix\" again");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			the_first_former_name_is_answered_with_one_line_and_later_ones_with_none),
		cmocka_unit_test(each_line_leads_from_a_name_that_is_free_to_one_that_is_there),
		cmocka_unit_test(between_nodes_former_names_stand_too),
		cmocka_unit_test(forced_by_either_name_the_choice_is_one),
		cmocka_unit_test(excluded_by_a_former_name_it_is_excluded),
		cmocka_unit_test(both_names_of_a_parameter_are_one_parameter_given_twice),
		cmocka_unit_test(rules_with_former_names_are_the_same_rules),
		cmocka_unit_test(in_a_rule_both_names_are_one_parameter_given_twice),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
