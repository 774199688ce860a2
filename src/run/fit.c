#include "run/fit.h"

#include "algorithms/plans.h"

#include <string.h>

/* What has the plan: the algorithm, or the one between nodes; NULL if there is none, or its plans are never large. */
static const struct cs_algorithm *
planned_algorithm(const struct cs_choice *choice)
{
	const struct cs_algorithm *algorithm = choice->algorithm;
	if (algorithm && algorithm->inner)
		algorithm = algorithm->inner;
	return algorithm && algorithm->steps ? algorithm : NULL;
}

/* What the plan gets in calls of so many bytes. */
static struct cs_problem
planned(const struct cs_facts *facts, const struct cs_choice *choice, size_t bytes)
{
	const struct cs_algorithm *algorithm = choice->algorithm, *inner = algorithm->inner;
	/* Between nodes a call goes in pieces. */
	for (int i = 0; inner && i < CS_MAX_PARAMS && algorithm->params[i].name; i++)
		if (!strcmp(algorithm->params[i].name, "wire_chunk") && choice->params[i] < bytes)
			bytes = choice->params[i];
	return (struct cs_problem){ .coll = inner ? inner->coll : algorithm->coll, .unit = 1, .bytes = bytes,
				    .ranks = inner ? facts->nodes : facts->ranks, .is_commutative = true,
				    .params = choice->params };
}

static bool
fits(const struct cs_facts *facts, const struct cs_choice *choice, size_t bytes)
{
	struct cs_problem problem = planned(facts, choice, bytes);
	return cs_plans_may_keep(planned_algorithm(choice), &problem);
}

bool
cs_fit_choice(const struct cs_facts *facts, struct cs_choice *choice, struct cs_problem *least)
{
	if (!planned_algorithm(choice) || facts->bytes == CS_BYTES_UNKNOWN || fits(facts, choice, choice->bytes_high - 1))
		return true;
	size_t most = choice->bytes_low, more = choice->bytes_high - 1; /* what fits and what does not */
	if (!fits(facts, choice, most))
		more = most;
	while (more - most > 1) {
		size_t middle = most + (more - most) / 2;
		*(fits(facts, choice, middle) ? &most : &more) = middle;
	}
	if (facts->bytes < more) {
		choice->bytes_high = more;
		return true;
	}
	choice->bytes_low = more;
	*least = planned(facts, choice, more);
	return false;
}
