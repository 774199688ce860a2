#include "run/run.h"

#include "base/parse.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

uint64_t
cs_clock_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* --- plans that would be too large -------------------------------------------------------------------------------- */

/* What the answer's plan gets in calls of so many bytes: from facts and parameters only, which all ranks have alike. */
static struct cs_problem
planned(const struct cs_runner *runner, const struct cs_choice *choice, size_t bytes)
{
	const struct cs_algorithm *algorithm = choice->algorithm, *inner = algorithm->inner;
	/* Between nodes a call goes in pieces. */
	for (int i = 0; inner && i < CS_MAX_PARAMS && algorithm->params[i].name; i++)
		if (!strcmp(algorithm->params[i].name, "wire_chunk") && choice->params[i] < bytes)
			bytes = choice->params[i];
	return (struct cs_problem){ .coll = inner ? inner->coll : algorithm->coll, .unit = 1, .bytes = bytes,
				    .ranks = inner ? runner->facts.nodes : runner->facts.ranks, .is_commutative = true,
				    .params = choice->params };
}

static bool
fits(const struct cs_runner *runner, const struct cs_choice *choice, size_t bytes)
{
	const struct cs_algorithm *algorithm = choice->algorithm;
	struct cs_problem problem = planned(runner, choice, bytes);
	return cs_plans_may_keep(algorithm->inner ? algorithm->inner : algorithm, &problem);
}

/* A plan that is not kept would be made anew in each call. So an answer ends where plans begin to be too large, and from there
 * on another one, found here too, leaves calls to the host. */
static void
keep_to_plans_that_fit(struct cs_runner *runner, struct cs_answer *answer, size_t bytes)
{
	struct cs_choice *choice = &answer->choice;
	const struct cs_algorithm *plan = choice->algorithm;
	if (plan && plan->inner)
		plan = plan->inner;
	if (!plan || !plan->steps || bytes == CS_BYTES_UNKNOWN || fits(runner, choice, answer->last))
		return;
	size_t most = answer->low, more = answer->last; /* what fits and what does not */
	if (!fits(runner, choice, most))
		more = most;
	while (more - most > 1) {
		size_t middle = most + (more - most) / 2;
		*(fits(runner, choice, middle) ? &most : &more) = middle;
	}
	if (bytes < more) {
		answer->last = most;
		return;
	}
	struct cs_problem problem = planned(runner, choice, more);
	cs_plans_warn_host(plan, &problem);
	answer->low = more;
	choice->algorithm = NULL;
	choice->why = CS_WHY_NEEDS;
	choice->reason = "plan too large";
}

/* --- choosing ----------------------------------------------------------------------------------------------------- */

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
	cs_selector_choose(runner->selector, &facts, &answer->choice);
	/* A collective's sizes are either all agreed or all unknown: in the latter case the first answer is for all. */
	answer->low = bytes == CS_BYTES_UNKNOWN ? 0 : answer->choice.bytes_low;
	answer->last = bytes == CS_BYTES_UNKNOWN ? SIZE_MAX : answer->choice.bytes_high - 1;
	keep_to_plans_that_fit(runner, answer, bytes);
	/* A plan between all ranks, which all choose in this very call if it is the first. */
	if (answer->choice.algorithm && !answer->choice.algorithm->run) {
		const char *refused = runner->team->host->open(runner->team->everyone);
		if (refused) {
			answer->choice.algorithm = NULL;
			answer->choice.why = CS_WHY_NEEDS;
			answer->choice.reason = refused;
		}
	}
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
		*row = cs_report_row(coll, bytes, !algorithm,
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
cs_runner_run_counted(struct cs_runner *runner, struct cs_answer *answer, struct cs_call *call, size_t bytes)
{
	uint64_t start = cs_clock_ns();
	cs_runner_run_quietly(runner, answer, call);
	cs_runner_count(runner, answer, call->coll, bytes, cs_clock_ns() - start);
}

void
cs_runner_fini(struct cs_runner *runner)
{
	for (int coll = 0; coll < CS_COLL_COUNT; coll++)
		for (int i = 0; i < runner->answers[coll].count; i++)
			free(runner->answers[coll].answer[i].rows);
}
