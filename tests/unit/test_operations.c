/* Virtual ranks step operations in random order, several of them under way at a time: the result of each is what the
 * collective's definition says, whoever comes first; and wrong interleavings are seen. */
#include "operation_run.h"

#include <stdlib.h>

static void
ranks_of_a_node_in_any_order(void **state)
{
	uint64_t seed = first_seed();
	for (int i = 0; i < cases_wanted(600); i++) {
		struct setting setting = setting_of(seed + (uint64_t)i, false, 1);
		expect_right(&setting);
	}
}

/* Lines are used again, and those who need not wait are far ahead. */
static void
rows_of_calls_longer_than_there_are_lines(void **state)
{
	uint64_t seed = first_seed();
	for (int i = 0; i < cases_wanted(12); i++) {
		struct setting setting = setting_of(seed + (uint64_t)i, false, 1);
		setting.calls = 80;
		setting.sizes[0] = 2 + setting.sizes[0] % 4;
		expect_right(&setting);
	}
}

/* As long as others can go on, some ranks have no turn: roots are far ahead, lines and small slots are used again, rings go
 * round, and a message is there long before it is asked for. */
static void
rows_of_small_calls_with_ranks_far_apart(void **state)
{
	uint64_t seed = first_seed();
	for (int i = 0; i < cases_wanted(40); i++) {
		struct setting setting = setting_of(seed + (uint64_t)i, i % 2, i / 2 % 2 ? several(seed + (uint64_t)i) : 1);
		setting.calls = 120 + 60 * (i % 3);
		setting.is_starving = true;
		setting.most_bytes = 2200;
		if (i % 2 == 0)
			setting.sizes[0] = 2 + setting.sizes[0] % 5;
		expect_right(&setting);
	}
}

/* Calls of one root, for which nobody else waits, or which waits for nobody. */
static void
roots_far_ahead_or_far_behind(void **state)
{
	static const uint32_t colls[] = { CS_SET(CS_BCAST), CS_SET(CS_SCATTER) | CS_SET(CS_SCATTERV) | CS_SET(CS_BCAST),
					  CS_SET(CS_REDUCE), CS_SET(CS_GATHER) | CS_SET(CS_GATHERV) | CS_SET(CS_REDUCE),
					  CS_SET(CS_SCAN) | CS_SET(CS_EXSCAN) };
	uint64_t seed = first_seed();
	int lead = 0;
	for (int i = 0; i < cases_wanted(10 * COUNT(colls)); i++) {
		struct setting setting = setting_of(seed + (uint64_t)i, i % 2, i / 2 % 2 ? several(seed + (uint64_t)i) : 1);
		setting.calls = 160;
		setting.is_starving = setting.has_one_root = setting.are_scripts = true;
		setting.most_bytes = i % 3 ? 2200 : CS_INLINE;
		setting.colls = colls[i % COUNT(colls)];
		setting.cyclic = false; /* scans need it */
		if (i % 2 == 0)
			setting.sizes[0] = 2 + setting.sizes[0] % 5;
		int own = expect_right(&setting);
		lead = own > lead ? own : lead;
	}
	assert_true(lead >= CS_LINES); /* as far as one can be on a node, and so lines were used again */
}

static void
calls_of_any_size_with_ranks_far_apart(void **state)
{
	uint64_t seed = first_seed();
	for (int i = 0; i < cases_wanted(200); i++) {
		struct setting setting = setting_of(seed + (uint64_t)i, i % 2, i / 2 % 2 ? several(seed + (uint64_t)i) : 1);
		setting.calls += 4;
		setting.is_starving = true;
		expect_right(&setting);
	}
}

static void
several_operations_of_a_node_at_once(void **state)
{
	uint64_t seed = first_seed();
	for (int i = 0; i < cases_wanted(600); i++) {
		struct setting setting = setting_of(seed + (uint64_t)i, false, several(seed + (uint64_t)i));
		setting.calls += 2;
		expect_right(&setting);
	}
}

static void
ranks_of_several_nodes_in_any_order(void **state)
{
	uint64_t seed = first_seed();
	for (int i = 0; i < cases_wanted(400); i++) {
		struct setting setting = setting_of(seed + (uint64_t)i, true, 1);
		expect_right(&setting);
	}
}

static void
several_operations_of_several_nodes_at_once(void **state)
{
	uint64_t seed = first_seed();
	for (int i = 0; i < cases_wanted(400); i++) {
		struct setting setting = setting_of(seed + (uint64_t)i, true, several(seed + (uint64_t)i));
		setting.calls += 2;
		expect_right(&setting);
	}
}

/* On all ranks, whoever comes first: between nodes the host serves in the place of the plan, also in the midst of an
 * operation; between all ranks the call is left to the host as it came. */
static void
what_is_refused_goes_to_the_host(void **state)
{
	uint64_t seed = first_seed();
	refuse_built = refuse_refused = 0;
	for (int i = 0; i < cases_wanted(600); i++) {
		struct setting setting = setting_of(seed + (uint64_t)i, i % 3, i % 2 ? 1 : several(seed + (uint64_t)i));
		setting.refuses = true;
		expect_right(&setting);
	}
	assert_true(refuse_built > 1000 && refuse_refused > 1000);
}

/* What a fault brings may also be a size for which the job ends: of rounds, or of memory that no machine has, which
 * AddressSanitizer is to refuse as malloc does. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *
__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

static bool
goes_wrong(struct run *run, const struct setting *setting)
{
	jmp_buf after_end;
	if (setjmp(after_end)) {
		world_after_end = NULL;
		return true;
	}
	world_after_end = setting->fault != NONE ? &after_end : NULL;
	run_setting(run, setting);
	world_after_end = NULL;
	return *run->failure != 0;
}

/* How many of the cases of the first seeds go wrong. */
static int
wrong_cases(enum fault fault, bool several_nodes, int under_way, bool refuses, uint64_t cases)
{
	int wrong = 0;
	struct run *run = malloc(sizeof *run);
	assert_non_null(run);
	for (uint64_t seed = 1; seed <= cases; seed++) {
		struct setting setting = setting_of(seed, several_nodes, under_way);
		setting.calls += 12;
		setting.fault = fault;
		setting.refuses = refuses;
		setting.most_steps = 400000;
		wrong += goes_wrong(run, &setting);
		run_clear(run);
	}
	free(run);
	return wrong;
}

/* The same cases are right without the fault, with as many steps. */
static void
wrong_interleavings_are_seen(void **state)
{
	static const struct {
		enum fault fault;
		bool several_nodes;
		int under_way;
		bool refuses;
		uint64_t cases; /* on one node many calls are plans, which ask for no done word */
	} faults[] = { { DONE_TOO_EARLY, false, 1, false, 60 },
		       { AREA_DONE_TOO_EARLY, true, 1, false, 20 },
		       { WINDOW_OUT_OF_ORDER, true, 1, false, 20 },
		       { TAG_REUSED, true, 3, false, 20 },
		       { REFUSED_BY_ONE, true, 1, true, 20 } };
	for (size_t i = 0; i < COUNT(faults); i++) {
		bool several_nodes = faults[i].several_nodes, refuses = faults[i].refuses;
		int under_way = faults[i].under_way;
		assert_int_equal(wrong_cases(NONE, several_nodes, under_way, refuses, faults[i].cases), 0);
		int wrong = wrong_cases(faults[i].fault, several_nodes, under_way, refuses, faults[i].cases);
		if (wrong < 2)
			fail_msg("fault %d is seen in %d of %d cases", (int)faults[i].fault, wrong, (int)faults[i].cases);
	}
}

/* --- the simulator's telling ------------------------------------------------------------------------------------------------ */

static void
no_steps(struct cs_builder *builder)
{
	(void)builder;
}

/* What the simulator has each rank do on its node, without what its own core alone has to do with. */
static void
count_simulated(enum cs_coll coll, int nodes, int ppn, size_t each, struct counted told[WORLD_MOST])
{
	bool is_scattered = cs_coll_is_scattered(&cs_colls[coll]);
	struct cs_sim_call call = { .coll = coll, .nodes = nodes, .ppn = ppn, .is_commutative = true,
				    .bytes = is_scattered ? each * (size_t)(nodes * ppn) : each };
	const struct cs_hier hier = { .inner = coll, .build = no_steps };
	struct cs_sim *sim;
	assert_int_equal(cs_sim_call_init(&call), CS_OK);
	assert_int_equal(cs_sim_create(&sim, call.ranks, call.node_of, 0), CS_OK);
	assert_int_equal(cs_hier_add(sim, &call, &hier), CS_OK);
	for (int rank = 0; rank < call.ranks; rank++) {
		told[rank] = (struct counted){ 0, 0 };
		for (size_t i = 0; i < sim->actors[rank].count; i++) {
			const struct cs_sim_step *step = &sim->actors[rank].steps[i];
			told[rank].copied += step->kind == CS_NODE_COPY ? step->bytes : 0;
			told[rank].reduced += step->kind == CS_NODE_REDUCE ? step->bytes : 0;
		}
		/* A sum's own block, which is put into the own slot by memcpy. */
		told[rank].copied -= is_scattered ? each : 0;
	}
	cs_sim_destroy(sim);
	cs_sim_call_fini(&call);
}

static void
expect_as_simulated(struct run *run, enum cs_coll coll, int nodes, int ppn)
{
	/* Pieces of a chain are not too short to be counted. */
	struct setting setting = { .seed = 1, .may_be_left = true, .lanes = 1, .calls = 1, .under_way = 1, .each = 192 << 10,
				   .algorithm = cs_algorithm_by_name(coll, "hier:host"),
				   .shape = { .slots = 4, .slot_bytes = 2 << 20, .area_slots = 4, .area_bytes = 8 << 20, .spin = 1,
					      .yields = 1, .streams = CS_SWITCH_OFF } };
	struct counted told[WORLD_MOST];
	for (int node = 0; node < nodes; node++)
		setting.sizes[node] = ppn;
	memset(counted, 0, sizeof counted);
	run_setting(run, &setting);
	if (*run->failure)
		fail_msg("%s: %s", cs_colls[coll].name, run->failure);
	count_simulated(coll, nodes, ppn, setting.each, told);
	for (int rank = 0; rank < nodes * ppn; rank++)
		if (counted[rank].copied != told[rank].copied || counted[rank].reduced != told[rank].reduced)
			fail_msg("%s, %d nodes of %d, rank %d: %llu bytes copied, %llu reduced, and not %llu, %llu",
				 cs_colls[coll].name, nodes, ppn, rank, (unsigned long long)counted[rank].copied,
				 (unsigned long long)counted[rank].reduced, (unsigned long long)told[rank].copied,
				 (unsigned long long)told[rank].reduced);
	clear(run);
}

/* Long calls, in which each copy can be counted. */
static void
nodes_do_what_the_simulator_says(void **state)
{
	struct run *run = malloc(sizeof *run);
	assert_non_null(run);
	for (enum cs_coll coll = 0; coll < CS_COLL_COUNT; coll++)
		for (int ppn = 2; ppn <= 4; ppn += 2) /* which divide all pieces evenly */
			if (coll != CS_BARRIER)
				expect_as_simulated(run, coll, 2, ppn);
	expect_as_simulated(run, CS_ALLGATHER, 3, 3);
	expect_as_simulated(run, CS_SCAN, 3, 2);
	free(run);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranks_of_a_node_in_any_order),
		cmocka_unit_test(rows_of_calls_longer_than_there_are_lines),
		cmocka_unit_test(rows_of_small_calls_with_ranks_far_apart),
		cmocka_unit_test(roots_far_ahead_or_far_behind),
		cmocka_unit_test(calls_of_any_size_with_ranks_far_apart),
		cmocka_unit_test(several_operations_of_a_node_at_once),
		cmocka_unit_test(ranks_of_several_nodes_in_any_order),
		cmocka_unit_test(several_operations_of_several_nodes_at_once),
		cmocka_unit_test(what_is_refused_goes_to_the_host),
		cmocka_unit_test(wrong_interleavings_are_seen),
		cmocka_unit_test(nodes_do_what_the_simulator_says),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
