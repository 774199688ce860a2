/* plan/walk.h — the steps of a plan one by one, as a rank does them: those of a loop once for each
 * time, in their places.
 *
 *   for (struct cs_walk walk = { .plan = plan }; cs_walk_next(&walk, &step);) */
#ifndef CS_PLAN_WALK_H
#define CS_PLAN_WALK_H

#include "plan/plan.h"

#include <stdbool.h>

struct cs_walk {
	const struct cs_plan *plan; /* whose loops can be (cs_plan_is_sound) */
	/* private */
	size_t next, turn; /* step; how often the loop at hand has been done, */
	const struct cs_step *repeat; /* which ends here, if it has been */
};

/* Next step, never a REPEAT. False: there is no further step. */
bool cs_walk_next(struct cs_walk *walk, struct cs_step *step);

/* Is each loop of at least one step and done at least once, and in no other? */
bool cs_plan_is_sound(const struct cs_plan *plan);
/* Number of steps of a rank; SIZE_MAX: more than that. */
size_t cs_plan_length(const struct cs_plan *plan);
/* Makes a plan without loops that does the same. CS_NO_MEMORY; CS_BAD_INPUT: it is not sound. */
CS_CHECKED enum cs_status cs_plan_unroll(const struct cs_plan *plan, struct cs_plan *unrolled);

#endif
