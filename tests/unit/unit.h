/* unit.h — what the unit tests share: cmocka, the lines on stderr, files of a test. */
#ifndef CS_TESTS_UNIT_H
#define CS_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* cmocka 2 calls the old name, which cmocka 1 has alone, deprecated: both compare unsigned
 * numbers. */
#ifdef assert_uint_in_range
#undef assert_in_range
#define assert_in_range(value, least, most) assert_uint_in_range(value, least, most)
#endif

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* TEST(name) begins a test. RUN_TESTS runs those of the file, in its order, between `begin` and
 * `end`, RUN_EACH_TEST each of them; either may be NULL. */
static struct CMUnitTest unit_tests[64]; /* the rest is without names, which cmocka passes over */
static size_t unit_test_count;
#define TEST(test)                                                                               \
	static void test(void **state);                                                          \
	static __attribute__((constructor(1000 + __LINE__))) void add_##test(void)               \
	{                                                                                        \
		if (unit_test_count == COUNT(unit_tests))                                        \
			abort();                                                                 \
		unit_tests[unit_test_count++] = (struct CMUnitTest)cmocka_unit_test(test);       \
	}                                                                                        \
	static void test(void **state)

static inline int
run_all(CMFixtureFunction begin, CMFixtureFunction end)
{
	return cmocka_run_group_tests(unit_tests, begin, end);
}

static inline int
run_each(CMFixtureFunction begin, CMFixtureFunction end)
{
	for (size_t i = 0; i < unit_test_count; i++) {
		unit_tests[i].setup_func = begin;
		unit_tests[i].teardown_func = end;
	}
	return run_all(NULL, NULL);
}

#define RUN_TESTS(begin, end) int main(void) { return run_all(begin, end); }
#define RUN_EACH_TEST(begin, end) int main(void) { return run_each(begin, end); }

/* Leaves out the rest of a test, which scripts/test tells. */
#define leave_out(why)                                                           \
	do {                                                                     \
		printf("# note: left out: %s: %s\n", __func__, why);             \
		skip();                                                          \
	} while (0)

/* What is written to stderr between begin and end. */
struct said {
	int real;
	FILE *file;
	char text[8192];
};

static inline void
said_begin(struct said *said)
{
	fflush(stderr);
	said->file = tmpfile();
	said->real = dup(STDERR_FILENO);
	assert_non_null(said->file);
	assert_true(said->real >= 0);
	assert_true(dup2(fileno(said->file), STDERR_FILENO) >= 0);
}

static inline const char *
said_end(struct said *said)
{
	fflush(stderr);
	dup2(said->real, STDERR_FILENO);
	close(said->real);
	rewind(said->file);
	size_t got = fread(said->text, 1, sizeof said->text - 1, said->file);
	said->text[got] = '\0';
	fclose(said->file);
	return said->text;
}

static inline size_t
count_lines(const char *text)
{
	size_t lines = 0;
	for (; *text; text++)
		lines += *text == '\n';
	return lines;
}

/* Prints both texts when the second does not contain the first. */
static inline void
assert_contains(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("expected to find\n  %s\nin\n  %s", part, text);
}

/* A pattern for mkdtemp and mkstemp. Returns `path`. */
static inline char *
temporary(char path[256])
{
	const char *folder = getenv("TMPDIR");
	snprintf(path, 256, "%s/collshim-unit-XXXXXX", folder && *folder ? folder : P_tmpdir);
	return path;
}

/* A small generator, so that a printed seed replays the same cases everywhere. */
static inline uint32_t
next_random(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*state >> 33);
}

static inline uint32_t
random_below(uint64_t *state, uint32_t bound)
{
	return next_random(state) % bound;
}

/* TEST_SEED, else a fixed one; printed by the test that fails. */
static inline uint64_t
first_seed(void)
{
	const char *text = getenv("TEST_SEED");
	return text ? strtoull(text, NULL, 0) : 20261121;
}

#endif
