/* What the simulator has ranks do on their nodes (sim/hier.h) is what the phases do: bytes that
 * each rank copies, and reduces. */
#include "operation_run.h"

#include "shm/copy.h"
#include "sim/actor.h"
#include "sim/hier.h"

#include <stdlib.h>

void __real_cs_copy_large(struct cs_copy_policy *policy, void *to, const void *from, size_t bytes);
void __wrap_cs_copy_large(struct cs_copy_policy *policy, void *to, const void *from, size_t bytes);
void
__wrap_cs_copy_large(struct cs_copy_policy *policy, void *to, const void *from, size_t bytes)
{
	if (call_counting)
		call_counting->copied += bytes;
	__real_cs_copy_large(policy, to, from, bytes);
}

static void
no_steps(struct cs_builder *builder)
{
	(void)builder;
}

/* What the simulator has each rank do on its node, without what its own core alone has to do
 * with. */
static void
count_simulated(enum cs_coll coll, int nodes, int ppn, size_t each,
		struct call_counted told[WORLD_MOST])
{
	bool is_scattered = cs_coll_is_scattered(&cs_colls[coll]);
	struct cs_sim_call call = { .coll = coll, .nodes = nodes, .ppn = ppn,
				    .is_commutative = true, .bytes = is_scattered
				    ? each * (size_t)(nodes * ppn) : each };
	const struct cs_algorithm plan = { .coll = cs_colls[coll].between, .build = no_steps };
	const struct cs_sim_hier hier = { .plan = &plan };
	struct cs_sim *sim;
	assert_int_equal(cs_sim_call_init(&call), CS_OK);
	assert_int_equal(cs_sim_create(&sim, call.ranks, call.node_of, 0), CS_OK);
	assert_int_equal(cs_hier_add(sim, &call, &hier), CS_OK);
	for (int rank = 0; rank < call.ranks; rank++) {
		told[rank] = (struct call_counted){ .copied = 0 };
		for (size_t i = 0; i < sim->actors[rank].count; i++) {
			const struct cs_sim_step *step = &sim->actors[rank].steps[i];
			told[rank].copied += step->kind == CS_NODE_COPY ? step->bytes : 0;
			told[rank].reduced += step->kind == CS_NODE_REDUCE ? step->bytes : 0;
		}
		/* A sum's own block, which is put into the own slot by memcpy; and, by a leader,
		 * what a plan has left for its node. */
		told[rank].copied -= is_scattered ? each : 0;
		if (is_scattered && rank % ppn == 0)
			told[rank].copied -= each * (size_t)ppn;
	}
	cs_sim_destroy(sim);
	cs_sim_call_fini(&call);
}

static void
expect_as_simulated(enum cs_coll coll, int nodes, int ppn)
{
	const struct cs_algorithm *algorithm = cs_algorithm_by_name(coll, "hier:host");
	/* Pieces of a chain are not too short to be counted. */
	struct setting setting = { .seed = 1, .may_be_left = true, .lanes = 1, .calls = 1,
				   .under_way = 1, .each = 192 << 10, .algorithms = &algorithm,
				   .shape = { .slots = 4, .slot_bytes = 2 << 20, .area_slots = 4,
					      .area_bytes = 8 << 20, .spin = 1, .yields = 1,
					      .streams = CS_SWITCH_OFF } };
	struct run *run = calloc(1, sizeof *run);
	struct call_counted counted[WORLD_MOST], told[WORLD_MOST];
	assert_non_null(run);
	for (int node = 0; node < nodes; node++)
		setting.sizes[node] = ppn;
	for (int rank = 0; rank < nodes * ppn; rank++)
		counted[rank] = (struct call_counted){ .world = &run->world };
	run->counted = counted;
	run_setting(run, &setting);
	if (*run->failure)
		run_say_failure(run);
	count_simulated(coll, nodes, ppn, setting.each, told);
	for (int rank = 0; rank < nodes * ppn; rank++)
		if (counted[rank].copied != told[rank].copied ||
		    counted[rank].reduced != told[rank].reduced)
			fail_msg("%s, %d nodes of %d, rank %d: %llu bytes copied, %llu reduced, "
				 "and not %llu, %llu", cs_colls[coll].name, nodes, ppn, rank,
				 (unsigned long long)counted[rank].copied,
				 (unsigned long long)counted[rank].reduced,
				 (unsigned long long)told[rank].copied,
				 (unsigned long long)told[rank].reduced);
	run_clear(run);
	free(run);
}

/* Long calls, in which each copy can be counted. */
TEST(nodes_do_what_the_simulator_says)
{
	for (enum cs_coll coll = 0; coll < CS_COLL_COUNT; coll++)
		for (int ppn = 2; ppn <= 4; ppn += 2) /* which divide all pieces evenly */
			if (coll != CS_BARRIER)
				expect_as_simulated(coll, 2, ppn);
	expect_as_simulated(CS_ALLGATHER, 3, 3);
	expect_as_simulated(CS_SCAN, 3, 2);
}

RUN_TESTS(NULL, NULL)
