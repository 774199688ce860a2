/* run/run.c — chooses what serves a call, keeps that by intervals of bytes, runs and counts. */
#include "run/run.h"

#include "base/clock.h"
#include "base/float_guard.h"
#include "base/parse.h"

#include <stdlib.h>
#include <string.h>

static void
leave_to_host(struct cs_choice *choice, const char *reason)
{
	choice->algorithm = NULL;
	choice->why = CS_WHY_NEEDS;
	choice->reason = reason;
}

struct cs_cached_choice *
cs_selection_choose_slow(struct cs_selection *selection, enum cs_coll coll, size_t bytes, int skew,
			 bool is_commutative)
{
	struct cs_cached_choices *cached_choices = &selection->cached_choices[coll];
	/* A full cache gives way from its end: the oldest cached choices are likely the busiest. */
	int slot = cached_choices->count < CS_CHOICES ? cached_choices->count++ : CS_CHOICES - 1;
	struct cs_cached_choice *cached = &cached_choices->cached[slot];
	struct cs_facts facts = selection->facts;
	facts.coll = coll;
	facts.bytes = bytes;
	facts.is_commutative = is_commutative;
	facts.skew = skew;
	free(cached->rows);
	cached->rows = NULL;
	struct cs_float_state floats;
	cs_float_hold(&floats); /* a model computes */
	cs_selector_choose(selection->selector, &facts, &cached->choice);
	/* A collective's sizes are either all agreed or all unknown: in the latter case the first
	 * cached choice is for all. */
	cached->low = bytes == CS_BYTES_UNKNOWN ? 0 : cached->choice.bytes_low;
	cached->last = bytes == CS_BYTES_UNKNOWN ? SIZE_MAX : cached->choice.bytes_high - 1;
	/* Messages between all ranks, which all choose in this very call if it is the first. */
	const struct cs_algorithm *chosen = cached->choice.algorithm;
	if (chosen && (!chosen->run || chosen->needs.everyone)) {
		const char *refused = selection->team->host->open(selection->team->everyone);
		if (refused)
			leave_to_host(&cached->choice, refused);
	}
	cs_float_release(&floats);
	const struct cs_algorithm *inner = cached->choice.algorithm
					   ? cached->choice.algorithm->inner : NULL;
	cached->inner_params = 0;
	while (inner && cached->inner_params < CS_MAX_PARAMS &&
	       inner->params[cached->inner_params].name)
		cached->inner_params++;
	cached->is_commutative = is_commutative;
	cached->skew = cached->choice.depends_on_skew ? skew : 0;
	if (!cached->choice.algorithm && is_commutative && !cached->skew && cached->low == 0 &&
	    cached->last >= CS_INF - 1) {
		/* Nothing else will ever be asked: keep it where cs_selection_find and the report
		 * find it. */
		selection->host_only |= 1u << coll;
		if (slot != 0) {
			struct cs_cached_choice first = cached_choices->cached[0];
			cached_choices->cached[0] = *cached;
			*cached = first;
			cached = &cached_choices->cached[0];
		}
	}
	return cached;
}

void
cs_selection_leave(struct cs_selection *selection, enum cs_coll coll, const char *reason)
{
	struct cs_cached_choice *cached = &selection->cached_choices[coll].cached[0];
	selection->cached_choices[coll].count = 1;
	*cached = (struct cs_cached_choice){ .last = SIZE_MAX, .is_commutative = true };
	leave_to_host(&cached->choice, reason);
	selection->host_only |= 1u << coll;
}

static struct cs_report_row *
row_of(struct cs_cached_choice *cached, enum cs_coll coll, size_t bytes)
{
	if (!cached->rows)
		cached->rows = calloc(CS_REPORT_BINS, sizeof *cached->rows);
	if (!cached->rows)
		return NULL;
	struct cs_report_row **row = &cached->rows[cs_report_bin(bytes)];
	const struct cs_algorithm *algorithm = cached->choice.algorithm;
	if (!*row)
		*row = cs_report_row((int)coll, bytes, !algorithm,
				     algorithm ? algorithm->name : "host", cached->choice.reason);
	return *row;
}

void
cs_selection_count(struct cs_selection *selection, struct cs_cached_choice *cached,
		   enum cs_coll coll, size_t bytes, uint64_t nanoseconds)
{
	struct cs_report_row *row = row_of(cached, coll, bytes);
	if (row)
		cs_report_count(row, bytes, nanoseconds);
}

void
cs_selection_spend(struct cs_cached_choice *cached, size_t bytes, uint64_t nanoseconds)
{
	struct cs_report_row *row = row_of(cached, cached->choice.algorithm->coll, bytes);
	if (row)
		cs_report_spend(row, nanoseconds);
}

void
cs_selection_begin(struct cs_cached_choice *cached, struct cs_op *op)
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

/* A call in which the host served between nodes, since the plan was refused. */
static void
count_refused(const struct cs_cached_choice *cached, const struct cs_op *op, size_t bytes,
	      uint64_t nanoseconds)
{
	cs_report_count(cs_report_row((int)op->call.coll, bytes, false,
				      cached->choice.algorithm->name, op->refused), bytes,
			nanoseconds);
}

void
cs_selection_run_counted(struct cs_selection *selection, struct cs_cached_choice *cached,
			 struct cs_op *op, size_t bytes)
{
	uint64_t start = cs_clock_ns();
	cs_selection_run_quietly(cached, op);
	if (op->node.extras & CS_OP_GOES_ON)
		cs_op_finish(op);
	if (op->node.extras & CS_OP_LEFT)
		return; /* who hands it to the host counts it */
	if (op->node.extras & CS_OP_REFUSED)
		count_refused(cached, op, bytes, cs_clock_ns() - start);
	else
		cs_selection_count(selection, cached, op->call.coll, bytes, cs_clock_ns() - start);
}

void
cs_selection_fini(struct cs_selection *selection)
{
	for (int coll = 0; coll < CS_COLL_COUNT; coll++)
		for (int i = 0; i < selection->cached_choices[coll].count; i++)
			free(selection->cached_choices[coll].cached[i].rows);
}
