/* plan/verify.h — proves the plans of all ranks of one problem, in one process.
 *
 * Runs them step by step on a wire on which a send ends only when its receive has been started: a
 * plan that does not hang here hangs on no wire. Checks on the way that no step leaves its memory,
 * writes input, reads bytes that nobody wrote or touches what a message under way is using; that
 * every send has its receive of the same size; and at the end that the result is the one that the
 * standard gives (MPI 4.0, chapter 6), gaps between blocks untouched. Reductions are made with an
 * operation that is associative but not commutative if the problem says so, on elements of 8 bytes
 * and more. */
#ifndef CS_PLAN_VERIFY_H
#define CS_PLAN_VERIFY_H

#include "coll/problem.h"
#include "plan/plan.h"

#include <stdbool.h>

struct cs_verdict {
	char text[240];       /* what is wrong: "rank 3 step 17 (recv): ..." ; empty if nothing
			       * is */
	uint64_t messages;    /* of all ranks */
	uint64_t bytes;       /* in them */
	uint64_t most_bytes;  /* that one rank sends or receives, the larger of the two */
	uint32_t rounds;      /* messages in the longest chain in which each had to wait for the one
			       * before */
};

/* problems[r] and plans[r] are rank r's. False: verdict->text has the fault, also if memory ran
 * out. */
bool cs_plans_verify(const struct cs_problem *problems, const struct cs_plan *plans,
		     struct cs_verdict *verdict);

#endif
