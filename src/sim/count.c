/* sim/count.c counts what plans do by running them in the simulator: chains of messages do not
 * depend on what messages cost, and where only reductions cost anything, the time is the bytes of
 * their longest chain. */
#include "sim/count.h"

#include "plan/build.h"
#include "plan/walk.h"
#include "sim/sim.h"

/* A femtosecond for each byte would be rounded away: ps. */
static const struct cs_model reductions = { .level = { { .f = 1 }, { .f = 1 } }, .reduce = 1000 };

struct totals {
	uint64_t sent, received, reduced;
};

static struct totals
totals_of(const struct cs_plan *plan)
{
	struct totals totals = { 0 };
	struct cs_walk walk = { .plan = plan };
	struct cs_step step;
	while (cs_walk_next(&walk, &step)) {
		totals.sent += step.kind == CS_STEP_SEND ? step.bytes : 0;
		totals.received += step.kind == CS_STEP_RECV ? step.bytes : 0;
		totals.reduced += step.kind == CS_STEP_REDUCE ? step.bytes : 0;
	}
	return totals;
}

static enum cs_status
add(struct cs_sim *sim, void (*build)(struct cs_builder *builder), const struct cs_problem *problem,
    size_t *left, struct cs_count *count)
{
	struct cs_builder builder;
	struct cs_plan plan;
	cs_builder_init(&builder, problem, &plan);
	build(&builder);
	enum cs_status status = cs_builder_finish(&builder);
	if (status != CS_OK)
		return status;
	size_t length = cs_plan_length(&plan);
	status = length > *left ? CS_UNSUPPORTED : cs_sim_add(sim, &plan);
	if (status == CS_OK) {
		struct totals totals = totals_of(&plan);
		uint64_t most = totals.sent > totals.received ? totals.sent : totals.received;
		count->bytes = most > count->bytes ? most : count->bytes;
		count->reduced |= totals.reduced;
		*left -= length;
	}
	cs_plan_fini(&plan);
	return status;
}

enum cs_status
cs_count_plans(void (*build)(struct cs_builder *builder), const struct cs_problem *problem,
	       size_t most, struct cs_count *count)
{
	struct cs_sim *sim;
	struct cs_sim_result result;
	struct cs_problem own = *problem;
	*count = (struct cs_count){ 0 };
	enum cs_status status = cs_sim_create(&sim, problem->ranks, NULL, 0);
	if (status != CS_OK)
		return status;
	cs_sim_join_work(sim);
	for (own.rank = 0; status == CS_OK && own.rank < own.ranks; own.rank++)
		status = add(sim, build, &own, &most, count);
	if (status == CS_OK)
		status = cs_sim_run(sim, &reductions, NULL, NULL, &result);
	if (status == CS_OK) {
		count->rounds = result.rounds;
		count->reduced = (uint64_t)result.time;
	}
	cs_sim_destroy(sim);
	return status;
}
