/* plan/execute.h — runs a plan on a wire. */
#ifndef CS_PLAN_EXECUTE_H
#define CS_PLAN_EXECUTE_H

#include "base/status.h"
#include "plan/plan.h"
#include "wire/host.h"
#include "wire/wire.h"

/* One run of a plan: a cursor over its steps. It is the caller's, who may have several of them
 * under way on one wire, of different tags, and take up now this one and now that. The memories'
 * first bytes, in a loop as far on as its places are; CS_IN is not written. `spare` is memory for
 * one REDUCE step's bytes, needed only where the operation has no kernel (cs_plan_spare). */
struct cs_run {
	const struct cs_plan *plan;
	struct cs_wire *wire;
	struct cs_request *requests; /* plan->requests of them */
	uint64_t tag;                /* of its messages (wire/wire.h) */
	unsigned told;               /* by what came so far: bits of enum cs_told */
	const struct cs_host *host;
	const struct cs_reduction *reduction; /* NULL: the plan reduces nothing */
	const struct cs_senders *senders;     /* of the plan; NULL: it has none */
	char *memory[CS_MEMORIES];
	char *spare;
	size_t next; /* step */
	size_t turn; /* of the loop that it is in */
};

/* Bytes of the largest REDUCE step. */
size_t cs_plan_spare(const struct cs_plan *plan);

/* Runs the plan to its end; blocks. */
void cs_run_finish(struct cs_run *run);

/* Runs the plan as far as it goes without blocking: CS_OK when it has come to the end, else
 * CS_AGAIN. */
CS_CHECKED enum cs_status cs_run_progress(struct cs_run *run);

#endif
