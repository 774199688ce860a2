/* The built-in tuning as the build has compiled it, against what the library makes of its text
 * now. */
#include "unit.h"

#include "select/tuning.h"

#include <stdbool.h>

static void
expect_same_text(const char *left, const char *right)
{
	assert_int_equal(!left, !right);
	if (left)
		assert_string_equal(left, right);
}

static void
expect_same_block(const struct cs_block *left, const struct cs_block *right)
{
	const char *const lefts[] = { left->name, left->date, left->library, left->command,
				      left->measured_on, left->measured_mpi, left->note, left->mpi,
				      left->cpu, left->host };
	const char *const rights[] = { right->name, right->date, right->library, right->command,
				       right->measured_on, right->measured_mpi, right->note,
				       right->mpi, right->cpu, right->host };
	for (size_t i = 0; i < COUNT(lefts); i++)
		expect_same_text(lefts[i], rights[i]);
	assert_int_equal(left->line, right->line);
	assert_memory_equal(&left->cores, &right->cores, sizeof left->cores);
}

static void
expect_same_rule(const struct cs_rule *left, const struct cs_rule *right)
{
	assert_int_equal(left->coll, right->coll);
	const struct cs_range lefts[] = { left->bytes, left->ranks, left->nodes, left->ppn,
					  left->skew };
	const struct cs_range rights[] = { right->bytes, right->ranks, right->nodes, right->ppn,
					   right->skew };
	assert_memory_equal(lefts, rights, sizeof lefts);
	assert_int_equal(left->wire, right->wire);
	assert_int_equal(left->placement, right->placement);
	assert_int_equal(left->imbalance, right->imbalance);
	assert_ptr_equal(left->use.algorithm, right->use.algorithm);
	assert_memory_equal(left->use.params, right->use.params, sizeof left->use.params);
	assert_int_equal(left->block, right->block);
	assert_int_equal(left->line, right->line);
}

static void
expect_same(const struct cs_tuning *left, const struct cs_tuning *right)
{
	assert_string_equal(left->label, right->label);
	assert_memory_equal(&left->limits, &right->limits, sizeof left->limits);
	assert_memory_equal(left->has_limit, right->has_limit, sizeof left->has_limit);
	assert_int_equal(left->block_count, right->block_count);
	for (size_t i = 0; i < left->block_count; i++)
		expect_same_block(&left->blocks[i], &right->blocks[i]);
	assert_int_equal(left->rule_count, right->rule_count);
	for (size_t i = 0; i < left->rule_count; i++)
		expect_same_rule(&left->rules[i], &right->rules[i]);
	assert_int_equal(left->model_count, 0);
	assert_int_equal(right->model_count, 0);
}

static struct cs_tuning *
parsed(const char *label)
{
	struct cs_tuning_errors errors = { 0 };
	struct cs_tuning *tuning;
	assert_int_equal(cs_tuning_parse(&tuning, label, cs_tuning_builtin, cs_tuning_builtin_bytes,
					 &errors), CS_OK);
	assert_false(tuning->is_compiled);
	return tuning;
}

TEST(what_is_compiled_is_what_the_text_says)
{
	struct cs_tuning_errors errors = { 0 };
	struct cs_tuning *from_text = parsed("a label"), *compiled;
	assert_non_null(cs_tuning_compiled);
	assert_int_equal(cs_tuning_load_builtin(&compiled, "a label", &errors), CS_OK);
	assert_true(compiled->is_compiled);
	assert_true(compiled->rule_count > 20);
	expect_same(compiled, from_text);
	cs_tuning_destroy(compiled);
	cs_tuning_destroy(from_text);
}

/* As the installed one is, until somebody edits it. */
TEST(a_file_is_parsed_only_if_it_says_something_else)
{
	struct cs_tuning_errors errors = { 0 };
	struct cs_tuning *loaded, *from_text;
	char path[256];
	int file = mkstemp(temporary(path));
	assert_true(file >= 0);
	from_text = parsed(path);
	for (int is_edited = 0; is_edited < 2; is_edited++) {
		assert_int_equal(pwrite(file, cs_tuning_builtin, cs_tuning_builtin_bytes, 0),
				 cs_tuning_builtin_bytes);
		if (is_edited) /* "# Which" */
			assert_int_equal(pwrite(file, "w", 1, 2), 1);
		assert_int_equal(cs_tuning_load(&loaded, path, &errors), CS_OK);
		assert_int_equal(loaded->is_compiled, !is_edited);
		expect_same(loaded, from_text);
		cs_tuning_destroy(loaded);
	}
	close(file);
	unlink(path);
	cs_tuning_destroy(from_text);
}

RUN_TESTS(NULL, NULL)
