#include "algorithms/algorithm.h"

#include "base/settings.h"

#include <pthread.h>
#include <stdio.h>
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

/* --- composed ones: "hier:host" x the plans of what it leaves to the host --------------------------------------------- */

#define MOST_COMPOSED 256
#define NAME_ROOM 40
#define HOST_SUFFIX "host"

static struct cs_algorithm composed[MOST_COMPOSED];
static char names[MOST_COMPOSED][NAME_ROOM], summaries[MOST_COMPOSED][120];
static int composed_count, listed_count;
static const struct cs_algorithm *all[2 * MOST_COMPOSED];

static void
compose(const struct cs_algorithm *outer, const struct cs_algorithm *inner)
{
	size_t stem = strlen(outer->name) - strlen(HOST_SUFFIX);
	int at = composed_count;
	if (at == MOST_COMPOSED || stem + strlen(inner->name) >= NAME_ROOM)
		return;
	struct cs_algorithm *algorithm = &composed[at];
	*algorithm = *outer;
	snprintf(names[at], NAME_ROOM, "%.*s%s", (int)stem, outer->name, inner->name);
	if (inner->alone)
		snprintf(summaries[at], sizeof summaries[at], "sends as %.*s%s, for one rank of each node is between nodes",
			 (int)stem, outer->name, inner->alone);
	else
		snprintf(summaries[at], sizeof summaries[at], "as %s, between nodes: %s", outer->name, inner->summary);
	algorithm->name = names[at];
	algorithm->summary = summaries[at];
	algorithm->inner = inner;
	algorithm->needs.several_nodes = true;
	algorithm->needs.commutative |= inner->needs.commutative;
	int count = 0;
	memset(algorithm->params, 0, sizeof algorithm->params);
	for (int i = 0; i < CS_MAX_PARAMS && inner->params[i].name; i++)
		algorithm->params[count++] = inner->params[i];
	for (int i = 0; i < count; i++)
		if (algorithm->params[i].is_within_nodes)
			algorithm->params[i].meaning = "no effect, for one rank of each node is between nodes";
	for (int i = 0; i < CS_MAX_PARAMS && outer->params[i].name && count < CS_MAX_PARAMS; i++)
		algorithm->params[count++] = outer->params[i];
	composed_count++;
}

static void
compose_all(void)
{
	while (cs_algorithms[listed_count])
		listed_count++;
	for (int i = 0; i < listed_count; i++)
		for (int k = 0; cs_algorithms[i]->between && k < listed_count; k++)
			if ((int)cs_algorithms[k]->coll == cs_algorithms[i]->between - 1 && cs_algorithms[k]->build)
				compose(cs_algorithms[i], cs_algorithms[k]);
	int count = 0;
	for (enum cs_coll coll = 0; coll < CS_COLL_COUNT; coll++) {
		for (int i = 0; i < listed_count && count < MOST_COMPOSED; i++)
			if (cs_algorithms[i]->coll == coll)
				all[count++] = cs_algorithms[i];
		for (int i = 0; i < composed_count; i++)
			if (composed[i].coll == coll)
				all[count++] = &composed[i];
	}
}

const struct cs_algorithm *
cs_algorithm_at(int i)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, compose_all);
	return i < listed_count + composed_count ? all[i] : NULL;
}

const struct cs_algorithm *
cs_algorithm_by_name(enum cs_coll coll, const char *name)
{
	const struct cs_algorithm *algorithm;
	for (int i = 0; (algorithm = cs_algorithm_at(i)); i++)
		if (algorithm->coll == coll && !strcmp(algorithm->name, name))
			return algorithm;
	return NULL;
}

const char *
cs_algorithm_unmet(const struct cs_algorithm *algorithm, const struct cs_facts *facts)
{
	const struct cs_needs *needs = &algorithm->needs;
	if (needs->several_per_node && facts->ppn_max < 2)
		return "one rank per node";
	if (needs->one_node && facts->nodes > 1)
		return "several nodes";
	if (needs->several_nodes && facts->nodes < 2)
		return "one node only";
	if (needs->verbs && facts->wire != CS_WIRE_IB)
		return "plans send by MPI, not by verbs";
	if (needs->commutative && !facts->is_commutative)
		return "the operation is not commutative";
	if (needs->block_placed && !facts->is_block_placed)
		return "ranks of a node not consecutive";
	if (needs->block_if_not_commutative && !facts->is_commutative && !facts->is_block_placed)
		return "order of a non-commutative operation, ranks of a node not consecutive";
	return NULL;
}
