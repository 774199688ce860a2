/* many_plans.h — several plans under way at once on the same wires, all ranks in one process,
 * stepped in an order that is drawn. Each plan's data are its own, so that a message which one
 * takes from another is seen. */
#ifndef CS_TESTS_UNIT_MANY_PLANS_H
#define CS_TESTS_UNIT_MANY_PLANS_H

#include "wire/wire.h"

enum { MANY_RANKS = 17, MANY_PLANS = 3 };

struct many_plans {
	struct cs_wire **wires; /* by rank */
	int ranks, plans;
	uint64_t first_tag;
	bool has_one_tag; /* the fault: all plans are given the first one */
	void (*turn)(void); /* what else goes on between two steps; NULL: nothing */
	char names[200];    /* filled in: which plans they were */
};

/* Draws plans of several collectives and runs them to their end. NULL: all results are right; else
 * what is not. */
const char *many_plans_run(struct many_plans *many, uint64_t *random);

#endif
