/* algorithms/plan_cache.h — runs algorithms that are plans: between the nodes of a team, or between
 * all of its ranks.
 *
 * A plan is built at the first call of its shape and kept: by the algorithm, its parameters,
 * collective, root, sizes and where blocks lie. A cache keeps the plans used last, up to a number
 * of bytes. How long a plan is depends on the ranks and not on the bytes (cs_build_repeat); one
 * that is larger than the cache by itself is built for one call, and the others stay. */
#ifndef CS_ALGORITHMS_PLAN_CACHE_H
#define CS_ALGORITHMS_PLAN_CACHE_H

#include "algorithms/algorithm.h"
#include "coll/problem.h"
#include "plan/plan.h"
#include "wire/host.h"

#include <stdint.h>

struct cs_op;

#define CS_PLANS 64                     /* most plans in a cache */
#define CS_PLAN_PART 256                /* steps that are run at once where there is no memory */
#define CS_PLAN_BUDGET ((size_t)8 << 20) /* most bytes of them, without CS_TMP, which all share */

struct cs_plan_key {
	const struct cs_algorithm *algorithm;
	uint64_t words[2]; /* digest of all else */
};

/* Of a group of ranks that talk by plans; zeroed is empty. */
struct cs_plans {
	struct cs_cached_plan {
		struct cs_plan_key key;
		struct cs_plan plan;
		const char *refused; /* why there is none, or NULL */
		uint64_t number;     /* of its own in this cache */
		size_t spare;      /* bytes for a reduction without kernel */
		uint64_t used;     /* by `clock` */
		int users;         /* operations under way that run it: it stays */
	} *cached;
	struct cs_step *part; /* CS_PLAN_PART of them */
	int count, room;
	size_t bytes;
	uint64_t clock, built;
};

/* One call among the ranks of a group (team->leaders or team->everyone): `in` and `out` as
 * coll/problem.h says. All ranks of the group call it alike. It is run to its end; of an operation
 * that may not wait it is only begun, and over when cs_plans_go says CS_OK. Then op knows what was
 * told. False: the algorithm refuses this problem, on all ranks of the group; nothing has been
 * done, and op knows why (cs_op_refuse).
 *
 * If there is no memory for the plan, that of plans which nobody runs is taken. Without any a
 * blocking operation runs it in parts, each of which build() writes anew; one that may not wait has
 * begun nothing then, and is to ask again (cs_plans_have_begun) when another one's plan is over.
 * With none of those either, or with no memory that build() itself needs, it ends the job. */
bool cs_plans_start(struct cs_op *op, struct cs_plans *plans, void *group,
		    const struct cs_algorithm *algorithm, const struct cs_problem *problem,
		    const void *in, void *out, const struct cs_reduction *reduction);
enum cs_status cs_plans_go(struct cs_op *op);
/* For a phase that has asked for a plan, or for one between nodes: CS_AGAIN, it is to ask again. */
enum cs_status cs_plans_have_begun(struct cs_op *op);

void cs_plans_fini(struct cs_plans *plans);

#endif
