#include "algorithms/plans.h"

#include "algorithms/team.h"
#include "base/log.h"
#include "plan/build.h"
#include "plan/execute.h"

#include <stdlib.h>
#include <string.h>

/* --- keys ---------------------------------------------------------------------------------------------------------- */

static inline void
mix(uint64_t words[2], uint64_t value)
{
	words[0] = (words[0] ^ value) * 0x9e3779b97f4a7c15u;
	words[0] ^= words[0] >> 32;
	words[1] = (words[1] + value) * 0xbf58476d1ce4e5b9u;
	words[1] ^= words[1] >> 29;
}

static void
mix_array(uint64_t words[2], const size_t *values, int count)
{
	mix(words, values != NULL);
	for (int i = 0; values && i < count; i++)
		mix(words, values[i]);
}

/* Two words of 64 bits: another problem with the same ones will not be met. */
static struct cs_plan_key
key_of(const struct cs_algorithm *algorithm, const struct cs_problem *problem)
{
	struct cs_plan_key key = { .algorithm = algorithm };
	mix(key.words, (uint64_t)problem->root << 32 | (uint64_t)problem->coll << 8 |
			       (uint64_t)problem->is_in_place << 1 | problem->is_commutative);
	mix(key.words, problem->bytes);
	mix(key.words, problem->unit);
	for (int i = 0; i < CS_MAX_PARAMS && algorithm->params[i].name; i++)
		mix(key.words, problem->params[i]);
	if (problem->sizes || problem->at || problem->recv_sizes || problem->recv_at) {
		mix_array(key.words, problem->sizes, problem->ranks);
		mix_array(key.words, problem->at, problem->ranks);
		mix_array(key.words, problem->recv_sizes, problem->ranks);
		mix_array(key.words, problem->recv_at, problem->ranks);
	}
	return key;
}

static inline bool
is_same(const struct cs_plan_key *a, const struct cs_plan_key *b)
{
	return a->words[0] == b->words[0] && a->words[1] == b->words[1] && a->algorithm == b->algorithm;
}

/* --- the cache ------------------------------------------------------------------------------------------------------- */

static void
drop(struct cs_plans *plans, int i)
{
	plans->bytes -= plans->cached[i].plan.count * sizeof(struct cs_step);
	cs_plan_fini(&plans->cached[i].plan);
	plans->cached[i] = plans->cached[--plans->count];
}

static int
oldest(const struct cs_plans *plans)
{
	int least = 0;
	for (int i = 1; i < plans->count; i++)
		if (plans->cached[i].used < plans->cached[least].used)
			least = i;
	return least;
}

static void
no_memory(struct cs_team *team)
{
	cs_warn_local("no memory for a plan; ending the job");
	team->host->abort("out of memory");
}

/* A place in the cache for a new plan, at its end. */
static struct cs_cached_plan *
place(struct cs_team *team, struct cs_plans *plans)
{
	if (!plans->cached)
		plans->cached = calloc(CS_PLANS, sizeof *plans->cached);
	if (!plans->cached)
		no_memory(team);
	if (plans->count == CS_PLANS)
		drop(plans, oldest(plans));
	return &plans->cached[plans->count];
}

static struct cs_cached_plan *
build(struct cs_team *team, struct cs_plans *plans, const struct cs_plan_key *key, const struct cs_problem *problem)
{
	struct cs_cached_plan *cached = place(team, plans);
	struct cs_builder builder;
	cs_builder_init(&builder, problem, &cached->plan);
	key->algorithm->build(&builder);
	/* What an algorithm refuses its needs keep away, so this is memory. */
	if (cs_builder_finish(&builder) != CS_OK)
		no_memory(team);
	cached->key = *key;
	cached->spare = cs_plan_spare(&cached->plan);
	plans->count++;
	plans->bytes += cached->plan.count * sizeof(struct cs_step);
	cached->used = ++plans->clock; /* so it is not the oldest; but drop() moves the last one */
	while (plans->bytes > CS_PLAN_BUDGET && plans->count > 1) {
		int least = oldest(plans);
		bool is_moved = cached == &plans->cached[plans->count - 1];
		drop(plans, least);
		cached = is_moved ? &plans->cached[least] : cached;
	}
	return cached;
}

static struct cs_cached_plan *
find(struct cs_team *team, struct cs_plans *plans, const struct cs_algorithm *algorithm, const struct cs_problem *problem)
{
	struct cs_plan_key key = key_of(algorithm, problem);
	struct cs_cached_plan *cached = NULL;
	for (int i = 0; i < plans->count && !cached; i++)
		if (is_same(&plans->cached[i].key, &key))
			cached = &plans->cached[i];
	if (!cached)
		cached = build(team, plans, &key, problem);
	cached->used = ++plans->clock;
	return cached;
}

void
cs_plans_run(struct cs_team *team, struct cs_plans *plans, void *group, const struct cs_algorithm *algorithm,
	     const struct cs_problem *problem, const void *in, void *out, const struct cs_reduction *reduction)
{
	struct cs_cached_plan *cached = find(team, plans, algorithm, problem);
	size_t spare = reduction && !reduction->kernel ? cached->spare : 0;
	struct cs_run run = { .plan = &cached->plan, .host = team->host, .reduction = reduction };
	char *memory = cs_team_plan_memory(team, cached->plan.tmp_bytes + spare);
	run.memory[CS_IN] = (char *)in;
	run.memory[CS_OUT] = out;
	run.memory[CS_TMP] = memory;
	run.spare = memory + cached->plan.tmp_bytes;
	run.wire = team->host->wire(group, cached->plan.requests);
	cs_run_finish(&run);
	/* Too large to keep: only this one is there then. */
	if (plans->bytes > CS_PLAN_BUDGET)
		drop(plans, (int)(cached - plans->cached));
}

void
cs_plans_fini(struct cs_plans *plans)
{
	while (plans->count)
		drop(plans, plans->count - 1);
	free(plans->cached);
	plans->cached = NULL;
}
