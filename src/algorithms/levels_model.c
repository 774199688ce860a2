/* algorithms/levels_model.c — the node model's word on levels: which there are, for which calls. */
#include "algorithms/levels.h"

#include "topo/node_cost.h"

#define FEW 16  /* ranks up to which calls are flat */
#define MANY 64 /* and from which on small calls gain with any model, but for alltoall */
#define MOST 2048 /* bytes of a small call that are priced */
#define LONGEST ((size_t)64 << 20)

void
cs_levels_merge(const struct cs_node_model *model, int size, int *package, int *cache)
{
	bool has_caches = cs_node_model_separates(model, CS_SAME_PACKAGE),
	     has_packages = cs_node_model_separates(model, CS_FAR);
	for (int local = 0; local < size; local++) {
		package[local] = has_packages ? package[local] : 0;
		cache[local] = has_caches ? cache[local] : package[local];
	}
}

/* Places that have a number of their own; at least 1. */
static int
count(const int *places, int size)
{
	int found = 0;
	for (int local = 0; local < size; local++) {
		int before = 0;
		while (before < local && places[before] != places[local])
			before++;
		found += before == local && places[local] >= 0;
	}
	return found > 1 ? found : 1;
}

static size_t
below(const struct cs_node_model *model, const struct cs_node_groups *groups, int ranks,
      enum cs_coll coll)
{
	struct cs_node_price price;
	size_t found = 0;
	if (ranks <= FEW || !cs_node_has_price(coll))
		return 0;
	if (ranks >= MANY && coll != CS_ALLTOALL)
		return SIZE_MAX;
	for (size_t bytes = 8; bytes <= MOST; bytes *= 2) {
		cs_node_price(model, groups, ranks, coll, bytes, &price);
		if (!cs_node_wants_levels(&price))
			break;
		found = bytes + 1;
	}
	return found;
}

/* The fewest bytes above MOST from which on all gain. */
static size_t
from(const struct cs_node_model *model, const struct cs_node_groups *groups, int ranks,
     enum cs_coll coll)
{
	struct cs_node_price price;
	size_t found = SIZE_MAX;
	if (ranks <= FEW || !cs_colls[coll].reduces || !cs_node_has_price(coll))
		return SIZE_MAX;
	for (size_t bytes = LONGEST; bytes > MOST; bytes /= 2) {
		cs_node_price(model, groups, ranks, coll, bytes, &price);
		if (!cs_node_wants_levels(&price))
			break;
		found = bytes;
	}
	return found;
}

void
cs_levels_price(struct cs_levels *levels, const int *package, const int *cache,
		const struct cs_node_model *model, int64_t bytes)
{
	int size = levels->size, packages = count(package, size), caches = count(cache, size);
	struct cs_node_groups groups = { .packages = packages, .cache = bytes,
					 .groups = (caches + packages - 1) / packages,
					 .ranks = (size + caches - 1) / caches };
	for (enum cs_coll coll = 0; coll < CS_COLL_COUNT; coll++) {
		levels->below[coll] = below(model, &groups, size, coll);
		levels->from[coll] = from(model, &groups, size, coll);
	}
	levels->hybrid_from = cs_node_hybrid_from(model, &groups, size, &levels->hybrid_fan);
}
