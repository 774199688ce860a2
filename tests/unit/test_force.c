#include "unit.h"

#include "select/force.h"

#define EURO "\xe2\x82\xac"
#define EUROS EURO EURO EURO EURO EURO EURO EURO EURO EURO EURO EURO EURO EURO EURO EURO EURO

static char message[600];

static void
parse(struct cs_force *force, enum cs_coll coll, const char *text)
{
	if (cs_force_parse(force, coll, text, message, sizeof message) != CS_OK)
		fail_msg("%s=%s was refused: %s", cs_colls[coll].variable, text, message);
}

TEST(a_name_alone_serves_all_sizes)
{
	struct cs_force force;
	parse(&force, CS_BCAST, "hier:host");
	assert_int_equal(force.item_count, 1);
	assert_int_equal(force.excluded_count, 0);
	assert_int_equal(force.items[0].bytes.low, 0);
	assert_int_equal(force.items[0].bytes.high, CS_INF);
	assert_string_equal(force.items[0].use.algorithm->name, "hier:host");
	assert_int_equal(force.items[0].use.algorithm->coll, CS_BCAST);
	assert_int_equal(force.items[0].use.params[0], 65536);
	cs_force_fini(&force);
	parse(&force, CS_BCAST, "host");
	assert_null(force.items[0].use.algorithm);
	cs_force_fini(&force);
}

TEST(parameters_follow_the_name_and_replace_the_fallbacks)
{
	struct cs_force force;
	parse(&force, CS_ALLGATHER, "ring:depth=8:chunk=1K:fourth=0");
	assert_string_equal(force.items[0].use.algorithm->name, "ring");
	assert_int_equal(force.items[0].use.params[0], 1024);
	assert_int_equal(force.items[0].use.params[1], 8);
	assert_int_equal(force.items[0].use.params[2], 3);
	assert_int_equal(force.items[0].use.params[3], 0);
	cs_force_fini(&force);
}

TEST(the_longest_known_name_is_meant)
{
	/* Listed before and behind hier:host */
	static const enum cs_coll colls[] = { CS_BCAST, CS_REDUCE };
	for (size_t i = 0; i < COUNT(colls); i++) {
		struct cs_force force;
		parse(&force, colls[i], "hier:host:tree");
		assert_string_equal(force.items[0].use.algorithm->name, "hier:host:tree");
		cs_force_fini(&force);
		parse(&force, colls[i], "hier:host:tree:radix=4");
		assert_string_equal(force.items[0].use.algorithm->name, "hier:host:tree");
		assert_int_equal(force.items[0].use.params[0], 4);
		cs_force_fini(&force);
		parse(&force, colls[i], "hier:host:chunk=4K");
		assert_string_equal(force.items[0].use.algorithm->name, "hier:host");
		cs_force_fini(&force);
	}
}

TEST(ranges_are_kept_in_their_order)
{
	struct cs_force force;
	parse(&force, CS_ALLGATHER, " 0-4K=hier:host, 8 = ring:depth=3 ,4K-inf=host");
	assert_int_equal(force.item_count, 3);
	assert_int_equal(force.items[0].bytes.high, 4096);
	assert_int_equal(force.items[1].bytes.low, 8);
	assert_int_equal(force.items[1].bytes.high, 9);
	assert_int_equal(force.items[1].use.params[1], 3);
	assert_int_equal(force.items[2].bytes.low, 4096);
	assert_int_equal(force.items[2].bytes.high, CS_INF);
	assert_null(force.items[2].use.algorithm);
	cs_force_fini(&force);
}

TEST(a_name_may_end_a_list_of_ranges)
{
	struct cs_force force;
	parse(&force, CS_BCAST, "0-4K=host,hier:host");
	assert_int_equal(force.item_count, 2);
	assert_int_equal(force.items[1].bytes.high, CS_INF);
	cs_force_fini(&force);
}

TEST(names_behind_a_caret_are_excluded)
{
	struct cs_force force;
	parse(&force, CS_BCAST, "^hier:host, ^ring");
	assert_int_equal(force.item_count, 0);
	assert_int_equal(force.excluded_count, 2);
	assert_string_equal(force.excluded[0]->name, "hier:host");
	assert_string_equal(force.excluded[1]->name, "ring");
	assert_int_equal(force.excluded[1]->coll, CS_BCAST);
	cs_force_fini(&force);
}

TEST(what_is_wrong_is_named_with_its_column_and_what_was_expected)
{
	static const struct {
		enum cs_coll coll;
		const char *text, *expected;
	} cases[] = {
		{ CS_BCAST, "foo", "column 1: \"foo\" is no algorithm of bcast; known: host, "
				   "hier:host, "
				   "hier:host:tree, ring" },
		{ CS_BCAST, "heir:host", "did you mean hier:host?" },
		{ CS_BCAST, "heir:host:chunk=4K", "\"heir:host\" is no algorithm of bcast" },
		{ CS_BCAST, "HOST", "did you mean host?" },
		{ CS_BCAST, "  foo", "column 3: " },
		{ CS_BCAST, "hier:hosts", "column 1: \"hier:hosts\" is no algorithm" },
		{ CS_ALLTOALL, "ring", "\"ring\" is no algorithm of alltoall; known: host, "
				       "hier:host" },
		{ CS_BCAST, "0-4K=hier:host,4K-inf=hots", "column 23: \"hots\" is no algorithm" },
		{ CS_BCAST, "weak=host", "column 1: found \"weak\", expected balanced, moderate "
					 "or strong, each once" },
		{ CS_BCAST, "0-4K=strong+strong=host", "column 13: found \"strong\"" },
		{ CS_BCAST, "strong+=host", "column 8: found" },
		{ CS_BCAST, "strong=", "column 8: expected the name of an algorithm" },
		{ CS_BCAST, "0-4K=", "column 6: expected the name of an algorithm" },
		{ CS_BCAST, "0-4K", "column 1: found \"0-4K\", expected sizes A-B with A < B" },
		{ CS_BCAST, "4K-0=host", "column 1: found \"4K-0\", expected sizes" },
		{ CS_BCAST, "0-4Q=host", "column 1: found \"0-4Q\", expected sizes" },
		{ CS_BCAST, "0-4K=host,,ring", "column 11: expected an algorithm, "
					       "sizes=algorithm" },
		{ CS_BCAST, "host,", "column 6: never reached" },
		{ CS_BCAST, ",host", "column 1: expected an algorithm" },
		{ CS_BCAST, "   ", "column 4: expected an algorithm" },
		{ CS_BCAST, "hier:host,host", "column 11: never reached: what stands before it "
					      "serves all sizes" },
		{ CS_BCAST, "0-inf=host,ring", "column 12: never reached" },
		{ CS_BCAST, "hier:host:", "column 11: expected parameter=value behind the "
					  "algorithm hier:host" },
		{ CS_BCAST, "hier:host:chunk", "column 11: expected parameter=value" },
		{ CS_BCAST, "hier:host:=4K", "column 11: expected parameter=value" },
		{ CS_BCAST, "hier:host::chunk=4K", "column 11: expected parameter=value" },
		{ CS_BCAST, "hier:host:chunk=", "found \"\", expected a number from 1K to 1M for "
						"chunk" },
		{ CS_BCAST, "hier:host:chunk=8", "column 11: found \"8\", expected a number from "
						 "1K to 1M" },
		{ CS_BCAST, "hier:host:chunk=2M", "expected a number from 1K to 1M for chunk" },
		{ CS_BCAST, "hier:host:chunk=on", "found \"on\", expected a number" },
		{ CS_BCAST, "hier:host:chnuk=4K", "\"chnuk\" is no parameter of hier:host; known: "
						  "chunk; did "
						  "you mean chunk?" },
		{ CS_BCAST, "hier:host:chunk=4K:chunk=4K", "column 20: found chunk again, expected "
							   "each parameter once" },
		{ CS_BCAST, "ring:chunk=4K", "\"chunk\" is no parameter of ring, which has none" },
		{ CS_BCAST, "host:chunk=4K", "column 6: \"chunk\" is no parameter of host, which "
					     "has none" },
		{ CS_BCAST, "^foo", "column 2: \"foo\" is no algorithm of bcast" },
		{ CS_BCAST, "^", "column 2: expected the name of an algorithm behind ^" },
		{ CS_BCAST, "^host", "column 2: host cannot be excluded" },
		{ CS_BCAST, "^ring,hier:host", "column 7: ^name and names to use cannot stand "
					       "together" },
		{ CS_BCAST, "0-1=host,^ring", "column 10: ^name and names to use cannot stand "
					      "together" },
		{ CS_BCAST, "0-4K=^ring", "column 6: \"^ring\" is no algorithm" },
		{ CS_BCAST, "a\nb", "\"a?b\" is no algorithm" },
		/* Cut off between two characters. */
		{ CS_BCAST, EUROS EURO, "\"" EUROS "...\" is no algorithm" },
		{ CS_BCAST, "x" EUROS EURO, "\"x" EUROS "...\" is no algorithm" },
		{ CS_BCAST, EUROS "xyz", "\"" EUROS "xy...\" is no algorithm" },
		{ CS_ALLTOALLV, "0-4K=hier:host", "column 1: not all ranks know the size of a call "
						  "of alltoallv" },
		{ CS_GATHERV, "0-inf=host", "column 1: not all ranks know the size of a call of "
					    "gatherv" },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct cs_force force = { .item_count = 77 };
		if (cs_force_parse(&force, cases[i].coll, cases[i].text, message, sizeof message) !=
		    CS_BAD_INPUT)
			fail_msg("%s=%s was taken", cs_colls[cases[i].coll].variable,
				 cases[i].text);
		if (strncmp(message, "column ", 7) || !strstr(message, cases[i].expected) ||
		    strchr(message, '\n'))
			fail_msg("%s=%s\n  gave      %s\n  expected  %s",
				 cs_colls[cases[i].coll].variable, cases[i].text, message,
				 cases[i].expected);
		assert_int_equal(force.item_count, 0);
		assert_null(force.items);
	}
}

TEST(any_bytes_at_all_are_answered)
{
	static const char *const words[] = { "hier", ":", "host", "=", ",", "^", "0", "4K", "-",
					     "inf", "chunk",
					     " ", "ring", "\t", "\x80", "depth" };
	uint64_t seed = first_seed();
	for (int i = 0; i < 50000; i++) {
		char text[256] = "";
		uint64_t before = seed;
		for (uint32_t k = random_below(&seed, 14); k > 0; k--)
			strcat(text, words[random_below(&seed, COUNT(words))]);
		struct cs_force force;
		char little[24];
		enum cs_coll coll = random_below(&seed, CS_COLL_COUNT);
		enum cs_status status = cs_force_parse(&force, coll, text, little, sizeof little);
		if (status != CS_OK && status != CS_BAD_INPUT)
			fail_msg("TEST_SEED=%llu: %s", (unsigned long long)before, text);
		if (status == CS_OK && !force.item_count && !force.excluded_count)
			fail_msg("TEST_SEED=%llu: %s says nothing", (unsigned long long)before,
				 text);
		cs_force_fini(&force);
	}
}

TEST(a_very_long_text_is_answered_in_one_short_line)
{
	size_t bytes = 100000;
	char *text = malloc(bytes + 1);
	memset(text, 'x', bytes);
	text[bytes] = '\0';
	struct cs_force force;
	assert_int_equal(cs_force_parse(&force, CS_BCAST, text, message, sizeof message),
			 CS_BAD_INPUT);
	assert_true(strlen(message) < 300);
	free(text);
}

RUN_TESTS(NULL, NULL)
