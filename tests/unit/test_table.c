/* The table of algorithms: a row for each collective of a file, names that are composed, and what
 * has no room. Built twice, with the room that the library has and with CS_MOST_ROWS of SHORT. */
#include "unit.h"

#include "algorithms/algorithm.h"
#include "plan/build.h"

#define SHORT 11
#define WITH_BOTH CS_SET(CS_GATHER) | CS_SET(CS_GATHERV)

static void
build(struct cs_builder *builder)
{
}

static void
run(struct cs_op *op, const size_t *params)
{
}

#define PLAN(file) \
	extern const struct cs_algorithm cs_algorithm_##file; \
	const struct cs_algorithm cs_algorithm_##file

PLAN(gather_tree) = {
	.colls = WITH_BOTH, .name = "tree", .build = build,
	.params = { { "k", "children", 2, 1, 8 } },
};
PLAN(gather_hier_host) = {
	.colls = WITH_BOTH, .name = "hier:host", .composes = true, .run = run,
	.needs = { .several_per_node = true },
	.params = { { "chunk", "bytes", 64, 1, 128 }, { "lanes", "ranks", 1, 1, 64 } },
};
PLAN(gatherv_doubling) = {
	.colls = CS_SET(CS_GATHERV), .name = "doubling", .build = build,
	.needs = { .power_of_two = true, .commutative = true, .verbs = true },
};
PLAN(gatherv_on_a_node) = {
	.colls = CS_SET(CS_GATHERV), .name = "on-a-node", .build = build,
		.needs = { .one_node = true },
};
PLAN(gatherv_of_a_node) = {
	.colls = CS_SET(CS_GATHERV), .name = "of-a-node", .build = build,
	.needs = { .several_per_node = true },
};
PLAN(gatherv_shared) = {
	.colls = CS_SET(CS_GATHERV), .name = "shared", .build = build, .alone = "tree",
	.needs = { .several_per_node = true, .block_placed = true },
};
PLAN(gatherv_of_a_long_name) = {
	.colls = CS_SET(CS_GATHERV), .name = "of-a-name-that-is-far-too-long-for-it",
		.build = build,
};
PLAN(gatherv_of_many_parameters) = {
	.colls = CS_SET(CS_GATHERV), .name = "many", .build = build,
	.params = { { "a", "", 1, 1, 1 }, { "b", "", 1, 1, 1 }, { "c", "", 1, 1, 1 },
		    { "d", "", 1, 1, 1 }, { "e", "", 1, 1, 1 }, { "f", "", 1, 1, 1 },
		    { "g", "", 1, 1, 1 }, { "h", "", 1, 1, 1 }, { "i", "", 1, 1, 1 },
		    { "j", "", 1, 1, 1 }, { "k", "", 1, 1, 1 } },
};

#if CS_MOST_ROWS > SHORT

TEST(each_collective_of_a_file_has_a_row_sorted_by_name)
{
	static const struct {
		enum cs_coll coll;
		const char *name;
	} rows[] = {
		{ CS_GATHER, "hier:host" },       { CS_GATHER, "tree" },
		{ CS_GATHER, "hier:doubling" },   { CS_GATHER, "hier:shared" },
		{ CS_GATHER, "hier:tree" },       { CS_GATHERV, "doubling" },
		{ CS_GATHERV, "hier:host" },      { CS_GATHERV, "many" },
		{ CS_GATHERV, "of-a-name-that-is-far-too-long-for-it" },
		{ CS_GATHERV, "of-a-node" },      { CS_GATHERV, "on-a-node" },
		{ CS_GATHERV, "shared" },         { CS_GATHERV, "tree" },
		{ CS_GATHERV, "hier:doubling" },  { CS_GATHERV, "hier:shared" },
		{ CS_GATHERV, "hier:tree" },
	};
	bool is_numbered[CS_MOST_ROWS] = { false };
	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct cs_algorithm *row = cs_algorithm_at((int)i);
		assert_non_null(row);
		assert_string_equal(row->name, rows[i].name);
		assert_int_equal(row->coll, rows[i].coll);
		assert_ptr_equal(cs_algorithm_by_name(row->coll, row->name), row);
		assert_in_range(cs_algorithm_number(row), 0, CS_MOST_ROWS - 1);
		assert_false(is_numbered[cs_algorithm_number(row)]);
		is_numbered[cs_algorithm_number(row)] = true;
	}
	assert_null(cs_algorithm_at((int)COUNT(rows)));
	assert_null(cs_algorithm_by_name(CS_SCATTER, "tree"));
}

/* With the plan's parameters first, then those of the one that it stands in. */
TEST(what_stands_between_nodes_is_a_plan_of_what_leaders_do)
{
	const struct cs_algorithm *row = cs_algorithm_by_name(CS_GATHER, "hier:tree");
	assert_ptr_equal(row->inner, cs_algorithm_by_name(CS_GATHERV, "tree"));
	assert_string_equal(row->params[0].name, "k");
	assert_string_equal(row->params[1].name, "chunk");
	assert_string_equal(row->params[2].name, "lanes");
	assert_null(row->params[3].name);
}

/* Ranks of the leaders are nodes of the call. */
TEST(what_a_plan_needs_of_its_ranks_it_needs_of_the_nodes)
{
	const struct cs_algorithm *alone = cs_algorithm_by_name(CS_GATHERV, "doubling");
	const struct cs_algorithm *between = cs_algorithm_by_name(CS_GATHER, "hier:doubling");
	struct cs_facts facts = { .coll = CS_GATHER, .ranks = 24, .nodes = 8, .ppn_min = 3,
				  .ppn_max = 3, .is_commutative = true, .wire = CS_WIRE_IB };
	assert_null(cs_algorithm_unmet(between, &facts));
	assert_string_equal(cs_algorithm_unmet(alone, &facts), "the number of ranks is no power of "
							       "two");
	facts.ranks = 32;
	assert_null(cs_algorithm_unmet(alone, &facts));
	facts.nodes = 11;
	assert_null(cs_algorithm_unmet(alone, &facts));
	assert_string_equal(cs_algorithm_unmet(between, &facts), "the number of nodes is no power "
								 "of two");
	facts.nodes = 8;
	facts.is_commutative = false;
	assert_string_equal(cs_algorithm_unmet(between, &facts),
			    "the operation is not commutative");
	facts.is_commutative = true;
	facts.wire = CS_WIRE_HOST;
	assert_string_equal(cs_algorithm_unmet(between, &facts), "plans send by MPI, not by verbs");
	facts.wire = CS_WIRE_IB;
	facts.ppn_max = 1;
	assert_string_equal(cs_algorithm_unmet(between, &facts), "one rank per node");
}

/* One rank of each node is on several nodes, in order. */
TEST(a_plan_that_cannot_run_among_leaders_has_no_name_there)
{
	struct cs_facts facts = { .coll = CS_GATHERV, .ranks = 6, .nodes = 3, .ppn_min = 2,
				  .ppn_max = 2 };
	assert_null(cs_algorithm_by_name(CS_GATHERV, "hier:on-a-node"));
	assert_null(cs_algorithm_by_name(CS_GATHERV, "hier:of-a-node"));
	assert_null(cs_algorithm_unmet(cs_algorithm_by_name(CS_GATHERV, "hier:shared"), &facts));
	assert_non_null(cs_algorithm_unmet(cs_algorithm_by_name(CS_GATHERV, "shared"), &facts));
}

/* Long names and many parameters, in gather and in gatherv. */
TEST(what_has_no_room_is_counted)
{
	assert_int_equal(cs_algorithms_left_out(), 4);
}

#else

TEST(what_has_no_room_is_counted)
{
	int rows = 0;
	while (cs_algorithm_at(rows))
		rows++;
	assert_int_equal(rows, SHORT);
	assert_int_equal(cs_algorithms_left_out(), 4 + 16 - SHORT);
}

#endif

RUN_TESTS(NULL, NULL)
