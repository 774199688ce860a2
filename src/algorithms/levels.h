/* algorithms/levels.h — levels of a node: groups of its ranks that share a cache of the last level,
 * a package, or nothing but the node, for trees of small calls (algorithms/node/tree.h).
 *
 *   place (order of groups)   0 1 2 3   4 5 6 7   8 9 10 11 ..
 *   level 0 (caches)          |_______| |_______| |_________|
 *   level 1 (packages)        |_________________| |_________ ..
 *   level 2 (the node)        |_____________________________ ..
 *
 * Groups are of any size. A group of more than CS_LEVEL_MOST members has a level of parts between
 * itself and them. A level that does not split the ranks, or that has one rank in each group, is
 * left out. The leader of a group is the root if it is in it, else the rank of the first place. */
#ifndef CS_ALGORITHMS_LEVELS_H
#define CS_ALGORITHMS_LEVELS_H

#include "coll/coll.h"
#include "topo/node_model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CS_LEVELS_MOST 8      /* most levels, the node's included */
#define CS_LEVELS_LEAST 32    /* ranks of a node of several, from which on it has levels */
#define CS_LEVEL_MOST 16 /* members of a group, beyond which it is parted */
#define CS_LEVEL_PART 8  /* members of such a part */

struct cs_levels {
	int size;   /* ranks of the node */
	int count;  /* levels, the node's included; below 2: the node is one group, or not known */
	int large;  /* level of caches, else of packages, for long data; -1: none */
	int *order; /* local rank, by place; owns the memory of all arrays */
	int *place; /* by local rank */
	/* By level and place: first and last place + 1 of the group. */
	int *first[CS_LEVELS_MOST], *end[CS_LEVELS_MOST];
	size_t below[CS_COLL_COUNT]; /* by the node's model calls of fewer bytes gain by levels */
	/* The copy-out over several nodes gains by the hybrid (hier/copy_out.h) from so many bytes
	 * on; its groups have so many children each. */
	size_t hybrid_from, hybrid_fan;
	size_t from[CS_COLL_COUNT];  /* reductions of so many bytes and more gain by slices */
};

/* Fills in the levels of `size` ranks from the package and the cache of each, by local rank;
 * negative: several or unknown, and as one of its own. Memory is the levels' until cs_levels_fini.
 * False: no memory. */
bool cs_levels_init(struct cs_levels *levels, int size, const int *package, const int *cache);
void cs_levels_fini(struct cs_levels *levels);

/* Merges places that a measured model does not tell apart: caches of a package, or packages, across
 * which a line takes less than 1.3 times as long. Virtual machines show caches that are none. */
void cs_levels_merge(const struct cs_node_model *model, int size, int *package, int *cache);
/* Fills in `below`, `from`, and the hybrid's values from the same places. `bytes`: of a cache. */
void cs_levels_price(struct cs_levels *levels, const int *package, const int *cache,
		     const struct cs_node_model *model, int64_t bytes);

/* A number that differs, most likely, where ranks see other groups, or other bytes. */
uint64_t cs_levels_digest(const struct cs_levels *levels);

/* Place of the leader of a group, if the tree's root is at place `root`. */
static inline int
cs_levels_leader(const struct cs_levels *levels, int level, int place, int root)
{
	int first = levels->first[level][place];
	return first <= root && root < levels->end[level][place] ? root : first;
}

#endif
