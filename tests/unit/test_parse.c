#include "unit.h"

#include "base/hash.h"
#include "base/nearest.h"
#include "base/parse.h"

#include <locale.h>

TEST(sizes_are_read_with_units_of_1024)
{
	static const struct {
		const char *text;
		size_t bytes;
	} cases[] = {
		{ "0", 0 }, { "1", 1 }, { "007", 7 }, { "64", 64 }, { "64B", 64 }, { "64b", 64 },
		{ "8K", 8192 }, { "8k", 8192 }, { "8KB", 8192 }, { "8KiB", 8192 }, { "8kib", 8192 },
		{ "1M", 1 << 20 }, { "3MiB", 3 << 20 }, { "2G", (size_t)2 << 30 },
			{ "inf", CS_INF },
		{ "INF", CS_INF }, { "18446744073709551613", SIZE_MAX - 2 },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		size_t bytes = 12345;
		if (cs_parse_bytes(cases[i].text, &bytes) != CS_OK || bytes != cases[i].bytes)
			fail_msg("%s gave %zu, not %zu", cases[i].text, bytes, cases[i].bytes);
	}
}

TEST(what_is_no_size_is_refused_and_leaves_the_output_alone)
{
	static const char *const cases[] = {
		"", " ", "K", "B", "-1", "+1", " 1", "1 ", "1 K", "0x10", "1.5M", "1e6", "8Q",
			"8KK", "8KiBs",
		"8iB", "8Ki", "infinite", "in", "nan", "18446744073709551614",
		"18446744073709551616",
		"99999999999999999999", "17179869184G", "8K-", "\n8", "8\n",
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		size_t bytes = 12345;
		if (cs_parse_bytes(cases[i], &bytes) != CS_BAD_INPUT || bytes != 12345)
			fail_msg("\"%s\" was taken, as %zu", cases[i], bytes);
	}
}

TEST(byte_ranges_leave_out_their_end_so_that_neighbours_share_nothing)
{
	static const struct {
		const char *text;
		size_t low, high;
	} cases[] = {
		{ "0-4K", 0, 4096 }, { "4K-inf", 4096, CS_INF }, { "8", 8, 9 }, { "0", 0, 1 },
		{ "1K-1M", 1024, 1 << 20 }, { "7-8", 7, 8 }, { "0-INF", 0, CS_INF },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct cs_range range = { 1, 2 };
		if (cs_parse_byte_range(cases[i].text, &range) != CS_OK ||
		    range.low != cases[i].low || range.high != cases[i].high)
			fail_msg("%s gave %zu..%zu", cases[i].text, range.low, range.high);
	}
}

TEST(count_ranges_take_their_end_in)
{
	static const struct {
		const char *text;
		size_t low, high;
	} cases[] = {
		{ "2-8", 2, 9 }, { "4", 4, 5 }, { "2-inf", 2, CS_INF }, { "5-5", 5, 6 },
			{ "1K-2K", 1024, 2049 },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct cs_range range = { 1, 2 };
		if (cs_parse_count_range(cases[i].text, &range) != CS_OK ||
		    range.low != cases[i].low || range.high != cases[i].high)
			fail_msg("%s gave %zu..%zu", cases[i].text, range.low, range.high);
	}
}

TEST(empty_and_broken_ranges_are_refused_and_leave_the_output_alone)
{
	static const char *const both[] = {
		"", "-", "4-", "-4", "8-4", "inf", "inf-inf", "inf-4", "4--8", "4-8-9", "4..8",
			"a-b", "4 - 8",
	};
	struct cs_range range = { 11, 22 };
	for (size_t i = 0; i < COUNT(both); i++)
		if (cs_parse_byte_range(both[i], &range) != CS_BAD_INPUT ||
		    cs_parse_count_range(both[i], &range) != CS_BAD_INPUT)
			fail_msg("\"%s\" was taken", both[i]);
	assert_int_equal(cs_parse_byte_range("4K-4K", &range), CS_BAD_INPUT);
	assert_int_equal(cs_parse_count_range("4B", &range), CS_BAD_INPUT);
	assert_int_equal(range.low, 11);
	assert_int_equal(range.high, 22);
}

TEST(a_written_number_reads_back_as_itself)
{
	uint64_t seed = first_seed();
	for (int i = 0; i < 20000; i++) {
		char text[CS_NUMBER_TEXT];
		size_t number = (size_t)next_random(&seed) << random_below(&seed, 30), back = 0;
		if (i < 5)
			number = ((const size_t[]){ 0, 1, CS_INF, CS_INF - 1, 1024 })[i];
		if (cs_parse_bytes(cs_bytes_text(text, number), &back) != CS_OK || back != number)
			fail_msg("%zu was written as %s and read as %zu", number, text, back);
	}
	char text[CS_NUMBER_TEXT];
	assert_string_equal(cs_bytes_text(text, 65536), "64K");
	assert_string_equal(cs_bytes_text(text, 1536), "1536");
	assert_string_equal(cs_bytes_text(text, 0), "0");
	assert_string_equal(cs_bytes_text(text, (size_t)1 << 40), "1024G");
}

TEST(a_written_range_reads_back_as_itself)
{
	uint64_t seed = first_seed();
	for (int i = 0; i < 20000; i++) {
		char text[CS_RANGE_TEXT];
		size_t low = random_below(&seed, 5000);
		size_t high = random_below(&seed, 8) ? low + 1 + random_below(&seed, 5000) : CS_INF;
		struct cs_range range = { low, high }, back = { 0 };
		if (cs_parse_byte_range(cs_byte_range_text(text, range), &back) != CS_OK ||
		    back.low != low || back.high != high)
			fail_msg("bytes %zu..%zu became %s", low, high, text);
		if (cs_parse_count_range(cs_count_range_text(text, range), &back) != CS_OK ||
		    back.low != low || back.high != high)
			fail_msg("counts %zu..%zu became %s", low, high, text);
	}
}

static const char *
nearest_to(const char *word)
{
	static const char *const names[] = { "allgather", "allgatherv", "bcast", "gather",
					     "reduce_scatter",
					     "spin" };
	struct cs_nearest nearest = { .word = word };
	for (size_t i = 0; i < COUNT(names); i++)
		cs_nearest_try(&nearest, names[i]);
	return nearest.best;
}

TEST(a_mistyped_name_finds_the_one_that_was_meant)
{
	assert_string_equal(nearest_to("algather"), "allgather");
	assert_string_equal(nearest_to("ALLGATHER"), "allgather");
	assert_string_equal(nearest_to("allgatherw"), "allgather");
	assert_string_equal(nearest_to("bacst"), "bcast");
	assert_string_equal(nearest_to("sipn"), "spin");
	assert_string_equal(nearest_to("reducescatter"), "reduce_scatter");
}

TEST(a_word_far_from_every_name_finds_none)
{
	char lengthy[200];
	memset(lengthy, 'a', sizeof lengthy);
	lengthy[sizeof lengthy - 1] = '\0';
	assert_null(nearest_to("barrier"));
	assert_null(nearest_to(""));
	assert_null(nearest_to("x"));
	assert_null(nearest_to(lengthy));
}

TEST(hashes_tell_where_one_text_ends_and_the_next_begins)
{
	uint64_t one = cs_hash_text(cs_hash_text(CS_HASH_START, "ab"), "c");
	uint64_t other = cs_hash_text(cs_hash_text(CS_HASH_START, "a"), "bc");
	assert_true(one != other);
	assert_true(cs_hash_text(CS_HASH_START, NULL) != cs_hash_text(CS_HASH_START, ""));
	/* FNV-1a's published value for "foobar". */
	assert_true(cs_hash_bytes(CS_HASH_START, "foobar", 6) == UINT64_C(0x85944171f73967e8));
}

/* With a comma in the program's locale too, where this machine has such a locale. */
TEST(decimals_have_a_point_in_every_locale)
{
	setlocale(LC_NUMERIC, "de_DE.UTF-8");
	char *end;
	assert_true(cs_parse_decimal("35.25us", &end) == 35.25);
	assert_string_equal(end, "us");
	assert_true(cs_parse_decimal("1e-6", &end) == 1e-6);
	assert_true(cs_parse_decimal("2,5", &end) == 2);
	assert_string_equal(end, ",5");
	setlocale(LC_NUMERIC, "C");
}

RUN_TESTS(NULL, NULL)
