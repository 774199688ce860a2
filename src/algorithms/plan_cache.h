/* algorithms/plan_cache.h — cache and runs of plans: between the nodes of a team, or between all of
 * its ranks.
 *
 * A plan is built at the first call of its shape and kept: by algorithm, parameters, collective,
 * root, sizes and places of blocks. A cache keeps the plans used last, up to CS_PLAN_BUDGET bytes.
 * A plan's length depends on the ranks, not on the bytes (cs_build_repeat); a plan larger than the
 * cache by itself is built for one call, and the others stay. */
#ifndef CS_ALGORITHMS_PLAN_CACHE_H
#define CS_ALGORITHMS_PLAN_CACHE_H

#include "algorithms/algorithm.h"
#include "coll/problem.h"
#include "plan/plan.h"
#include "wire/host.h"

#include <stdint.h>

struct cs_op;

#define CS_PLANS 64                     /* most plans in a cache */
#define CS_PLAN_PART 256                /* steps that are run at once if memory is out */
#define CS_PLAN_BUDGET ((size_t)8 << 20) /* most bytes of the plans in a cache, without CS_TMP */

struct cs_plan_key {
	const struct cs_algorithm *algorithm;
	uint64_t words[2]; /* digest of the problem */
};

/* The cache of a group of ranks; zeroed is empty. */
struct cs_plans {
	struct cs_cached_plan {
		struct cs_plan_key key;
		struct cs_plan plan;
		const char *refused; /* the algorithm's reason, or NULL */
		uint64_t number;     /* unique in this cache */
		size_t spare;      /* bytes for a reduction without kernel */
		uint64_t used;     /* by `clock` */
		int users;         /* operations under way that run it: it stays */
	} *cached;
	struct cs_step *part; /* CS_PLAN_PART of them */
	int count, room;
	size_t bytes;
	uint64_t clock, built;
};

/* Run one call among the ranks of a group (team->leaders or team->everyone), alike on all of them:
 * `in` and `out` as coll/problem.h says. An operation that may not wait only begins it; it is over
 * when cs_plans_go returns CS_OK. Then op has what was told (cs_op_note). False: the algorithm
 * refuses this problem, on all ranks of the group; nothing has been done, and op has the reason
 * (cs_op_refuse).
 *
 * If there is no memory for the plan, idle plans are dropped. If there are none, a blocking
 * operation runs the plan in parts, each of which build() writes anew; one that may not wait has
 * begun nothing, and has to ask again (cs_plans_have_begun) when another plan is over. Without
 * another plan, or if build() itself finds no memory, the job ends. */
bool cs_plans_start(struct cs_op *op, struct cs_plans *plans, void *group,
		    const struct cs_algorithm *algorithm, const struct cs_problem *problem,
		    const void *in, void *out, const struct cs_reduction *reduction);
enum cs_status cs_plans_go(struct cs_op *op);
/* For a phase that has asked for a plan, also between nodes. CS_AGAIN: it has to ask again. */
enum cs_status cs_plans_have_begun(struct cs_op *op);

void cs_plans_fini(struct cs_plans *plans);

#endif
