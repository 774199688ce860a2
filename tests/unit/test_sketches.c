/* What the simulator alone has (sim/sketch.h): leaders who come first or last, a root that serves
 * those who have asked, fragments. By hand on small examples, and for all shapes: everybody comes
 * to an end, nobody before the data that he needs. */
#include "unit.h"

#include "sim/sketch.h"
#include "trace/imbalance.h"

#define MOST_RANKS 64

/* A message takes 10 + 100 + 20; bytes, copies and flags cost nothing. */
static const struct cs_model plain = {
	.name = "plain",
	.level = { { .L = 100, .o_send = 10, .o_recv = 20, .f = 1 },
		   { .L = 100, .o_send = 10, .o_recv = 20, .f = 1 } },
};

struct ran {
	int64_t ends[MOST_RANKS];
	struct cs_sim_result result;
};

static void
run_shape(const struct cs_sim_call *shape, const struct cs_sketch *sketch,
	  const struct cs_model *model, const int64_t *starts, struct ran *ran)
{
	struct cs_sim_call call = *shape;
	struct cs_sim *sim;
	assert_int_equal(cs_sim_call_init(&call), CS_OK);
	assert_int_equal(cs_sketch_create(&sim, &call, sketch, 0), CS_OK);
	if (cs_sim_run(sim, model, starts, NULL, &ran->result) != CS_OK)
		fail_msg("%s, sketch %d, %dx%d%s, root %d: %s", cs_colls[call.coll].name,
			 (int)sketch->kind, call.nodes, call.ppn, call.is_cyclic ? " cyclic" : "",
			 call.root, ran->result.text);
	for (int rank = 0; rank < call.ranks; rank++)
		ran->ends[rank] = cs_sim_end_of(sim, rank);
	cs_sim_destroy(sim);
	cs_sim_call_fini(&call);
}

static void
expect_ends(enum cs_coll coll, struct cs_sketch sketch, int nodes, int ppn,
	    const struct cs_model *model, const int64_t *starts, const int64_t *expected)
{
	struct cs_sim_call call = { .coll = coll, .nodes = nodes, .ppn = ppn, .bytes = 8,
				    .is_commutative = true };
	struct ran ran;
	if (!sketch.degree)
		sketch.degree = 1;
	run_shape(&call, &sketch, model, starts, &ran);
	for (int rank = 0; rank < nodes * ppn; rank++)
		if (ran.ends[rank] != expected[rank])
			fail_msg("%s, sketch %d: rank %d ends at %lld, expected %lld",
				 cs_colls[coll].name, (int)sketch.kind, rank,
				 (long long)ran.ends[rank], (long long)expected[rank]);
}

/* Two nodes of two. The lowest rank of node 1 comes last there. */
static const int64_t starts[4] = { 0, 500, 3000, 1000 };

TEST(who_comes_last_leads_a_reduce)
{
	(void)state;
	expect_ends(CS_REDUCE, (struct cs_sketch){ .kind = CS_SKETCH_DYNAMIC }, 2, 2, &plain,
		    starts, (int64_t[]){ 3130, 500, 3010, 1000 });
	/* And if the other one does, that one. */
	expect_ends(CS_REDUCE, (struct cs_sketch){ .kind = CS_SKETCH_DYNAMIC }, 2, 2, &plain,
		    (int64_t[]){ 0, 500, 1000, 3000 }, (int64_t[]){ 3130, 500, 1000, 3010 });
	/* A leader that is fixed waits for the others. */
	expect_ends(CS_REDUCE, (struct cs_sketch){ .kind = CS_SKETCH_STATIC }, 2, 2, &plain,
		    (int64_t[]){ 0, 500, 1000, 3000 }, (int64_t[]){ 3130, 500, 3010, 3000 });
	/* With barriers all do. */
	expect_ends(CS_REDUCE, (struct cs_sketch){ .kind = CS_SKETCH_BARRIERS }, 2, 2, &plain,
		    (int64_t[]){ 0, 500, 1000, 3000 }, (int64_t[]){ 3130, 3130, 3010, 3010 });
}

/* Four nodes: 3 is below 2, and 1 and 2 are below 0. */
TEST(who_comes_last_waits_for_the_nodes_below)
{
	const int64_t late[8] = { 0, 0, 100, 200, 0, 0, 5000, 4000 };
	const struct cs_sketch dynamic = { .kind = CS_SKETCH_DYNAMIC },
			       half = { .kind = CS_SKETCH_HALF_DYNAMIC };
	(void)state;
	expect_ends(CS_REDUCE, dynamic, 4, 2, &plain, late,
		    (int64_t[]){ 5260, 0, 100, 210, 0, 5140, 5010, 4000 });
	/* Node 2's lowest rank takes what node 3 sends, and sends it on as the last contributor. */
	expect_ends(CS_REDUCE, half, 4, 2, &plain, late,
		    (int64_t[]){ 5260, 0, 100, 210, 5140, 0, 5010, 4000 });
}

TEST(who_comes_first_leads_a_bcast)
{
	(void)state;
	expect_ends(CS_BCAST, (struct cs_sketch){ .kind = CS_SKETCH_DYNAMIC }, 2, 2, &plain,
		    starts, (int64_t[]){ 10, 500, 3000, 1020 });
	expect_ends(CS_BCAST, (struct cs_sketch){ .kind = CS_SKETCH_STATIC }, 2, 2, &plain,
		    starts, (int64_t[]){ 10, 500, 3020, 3020 });
	/* It tells the root, which is known, that it has come, and gets the data for it. */
	expect_ends(CS_BCAST, (struct cs_sketch){ .kind = CS_SKETCH_DYNAMIC, .control = true }, 2,
		    2, &plain, starts,
		    (int64_t[]){ 1000 + 10 + 100 + 20 + 10, 500, 3000, 1140 + 100 + 20 });
}

/* Two have asked when the root comes, at 500, and one asks later. */
TEST(a_root_serves_who_has_asked)
{
	struct cs_sketch one = { .kind = CS_SKETCH_PATARASUK, .group = 1 },
			 all = { .kind = CS_SKETCH_PATARASUK, .group = 8 };
	const int64_t late[4] = { 500, 0, 100, 2000 };
	(void)state;
	/* It hears one and sends, and again; each message is 120 under way. */
	expect_ends(CS_BCAST, one, 4, 1, &plain, late,
		    (int64_t[]){ 2110 + 30, 530 + 120, 560 + 120, 2140 + 120 });
	/* The first of two that have asked passes the data on. */
	expect_ends(CS_BCAST, all, 4, 1, &plain, late,
		    (int64_t[]){ 2140, 550 + 120 + 10, 680 + 120, 2260 });
	/* Or the root does, half of them at a time. */
	all.splits = true;
	expect_ends(CS_BCAST, all, 4, 1, &plain, late,
		    (int64_t[]){ 2140, 560 + 120, 550 + 120, 2260 });
}

TEST(fragments_are_what_is_ready)
{
	struct cs_sim_call call = { .coll = CS_ALLTOALL, .nodes = 3, .ppn = 4, .bytes = 5 };
	struct cs_sketch sketch = { .kind = CS_SKETCH_FRAGMENTS, .degree = 1, .least = 1 };
	const int64_t at_once[12] = { 0 };
	int64_t late[12] = { 0 };
	struct cs_model model = plain;
	struct ran ran;
	(void)state;
	model.flag = 1; /* who come at once see each other */
	/* A message for each pair of nodes. */
	run_shape(&call, &sketch, &model, at_once, &ran);
	assert_int_equal(ran.result.messages, 6);
	assert_int_equal(ran.result.bytes, 6 * 4 * 4 * 5);
	/* Node 0's local rank 2 comes late: what is before it, what is behind it, and its own, to
	 * each of two nodes. */
	late[2] = 10000;
	run_shape(&call, &sketch, &model, late, &ran);
	assert_int_equal(ran.result.messages, 4 + 2 * 3);
	assert_int_equal(ran.result.bytes, 6 * 4 * 4 * 5);
	/* Not worth a message alone, so it goes with what is behind it; or with all. */
	sketch.least = 2;
	run_shape(&call, &sketch, &model, late, &ran);
	assert_int_equal(ran.result.messages, 4 + 2 * 2);
	sketch.waits = true;
	run_shape(&call, &sketch, &model, late, &ran);
	assert_int_equal(ran.result.messages, 6);
	for (int rank = 0; rank < 12; rank++)
		assert_true(ran.ends[rank] >= 10000);
}

/* --- all shapes ------------------------------------------------------------------------------- */

static const struct {
	enum cs_coll coll;
	struct cs_sketch sketch;
} all[] = {
	{ CS_REDUCE, { .kind = CS_SKETCH_BARRIERS } },
	{ CS_REDUCE, { .kind = CS_SKETCH_STATIC } },
	{ CS_REDUCE, { .kind = CS_SKETCH_DYNAMIC } },
	{ CS_REDUCE, { .kind = CS_SKETCH_DYNAMIC, .control = true } },
	{ CS_REDUCE, { .kind = CS_SKETCH_HALF_DYNAMIC } },
	{ CS_BCAST, { .kind = CS_SKETCH_BARRIERS } },
	{ CS_BCAST, { .kind = CS_SKETCH_STATIC } },
	{ CS_BCAST, { .kind = CS_SKETCH_DYNAMIC } },
	{ CS_BCAST, { .kind = CS_SKETCH_DYNAMIC, .control = true } },
	{ CS_BCAST, { .kind = CS_SKETCH_PATARASUK } },
	{ CS_BCAST, { .kind = CS_SKETCH_PATARASUK_BARRIERS } },
	{ CS_BCAST, { .kind = CS_SKETCH_PATARASUK_STATIC } },
	{ CS_BCAST, { .kind = CS_SKETCH_PATARASUK_DYNAMIC } },
	{ CS_BCAST, { .kind = CS_SKETCH_PATARASUK_DYNAMIC, .splits = true } },
	{ CS_ALLTOALL, { .kind = CS_SKETCH_FRAGMENTS } },
	{ CS_ALLTOALL, { .kind = CS_SKETCH_FRAGMENTS, .waits = true } },
};

static void
hold_bound(const struct cs_sim_call *call, const struct cs_sketch *sketch, const int64_t *late,
	   const struct ran *ran, uint64_t seed)
{
	int ranks = call->nodes * call->ppn;
	struct cs_dependence needs = { .coll = call->coll, .ranks = ranks, .root = call->root };
	int64_t earliest[MOST_RANKS];
	cs_imbalance_earliest(&needs, late, earliest);
	for (int rank = 0; rank < ranks; rank++)
		if (ran->ends[rank] < earliest[rank])
			fail_msg("TEST_SEED=%llu: %s, sketch %d, %dx%d, root %d: rank %d leaves "
				 "at %lld, before its data at %lld", (unsigned long long)seed,
				 cs_colls[call->coll].name, (int)sketch->kind, call->nodes,
				 call->ppn, call->root, rank, (long long)ran->ends[rank],
				 (long long)earliest[rank]);
}

TEST(all_come_to_an_end_and_none_before_the_data)
{
	char complaint[200];
	struct cs_model model;
	uint64_t seed = first_seed(), random = seed;
	(void)state;
	assert_int_equal(cs_model_read("hdr-like", &model, complaint, sizeof complaint), CS_OK);
	for (int turn = 0; turn < 4000; turn++) {
		int nodes = 1 + (int)random_below(&random, 9);
		int ppn = 1 + (int)random_below(&random, 7);
		size_t which = random_below(&random, COUNT(all));
		struct cs_sketch sketch = all[which].sketch;
		struct cs_sim_call call = { .coll = all[which].coll, .nodes = nodes, .ppn = ppn,
					    .is_cyclic = random_below(&random, 2), .bytes = 4096,
					    .is_commutative = true };
		struct ran ran, again;
		int64_t late[MOST_RANKS], most = 1 + random_below(&random, 50000000);
		sketch.degree = 1 + random_below(&random, 4);
		sketch.group = 1 + random_below(&random, 5);
		sketch.least = 1 + random_below(&random, 3);
		if (call.coll != CS_ALLTOALL)
			call.root = (int)random_below(&random, (uint32_t)(nodes * ppn));
		for (int rank = 0; rank < nodes * ppn; rank++)
			late[rank] = random_below(&random, (uint32_t)most);
		run_shape(&call, &sketch, &model, late, &ran);
		hold_bound(&call, &sketch, late, &ran, seed);
		if (call.coll == CS_ALLTOALL)
			assert_int_equal(ran.result.bytes, (uint64_t)nodes * (uint64_t)(nodes - 1) *
					 (uint64_t)(ppn * ppn) * 4096);
		run_shape(&call, &sketch, &model, late, &again);
		assert_memory_equal(ran.ends, again.ends, (size_t)(nodes * ppn) * sizeof *late);
	}
}

/* One simulator, run with other late ranks and as before. */
TEST(runs_do_not_remember_each_other)
{
	(void)state;
	for (size_t i = 0; i < COUNT(all); i++) {
		struct cs_sketch sketch = all[i].sketch;
		struct cs_sim_call call = { .coll = all[i].coll, .nodes = 4, .ppn = 3, .bytes = 64,
					    .is_commutative = true };
		const int64_t first[12] = { 9, 0, 70000, 4 }, second[12] = { 0, 80000, 5, 6, 7 };
		struct cs_sim_result result;
		struct cs_sim *sim;
		int64_t ends[12];
		sketch.degree = sketch.group = sketch.least = 1;
		assert_int_equal(cs_sim_call_init(&call), CS_OK);
		assert_int_equal(cs_sketch_create(&sim, &call, &sketch, 0), CS_OK);
		for (int turn = 0; turn < 3; turn++) {
			assert_int_equal(cs_sim_run(sim, &plain, turn == 1 ? second : first, NULL,
						    &result), CS_OK);
			for (int rank = 0; rank < 12; rank++)
				if (turn == 2)
					assert_int_equal(cs_sim_end_of(sim, rank), ends[rank]);
				else if (turn == 0)
					ends[rank] = cs_sim_end_of(sim, rank);
		}
		cs_sim_destroy(sim);
		cs_sim_call_fini(&call);
	}
}

TEST(what_is_no_sketch_is_refused)
{
	struct cs_sim_call call = { .coll = CS_BCAST, .nodes = 2, .ppn = 2, .bytes = 8 };
	struct cs_sketch sketch = { .kind = CS_SKETCH_HALF_DYNAMIC, .degree = 1 };
	struct cs_sim *sim;
	(void)state;
	assert_int_equal(cs_sim_call_init(&call), CS_OK);
	assert_int_equal(cs_sketch_create(&sim, &call, &sketch, 0), CS_UNSUPPORTED);
	sketch.kind = CS_SKETCH_STATIC;
	sketch.degree = CS_SKETCH_MOST_DEGREE + 1;
	assert_int_equal(cs_sketch_create(&sim, &call, &sketch, 0), CS_UNSUPPORTED);
	sketch.degree = 1;
	assert_int_equal(cs_sketch_create(&sim, &call, &sketch, 100), CS_NO_MEMORY);
	sketch.kind = CS_SKETCH_PATARASUK;
	sketch.group = 0;
	assert_int_equal(cs_sketch_create(&sim, &call, &sketch, 0), CS_BAD_INPUT);
	call.bytes = 0;
	assert_int_equal(cs_sketch_create(&sim, &call, &sketch, 0), CS_UNSUPPORTED);
	cs_sim_call_fini(&call);
}

RUN_TESTS(NULL, NULL)
