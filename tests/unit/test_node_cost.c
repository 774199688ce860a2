#include "unit.h"

#include "topo/node_cost.h"

static struct cs_node_price
price(const char *kind, int groups, int ranks, enum cs_coll coll, size_t bytes)
{
	const struct cs_node_kind *its = cs_node_kind_by_name(kind);
	struct cs_node_groups shape = its->shape;
	struct cs_node_price made;
	shape.groups = groups;
	cs_node_price(&its->model, &shape, ranks, coll, bytes, &made);
	return made;
}

/* Within a quarter of `us`. */
static void
check(int64_t ps, double us, const char *what, int ranks)
{
	double found = (double)ps * 1e-6;
	if (found < us * 0.75 || found > us * 1.25)
		fail_msg("%s, %d ranks: %.3f us, expected about %.3f", what, ranks, found, us);
}

/* Computed by hand from the closed forms, with the same constants. */
TEST(prices_are_those_that_were_computed_by_hand)
{
	static const struct {
		const char *kind;
		enum cs_coll coll;
		size_t bytes;
		struct {
			int ranks;
			double flat, levels; /* us; levels 0: not looked at */
		} cases[5];
	} rows[] = {
		{ "epyc", CS_BARRIER, 0, { { 8, 0.06, 0 }, { 32, 1.2, 0.55 }, { 64, 2.4, 0.7 },
					   { 128, 6.5, 1.2 }, { 192, 9.7, 1.3 } } },
		{ "epyc", CS_BCAST, 8, { { 8, 0.05, 0 }, { 32, 0.42, 0.26 }, { 64, 0.81, 0.3 },
					 { 128, 1.7, 0.54 }, { 192, 2.4, 0.59 } } },
		{ "epyc", CS_REDUCE, 8, { { 8, 0.08, 0 }, { 32, 0.84, 0.32 }, { 64, 1.7, 0.43 },
					  { 128, 5.1, 0.67 }, { 192, 7.7, 0.76 } } },
		{ "epyc", CS_ALLREDUCE, 8, { { 8, 0.08, 0 }, { 32, 0.84, 0.57 }, { 64, 1.7, 0.73 },
					     { 128, 5.1, 1.2 }, { 192, 7.7, 1.35 } } },
		{ "epyc", CS_ALLGATHER, 8, { { 8, 0.06, 0 }, { 32, 0.78, 0.49 }, { 64, 1.6, 0.71 },
					     { 128, 4.9, 1.6 }, { 192, 7.3, 2.3 } } },
		{ "epyc", CS_ALLTOALL, 8, { { 8, 0.06, 0 }, { 32, 0.78, 0.46 }, { 64, 1.6, 0.46 },
					    { 128, 4.9, 1.0 }, { 192, 7.3, 1.3 } } },
		{ "epyc", CS_GATHER, 8, { { 8, 0.06, 0 }, { 32, 0.78, 0.45 }, { 64, 1.6, 0.66 },
					  { 128, 4.9, 1.5 }, { 192, 7.3, 2.1 } } },
		{ "epyc", CS_SCATTER, 8, { { 8, 0.05, 0 }, { 32, 0.42, 0.27 }, { 64, 0.81, 0.32 },
					   { 128, 1.7, 0.51 }, { 192, 2.4, 0.6 } } },
		{ "epyc", CS_SCAN, 8, { { 8, 0.08, 0 }, { 32, 0.84, 0.72 }, { 64, 1.7, 1.05 },
					{ 128, 5.1, 1.9 }, { 192, 7.7, 2.3 } } },
		/* Steps of two lines, of 32 ranks 3 in a cache and 2 over the package's caches. */
		{ "epyc", CS_EXSCAN, 1024, { { 32, 0.97, 0 }, { 128, 1.76, 0 } } },
		{ "xeon", CS_BARRIER, 0, { { 32, 0.74, 0.56 }, { 64, 1.8, 0.92 },
					   { 128, 4.2, 0.96 }, { 192, 6.7, 1.0 } } },
		{ "xeon", CS_BCAST, 8, { { 32, 0.21, 0 }, { 64, 0.48, 0.41 }, { 128, 0.99, 0.42 },
					 { 192, 1.5, 0.43 } } },
		{ "epyc", CS_BCAST, 65536, { { 8, 3.1, 0 }, { 32, 58, 8 }, { 64, 133, 8 },
					     { 128, 282, 10 }, { 192, 432, 10 } } },
		{ "epyc", CS_BCAST, 1 << 20, { { 128, 700, 100 } } },
		{ "epyc", CS_ALLREDUCE, 65536, { { 8, 4.8, 0 }, { 32, 33, 6 }, { 64, 41, 7 },
						 { 128, 53, 8 } } },
		/* Copies of 80 us, of 192 ranks 90, and 32 rounds' steps up and down. */
		{ "epyc", CS_ALLREDUCE, 1 << 20, { { 8, 80, 0 }, { 32, 480, 98 }, { 64, 560, 105 },
						   { 128, 720, 121 }, { 192, 1070, 135 } } },
		{ "epyc", CS_ALLGATHER, 1024, { { 32, 7, 1.4 }, { 64, 16, 2.6 }, { 128, 42, 5.7 },
						{ 192, 94, 12 } } },
		{ "epyc", CS_ALLGATHER, 65536, { { 32, 451, 65 }, { 64, 2250, 1480 },
						 { 128, 4650, 2980 } } },
	};
	for (size_t i = 0; i < COUNT(rows); i++)
		for (int k = 0; k < 5 && rows[i].cases[k].ranks; k++) {
			int ranks = rows[i].cases[k].ranks;
			int groups = *rows[i].kind == 'x' ? 1 : ranks == 192 ? 12 : 8;
			struct cs_node_price made = price(rows[i].kind, groups, ranks,
							  rows[i].coll, rows[i].bytes);
			check(made.flat.time, rows[i].cases[k].flat, cs_colls[rows[i].coll].name,
			      ranks);
			if (rows[i].cases[k].levels > 0)
				check(made.levels.time, rows[i].cases[k].levels,
				      made.levels.form, ranks);
			assert_int_equal(cs_node_wants_levels(&made), rows[i].cases[k].levels > 0);
		}
}

/* 2 x 8 x 8: exactly the closed forms, in ps. */
TEST(steps_add_up_exactly)
{
	const struct cs_node_model *m = &cs_node_kind_by_name("epyc")->model;
	struct cs_node_price made = price("epyc", 8, 128, CS_BARRIER, 0);
	int64_t up = 3 * 40000 + 23000 * 5 / 2 + 105000 * 5 / 2 + 197000,
		down = 3 * 40000 + 23000 + 6 * 4000 + 105000 + 6 * 12000 + 197000;
	assert_int_equal(made.levels.time, up + down);
	for (int i = 0; i < CS_DISTANCES; i++) {
		assert_int_equal(made.levels.up[i], i < 2 ? 7 : 1);
		assert_int_equal(made.levels.down[i], i < 2 ? 7 : 1);
	}
	assert_int_equal(cs_node_collect(m, CS_FAR, 3, 0, false), 40000 + 197000 * 3 / 2);
	assert_int_equal(cs_node_tell(m, CS_SAME_LLC, 3, 8), 40000 + 23000 + 2 * 4000);
	assert_int_equal(cs_node_readers(m), 3);
	assert_int_equal(cs_node_single_copy(m, 8192, 3),
			 700000 + 2 * (60000 + 2 * 100000) + 8192 * 50);
}

/* By enumeration: no other single fan-out of a level is better. */
TEST(the_tree_of_a_long_bcast_is_binary_where_groups_have_narrow_links)
{
	struct cs_node_price made = price("epyc", 8, 128, CS_BCAST, 1 << 20);
	assert_int_equal(made.levels.down[CS_SAME_PACKAGE], 2);
	assert_in_range(made.levels.chunk, 16 << 10, 64 << 10);
}

TEST(prices_rise_with_ranks_and_never_overflow)
{
	for (const struct cs_node_kind *kind = cs_node_kinds; kind->name; kind++)
		for (enum cs_coll coll = 0; coll < CS_COLL_COUNT; coll++) {
			int64_t before = 0;
			if (!cs_node_has_price(coll))
				continue;
			for (int ranks = 1; ranks <= 1024; ranks *= 2) {
				struct cs_node_price made = price(kind->name, 1, ranks, coll,
								  SIZE_MAX / 2);
				if (made.flat.time < before || made.levels.time <= 0)
					fail_msg("%s, %s, %d ranks: %lld ps flat, %lld before",
						 kind->name, cs_colls[coll].name, ranks,
						 (long long)made.flat.time, (long long)before);
				before = made.flat.time;
			}
		}
}

/* As in 4.4 of the study, where half and double of what is assumed move them. */
TEST(borders_move_as_the_gap_and_the_readers_do)
{
	const struct cs_node_kind *epyc = cs_node_kind_by_name("epyc");
	struct cs_node_model model = epyc->model;
	static const struct {
		enum cs_coll coll;
		int is, with_half_gap, with_half_readers;
	} rows[] = { { CS_REDUCE, 13, 18, 13 }, { CS_BCAST, 20, 20, 32 },
		     { CS_ALLREDUCE, 24, 42, 24 }, { CS_ALLTOALL, 23, 28, 23 } };
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_int_equal(cs_node_border(&epyc->model, &epyc->shape, 128, rows[i].coll, 8),
				 rows[i].is);
		model = epyc->model;
		model.gap /= 2;
		assert_int_equal(cs_node_border(&model, &epyc->shape, 128, rows[i].coll, 8),
				 rows[i].with_half_gap);
		model = epyc->model;
		model.kappa[0] /= 2;
		model.kappa[1] /= 2;
		assert_in_range(cs_node_border(&model, &epyc->shape, 128, rows[i].coll, 8),
				rows[i].with_half_readers - 3, rows[i].with_half_readers + 3);
	}
	assert_int_equal(cs_node_border(&epyc->model, &epyc->shape, 8, CS_BCAST, 8), 0);
}

/* Virtual machines show caches that are none. */
TEST(groups_that_are_no_nearer_are_no_level)
{
	struct cs_node_model model = cs_node_kind_by_name("xeon")->model;
	struct cs_node_groups split = { 1, 8, 8, 1 << 20 }, whole = { 1, 1, 64, 1 << 20 };
	struct cs_node_price a, b;
	model.t[CS_SAME_PACKAGE] = model.t[CS_SAME_LLC] * 12 / 10;
	cs_node_price(&model, &split, 64, CS_BARRIER, 0, &a);
	cs_node_price(&model, &whole, 64, CS_BARRIER, 0, &b);
	assert_int_equal(a.levels.time, b.levels.time);
	assert_int_equal(a.levels.up[CS_SAME_PACKAGE], 0);
	model.t[CS_SAME_PACKAGE] = model.t[CS_SAME_LLC] * 13 / 10;
	cs_node_price(&model, &split, 64, CS_BARRIER, 0, &a);
	assert_int_not_equal(a.levels.up[CS_SAME_PACKAGE], 0);
}

TEST(the_kind_follows_from_the_processor)
{
	static const char *const cases[][2] = {
		{ "model name\t: AMD EPYC 9654 96-Core Processor\nflags\t\t: fpu sse\n", "epyc" },
		{ "model name\t: AMD EPYC\nflags\t\t: fpu hypervisor lahf_lm\n", "xeon" },
		{ "model name\t: Intel(R) Xeon(R) Platinum 8375C\nflags\t\t: fpu\n", "xeon" },
		{ "BogoMIPS\t: 200.00\nCPU implementer\t: 0x46\nCPU part\t: 0x001\n", "a64fx" },
		{ "CPU implementer\t: 0x41\nCPU part\t: 0xd4f\n", "arm" },
		{ "", "xeon" },
	};
	for (size_t i = 0; i < COUNT(cases); i++)
		assert_string_equal(cs_node_kind_of(cases[i][0])->name, cases[i][1]);
	assert_null(cs_node_kind_by_name("epic"));
}

TEST(values_come_back_from_their_text)
{
	char text[CS_NODE_VALUE_TEXT];
	int64_t value;
	for (const struct cs_node_kind *kind = cs_node_kinds; kind->name; kind++) {
		struct cs_node_model model = kind->model;
		assert_true(cs_node_model_settle(&model, 0));
		for (int i = 0; i < CS_NODE_VALUES; i++) {
			int64_t its = *cs_node_value_of(&model, i);
			assert_int_equal(cs_node_value_read(i, cs_node_value_text(text, i, its),
							    &value), CS_OK);
			assert_in_range(value, its - its / 1000, its + its / 1000 + 1);
		}
	}
	for (const char *wrong = "-1\0" "0\0" "1e9\0" "nan\0" "5ns\0" "\0"; *wrong;
	     wrong += strlen(wrong) + 1)
		assert_int_equal(cs_node_value_read(0, wrong, &value), CS_BAD_INPUT);
}

RUN_TESTS(NULL, NULL)
