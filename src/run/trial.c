/* run/trial.c — classes of calls on trial: the algorithm of the next call, and verdicts. */
#include "run/trial.h"

#include "select/learnt.h"
#include "shm/arrived.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A class that takes less than this part of the communicator's collective time after its first
 * calls is not tried. */
#define SHARE 100
#define FIRST_CALLS 30

struct cs_trials_sum cs_trials_sum;

struct cs_class_trial *
cs_trials_new(void)
{
	return calloc(CS_TRIALS, sizeof(struct cs_class_trial));
}

/* Have cs_selection_try asked at the class's call number `at`, from 0 on. */
static void
ask_at(struct cs_cached_choice *cached, uint64_t at)
{
	int64_t calls = cached->until - cached->left;
	cached->until = at < INT64_MAX ? (int64_t)at : INT64_MAX;
	cached->left = cached->until - calls;
}

/* Can the class be tried in dry calls? */
static bool
may_be_dry(const struct cs_facts *facts, enum cs_order order)
{
	return order == CS_ORDER_FREE && facts->bytes <= CS_DRY_MOST;
}

/* Keep the class within sizes that differ by a factor of eight at most. */
static void
narrow(struct cs_cached_choice *cached, size_t bytes)
{
	size_t low = 0, high = 64;
	if (bytes == CS_BYTES_UNKNOWN)
		return;
	for (; high <= bytes && high < (size_t)4 << 20; high *= 8)
		low = high;
	if (high > (size_t)2 << 20)
		high = CS_INF;
	cached->low = cached->low > low ? cached->low : low;
	cached->last = cached->last < high - 1 ? cached->last : high - 1;
}

/* Time of the class's calls so far, in ns, as judged. */
static uint64_t
time_of(const struct cs_class_trial *class)
{
	const struct cs_trial *trial = &class->trial;
	uint64_t later = class->cached ? cs_class_calls(class->cached) - trial->accounted : 0;
	return trial->time + later * trial->way_of[trial->serving].time;
}

/* A place for another class's trial; NULL: all are taken. */
static struct cs_class_trial *
place_of(const struct cs_selection *selection)
{
	struct cs_class_trial *class = selection->trials, *end = class + CS_TRIALS,
		*never_used = class + selection->trial_count;
	while (class && class < never_used && !class->is_free)
		class++;
	return class < end ? class : NULL;
}

/* Microseconds of nanoseconds; in integers: a program may trap on inexact floating point. */
#define TENTHS "%llu.%llu"
#define IN_TENTHS(ns) (unsigned long long)(ns) / 1000, (unsigned long long)(ns) / 100 % 10

_Static_assert(CS_REPORT_WAYS >= CS_TRIAL_WAYS, "the report has room for the algorithms on trial");

/* Show what was judged of the class. */
static void
report(const struct cs_selection *selection, struct cs_class_trial *class)
{
	const struct cs_trial *trial = &class->trial;
	struct cs_report_trial shown = {
		.coll = (int)class->coll, .low = class->cached->low, .last = class->cached->last,
		.ranks = selection->facts.ranks, .nodes = selection->facts.nodes,
		.count = trial->ways, .serving = trial->serving,
		.judged_at = cs_class_calls(class->cached), .changed_at = class->changed_at,
		.regret_ns = trial->regret, .calls = cs_class_calls(class->cached),
	};
	if (!selection->is_reporting)
		return;
	for (int way = 0; way < trial->ways; way++) {
		const struct cs_algorithm *algorithm = class->ways[way].choice.algorithm;
		shown.ways[way].algorithm = algorithm ? algorithm->name : "host";
		shown.ways[way].nanoseconds = trial->way_of[way].time;
	}
	class->place = cs_report_trial(class->place, &shown);
}

void
cs_selection_tell(const struct cs_selection *selection)
{
	for (int i = 0; i < selection->trial_count; i++) {
		const struct cs_class_trial *class = &selection->trials[i];
		if (class->cached && class->place >= 0)
			cs_report_trial_calls(class->place, cs_class_calls(class->cached));
	}
}

void
cs_trials_begin(struct cs_selection *selection, struct cs_cached_choice *cached,
		const struct cs_facts *facts)
{
	struct cs_choice choices[CS_TRIAL_WAYS] = { cached->choice };
	bool is_dry = may_be_dry(facts, cached->order);
	struct cs_class_trial *class = place_of(selection);
	if (!class || (!is_dry && cached->order != CS_ORDER_NONE &&
		       cached->order != CS_ORDER_EXACT))
		return;
	int found = cs_selector_candidates(selection->selector, facts, choices, CS_TRIAL_WAYS),
	    count = 0;
	for (int i = 0; i < found; i++) {
		struct cs_cached_choice *way = &class->ways[count];
		if (i > 0 && cs_selection_open(selection, &choices[i]))
			continue;
		free(way->rows);
		*way = (struct cs_cached_choice){ .choice = choices[i] };
		cs_selection_compose(way);
		count++;
	}
	const struct cs_team *team = selection->team;
	/* If each node has one rank, verdicts need a plan's communicator (cs_selection_open). */
	if (count < 2 || (team->shape.ppn_max == 1 && !team->leaders))
		return;
	if (class == selection->trials + selection->trial_count)
		selection->trial_count++;
	class->is_free = false;
	atomic_fetch_add(&cs_trials_sum.classes, 1);
	narrow(cached, facts->bytes);
	/* With ranks that come late now and then one call shows little. */
	cs_trial_init(&class->trial, count, 0, 0, facts->imbalance ? CS_TRIAL_USES : 1);
	memset(&class->samples, 0, sizeof class->samples);
	class->cached = cached;
	class->coll = facts->coll;
	class->imbalance = facts->imbalance;
	class->trial.is_extra = class->is_dry = is_dry;
	class->is_said = class->is_judged = false;
	class->place = -1;
	class->changed_at = 0;
	cached->trial = class;
	cached->left = cached->until = 0;
}

void
cs_trials_end(struct cs_cached_choice *cached)
{
	struct cs_class_trial *class = cached->trial;
	if (!class)
		return;
	/* Its time still counts among all (is_worth_trying). */
	class->trial.time = time_of(class);
	class->cached = NULL;
	class->is_said = false;
	cached->trial = NULL;
	ask_at(cached, UINT64_MAX);
}

void
cs_trials_forget(struct cs_selection *selection)
{
	for (int i = 0; i < selection->trial_count; i++) {
		struct cs_class_trial *class = &selection->trials[i];
		if (class->is_dry || class->is_free)
			continue;
		if (class->cached)
			cs_trials_end(class->cached);
		class->trial.time = 0;
		class->is_free = true;
	}
}

static bool
is_worth_trying(const struct cs_selection *selection, const struct cs_class_trial *class)
{
	uint64_t all = 0;
	if (cs_class_calls(class->cached) <= FIRST_CALLS)
		return true;
	for (int i = 0; i < selection->trial_count; i++)
		all += time_of(&selection->trials[i]);
	return SHARE * time_of(class) >= all;
}

/* Let the judged way serve. */
static void
take_verdict(struct cs_class_trial *class)
{
	struct cs_cached_choice *cached = class->cached;
	const struct cs_trial *trial = &class->trial;
	const struct cs_cached_choice *way = &class->ways[trial->serving];
	class->is_judged = false;
	if (way->choice.algorithm != cached->choice.algorithm) {
		free(cached->rows);
		cached->rows = NULL;
		cached->choice = way->choice;
		cached->inner_params = way->inner_params;
		cached->choice.reason = class->reason;
	}
	bool has_host_won = !cached->choice.algorithm && cs_trial_is_settled(trial);
	if (has_host_won || (class->is_dry && trial->changes)) {
		cached->goes_to_host = !cached->choice.algorithm;
		cached->is_quick = !cached->goes_to_host || cached->order == CS_ORDER_NONE;
		cs_trials_end(cached);
	}
}

/* Is the root the first rank of its node? With several nodes the data of others moves once more. */
static bool
is_first(const struct cs_team *team, int root)
{
	return root >= 0 && team->shape.local_of[root] == 0;
}

/* Does the call number `use` of the class belong to a window? Begins one if it is time. Times of
 * calls with different kinds of roots are not compared, so a window has calls of one kind. */
static bool
is_in_window(struct cs_selection *selection, struct cs_class_trial *class, uint64_t use, int root)
{
	struct cs_trial *trial = &class->trial;
	bool has_first = is_first(selection->team, root);
	if (use < trial->at)
		return false;
	if (!trial->done && !is_worth_trying(selection, class)) {
		trial->at = use + trial->apart;
		return false;
	}
	if (!trial->done) {
		memset(&class->samples, 0, sizeof class->samples);
		class->has_first = has_first;
		class->others = 0;
	}
	if (has_first == class->has_first)
		return true;
	if (++class->others == CS_TRIAL_APART)
		cs_trial_stop(trial);
	return false;
}

struct cs_cached_choice *
cs_selection_try(struct cs_selection *selection, struct cs_cached_choice *cached, int root)
{
	struct cs_class_trial *class = cached->trial;
	selection->on_trial = NULL;
	uint64_t use = cs_class_calls(cached) - 1;
	if (class->is_judged)
		take_verdict(class);
	if (!cached->trial)
		return cached;
	struct cs_cached_choice *taken = cached;
	if (is_in_window(selection, class, use, root)) {
		int way = cs_trial_next(&class->trial, use);
		if (way != class->trial.serving && !class->is_dry)
			taken = &class->ways[way];
		selection->on_trial = class;
		selection->is_timed |= CS_TIMED_ON_TRIAL;
	}
	/* Calls of the host have numbers, so that epochs go on. */
	ask_at(cached, cached->choice.algorithm ? class->trial.at : 0);
	return taken;
}

struct cs_cached_choice *
cs_trials_dry(const struct cs_selection *selection)
{
	struct cs_class_trial *class = selection->on_trial;
	bool is_dry = class->is_dry && class->trial.way != class->trial.serving;
	return is_dry ? &class->ways[class->trial.way] : NULL;
}

void
cs_trials_note(struct cs_selection *selection, const struct cs_op *op, uint64_t arrived_ns,
	       uint64_t left_ns, bool is_valid)
{
	struct cs_class_trial *class = selection->on_trial;
	uint64_t took = left_ns - arrived_ns;
	int64_t after;
	selection->on_trial = NULL;
	if (!is_valid || op->node.extras & CS_OP_MADE_LANES || !cs_trial_is_timed(&class->trial))
		return;
	if (class->imbalance == CS_BALANCED &&
	    cs_selection_last_came(op, arrived_ns, &after) && after > 0)
		took = (uint64_t)after < took ? took - (uint64_t)after : 1;
	cs_trial_sample(&class->samples, class->trial.way, took);
}

void
cs_trials_say(struct cs_selection *selection, uint64_t *words)
{
	int slot = 0;
	for (int i = 0; i < selection->trial_count && slot < CS_TRIAL_SLOTS; i++) {
		struct cs_class_trial *class = &selection->trials[i];
		if (!class->cached || !class->trial.is_over)
			continue;
		struct cs_trial_times times;
		class->slot = slot++;
		uint64_t *own = words + class->slot * CS_TRIAL_WORDS;
		cs_trial_sum_up(&class->samples, class->trial.serving, &times);
		memcpy(own, times.way, sizeof times.way);
		own[CS_TRIAL_WAYS] = times.spread;
		for (int at = 0; class->imbalance != CS_BALANCED && at < CS_TRIAL_WORDS; at++)
			own[at] |= own[at] ? CS_EPOCH_MEAN : 0;
		class->is_said = true;
	}
}

/* Keep the class's verdict for later jobs, if it was compared with the host. */
static void
learn(const struct cs_selection *selection, const struct cs_class_trial *class)
{
	const struct cs_trial *trial = &class->trial;
	const struct cs_cached_choice *cached = class->cached,
		*serving = &class->ways[trial->serving];
	const struct cs_facts *facts = &selection->facts;
	uint64_t host_ns = 0;
	for (int way = 0; way < trial->ways; way++)
		if (!class->ways[way].choice.algorithm)
			host_ns = trial->way_of[way].time;
	if (!selection->is_learning || !host_ns || !cs_trial_is_settled(trial))
		return;
	size_t ranks = (size_t)facts->ranks, nodes = (size_t)facts->nodes,
	       skew = (size_t)cached->skew;
	bool is_sized = cs_colls[class->coll].bytes_agreed;
	struct cs_learnt_entry entry = {
		.rule = {
			.coll = class->coll,
			.bytes = is_sized ? (struct cs_range){ cached->low, cached->last + 1 }
				 : CS_RANGE_ALL,
			.ranks = { ranks, ranks + 1 }, .nodes = { nodes, nodes + 1 },
			.ppn = { (size_t)facts->ppn_min, (size_t)facts->ppn_max + 1 },
			.skew = skew ? (struct cs_range){ skew, skew + 1 } : CS_RANGE_ALL,
			.wire = facts->nodes > 1 ? facts->wire : 0,
			/* If it is measured, another imbalance has other rules. */
			.imbalance = selection->team->epoch.user.told ? 1u << class->imbalance : 0,
			.placement = facts->is_block_placed ? CS_PLACEMENT_BLOCK
				     : CS_PLACEMENT_CYCLIC,
			.use = { .algorithm = serving->choice.algorithm },
		},
		.ns = trial->way_of[trial->serving].time, .host_ns = host_ns,
		.calls = cs_class_calls(cached),
	};
	memcpy(entry.rule.use.params, serving->choice.params, sizeof entry.rule.use.params);
	cs_learnt_add(&entry);
}

void
cs_trials_hear(struct cs_selection *selection, const uint64_t *words)
{
	for (int i = 0; i < selection->trial_count; i++) {
		struct cs_class_trial *class = &selection->trials[i];
		if (!class->is_said)
			continue;
		const uint64_t *agreed = words + class->slot * CS_TRIAL_WORDS;
		struct cs_trial_times times = { .spread = agreed[CS_TRIAL_WAYS] & ~CS_EPOCH_MEAN };
		int before = class->trial.serving;
		uint64_t regret = class->trial.regret;
		/* Unknown: a rank of some node was far behind. */
		for (int way = 0; agreed[0] != CS_EPOCH_UNKNOWN && way < CS_TRIAL_WAYS; way++)
			times.way[way] = agreed[way] & ~CS_EPOCH_MEAN;
		if (cs_trial_judge(&class->trial, cs_class_calls(class->cached), &times)) {
			const struct cs_algorithm *other = class->ways[before].choice.algorithm;
			snprintf(class->reason, sizeof class->reason,
				 "measured: " TENTHS " us against " TENTHS " of %s",
				 IN_TENTHS(times.way[class->trial.serving]),
				 IN_TENTHS(times.way[before]), other ? other->name : "host");
			atomic_fetch_add(&cs_trials_sum.changes, 1);
			class->changed_at = cs_class_calls(class->cached) + 1;
		}
		atomic_fetch_add(&cs_trials_sum.windows, 1);
		atomic_fetch_add(&cs_trials_sum.regret_ns, class->trial.regret - regret);
		learn(selection, class);
		report(selection, class);
		class->is_said = false;
		class->is_judged = true;
		ask_at(class->cached, 0);
	}
}
