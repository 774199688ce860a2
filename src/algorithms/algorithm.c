#include "algorithms/algorithm.h"

#include <string.h>

/* The unit tests of select bring a list of their own, so that they need no team, no segment and no MPI. */
#ifndef CS_ALGORITHMS_DEF
#define CS_ALGORITHMS_DEF "algorithms/algorithms.def"
#endif

#define ALGORITHM(coll, name) extern const struct cs_algorithm cs_algorithm_##coll##_##name;
#include CS_ALGORITHMS_DEF
#undef ALGORITHM

const struct cs_algorithm *const cs_algorithms[] = {
#define ALGORITHM(coll, name) &cs_algorithm_##coll##_##name,
#include CS_ALGORITHMS_DEF
#undef ALGORITHM
	NULL,
};

const struct cs_algorithm *
cs_algorithm_by_name(enum cs_coll coll, const char *name)
{
	for (const struct cs_algorithm *const *at = cs_algorithms; *at; at++)
		if ((*at)->coll == coll && !strcmp((*at)->name, name))
			return *at;
	return NULL;
}

const char *
cs_algorithm_unmet(const struct cs_algorithm *algorithm, const struct cs_facts *facts)
{
	const struct cs_needs *needs = &algorithm->needs;
	if (!algorithm->run)
		return "plans are proven, not run yet";
	if (needs->several_per_node && facts->ppn_max < 2)
		return "one rank per node";
	if (needs->one_node && facts->nodes > 1)
		return "several nodes";
	if (needs->block_if_not_commutative && !facts->is_commutative && !facts->is_block_placed)
		return "order of a non-commutative operation, ranks of a node not consecutive";
	return NULL;
}
