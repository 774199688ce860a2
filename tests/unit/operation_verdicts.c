/* operation_verdicts.c — ranks that choose by the verdicts of their own calls. */
#include "operation_verdicts.h"

#include "operation_crew.h"
#include "operation_fiber.h"
#include "world_parts.h"

#include "algorithms/late/posted_receives.h"
#include "run/trial.h"
#include "select/select.h"
#include "shm/arrived.h"

#include <stdlib.h>

#define KINDS 24 /* of a team's calls, at most */

struct verdicts_seen verdicts_seen;

/* What the first rank to make a call has done: the others do the same. */
struct made {
	bool is_set, has_way;
	uint64_t state;
	const struct cs_algorithm *by, *dry;
	bool is_dry;
};

/* Of a class: as far as its regret has a bound. */
struct account {
	uint64_t first_uses; /* time beyond the serving way's that no window could know */
	uint64_t last_window;
	uint64_t most_serving;
	unsigned used[CS_TRIAL_WAYS]; /* tried uses in the window */
};

struct verdict_rank {
	struct verdict_team *team;
	int rank, call;
	struct cs_selection selection;
	struct account accounts[CS_TRIALS];
	struct part part;
	struct cs_op dry;
	uint64_t words[CS_EPOCH_WORDS];
	int words_of; /* with VERDICT_LATE: the call that read them; 0: none */
	bool is_hurt;   /* the fault was planted */
};

struct verdict_team {
	const struct verdict_setting *setting;
	struct run *run;
	struct cs_selector *selector;
	struct cs_host host;
	int life, lives_from[2]; /* first calls of the communicators */
	enum cs_order orders[KINDS];
	struct {
		bool is_known;
		const struct cs_algorithm *by;
		int changes;
	} sums[KINDS];
	struct made made[VERDICT_MOST_CALLS];
	struct verdict_rank ranks[WORLD_MOST];
};

static struct verdict_team *teams;

static uint64_t
mix(uint64_t a, uint64_t b)
{
	uint64_t word = (a ^ (b + 1) * 0x9e3779b97f4a7c15u) * 0xd6e8feb86659fd93u;
	return (word ^ word >> 29) * 0xbf58476d1ce4e5b9u >> 11;
}

/* Notes a failure, and makes no more of this rank's calls. */
#define wrong(of, ...)                                                                            \
	do {                                                                                      \
		run_fail((of)->team->run, __VA_ARGS__);                                           \
		while (true)                                                                      \
			fiber_yield();                                                            \
	} while (0)

static struct cs_team *
team_of(const struct verdict_rank *self)
{
	return &self->team->run->world.teams[self->rank];
}

static void
meet_all(const struct verdict_rank *self)
{
	world_host.barrier(team_of(self)->everyone, NULL);
}

/* --- times ------------------------------------------------------------------------------------ */

static uint64_t
cost_of(const struct verdict_rank *self, int rank, enum cs_coll coll, enum cs_order order,
	const struct cs_algorithm *by)
{
	static const uint64_t bases[] = { 1000, 1060, 1300, 2000, 2900, 4000, 20000 };
	const struct verdict_setting *setting = self->team->setting;
	uint64_t way = by ? (uint64_t)cs_algorithm_number(by) : CS_MOST_ROWS;
	uint64_t at = mix(mix(setting->seed, (uint64_t)coll * 4 + order), way);
	at = setting->changes_speed ? mix(at, (uint64_t)self->call / 300) : at;
	uint64_t base = bases[at % COUNT(bases)];
	return base + base * (mix(at, (uint64_t)rank) % 30) / 100;
}

/* The longest of all ranks'. */
static uint64_t
longest(const struct verdict_rank *self, const struct cs_class_trial *class, int way)
{
	uint64_t most = 0;
	for (int rank = 0; rank < self->team->run->world.ranks; rank++) {
		uint64_t cost = cost_of(self, rank, class->coll, class->cached->order,
					class->ways[way].choice.algorithm);
		most = cost > most ? cost : most;
	}
	return most;
}

static uint64_t
late_of(const struct verdict_rank *self, int rank)
{
	uint64_t most = self->team->setting->late_ns;
	return most ? mix((uint64_t)self->call, (uint64_t)rank) % most : 0;
}

/* The call's beginning, the same on all ranks. */
static uint64_t
begin_of(const struct verdict_rank *self, bool is_dry)
{
	return 1000000 + ((uint64_t)self->call * 2 + is_dry) * 200000;
}

/* All go on from the arrival of the last one. */
static uint64_t
end_of(const struct verdict_rank *self, const struct spec *spec, enum cs_order order,
       const struct cs_algorithm *by, bool is_dry)
{
	uint64_t cost = cost_of(self, self->rank, spec->coll, order, by), last = 0;
	for (int rank = 0; rank < self->team->run->world.ranks; rank++)
		last = late_of(self, rank) > last ? late_of(self, rank) : last;
	uint64_t noise = self->team->setting->noise * cost / 100;
	cost += noise ? mix(mix((uint64_t)self->call, cost), (uint64_t)self->rank) % noise : 0;
	return begin_of(self, is_dry) + last + cost;
}

/* --- verdicts --------------------------------------------------------------------------------- */

static void
say(void *user, uint64_t *words)
{
	struct verdict_rank *self = user;
	cs_trials_say(&self->selection, words);
	if (self->team->setting->fault == WORDS_IN_OTHER_SLOT && self->rank == 1)
		memmove(words + CS_TRIAL_WORDS, words,
			(CS_EPOCH_WORDS - CS_TRIAL_WORDS) * sizeof *words);
}

/* Is the time of a way, as agreed on, the longest of the ranks' medians? */
static void
check_time(struct verdict_rank *self, const struct cs_class_trial *class, int way, uint64_t agreed)
{
	const struct verdict_setting *setting = self->team->setting;
	/* A mean of the ranks' whole times may be less than the longest one. */
	uint64_t longest_one = longest(self, class, way);
	uint64_t most = longest_one + longest_one * setting->noise / 100 + setting->late_ns;
	uint64_t least = class->imbalance == CS_BALANCED ? longest_one : 0;
	if (!setting->changes_speed && (agreed < least || agreed > most))
		wrong(self, "; rank %d, call %d: %llu ns were agreed on for %s, not %llu to %llu",
		      self->rank, self->call, (unsigned long long)agreed,
		      cs_colls[class->coll].name, (unsigned long long)least,
		      (unsigned long long)most);
}

/* Regret is at most a share of all time and some uses of the serving way, but for first uses. With
 * noise, a window may exceed it, but is begun only while regret is within. */
static void
check_regret(struct verdict_rank *self, struct account *account, const struct cs_trial *trial)
{
	const struct verdict_setting *setting = self->team->setting;
	uint64_t most = trial->time / CS_TRIAL_SHARE + CS_TRIAL_FREE * account->most_serving +
			account->first_uses;
	bool varies = setting->noise || setting->late_ns;
	if (setting->changes_speed || (varies && !account->last_window))
		return;
	if (trial->regret - (varies ? account->last_window : 0) > most)
		wrong(self, "; rank %d, call %d: regret is %llu ns, more than %llu", self->rank,
		      self->call, (unsigned long long)trial->regret, (unsigned long long)most);
}

/* A class was judged, whose trial was `before`. */
static void
check_judged(struct verdict_rank *self, struct cs_class_trial *class,
	     const struct cs_trial *before, const uint64_t *words)
{
	uint64_t agreed[CS_TRIAL_WORDS];
	for (int at = 0; at < CS_TRIAL_WORDS; at++)
		agreed[at] = words[at] == CS_EPOCH_UNKNOWN ? words[at]
							   : words[at] & ~CS_EPOCH_MEAN;
	const struct cs_trial *trial = &class->trial;
	struct account *account = &self->accounts[class - self->selection.trials];
	bool is_known = agreed[0] != CS_EPOCH_UNKNOWN && agreed[before->serving];
	uint64_t serving = is_known ? agreed[before->serving] : 0, regret = 0;
	verdicts_seen.windows += !self->rank;
	verdicts_seen.unknown += !self->rank && !is_known;
	account->most_serving = serving > account->most_serving ? serving : account->most_serving;
	account->last_window = 0;
	for (int way = 0; is_known && way < CS_TRIAL_WAYS; way++) {
		unsigned uses = account->used[way];
		if (!uses && agreed[way] && way != before->serving)
			wrong(self, "; rank %d, call %d: a time of a way that was not tried",
			      self->rank, self->call);
		if (!agreed[way])
			continue;
		check_time(self, class, way, agreed[way]);
		if (way == before->serving)
			continue;
		uint64_t beyond = before->is_extra ? agreed[way]
				  : agreed[way] > serving ? agreed[way] - serving : 0;
		regret += uses * beyond;
		if (before->way_of[way].state == CS_TRIAL_UNTRIED)
			account->first_uses += (uint64_t)before->least * beyond;
		else
			account->last_window += uses * beyond;
	}
	if (trial->regret - before->regret != regret)
		wrong(self, "; rank %d, call %d: regret grows by %llu ns, not %llu", self->rank,
		      self->call, (unsigned long long)(trial->regret - before->regret),
		      (unsigned long long)regret);
	check_regret(self, account, trial);
	memset(account->used, 0, sizeof account->used);
	if (trial->serving == before->serving || self->rank)
		return;
	verdicts_seen.changes++;
	verdicts_seen.dry_changes += class->is_dry;
	verdicts_seen.to_host += !class->ways[trial->serving].choice.algorithm;
	verdicts_seen.from_host += !class->ways[before->serving].choice.algorithm;
}

static void
judge(struct verdict_rank *self, const uint64_t *words)
{
	struct cs_trial before[CS_TRIALS];
	bool is_said[CS_TRIALS];
	int count = self->selection.trial_count;
	for (int i = 0; i < count; i++) {
		before[i] = self->selection.trials[i].trial;
		is_said[i] = self->selection.trials[i].is_said;
	}
	cs_trials_hear(&self->selection, words);
	for (int i = 0; i < count; i++) {
		struct cs_class_trial *class = &self->selection.trials[i];
		if (is_said[i])
			check_judged(self, class, &before[i],
				     words + class->slot * CS_TRIAL_WORDS);
	}
}

static void
hear(void *user, const uint64_t *words)
{
	struct verdict_rank *self = user;
	if (self->team->setting->fault == VERDICT_LATE && self->rank == 1) {
		memcpy(self->words, words, sizeof self->words);
		self->words_of = self->call;
	} else {
		judge(self, words);
	}
}

static void
told(void *user, enum cs_balance imbalance)
{
	struct verdict_rank *self = user;
	verdicts_seen.imbalances += !self->rank;
	cs_selection_take_imbalance(&self->selection, imbalance);
	for (int i = 0; i < CS_TRIALS; i++)
		if (self->selection.trials[i].is_free)
			self->accounts[i] = (struct account){ 0 };
}

/* --- a communicator --------------------------------------------------------------------------- */

static const char *
open_or_refuse(void *group)
{
	const struct world *world = ((struct seat *)group)->world;
	return world->has_windows ? NULL : "planted";
}

/* Any two algorithms for each collective, for calls of any size or of some; one may be the host.
 * A run may try others. */
static void
write_rules(FILE *file, const struct world *world, uint64_t seed)
{
	static const char *const sizes[][2] = { { "", "" },
						{ "bytes: 0-512, ", "bytes: 512-inf, " } };
	fprintf(file, "version: 1\nblocks:\n  - name: any\n    hypothesis: yes\n    provenance: "
		      "{date: 2026-11-28, library: none, machine: none, command: none}\n    "
		      "rules:\n");
	for (enum cs_coll coll = 0; coll < CS_COLL_COUNT; coll++) {
		const char *found[CS_MOST_ROWS] = { "host" };
		uint32_t count = 1;
		struct cs_facts facts = run_facts(world, coll, true);
		facts.wire = CS_WIRE_HOST;
		for (int i = 0; cs_algorithm_at(i); i++)
			if (cs_algorithm_at(i)->coll == coll &&
			    !cs_algorithm_unmet(cs_algorithm_at(i), &facts))
				found[count++] = cs_algorithm_at(i)->name;
		for (int rule = 0; rule < 4; rule++) {
			const char *use = found[random_below(&seed, 4)
						? random_below(&seed, count) : 0];
			fprintf(file, "      - {collective: %s, %suse: \"%s\"}\n",
				cs_colls[coll].name,
				cs_colls[coll].bytes_agreed ? sizes[seed / 2 % 2][rule % 2] : "",
				use);
		}
	}
}

static struct cs_selector *
make_selector(const struct world *world, uint64_t seed)
{
	char path[256];
	struct cs_selector *selector;
	int fd = mkstemp(temporary(path));
	assert_true(fd >= 0);
	FILE *file = fdopen(fd, "w");
	assert_non_null(file);
	write_rules(file, world, seed);
	fclose(file);
	const struct cs_settings settings = { .tuning = path, .team_after = -1 };
	struct cs_machine machine = { .mpi = "mpich" };
	cs_machine_read(&machine);
	assert_int_equal(cs_selector_create(&selector, &settings, &machine), CS_OK);
	unlink(path);
	return selector;
}

static void
begin_communicator(struct verdict_rank *self)
{
	const struct verdict_setting *setting = self->team->setting;
	const struct world *world = &self->team->run->world;
	struct cs_selection *selection = &self->selection;
	struct cs_team *team = team_of(self);
	team->host = &self->team->host;
	*selection = (struct cs_selection){ .selector = self->team->selector, .team = team };
	selection->facts = (struct cs_facts){ .ranks = team->shape.ranks,
					      .nodes = team->shape.nodes,
					      .ppn_min = team->shape.ppn_min,
					      .ppn_max = team->shape.ppn_max,
					      .is_block_placed = world->is_block_placed,
					      .wire = CS_WIRE_HOST };
	selection->trials = cs_trials_new();
	assert_non_null(selection->trials);
	memset(self->accounts, 0, sizeof self->accounts);
	const struct cs_epoch_limits limits = { .calls = setting->epoch,
						.moderate_ns = UINT64_MAX,
						.strong_ns = UINT64_MAX };
	const struct cs_epoch_user user = { .say = say, .hear = hear, .user = self,
					    .told = setting->is_imbalanced ? told : NULL };
	cs_epoch_begin(team, &limits, &user);
}

static void
end_communicator(struct verdict_rank *self)
{
	meet_all(self);
	cs_epoch_end(team_of(self));
	cs_posted_receives_end(team_of(self));
	cs_selection_fini(&self->selection);
	self->selection = (struct cs_selection){ 0 };
	meet_all(self);
}

/* --- a call ----------------------------------------------------------------------------------- */

/* All that the next calls' choices follow from. */
static uint64_t
state_of(struct verdict_rank *self)
{
	struct cs_selection *selection = &self->selection;
	uint64_t state = mix(team_of(self)->node.calls, (uint64_t)selection->trial_count);
	for (int i = 0; i < selection->trial_count; i++) {
		const struct cs_trial *trial = &selection->trials[i].trial;
		const int64_t words[] = { selection->trials[i].cached != NULL, trial->changes,
					  trial->serving, trial->done, trial->is_over,
					  (int64_t)trial->at, (int64_t)trial->apart,
					  (int64_t)trial->time, (int64_t)trial->regret };
		for (size_t k = 0; k < COUNT(words); k++)
			state = mix(state, (uint64_t)words[k]);
		for (int way = 0; way < CS_TRIAL_WAYS; way++)
			state = mix(mix(state, trial->way_of[way].time), trial->plan[way]);
	}
	for (int coll = 0; coll < CS_COLL_COUNT; coll++) {
		struct cs_cached_choices *choices = &selection->cached_choices[coll];
		const struct cs_cached_choice *end = cs_cached_choices_end(choices);
		for (const struct cs_cached_choice *each = choices->cached; each < end; each++)
			state = mix(mix(state, (uint64_t)(each->until - each->left)),
				    (uintptr_t)each->choice.algorithm);
	}
	return state;
}

static void
check_state(struct verdict_rank *self)
{
	struct made *made = &self->team->made[self->call];
	uint64_t state = state_of(self);
	if (made->is_set && made->state != state)
		wrong(self, "; rank %d differs from others in choices or trials before call %d",
		      self->rank, self->call);
	made->is_set = true;
	made->state = state;
}

/* A sum's order is its algorithm's. */
static void
check_sum(struct verdict_rank *self, int kind, const struct cs_algorithm *by)
{
	if (self->team->orders[kind] != CS_ORDER_FREE)
		return;
	if (self->team->sums[kind].is_known && self->team->sums[kind].by != by &&
	    ++self->team->sums[kind].changes > 1)
		wrong(self, "; call %d: a sum changes its order again", self->call);
	self->team->sums[kind].is_known = true;
	self->team->sums[kind].by = by;
}

static const char *
name_of(const struct cs_algorithm *by)
{
	return by ? by->name : "host";
}

/* Do all ranks run, and try, the same? */
static void
check_made(struct verdict_rank *self, int kind, const struct cs_cached_choice *cached)
{
	struct made *made = &self->team->made[self->call];
	const struct cs_algorithm *by = cached->choice.algorithm;
	const struct cs_cached_choice *way = self->part.op.node.extras & CS_OP_ON_TRIAL
					     ? cs_trials_dry(&self->selection) : NULL;
	const struct cs_algorithm *dry = way ? way->choice.algorithm : NULL;
	if (made->has_way && (made->by != by || made->is_dry != (way != NULL) || made->dry != dry))
		wrong(self, "; call %d is served by %s on rank %d and by %s on others", self->call,
		      name_of(by), self->rank, name_of(made->by));
	if (!made->has_way)
		check_sum(self, kind, by);
	made->has_way = true;
	made->by = by;
	made->dry = dry;
	made->is_dry = way != NULL;
}

static void
run_by(struct cs_cached_choice *way, struct cs_op *op)
{
	cs_selection_run_quietly(way, op);
	if (op->node.extras & CS_OP_GOES_ON)
		cs_op_finish(op);
}

static void
take_number(struct verdict_rank *self, struct cs_op *op)
{
	bool is_left_out = self->team->setting->fault == NUMBER_BY_SOME && self->rank == 1 &&
			   self->call > 40 && !self->is_hurt;
	self->is_hurt = self->is_hurt || is_left_out;
	if (is_left_out)
		return;
	cs_node_begin(&op->node);
	cs_node_end(&op->node);
}

/* As comm/calls/dry.c. */
static void
call_dry(struct verdict_rank *self, const struct spec *spec, struct cs_cached_choice *way)
{
	struct cs_op *dry = &self->dry;
	const struct cs_call *like = &self->part.op.call;
	struct cs_team *team = team_of(self);
	dry->node.outcome = (struct cs_outcome){ 0 };
	dry->node.extras = 0;
	cs_op_join(dry, team, cs_call_signature(spec->coll, (unsigned)like->root) | like->bytes);
	dry->call = *like;
	char *memory = cs_op_memory(dry, CS_OP_INPUT, 2 * like->bytes);
	memset(memory, 0, 2 * like->bytes);
	dry->call.send = (struct cs_blocks){ .base = memory };
	dry->call.recv = (struct cs_blocks){ .base = memory + like->bytes };
	if (spec->coll == CS_REDUCE && self->rank != like->root)
		dry->call.recv.base = NULL;
	cs_arrived_say(dry->node.node, dry->tag, begin_of(self, true) + late_of(self, self->rank));
	if (way->choice.algorithm)
		run_by(way, dry);
	else
		take_number(self, dry);
	for (size_t i = 0; i < 2 * like->bytes; i++)
		if (memory[i])
			wrong(self, "; rank %d has a wrong result in the dry call of call %d",
			      self->rank, self->call);
	cs_trials_note(&self->selection, dry, begin_of(self, true) + late_of(self, self->rank),
		       end_of(self, spec, CS_ORDER_FREE, way->choice.algorithm, true),
		       !(dry->node.outcome.bits & CS_OUTCOME_LEFT));
	verdicts_seen.dry_calls += !self->rank;
	cs_node_op_fini(&dry->node);
	cs_op_fini(dry);
}

/* Counts uses of the way that the call on trial has. */
static void
count_use(struct verdict_rank *self)
{
	const struct cs_class_trial *class = self->selection.on_trial;
	struct account *account = &self->accounts[class - self->selection.trials];
	if (class->trial.way != class->trial.serving)
		account->used[class->trial.way]++;
}

/* As cs_choose_host and cs_serve_try; false: the host's. */
static bool
choose(struct verdict_rank *self, const struct spec *spec, enum cs_order order,
       struct cs_cached_choice **cached)
{
	struct cs_selection *selection = &self->selection;
	struct cs_op *op = &self->part.op;
	size_t bytes = spec->coll == CS_BARRIER ? 0
		       : cs_colls[spec->coll].bytes_agreed ? spec->each : CS_BYTES_UNKNOWN;
	*cached = selection->host_only >> spec->coll & 1
		  ? &selection->cached_choices[spec->coll].cached[0]
		  : cs_selection_find(selection, spec->coll, bytes, order == CS_ORDER_NONE
							    ? CS_ORDER_UNKNOWN : order);
	if (!*cached || !(*cached)->goes_to_host)
		*cached = cs_selection_choose(selection, spec->coll, bytes, 1, order);
	if ((*cached)->goes_to_host)
		return false;
	if (--(*cached)->left >= 0)
		return true;
	*cached = cs_selection_try(&self->selection, *cached,
				   cs_colls[spec->coll].rooted ? spec->root : -1);
	self->selection.is_timed = 0;
	if (self->selection.on_trial) {
		op->node.extras |= CS_OP_ON_TRIAL;
		count_use(self);
	}
	return (*cached)->choice.algorithm;
}

/* The first window has many uses of each way. */
static void
try_too_often(struct cs_trial *trial)
{
	for (int way = 0; way < trial->ways; way++)
		if (way != trial->serving && trial->done < 4 && !trial->accounted)
			trial->plan[way] = 20;
}

static void
plant(struct verdict_rank *self)
{
	struct cs_selection *selection = &self->selection;
	enum verdict_fault fault = self->team->setting->fault;
	for (int i = 0; fault == SUM_TRIED_IN_CALLS && i < selection->trial_count; i++)
		selection->trials[i].is_dry = selection->trials[i].trial.is_extra = false;
	for (int i = 0; fault == TRIED_TOO_OFTEN && i < selection->trial_count; i++)
		try_too_often(&selection->trials[i].trial);
	if (fault != ENDED_BY_ONE || self->rank != 1 || self->call < 100 || self->is_hurt)
		return;
	for (int i = 0; i < selection->trial_count && !self->is_hurt; i++) {
		struct cs_cached_choice *cached = selection->trials[i].cached;
		self->is_hurt = cached && cached->choice.algorithm;
		if (self->is_hurt)
			cs_trials_end(cached);
	}
}

static void
end_call(struct verdict_rank *self, const struct spec *spec, enum cs_order order,
	 const struct cs_cached_choice *cached)
{
	struct cs_op *op = &self->part.op;
	bool is_left = op->node.outcome.bits & CS_OUTCOME_LEFT;
	const char *what = cached->choice.algorithm
			   ? call_wrong(&self->team->run->world, spec, self->rank, &self->part)
			   : NULL;
	if (what)
		wrong(self, "; rank %d %s in call %d: %s %s", self->rank, what, self->call,
		      cs_colls[spec->coll].name, name_of(cached->choice.algorithm));
	if (op->node.extras & CS_OP_ON_TRIAL) {
		struct cs_cached_choice *way = cs_trials_dry(&self->selection);
		if (way)
			call_dry(self, spec, way);
		else
			cs_trials_note(&self->selection, op,
				       begin_of(self, false) + late_of(self, self->rank),
				       end_of(self, spec, order, cached->choice.algorithm, false),
				       !is_left);
	}
	call_spoil(&self->part);
	call_free(&self->part);
	cs_node_op_fini(&op->node);
	cs_op_fini(op);
}

static void
make_call(struct verdict_rank *self)
{
	struct verdict_team *team = self->team;
	struct world *world = &team->run->world;
	struct part *part = &self->part;
	int kinds = team->run->setting.calls;
	/* Some kinds come late. */
	kinds = 2 * self->call < team->setting->calls ? (kinds + 1) / 2 : kinds;
	int kind = (int)(mix(mix(team->setting->seed, (uint64_t)team->life),
			     (uint64_t)self->call) % (uint64_t)kinds);
	struct spec *spec = &(struct spec){ 0 };
	enum cs_order order = team->orders[kind];
	*spec = team->run->specs[kind];
	spec->salt += self->call * KINDS;
	spec->root = (spec->root + self->call / 5) % world->ranks;
	struct cs_cached_choice *cached;
	check_state(self);
	plant(self);
	/* Any lateness is imbalance, or none. */
	if (self->call % 100 == 0)
		team_of(self)->epoch.limits.moderate_ns = self->call / 100 % 2 ? 0 : UINT64_MAX;
	*part = (struct part){ 0 };
	call_make(world, spec, self->rank, part);
	uint64_t signature = cs_call_signature(spec->coll, (unsigned)part->op.call.root) |
			     (cs_colls[spec->coll].reduces ? part->op.call.bytes : 0);
	bool is_served = choose(self, spec, order, &cached);
	check_made(self, kind, cached);
	if (is_served || !cached->goes_to_host) {
		cs_op_join(&part->op, team_of(self), signature);
		if (part->op.node.extras & CS_OP_ON_TRIAL)
			cs_arrived_say(part->op.node.node, part->op.tag,
				       begin_of(self, false) + late_of(self, self->rank));
	}
	if (is_served)
		run_by(cached, &part->op);
	else if (!cached->goes_to_host)
		take_number(self, &part->op);
	if (!is_served && !cs_colls[spec->coll].rooted && self->call % 3 == 0)
		meet_all(self);
	verdicts_seen.host_calls += !is_served && !self->rank;
	end_call(self, spec, order, cached);
	if (self->words_of && self->words_of < self->call) {
		self->words_of = 0;
		judge(self, self->words);
	}
}

/* --- a case ----------------------------------------------------------------------------------- */

static void
recycle(struct verdict_rank *self)
{
	end_communicator(self);
	team_of(self)->tags = 0;
	self->team->life = 1;
	memset(self->team->sums, 0, sizeof self->team->sums);
	verdicts_seen.recycled += !self->rank;
	begin_communicator(self);
}

static void
run_process(struct crew *crew, int process)
{
	for (int call = 0; call <= VERDICT_MOST_CALLS; call++)
		for (int i = 0; i < crew->count; i++) {
			int rank = crew_rank(&crew->teams[i], process);
			struct verdict_team *team = &teams[i];
			if (rank < 0 || call > team->setting->calls)
				continue;
			struct verdict_rank *self = &team->ranks[rank];
			self->call = call;
			if (call == 0)
				begin_communicator(self);
			if (call == team->lives_from[1])
				recycle(self);
			if (call == team->setting->calls)
				end_communicator(self);
			else
				make_call(self);
			team->run->world.moves++;
			if (random_below(&crew->random, 4) == 0)
				fiber_yield();
		}
}

static struct setting
team_setting(const struct verdict_setting *setting, int number)
{
	uint64_t seed = setting->seed * VERDICT_TEAMS + (uint64_t)number;
	struct setting own = setting_of(seed, setting->several_nodes, 1);
	/* Small teams, of which some node has several ranks: others have no memory. */
	if (setting->several_nodes) {
		static const int sizes[][4] = { { 2, 1 }, { 1, 2 }, { 2, 2 }, { 3, 1 }, { 2, 1, 2 },
						{ 3, 3 } };
		memset(own.sizes, 0, sizeof own.sizes);
		memcpy(own.sizes, sizes[seed % COUNT(sizes)], sizeof sizes[0]);
	} else {
		own.sizes[0] = 2 + (int)(seed % 4);
	}
	own.calls = setting->is_crowded ? KINDS : 3 + (int)(seed / 4 % 6);
	own.is_blocking = true;
	own.is_starving = setting->is_starving;
	own.most_bytes = setting->is_crowded ? 70000 : seed % 4 ? 600 : 5000;
	own.colls = setting->is_crowded ? CS_SET(CS_ALLREDUCE)
		    : setting->are_sums ? CS_SET(CS_ALLREDUCE) | CS_SET(CS_REDUCE) : 0;
	return own;
}

static void
make_team(struct verdict_team *team, struct run *run, const struct verdict_setting *setting,
	  int number)
{
	uint64_t random = setting->seed + (uint64_t)number;
	team->setting = setting;
	team->run = run;
	team->host = world_host;
	team->host.open = open_or_refuse;
	team->selector = make_selector(&run->world, random);
	team->lives_from[1] = setting->is_recycled
			      ? 1 + (int)random_below(&random, (uint32_t)setting->calls - 1) : -1;
	for (int kind = 0; kind < run->setting.calls; kind++) {
		const struct spec *spec = &run->specs[kind];
		team->orders[kind] = !cs_colls[spec->coll].reduces ? CS_ORDER_NONE
				     : !spec->is_commutative ? CS_ORDER_KEPT
				     : random_below(&random, 2) ? CS_ORDER_FREE : CS_ORDER_EXACT;
	}
	for (int rank = 0; rank < run->world.ranks; rank++) {
		team->ranks[rank].team = team;
		team->ranks[rank].rank = rank;
	}
}

static void
clear_team(struct verdict_team *team)
{
	for (int rank = 0; rank < team->run->world.ranks; rank++) {
		struct verdict_rank *self = &team->ranks[rank];
		cs_op_fini(&self->part.op);
		cs_op_fini(&self->dry);
		call_free(&self->part);
		if (self->selection.trials)
			cs_selection_fini(&self->selection);
	}
	cs_selector_destroy(team->selector);
}

struct verdict_setting
verdict_setting_of(uint64_t seed)
{
	uint64_t random = seed;
	static const uint64_t epochs[] = { 32, 64, 96, 256 };
	struct verdict_setting setting = { .seed = seed };
	setting.several_nodes = random_below(&random, 2);
	setting.teams = 1 + (int)(random_below(&random, 3) == 0) * (1 + (int)(seed % 2));
	setting.calls = 200 + (int)random_below(&random, 700 / (uint32_t)setting.teams);
	setting.are_sums = random_below(&random, 4) == 0;
	setting.is_crowded = random_below(&random, 8) == 0;
	setting.is_starving = random_below(&random, 3) == 0;
	setting.is_recycled = random_below(&random, 3) == 0;
	setting.is_imbalanced = random_below(&random, 4) == 0;
	setting.changes_speed = random_below(&random, 4) == 0;
	setting.noise = random_below(&random, 2) ? random_below(&random, 60) : 0;
	setting.late_ns = random_below(&random, 3) == 0 ? 3000 : 0;
	setting.epoch = epochs[random_below(&random, COUNT(epochs))];
	return setting;
}

bool
verdicts_are_right(const struct verdict_setting *setting, char failure[1024])
{
	struct setting settings[VERDICT_TEAMS];
	struct crew *crew = malloc(sizeof *crew);
	teams = calloc((size_t)setting->teams, sizeof *teams);
	assert_non_null(crew);
	assert_non_null(teams);
	for (int i = 0; i < setting->teams; i++)
		settings[i] = team_setting(setting, i);
	crew_make(crew, settings, setting->teams);
	for (int i = 0; i < setting->teams; i++)
		make_team(&teams[i], &crew->teams[i].run, setting, i);
	crew_run(crew, run_process);
	for (int i = 0; i < setting->teams; i++)
		if (!crew_failure(crew) && world_left(&crew->teams[i].run.world))
			run_fail(&crew->teams[i].run, "; messages are left");
	const struct run *failed = crew_failure(crew);
	snprintf(failure, 1024, "%s", failed ? failed->failure : "");
	for (int i = 0; i < setting->teams; i++)
		clear_team(&teams[i]);
	crew_clear(crew);
	free(crew);
	free(teams);
	return !failed;
}
