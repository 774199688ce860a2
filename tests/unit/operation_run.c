/* operation_run.c steps the operations of virtual ranks in random order. */
#include "operation_run.h"
#include "operation_spec.h"

#include "run/flat.h"
#include "run/run.h"

#include <stdlib.h>

unsigned run_proven[CS_MOST_ROWS][WORLD_MOST + 1][PLACEMENTS],
	 run_at_once[CS_MOST_ROWS][WORLD_MOST + 1], run_by_senders[CS_MOST_ROWS];
int run_lanes_made;

struct cs_facts
run_facts(const struct world *world, enum cs_coll coll, bool is_commutative)
{
	struct cs_facts facts = { .coll = coll, .ranks = world->ranks, .nodes = world->nodes,
				  .is_block_placed = world->is_block_placed, .wire = CS_WIRE_IB,
				  .is_commutative = !cs_colls[coll].reduces || is_commutative };
	for (int node = 0; node < world->nodes; node++) {
		int size = world->first[node + 1] - world->first[node];
		facts.ppn_max = size > facts.ppn_max ? size : facts.ppn_max;
	}
	return facts;
}

enum placement
run_placement(const struct world *world)
{
	if (world->nodes == 1)
		return ON_ONE_NODE;
	if (world->nodes == world->ranks)
		return ON_NODES_OF_ONE;
	return world->is_block_placed ? ON_NODES_BY_BLOCK : ON_NODES_MIXED;
}

void
run_fail(struct run *run, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	if (!*run->failure)
		vsnprintf(run->failure, sizeof run->failure, format, arguments);
	va_end(arguments);
}

/* One that a test brings itself is in no table. */
static bool
is_listed(const struct cs_algorithm *algorithm)
{
	return cs_algorithm_by_name(algorithm->coll, algorithm->name) == algorithm;
}

/* --- one call of one rank --------------------------------------------------------------------- */

static void
join(struct run *run, int rank, int call)
{
	const struct spec *spec = &run->specs[call];
	struct part *part = &run->parts[rank][call];
	const struct cs_algorithm *algorithm = spec->runs;
	fault_before(run, rank, call);
	call_make(&run->world, spec, rank, part);
	bool reduces = cs_colls[spec->coll].reduces;
	cs_op_join(&part->op, &run->world.teams[rank],
		   cs_call_signature(spec->coll, (unsigned)part->op.call.root) |
		   (reduces ? part->op.call.bytes : 0));
	bool may_wait = run->setting.is_blocking || spec->is_blocking;
	may_wait = may_wait || (!run->setting.may_be_left && !run_sends(algorithm));
	part->op.node.extras |= may_wait ? 0 : CS_OP_NONBLOCKING;
	part->op.between = algorithm->inner;
	part->op.between_params = spec->params;
	fault_at_begin(run, rank, call);
}

static void
begin(struct run *run, int rank, int call)
{
	const struct spec *spec = &run->specs[call];
	struct part *part = &run->parts[rank][call];
	const struct cs_algorithm *algorithm = spec->runs;
	join(run, rank, call);
	/* Some ranks go by the script, as who has other operations under way does. */
	if (run->setting.is_blocking && algorithm->fast && chance(run, 4) &&
	    algorithm->fast(&part->op, spec->params)) {
		if (is_listed(algorithm))
			run_at_once[cs_algorithm_number(algorithm)][run->world.ranks]++;
		return;
	}
	call_counting = run->counted ? &run->counted[rank] : NULL;
	if (algorithm->run)
		algorithm->run(&part->op, spec->params + spec->inner);
	else
		cs_flat_start(&part->op, algorithm, spec->params);
	call_counting = NULL;
}

/* Has a rank that is over left the call to the host, and another one not? */
static bool
is_left_by_some(const struct run *run, int call)
{
	int over = 0, left = 0;
	for (int rank = 0; rank < run->world.ranks; rank++) {
		over += run->parts[rank][call].is_over;
		left += run->parts[rank][call].is_left;
	}
	return left && left < over;
}

static void
check_barrier(struct run *run, int rank, int call)
{
	for (int other = 0; other < run->world.ranks; other++)
		if (run->begun[other] <= call)
			run_fail(run, "; rank %d has left barrier %d, %s, which rank %d has not "
				 "begun", rank, call, run->specs[call].algorithm->name, other);
}

/* The program looks at the result, and has its buffers for something else. */
static void
end(struct run *run, int rank, int call)
{
	struct part *part = &run->parts[rank][call];
	const struct spec *spec = &run->specs[call];
	const char *wrong = call_wrong(&run->world, spec, rank, part);
	part->is_over = true;
	part->is_left = part->op.node.outcome.bits & CS_OUTCOME_LEFT;
	part->is_refused = part->op.node.outcome.bits & (CS_OUTCOME_LEFT | CS_OUTCOME_REFUSED);
	if (part->op.node.extras & CS_OP_SENDERS && !part->is_refused &&
	    is_listed(spec->algorithm))
		run_by_senders[cs_algorithm_number(spec->algorithm)]++;
	if (wrong)
		run_fail(run, "; rank %d %s in call %d: %s %s root %d %zu bytes%s", rank, wrong,
			 call, cs_colls[spec->coll].name, spec->algorithm->name, spec->root,
			 spec->each, spec->in_place ? " in place" : "");
	if (spec->coll == CS_BARRIER && !part->is_left)
		check_barrier(run, rank, call);
	if (is_left_by_some(run, call))
		run_fail(run, "; not all ranks leave call %d to the host: %s %s", call,
			 cs_colls[spec->coll].name, spec->algorithm->name);
	call_spoil(part);
	cs_node_op_fini(&part->op.node);
	cs_op_fini(&part->op);
	while (run->over[rank] < run->begun[rank] && run->parts[rank][run->over[rank]].is_over)
		run->over[rank]++;
}

void
run_blocking(struct run *run, int rank, int call)
{
	struct part *part = &run->parts[rank][call];
	run->begun[rank]++;
	begin(run, rank, call);
	if (part->op.node.extras & CS_OP_GOES_ON)
		cs_op_finish(&part->op);
	end(run, rank, call);
}

void
run_begin(struct run *run, int rank, struct cs_cached_choice *quiet)
{
	int call = run->begun[rank]++;
	struct part *part = &run->parts[rank][call];
	run->beginning[rank] = call + 1;
	if (quiet) {
		join(run, rank, call);
		cs_selection_run_quietly(quiet, &part->op);
	} else {
		begin(run, rank, call);
	}
	run->beginning[rank] = 0;
	if (!(part->op.node.extras & CS_OP_GOES_ON))
		end(run, rank, call);
}

void
run_step(struct run *run, int rank, int call)
{
	struct part *part = &run->parts[rank][call];
	if (!part->is_over && run->beginning[rank] != call + 1 && cs_op_step(&part->op) == CS_OK)
		end(run, rank, call);
}

/* --- turns ------------------------------------------------------------------------------------ */

static void
note_lead(struct run *run, int rank)
{
	for (int other = 0; other < run->world.ranks; other++)
		if (run->begun[rank] - run->begun[other] > run->lead)
			run->lead = run->begun[rank] - run->begun[other];
}

/* Steps one of the rank's operations; begins one, if it may. Has anything changed? */
static bool
turn_of(struct run *run, int rank)
{
	int begun = run->begun[rank], count = 0, which[RUN_MOST_UNDER_WAY];
	bool may_begin = true;
	for (int call = run->over[rank]; call < begun; call++)
		if (!run->parts[rank][call].is_over) {
			may_begin = may_begin && !run->specs[call].is_blocking;
			which[count++] = call;
		}
	may_begin = may_begin && begun < run->setting.calls && count < run->setting.under_way &&
			 cs_node_may_begin(&run->world.teams[rank].node);
	if (may_begin && (!count || chance(run, 3) == 0)) {
		run->begun[rank]++;
		note_lead(run, rank);
		begin(run, rank, begun);
		if (!(run->parts[rank][begun].op.node.extras & CS_OP_GOES_ON))
			end(run, rank, begun);
		return true;
	}
	if (!count)
		return false;
	int call = which[chance(run, (uint32_t)count)];
	struct part *part = &run->parts[rank][call];
	cs_phase *const *phase = part->op.phase;
	struct cs_awaited awaited = part->op.node.awaited;
	uint64_t moves = run->world.moves;
	call_counting = run->counted ? &run->counted[rank] : NULL;
	world_carry(&run->world);
	bool is_over = cs_op_step(&part->op) == CS_OK;
	call_counting = NULL;
	fault_after(run, rank, part);
	if (is_over)
		end(run, rank, call);
	return is_over || part->op.phase != phase || run->world.moves != moves ||
	       part->op.node.awaited.local != awaited.local ||
	       part->op.node.awaited.tag != awaited.tag;
}

/* Some ranks, not all, are to wait for all others. */
static void
starve(struct run *run)
{
	int ranks = run->world.ranks, starved = 0;
	for (int rank = 0; rank < ranks; rank++)
		starved += run->is_starved[rank] = chance(run, 2);
	if (starved == ranks || !starved)
		run->is_starved[chance(run, (uint32_t)ranks)] ^= true;
}

int
run_pick(struct run *run)
{
	enum { PATIENCE = 8 }; /* turns of each other rank in which nothing has moved: messages take
				* some looks */
	int ranks = run->world.ranks, rank = (int)chance(run, (uint32_t)ranks);
	bool is_stuck = run->quiet > PATIENCE * ranks * run->setting.under_way;
	if (run->setting.order) {
		rank = run->setting.order[chance(run, (uint32_t)run->arrived)];
		run->arrived += is_stuck && run->arrived < ranks;
		run->quiet = is_stuck ? 0 : run->quiet;
		return rank;
	}
	if (run->setting.is_starving && is_stuck && chance(run, 16) == 0)
		starve(run);
	while (run->setting.is_starving && run->is_starved[rank] != is_stuck)
		rank = (int)chance(run, (uint32_t)ranks);
	return rank;
}

void
run_turn(struct run *run)
{
	run->quiet = turn_of(run, run_pick(run)) ? 0 : run->quiet + 1;
	if (*run->world.failure)
		run_fail(run, "; %s", run->world.failure);
}

bool
run_is_over(const struct run *run)
{
	for (int rank = 0; rank < run->world.ranks; rank++)
		if (run->over[rank] < run->setting.calls)
			return false;
	return true;
}

void
run_say_where(struct run *run)
{
	size_t end = strlen(run->failure);
	for (int rank = 0; rank < run->world.ranks; rank++)
		for (int call = run->over[rank]; call < run->begun[rank] &&
		     end + 100 < sizeof run->failure; call++) {
			const struct part *part = &run->parts[rank][call];
			const struct cs_awaited *awaited = &part->op.node.awaited;
			if (!part->is_over)
				end += (size_t)snprintf(run->failure + end,
							sizeof run->failure - end,
							"; rank %d call %d waits for %d: %llu.%llu",
							rank, call, awaited->local,
							(unsigned long long)awaited->tag >>
							CS_STEP_BITS,
							(unsigned long long)awaited->tag %
							(1 << CS_STEP_BITS));
		}
}

static bool
is_refused(const struct run *run, int call)
{
	bool is = false;
	for (int rank = 0; rank < run->world.ranks; rank++)
		is = is || run->parts[rank][call].is_refused;
	return is;
}

void
run_end(struct run *run)
{
	if (world_left(&run->world))
		run_fail(run, "; %d messages are left", world_left(&run->world));
	run_lanes_made += run->world.lanes_made;
	for (int call = 0; !*run->failure && call < run->setting.calls; call++)
		if (!is_refused(run, call) && is_listed(run->specs[call].algorithm))
			run_proven[cs_algorithm_number(
				run->specs[call].algorithm)][run->world.ranks][run_placement(
					&run->world)]++;
}

/* --- a case ----------------------------------------------------------------------------------- */

void
run_make(struct run *run, const struct setting *setting)
{
	*run = (struct run){ .setting = *setting, .counted = run->counted, .arrived = 1 };
	world_make(&run->world, setting->sizes, setting->cyclic, setting->lanes, &setting->shape,
		   setting->seed);
	if (setting->is_blocking && setting->seed % 3)
		world_unmake_lanes(&run->world);
	run->world.refuses_lanes = setting->seed % 7 == 1;
	run->world.has_windows = setting->seed % 2;
	run->world.counts_first = setting->fault == COUNTER_TOO_EARLY;
	run->specs = calloc((size_t)setting->calls, sizeof *run->specs);
	assert_non_null(run->specs);
	for (int rank = 0; rank < run->world.ranks; rank++) {
		run->parts[rank] = calloc((size_t)setting->calls, sizeof *run->parts[rank]);
		assert_non_null(run->parts[rank]);
		run->world.teams[rank].has_cma = setting->has_cma;
		run->world.teams[rank].node.readers = (int)(setting->seed % 4);
		if (setting->seed % 2) /* few calls of a case are of as much as is usual */
			run->world.teams[rank].node.facts.of[CS_LANES_BYTES] = 2048;
	}
	for (int call = 0; call < setting->calls; call++)
		spec_make(run, &run->specs[call], setting->algorithms
			  ? setting->algorithms[call] : NULL);
	starve(run);
}

void
run_clear(struct run *run)
{
	for (int rank = 0; rank < run->world.ranks; rank++)
		for (int call = 0; call < run->begun[rank]; call++) {
			if (!run->parts[rank][call].is_over) /* where something went wrong */
				cs_op_fini(&run->parts[rank][call].op);
			call_free(&run->parts[rank][call]);
		}
	for (int rank = 0; rank < run->world.ranks; rank++)
		free(run->parts[rank]);
	world_clear(&run->world);
	free(run->specs);
}

void
run_setting(struct run *run, const struct setting *setting)
{
	long most = setting->most_steps ? setting->most_steps : RUN_MOST_STEPS;
	run_make(run, setting);
	for (long steps = 0; !run_is_over(run) && !*run->failure; steps++) {
		if (steps == most) {
			run_fail(run, "; no end");
			run_say_where(run);
		}
		run_turn(run);
	}
	run_end(run);
}

void
run_say_failure(const struct run *run)
{
	const struct setting *setting = &run->setting;
	char calls[512] = "", nodes[128] = "";
	world_say(&run->world);
	for (int node = 0; node < run->world.nodes; node++)
		snprintf(nodes + strlen(nodes), sizeof nodes - strlen(nodes), " %d",
			 setting->sizes[node]);
	for (int call = run->over[0] < 3 ? 0 : run->over[0] - 3; call < setting->calls &&
	     call < run->over[0] + 4; call++)
		snprintf(calls + strlen(calls), sizeof calls - strlen(calls),
			 " %s %s root %d %zu bytes%s,", cs_colls[run->specs[call].coll].name,
			 run->specs[call].algorithm->name, run->specs[call].root,
			 run->specs[call].each, run->specs[call].in_place ? " in place" : "");
	fail_msg("seed %llu, nodes of%s ranks%s, %d under way, %zu slots of %zu%s%s%s%s:%s%s",
		 (unsigned long long)setting->seed, nodes, setting->cyclic ? ", cyclic" : "",
		 setting->under_way, setting->shape.slots, setting->shape.slot_bytes,
		 setting->has_cma ? ", single copy" : "",
		 setting->may_be_left ? ", may be left" : "",
		 setting->is_starving ? ", starving" : "", setting->is_blocking ? ", blocking" : "",
		 calls, run->failure);
}

int
expect_right(const struct setting *setting)
{
	struct run *run = calloc(1, sizeof *run);
	assert_non_null(run);
	run_setting(run, setting);
	if (*run->failure)
		run_say_failure(run);
	int lead = run->lead;
	run_clear(run);
	free(run);
	return lead;
}

/* --- settings --------------------------------------------------------------------------------- */

/* Nodes of up to six ranks, two at least, not all of one rank. */
static void
place_on_nodes(struct setting *setting, uint64_t *random, int ranks)
{
	int node = 0;
	bool is_several_per_node = false;
	for (int left = ranks; left; node++) {
		setting->sizes[node] = 1 +
				       (int)random_below(random, (uint32_t)(left < 6 ? left : 6));
		left -= setting->sizes[node];
		is_several_per_node = is_several_per_node || setting->sizes[node] > 1;
	}
	if (node == 1) { /* all on one: two more are on another */
		setting->sizes[0] = ranks > WORLD_MOST - 2 ? WORLD_MOST - 2 : ranks;
		setting->sizes[1] = 2;
	}
	if (!is_several_per_node)
		setting->sizes[0] = 2, setting->sizes[WORLD_MOST - 1] = 0;
}

struct setting
setting_of(uint64_t seed, bool several_nodes, int under_way)
{
	uint64_t random = seed;
	struct setting setting = { .seed = seed, .under_way = under_way, .may_be_left = true,
				   .calls = 1 + (int)random_below(&random, 6),
				   .lanes = 1 + (int)random_below(&random, 3) };
	int ranks = 2 + (int)random_below(&random, WORLD_MOST - 1);
	if (several_nodes) {
		place_on_nodes(&setting, &random, ranks);
	} else {
		setting.sizes[0] = ranks;
		setting.may_be_left = under_way > 1 || random_below(&random, 2);
	}
	setting.cyclic = random_below(&random, 2);
	setting.has_cma = random_below(&random, 3) == 0;
	setting.shape = (struct cs_node_shape){ .slots = 2 + random_below(&random, 3),
						.slot_bytes = (size_t)4096 <<
						random_below(&random, 3),
						.area_slots = 4 + random_below(&random, 3),
						.area_bytes = (size_t)32 << 10, .spin = 1,
						.yields = SIZE_MAX, .streams = CS_SWITCH_OFF };
	return setting;
}

int
cases_share(void)
{
	const char *share = getenv("TEST_SHARE");
	return share && atoi(share) > 0 ? atoi(share) : 1;
}

int
cases_wanted(int usual)
{
	const char *more = getenv("TEST_TIMES");
	int times = more && atoi(more) > 0 ? atoi(more) : 1;
	return (usual * times + cases_share() - 1) / cases_share();
}

int
several(uint64_t seed)
{
	return 2 + (int)(seed % (RUN_MOST_UNDER_WAY - 1));
}
