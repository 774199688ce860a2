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

struct cs_answer *
cs_runner_choose_slow(struct cs_runner *runner, enum cs_coll coll, size_t bytes, int skew, bool is_commutative)
{
	struct cs_answers *answers = &runner->answers[coll];
	/* A full cache gives way from its end: the oldest answers are likely the busiest. */
	int slot = answers->count < CS_CHOICES ? answers->count++ : CS_CHOICES - 1;
	struct cs_answer *answer = &answers->answer[slot];
	struct cs_facts facts = runner->facts;
	facts.coll = coll;
	facts.bytes = bytes;
	facts.is_commutative = is_commutative;
	facts.skew = skew;
	free(answer->rows);
	answer->rows = NULL;
	struct cs_float_state floats;
	cs_float_hold(&floats); /* a model computes */
	cs_selector_choose(runner->selector, &facts, &answer->choice);
	/* A collective's sizes are either all agreed or all unknown: in the latter case the first answer is for all. */
	answer->low = bytes == CS_BYTES_UNKNOWN ? 0 : answer->choice.bytes_low;
	answer->last = bytes == CS_BYTES_UNKNOWN ? SIZE_MAX : answer->choice.bytes_high - 1;
	/* Messages between all ranks, which all choose in this very call if it is the first. */
	const struct cs_algorithm *chosen = answer->choice.algorithm;
	if (chosen && (!chosen->run || chosen->needs.everyone)) {
		const char *refused = runner->team->host->open(runner->team->everyone);
		if (refused)
			leave_to_host(&answer->choice, refused);
	}
	cs_float_release(&floats);
	const struct cs_algorithm *inner = answer->choice.algorithm ? answer->choice.algorithm->inner : NULL;
	answer->inner_params = 0;
	while (inner && answer->inner_params < CS_MAX_PARAMS && inner->params[answer->inner_params].name)
		answer->inner_params++;
	answer->is_commutative = is_commutative;
	answer->skew = answer->choice.depends_on_skew ? skew : 0;
	if (!answer->choice.algorithm && is_commutative && !answer->skew && answer->low == 0 && answer->last >= CS_INF - 1) {
		/* Nothing else will ever be asked: keep it where cs_runner_find and the report find it. */
		runner->host_only |= 1u << coll;
		if (slot != 0) {
			struct cs_answer first = answers->answer[0];
			answers->answer[0] = *answer;
			*answer = first;
			answer = &answers->answer[0];
		}
	}
	return answer;
}

void
cs_runner_leave(struct cs_runner *runner, enum cs_coll coll, const char *reason)
{
	struct cs_answer *answer = &runner->answers[coll].answer[0];
	runner->answers[coll].count = 1;
	*answer = (struct cs_answer){ .last = SIZE_MAX, .is_commutative = true };
	leave_to_host(&answer->choice, reason);
	runner->host_only |= 1u << coll;
}

static struct cs_report_row *
row_of(struct cs_answer *answer, enum cs_coll coll, size_t bytes)
{
	if (!answer->rows)
		answer->rows = calloc(CS_REPORT_BINS, sizeof *answer->rows);
	if (!answer->rows)
		return NULL;
	struct cs_report_row **row = &answer->rows[cs_report_bin(bytes)];
	const struct cs_algorithm *algorithm = answer->choice.algorithm;
	if (!*row)
		*row = cs_report_row((int)coll, bytes, !algorithm,
				     algorithm ? algorithm->name : "host", answer->choice.reason);
	return *row;
}

void
cs_runner_count(struct cs_runner *runner, struct cs_answer *answer, enum cs_coll coll, size_t bytes,
		uint64_t nanoseconds)
{
	struct cs_report_row *row = row_of(answer, coll, bytes);
	if (row)
		cs_report_count(row, bytes, nanoseconds);
}

void
cs_runner_spend(struct cs_answer *answer, size_t bytes, uint64_t nanoseconds)
{
	struct cs_report_row *row = row_of(answer, answer->choice.algorithm->coll, bytes);
	if (row)
		cs_report_spend(row, nanoseconds);
}

void
cs_runner_begin(struct cs_answer *answer, struct cs_op *op)
{
	const struct cs_algorithm *algorithm = answer->choice.algorithm;
	if (!algorithm->run) {
		cs_flat_start(op, algorithm, answer->choice.params);
		return;
	}
	op->between = algorithm->inner;
	op->between_params = answer->choice.params;
	algorithm->run(op, answer->choice.params + answer->inner_params);
}

/* A call in which the host served between nodes, since the plan was refused. */
static void
count_refused(const struct cs_answer *answer, const struct cs_op *op, size_t bytes, uint64_t nanoseconds)
{
	cs_report_count(cs_report_row((int)op->call.coll, bytes, false, answer->choice.algorithm->name, op->refused), bytes,
			nanoseconds);
}

void
cs_runner_run_counted(struct cs_runner *runner, struct cs_answer *answer, struct cs_op *op, size_t bytes)
{
	uint64_t start = cs_clock_ns();
	cs_runner_run_quietly(answer, op);
	if (op->node.extras & CS_OP_GOES_ON)
		cs_op_finish(op);
	if (op->node.extras & CS_OP_LEFT)
		return; /* who hands it to the host counts it */
	if (op->node.extras & CS_OP_REFUSED)
		count_refused(answer, op, bytes, cs_clock_ns() - start);
	else
		cs_runner_count(runner, answer, op->call.coll, bytes, cs_clock_ns() - start);
}

void
cs_runner_fini(struct cs_runner *runner)
{
	for (int coll = 0; coll < CS_COLL_COUNT; coll++)
		for (int i = 0; i < runner->answers[coll].count; i++)
			free(runner->answers[coll].answer[i].rows);
}
