/* run/run.c — chooses the algorithm of a call, caches choices by intervals of bytes, runs and
 * counts. */
#include "run/run.h"

#include "base/clock.h"
#include "base/float_guard.h"
#include "base/parse.h"
#include "run/trial.h"
#include "shm/arrived.h"

#include <stdlib.h>
#include <string.h>

static void
leave_to_host(struct cs_choice *choice, const char *reason)
{
	choice->algorithm = NULL;
	choice->why = CS_WHY_NEEDS;
	choice->reason = reason;
	choice->is_belief = false;
}

/* For a call whose ranks have no wire between all of them. */
static void
be_one_sender(struct cs_choice *choice)
{
	int senders = choice->algorithm ? cs_algorithm_role(choice->algorithm, CS_ROLE_SENDERS)
					: -1;
	if (senders >= 0)
		choice->params[senders] = 1;
}

bool cs_messages_progress;

const char *
cs_selection_open(struct cs_selection *selection, const struct cs_choice *choice)
{
	struct cs_team *team = selection->team;
	bool sends = choice->algorithm &&
		     cs_algorithm_opens_wire(choice->algorithm, team->shape.nodes,
					     choice->params);
	const char *refused = sends ? team->host->open(team->everyone) : NULL;
	int out = choice->algorithm ? cs_algorithm_role(choice->algorithm, CS_ROLE_COPY_OUT) : -1;
	if (out >= 0 && choice->params[out] == CS_OUT_HOST && team->shape.nodes > 1)
		team->has_locals = !team->host->open(team->locals);
	/* The leaders are all ranks: epochs' exchanges may begin. */
	if (sends && !refused && team->shape.ppn_max == 1)
		team->leaders = team->everyone;
	return refused;
}

void
cs_selection_compose(struct cs_cached_choice *cached)
{
	const struct cs_algorithm *inner = cached->choice.algorithm
					   ? cached->choice.algorithm->inner : NULL;
	cached->inner_params = 0;
	while (inner && cached->inner_params < CS_MAX_PARAMS &&
	       inner->params[cached->inner_params].name)
		cached->inner_params++;
}

/* Does a choice depend on the imbalance measured in this run? */
static bool
depends_on_run(enum cs_order order)
{
	return order == CS_ORDER_NONE || order == CS_ORDER_EXACT;
}

/* The place for a new choice: one that was dropped, a free one, or the last one, since the oldest
 * ones are likely the busiest. *is_free: no choice gives its place. */
static struct cs_cached_choice *
place_of(struct cs_cached_choices *cached_choices, bool *is_free)
{
	struct cs_cached_choice *end = cs_cached_choices_end(cached_choices);
	*is_free = true;
	for (struct cs_cached_choice *cached = cached_choices->cached; cached < end; cached++)
		if (cached->low > cached->last)
			return cached;
	*is_free = cached_choices->used < sizeof cached_choices->cached;
	if (!*is_free)
		return end - 1;
	cached_choices->used += sizeof *end;
	return end;
}

/* Has no choice of the collective been on trial? */
static bool
are_untried(struct cs_cached_choices *cached_choices)
{
	const struct cs_cached_choice *end = cs_cached_choices_end(cached_choices);
	for (const struct cs_cached_choice *cached = cached_choices->cached; cached < end; cached++)
		if (cached->trial || cached->choice.why == CS_WHY_TRIED)
			return false;
	return true;
}

/* Is the host another answer than that without the measured imbalance, which sums go by whose
 * result depends on the order? */
static bool
depends_on_imbalance(const struct cs_selection *selection, const struct cs_cached_choice *cached,
		     struct cs_facts *facts)
{
	struct cs_choice other;
	if (selection->measured == selection->facts.imbalance)
		return false;
	facts->imbalance = selection->facts.imbalance;
	cs_selector_choose(selection->selector, facts, &other);
	return other.algorithm || other.bytes_low > cached->low ||
	       other.bytes_high - 1 < cached->last;
}

/* Fills in a choice that has no trial, by the selector's answer. */
static void
ask(const struct cs_selection *selection, struct cs_cached_choice *cached,
    const struct cs_facts *facts, enum cs_order order)
{
	bool is_unsized = facts->bytes == CS_BYTES_UNKNOWN;
	free(cached->rows);
	cached->rows = NULL;
	cs_selector_choose(selection->selector, facts, &cached->choice);
	/* The sizes of a collective's calls are either all agreed or all unknown: if unknown, the
	 * first cached choice is for all. */
	cached->low = is_unsized ? 0 : cached->choice.bytes_low;
	cached->last = is_unsized ? SIZE_MAX : cached->choice.bytes_high - 1;
	cached->order = order;
	cached->skew = cached->choice.depends_on_skew ? facts->skew : 0;
	cached->left = cached->until = INT64_MAX;
	cached->trial = NULL;
}

static struct cs_facts
facts_of(const struct cs_selection *selection, enum cs_coll coll, size_t bytes, int skew,
	 enum cs_order order)
{
	struct cs_facts facts = selection->facts;
	facts.coll = coll;
	facts.bytes = bytes;
	facts.is_commutative = order != CS_ORDER_KEPT;
	facts.skew = skew;
	return facts;
}

struct cs_cached_choice *
cs_selection_choose_slow(struct cs_selection *selection, enum cs_coll coll, size_t bytes, int skew,
			 enum cs_order order)
{
	struct cs_cached_choices *cached_choices = &selection->cached_choices[coll];
	bool is_free;
	struct cs_cached_choice *cached = place_of(cached_choices, &is_free),
		*last = &cached_choices->cached[CS_CHOICES - 1];
	if (!is_free)
		cs_trials_end(cached);
	struct cs_facts facts = facts_of(selection, coll, bytes, skew, order);
	if (depends_on_run(order))
		facts.imbalance = selection->measured;
	struct cs_float_state floats;
	cs_float_hold(&floats); /* a model computes with floating-point numbers */
	ask(selection, cached, &facts, order);
	/* If the algorithm sends messages between all ranks, open the wire for them now: a choice
	 * is made in the same call on all ranks. */
	const char *refused = cs_selection_open(selection, &cached->choice);
	if (refused && !cached->choice.algorithm->needs.everyone &&
	    cs_algorithm_role(cached->choice.algorithm, CS_ROLE_SENDERS) >= 0)
		be_one_sender(&cached->choice);
	else if (refused)
		leave_to_host(&cached->choice, refused);
	cs_selection_compose(cached);
	/* A class whose place is taken again and again would be tried anew each time, and a sum's
	 * that has changed its order would change it again. */
	if (is_free && (order != CS_ORDER_FREE || cached != last))
		cs_trials_begin(selection, cached, &facts);
	cached->goes_to_host = !cached->choice.algorithm && !cached->trial;
	cached->is_quick = order != CS_ORDER_KEPT &&
			   !(cached->goes_to_host && order == CS_ORDER_EXACT &&
			     depends_on_imbalance(selection, cached, &facts));
	cs_float_release(&floats);
	if (cached->goes_to_host && cached->is_quick && !cached->skew &&
	    cached->low == 0 && cached->last >= CS_INF - 1 && are_untried(cached_choices)) {
		/* The only choice from now on: entry 0 is where readers of host_only expect it. */
		selection->host_only |= 1u << coll;
		if (cached != &cached_choices->cached[0]) {
			struct cs_cached_choice first = cached_choices->cached[0];
			cached_choices->cached[0] = *cached;
			*cached = first;
			cached = &cached_choices->cached[0];
		}
	}
	return cached;
}

struct cs_cached_choice *
cs_selection_choose_nonblocking(struct cs_selection *selection, enum cs_coll coll, size_t bytes,
				int skew, enum cs_order order)
{
	bool is_free;
	if (!selection->nonblocking)
		selection->nonblocking = calloc(CS_COLL_COUNT, sizeof *selection->nonblocking);
	if (!selection->nonblocking)
		return NULL;
	struct cs_cached_choices *cached_choices = &selection->nonblocking[coll];
	struct cs_cached_choice *cached =
		cs_cached_choices_find(cached_choices, bytes, skew, order);
	if (cached)
		return cached;
	struct cs_facts facts = facts_of(selection, coll, bytes, skew, order);
	facts.is_nonblocking = true;
	facts.has_progress = cs_messages_progress;
	struct cs_float_state floats;
	cs_float_hold(&floats);
	cached = place_of(cached_choices, &is_free);
	ask(selection, cached, &facts, order);
	be_one_sender(&cached->choice); /* no wire can be opened in such a call */
	if (selection->left >> coll & 1)
		leave_to_host(&cached->choice,
			      selection->cached_choices[coll].cached[0].choice.reason);
	cs_selection_compose(cached);
	cached->goes_to_host = !cached->choice.algorithm;
	cs_float_release(&floats);
	return cached;
}

void
cs_selection_leave(struct cs_selection *selection, enum cs_coll coll, const char *reason)
{
	struct cs_cached_choice *cached = &selection->cached_choices[coll].cached[0];
	selection->cached_choices[coll].used = sizeof(struct cs_cached_choice);
	*cached = (struct cs_cached_choice){ .last = SIZE_MAX, .order = CS_ORDER_NONE };
	cached->left = cached->until = INT64_MAX;
	cached->goes_to_host = cached->is_quick = true;
	leave_to_host(&cached->choice, reason);
	selection->host_only |= 1u << coll;
	selection->left |= 1u << coll;
}

void
cs_selection_take_imbalance(struct cs_selection *selection, enum cs_balance imbalance)
{
	selection->measured = imbalance;
	cs_trials_forget(selection);
	for (int coll = 0; coll < CS_COLL_COUNT; coll++) {
		struct cs_cached_choices *cached_choices = &selection->cached_choices[coll];
		if (selection->left >> coll & 1)
			continue;
		selection->host_only &= ~(1u << coll);
		if (!cs_colls[coll].reduces)
			cached_choices->used = 0; /* rows are freed with the next choice */
		struct cs_cached_choice *end = cs_cached_choices_end(cached_choices);
		for (struct cs_cached_choice *each = cached_choices->cached; each < end; each++)
			if (depends_on_run(each->order)) {
				each->low = 1; /* of no size */
				each->last = 0;
			}
	}
}

struct cs_report_row *
cs_selection_row(const struct cs_selector *selector, int form, const struct cs_choice *choice,
		 enum cs_coll coll, size_t bytes)
{
	const struct cs_algorithm *algorithm = choice->algorithm;
	char words[256];
	const char *place = cs_selector_rule_words(selector, coll, choice->reason, words,
						   sizeof words);
	return cs_report_rule_row(form + (int)coll, bytes, !algorithm,
				  algorithm ? algorithm->name : "host",
				  place ? words : choice->reason, place);
}

struct cs_report_row *
cs_selection_cached_row(const struct cs_selection *selection, struct cs_cached_choice *cached,
			enum cs_coll coll, size_t bytes)
{
	if (!cached->rows)
		cached->rows = calloc(CS_REPORT_BINS, sizeof *cached->rows);
	if (!cached->rows)
		return NULL;
	struct cs_report_row **row = &cached->rows[cs_report_bin(bytes)];
	if (!*row)
		*row = cs_selection_row(selection->selector, 0, &cached->choice, coll, bytes);
	return *row;
}

void
cs_selection_spend(const struct cs_selection *selection, struct cs_cached_choice *cached,
		   size_t bytes, uint64_t nanoseconds)
{
	struct cs_report_row *row = cs_selection_cached_row(selection, cached,
					   cached->choice.algorithm->coll, bytes);
	if (row)
		cs_report_spend(row, nanoseconds);
}

void
cs_selection_run_slow(const struct cs_cached_choice *cached, struct cs_op *op)
{
	const struct cs_algorithm *algorithm = cached->choice.algorithm;
	if (!algorithm->run) {
		cs_flat_start(op, algorithm, cached->choice.params);
		return;
	}
	op->between = algorithm->inner;
	op->between_params = cached->choice.params;
	algorithm->run(op, cached->choice.params + cached->inner_params);
}

/* The row of a call in which the host served between nodes, since the plan was refused. */
static struct cs_report_row *
row_of_refused(const struct cs_cached_choice *cached, const struct cs_op *op, size_t bytes)
{
	return cs_report_row((int)op->call.coll, bytes, false, cached->choice.algorithm->name,
			     op->node.outcome.refused);
}

bool
cs_selection_last_came(const struct cs_op *op, uint64_t start_ns, int64_t *after_ns)
{
	const struct cs_coll_info *coll = &cs_colls[op->call.coll];
	const struct cs_shape *shape = &op->team->shape;
	if (cs_coll_depends(coll) == CS_DEPENDS_ROOT &&
	    shape->node_of[op->call.root] != shape->node)
		return false;
	*after_ns = 0;
	if (shape->locals == 1)
		return !cs_coll_depends_on(coll, shape->rank, op->call.root, shape->rank == 0);
	for (int local = 0; local < shape->locals; local++) {
		int rank = cs_team_local_rank(op->team, local);
		int64_t after;
		if (rank == shape->rank ||
		    !cs_coll_depends_on(coll, shape->rank, op->call.root, rank))
			continue;
		if (!cs_arrived_after(op->node.node, local, op->tag, start_ns, &after))
			return false;
		*after_ns = after > *after_ns ? after : *after_ns;
	}
	return true;
}

void
cs_selection_run_timed(struct cs_selection *selection, struct cs_cached_choice *cached,
		       struct cs_op *op, size_t bytes)
{
	uint64_t start = cs_clock_ns();
	cs_op_arrive(op, start);
	op->row = NULL;
	if (selection->is_telling || (op->node.extras & CS_OP_ON_TRIAL))
		cs_arrived_say(op->node.node, op->tag, op->arrived_ns);
	cs_selection_run_quietly(cached, op);
	if (op->node.extras & CS_OP_GOES_ON)
		cs_op_finish(op);
	if (op->node.outcome.bits & CS_OUTCOME_LEFT)
		return; /* counted by the caller, which hands it to the host */
	op->left_ns = cs_clock_ns();
	if (!selection->is_reporting)
		return;
	uint64_t took = op->left_ns - start;
	bool is_refused = op->node.outcome.bits & CS_OUTCOME_REFUSED;
	struct cs_report_row *row =
		is_refused ? row_of_refused(cached, op, bytes)
		: cs_selection_cached_row(selection, cached, op->call.coll, bytes);
	if (!row)
		return;
	int64_t waited;
	cs_report_count(row, bytes, took);
	op->row = row;
	op->waited_ns = CS_REPORT_NOT_KNOWN;
	/* On several nodes waiting times come from the samples of all ranks, at the end. */
	if ((selection->is_sampling && op->team->shape.nodes > 1) ||
	    !cs_selection_last_came(op, start, &waited))
		return;
	op->waited_ns = waited < 0 ? 0 : (uint64_t)waited;
	cs_report_wait(row, took, op->waited_ns);
}

void
cs_selection_fini(struct cs_selection *selection)
{
	cs_selection_tell(selection);
	for (int coll = 0; coll < CS_COLL_COUNT; coll++)
		for (int i = 0; i < CS_CHOICES; i++)
			free(selection->cached_choices[coll].cached[i].rows);
	free(selection->nonblocking);
	for (int i = 0; selection->trials && i < CS_TRIALS; i++)
		for (int way = 0; way < CS_TRIAL_WAYS; way++)
			free(selection->trials[i].ways[way].rows);
	free(selection->trials);
}
