/* run/run.h — one call on one communicator: choose, run, count. No MPI here.
 *
 * A runner belongs to a communicator (comm/). Its answers are cached by intervals of bytes, so that a call that was
 * seen before costs a comparison or two. One thread at a time uses a runner (MPI 4.0, 6.14: a communicator's
 * collectives are not called concurrently). */
#ifndef CS_RUN_RUN_H
#define CS_RUN_RUN_H

#include "algorithms/op.h"
#include "run/flat.h"
#include "select/select.h"
#include "trace/report.h"

#define CS_CHOICES 8 /* cached intervals per collective */

struct cs_answer {
	size_t low, last; /* bytes for which it holds, both included */
	bool is_commutative;
	int skew; /* 0: for all */
	struct cs_choice choice;
	int inner_params; /* how many of choice.params are those of the algorithm between nodes */
	struct cs_report_row **rows; /* by size bin; NULL while the report is off */
};

struct cs_runner {
	const struct cs_selector *selector;
	struct cs_team *team; /* NULL: everything goes to the host */
	struct cs_facts facts; /* coll, bytes and is_commutative are filled per call */
	bool is_reporting;
	uint32_t host_only; /* bit per collective: the host, whatever the size and the operation */
	struct cs_answers {
		int count;
		struct cs_answer answer[CS_CHOICES];
	} answers[CS_COLL_COUNT];
};

struct cs_answer *cs_runner_choose_slow(struct cs_runner *runner, enum cs_coll coll, size_t bytes, int skew,
					bool is_commutative);

/* What serves this call; never NULL, ->choice.algorithm NULL means the host. `skew` as in cs_facts. */
static inline struct cs_answer *
cs_runner_choose(struct cs_runner *runner, enum cs_coll coll, size_t bytes, int skew, bool is_commutative)
{
	struct cs_answers *answers = &runner->answers[coll];
	if (bytes == CS_BYTES_UNKNOWN && answers->count)
		return &answers->answer[0]; /* one for all */
	for (int i = 0; i < answers->count; i++) {
		struct cs_answer *answer = &answers->answer[i];
		if (answer->low <= bytes && bytes <= answer->last && answer->is_commutative == is_commutative &&
		    (!answer->skew || answer->skew == skew))
			return answer;
	}
	return cs_runner_choose_slow(runner, coll, bytes, skew, is_commutative);
}

/* What is known already of calls of this size (of blocks of one size, so without skew), or NULL. A commutative operation's
 * answer is taken: another one's needs are stricter, so where that goes to the host, this does too. */
static inline struct cs_answer *
cs_runner_find(struct cs_runner *runner, enum cs_coll coll, size_t bytes)
{
	struct cs_answer *answer = runner->answers[coll].answer;
	for (int left = runner->answers[coll].count; left > 0; left--, answer++)
		if (answer->low <= bytes && bytes <= answer->last && answer->is_commutative)
			return answer;
	return NULL;
}

/* Runs the call by the answer's algorithm (which is not the host). */
void cs_runner_run_counted(struct cs_runner *runner, struct cs_answer *answer, struct cs_op *op, size_t bytes);
/* All but a small call. */
void cs_runner_begin(struct cs_answer *answer, struct cs_op *op);
static inline void
cs_runner_run_quietly(struct cs_answer *answer, struct cs_op *op)
{
	const struct cs_algorithm *algorithm = answer->choice.algorithm;
	if (!algorithm->fast || !algorithm->fast(op, answer->choice.params))
		cs_runner_begin(answer, op);
}
/* Afterwards, where CS_OP_GOES_ON is in op->node.extras, cs_op_finish is to be called; then op->node.wrong says what
 * was wrong, and cs_node_op_fini is to be called. */
static inline void
cs_runner_run(struct cs_runner *runner, struct cs_answer *answer, struct cs_op *op, size_t bytes)
{
	if (__builtin_expect(runner->is_reporting, 0))
		cs_runner_run_counted(runner, answer, op, bytes);
	else
		cs_runner_run_quietly(answer, op);
}

/* Counts a call that the host did. */
void cs_runner_count(struct cs_runner *runner, struct cs_answer *answer, enum cs_coll coll, size_t bytes,
		     uint64_t nanoseconds);

/* Adds time outside of the algorithm to what calls by that answer have taken. */
void cs_runner_spend(struct cs_answer *answer, size_t bytes, uint64_t nanoseconds);

/* Leaves a collective to the host, whatever size and operation are. Before anything is chosen. */
void cs_runner_leave(struct cs_runner *runner, enum cs_coll coll, const char *reason);

void cs_runner_fini(struct cs_runner *runner);

#endif
