/* algorithms/plan_cache.c — the plans that a team used last, and their runs. */
#include "algorithms/plan_cache.h"

#include "algorithms/op.h"
#include "base/log.h"
#include "plan/build.h"
#include "plan/execute.h"
#include "plan/senders.h"

#include <stdlib.h>
#include <string.h>

/* --- keys ------------------------------------------------------------------------------------- */

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

/* Key of two words of 64 bits: two problems with the same key are not expected. */
static struct cs_plan_key
key_of(const struct cs_algorithm *algorithm, const struct cs_problem *problem)
{
	struct cs_plan_key key = { .algorithm = algorithm };
	mix(key.words, (uint64_t)problem->root << 32 | (uint64_t)problem->coll << 8 |
			       (uint64_t)problem->is_in_place << 1 | problem->is_commutative);
	mix(key.words, problem->bytes);
	mix(key.words, problem->unit);
	if (problem->senders) /* the own number is the team's */
		mix(key.words, (uint64_t)problem->senders->count);
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
	return a->words[0] == b->words[0] && a->words[1] == b->words[1] &&
	       a->algorithm == b->algorithm;
}

/* --- the cache -------------------------------------------------------------------------------- */

static size_t
bytes_of(const struct cs_cached_plan *cached)
{
	return cached->plan.count * sizeof *cached->plan.steps;
}

static void
drop(struct cs_plans *plans, int i)
{
	plans->bytes -= bytes_of(&plans->cached[i]);
	cs_plan_fini(&plans->cached[i].plan);
	plans->cached[i] = plans->cached[--plans->count];
}

/* Index of the idle plan that was used longest ago; -1: none. */
static int
oldest(const struct cs_plans *plans)
{
	int least = -1;
	for (int i = 0; i < plans->count; i++)
		if (!plans->cached[i].users &&
		    (least < 0 || plans->cached[i].used < plans->cached[least].used))
			least = i;
	return least;
}

static void
no_memory(struct cs_team *team)
{
	cs_warn_local("no memory for a plan; ending the job");
	team->host->abort("out of memory");
}

static enum cs_status
write_plan(struct cs_cached_plan *cached, const struct cs_plan_key *key,
	   const struct cs_problem *problem, struct cs_part *part)
{
	struct cs_builder builder;
	*cached = (struct cs_cached_plan){ .key = *key };
	cs_builder_init(&builder, problem, &cached->plan);
	builder.part = part;
	key->algorithm->build(&builder);
	enum cs_status status = cs_builder_finish(&builder);
	cached->refused = builder.refused;
	cached->spare = part ? part->spare : cs_plan_spare(&cached->plan);
	return status;
}

/* Make room for one plan more than are kept, while its call runs, and those of operations under
 * way. */
static void
make_room(struct cs_team *team, struct cs_plans *plans)
{
	int room = plans->count < CS_PLANS ? CS_PLANS + 1 : 2 * plans->count;
	struct cs_cached_plan *larger = realloc(plans->cached, (size_t)room * sizeof *larger);
	if (larger)
		plans->cached = larger;
	if (!plans->part)
		plans->part = malloc(CS_PLAN_PART * sizeof *plans->part);
	if (!larger || !plans->part)
		no_memory(team);
	plans->room = room;
}

/* Build a plan and keep it; NULL: no memory. */
static struct cs_cached_plan *
build(struct cs_team *team, struct cs_plans *plans, const struct cs_plan_key *key,
      const struct cs_problem *problem)
{
	if (plans->count + 1 > plans->room)
		make_room(team, plans);
	/* If memory is out, idle plans are dropped. */
	struct cs_cached_plan made;
	while (write_plan(&made, key, problem, NULL) == CS_NO_MEMORY) {
		int idle = oldest(plans);
		if (idle < 0)
			return NULL;
		drop(plans, idle);
	}
	made.number = ++plans->built;
	plans->bytes += bytes_of(&made);
	plans->cached[plans->count] = made;
	return &plans->cached[plans->count++];
}

/* Drop plans over the limits. The last one stays, unless it is too large by itself; then the others
 * stay. Plans in use stay in any case. */
static void
trim(struct cs_plans *plans, struct cs_cached_plan *last)
{
	if (bytes_of(last) > CS_PLAN_BUDGET && !last->users)
		drop(plans, (int)(last - plans->cached));
	for (int i; (plans->count > CS_PLANS || plans->bytes > CS_PLAN_BUDGET) &&
	     (i = oldest(plans)) >= 0;)
		drop(plans, i);
}

/* Find the plan or build it; NULL: no memory. */
static struct cs_cached_plan *
find(struct cs_team *team, struct cs_plans *plans, const struct cs_plan_key *key,
     const struct cs_problem *problem)
{
	struct cs_cached_plan *cached = NULL;
	for (int i = 0; i < plans->count && !cached; i++)
		if (is_same(&plans->cached[i].key, key))
			cached = &plans->cached[i];
	if (!cached)
		cached = build(team, plans, key, problem);
	if (cached)
		cached->used = ++plans->clock;
	return cached;
}

/* A run of the plan in the operation's memory. */
static struct cs_run
run_of(struct cs_op *op, void *group, const struct cs_cached_plan *cached,
       const struct cs_senders *senders, const void *in, void *out,
       const struct cs_reduction *reduction)
{
	struct cs_team *team = op->team;
	size_t spare = reduction && !reduction->kernel ? cached->spare : 0;
	size_t tmp = senders ? 0 : cached->plan.tmp_bytes;
	size_t requests = (size_t)cached->plan.requests * sizeof(struct cs_request);
	struct cs_run run = { .plan = &cached->plan, .tag = op->tag, .host = team->host,
			      .reduction = reduction, .senders = senders };
	char *memory = cs_op_memory(op, CS_OP_PLAN, tmp + spare + 64 + requests);
	run.memory[CS_IN] = (char *)in;
	run.memory[CS_OUT] = out;
	run.memory[CS_TMP] = senders ? senders->memory : memory;
	run.spare = memory + tmp;
	run.requests = (struct cs_request *)(void *)(memory + ((tmp + spare + 63) & ~(size_t)63));
	run.wire = team->host->wire(group);
	return run;
}

static void
run(struct cs_op *op, struct cs_plans *plans, struct cs_cached_plan *cached, struct cs_run *run)
{
	cs_run_finish(run);
	cs_op_note(op, run->told);
	if (plans->count > CS_PLANS || plans->bytes > CS_PLAN_BUDGET)
		trim(plans, cached);
}

static void
begin(struct cs_op *op, struct cs_plans *plans, struct cs_cached_plan *cached,
      const struct cs_run *run)
{
	cached->users++;
	op->run = *run;
	op->plans = plans;
	op->plan = cached->plan; /* others may come and go in the cache meanwhile */
	op->plan_number = cached->number;
	op->run.plan = &op->plan;
	op->under_way = CS_UNDER_WAY_PLAN;
}

/* Run a plan in parts, none kept: build() writes the plan once for each. False: it refuses. */
static bool
run_in_parts(struct cs_op *op, struct cs_plans *plans, void *group, const struct cs_plan_key *key,
	     const struct cs_problem *problem, const void *in, void *out,
	     const struct cs_reduction *reduction)
{
	struct cs_run its = { .told = 0 };
	for (size_t first = 0, all = 1; first < all;) {
		struct cs_part part = { .steps = plans->part, .room = CS_PLAN_PART,
					.first = first };
		struct cs_cached_plan made;
		enum cs_status status = write_plan(&made, key, problem, &part);
		if (status == CS_NO_MEMORY)
			no_memory(op->team);
		if (status != CS_OK) {
			cs_op_refuse(op, made.refused);
			return false;
		}
		if (!first)
			its = run_of(op, group, &made, problem->senders, in, out,
				     reduction);
		its.plan = &made.plan;
		its.next = 0;
		cs_run_finish(&its);
		first += part.count;
		all = part.all;
	}
	cs_op_note(op, its.told);
	return true;
}

bool
cs_plans_start(struct cs_op *op, struct cs_plans *plans, void *group,
	       const struct cs_algorithm *algorithm, const struct cs_problem *problem,
	       const void *in, void *out, const struct cs_reduction *reduction)
{
	struct cs_plan_key key = key_of(algorithm, problem);
	struct cs_cached_plan *cached = find(op->team, plans, &key, problem);
	bool may_wait = !(op->node.extras & CS_OP_NONBLOCKING);
	if (!cached && may_wait)
		return run_in_parts(op, plans, group, &key, problem, in, out, reduction);
	if (!cached && !plans->count)
		no_memory(op->team);
	if (!cached) {
		op->under_way = CS_UNDER_WAY_LATER;
		return true;
	}
	if (cached->refused) {
		cs_op_refuse(op, cached->refused);
		if (plans->count > CS_PLANS)
			trim(plans, cached);
		return false;
	}
	struct cs_run its = run_of(op, group, cached, problem->senders, in, out, reduction);
	if (may_wait)
		run(op, plans, cached, &its);
	else
		begin(op, plans, cached, &its);
	return true;
}

enum cs_status
cs_plans_have_begun(struct cs_op *op)
{
	if (op->under_way != CS_UNDER_WAY_LATER)
		return CS_OK;
	op->node.awaited.local = CS_AWAITS_MESSAGE;
	return CS_AGAIN;
}

enum cs_status
cs_plans_go(struct cs_op *op)
{
	struct cs_plans *plans = op->plans;
	struct cs_cached_plan *cached = plans->cached;
	if (cs_run_progress(&op->run) == CS_AGAIN) {
		op->node.awaited.local = CS_AWAITS_MESSAGE;
		return CS_AGAIN;
	}
	cs_op_note(op, op->run.told);
	while (cached->number != op->plan_number)
		cached++;
	cached->users--;
	if (plans->count > CS_PLANS || plans->bytes > CS_PLAN_BUDGET)
		trim(plans, cached);
	return CS_OK;
}

void
cs_plans_fini(struct cs_plans *plans)
{
	while (plans->count)
		drop(plans, plans->count - 1);
	free(plans->cached);
	free(plans->part);
	plans->cached = NULL;
	plans->part = NULL;
	plans->room = 0;
}
