/* algorithms/levels.c — groups of a node's ranks from packages and caches. */
#include "algorithms/levels.h"

#include "base/hash.h"

#include <stdlib.h>

enum { CACHE, PACKAGE, NODE, KINDS };

/* Do the ranks at these places share a package, and a cache if `cache` is given? */
static bool
is_together(const struct cs_levels *levels, int one, int other, const int *package,
	    const int *cache)
{
	int a = levels->order[one], b = levels->order[other];
	return package[a] == package[b] && (!cache || cache[a] == cache[b]);
}

/* Sorts local ranks by package, cache and number, as these first appear. */
static void
sort(struct cs_levels *levels, const int *package, const int *cache)
{
	int places = 0;
	for (int local = 0; local < levels->size; local++)
		levels->place[local] = -1;
	for (int first = 0; first < levels->size; first++) {
		if (levels->place[first] >= 0)
			continue;
		for (int second = first; second < levels->size; second++) {
			if (package[second] != package[first] || levels->place[second] >= 0)
				continue;
			for (int local = second; local < levels->size; local++)
				if (levels->place[local] < 0 &&
				    package[local] == package[first] &&
				    cache[local] == cache[second]) {
					levels->place[local] = places;
					levels->order[places++] = local;
				}
		}
	}
}

/* The place behind that member of a group of the next level: a group so far, or a rank. */
static int
behind(const struct cs_levels *levels, int place)
{
	return levels->count ? levels->end[levels->count - 1][place] : place + 1;
}

static int
members(const struct cs_levels *levels, int first, int end)
{
	int found = 0;
	for (int place = first; place < end; place = behind(levels, place))
		found++;
	return found;
}

/* Adds a level whose groups are those in `end` by place, unless it says nothing or there is no
 * room: false. */
static bool
add(struct cs_levels *levels, const int *end)
{
	int groups = 0, below = members(levels, 0, levels->size);
	for (int place = 0; place < levels->size; place = end[place])
		groups++;
	if (groups == below || levels->count == CS_LEVELS_MOST)
		return false;
	for (int first = 0; first < levels->size; first = end[first])
		for (int place = first; place < end[first]; place++) {
			levels->first[levels->count][place] = first;
			levels->end[levels->count][place] = end[first];
		}
	levels->count++;
	return true;
}

/* Parts the groups in `end` that have too many members, until none has. */
static void
part(struct cs_levels *levels, const int *end, int *parts)
{
	for (bool is_parted = true; is_parted && levels->count < CS_LEVELS_MOST - KINDS;) {
		is_parted = false;
		for (int first = 0; first < levels->size; first = end[first]) {
			bool is_large = members(levels, first, end[first]) > CS_LEVEL_MOST;
			is_parted = is_parted || is_large;
			for (int place = first, to = first; place < end[first]; place = to) {
				for (int i = 0; to < end[first] &&
						(!is_large || i < CS_LEVEL_PART); i++)
					to = behind(levels, to);
				for (int at = place; at < to; at++)
					parts[at] = to;
			}
		}
		if (is_parted)
			add(levels, parts);
	}
}

/* Fills in, by place, the end of the group of ranks that are together. */
static void
find_groups(const struct cs_levels *levels, const int *package, const int *cache, bool are_all,
	    int *end)
{
	for (int first = 0, to; first < levels->size; first = to) {
		to = first + 1;
		while (to < levels->size &&
		       (are_all || is_together(levels, first, to, package, cache)))
			to++;
		for (int place = first; place < to; place++)
			end[place] = to;
	}
}

bool
cs_levels_init(struct cs_levels *levels, int size, const int *package, const int *cache)
{
	*levels = (struct cs_levels){ .size = size, .large = -1,
				      .hybrid_from = SIZE_MAX, .hybrid_fan = 2 };
	int *memory = malloc((4 + 2 * CS_LEVELS_MOST) * (size_t)size * sizeof *memory);
	if (!memory)
		return false;
	levels->order = memory;
	levels->place = memory + size;
	int *end = levels->place + size, *parts = end + size;
	for (int level = 0; level < CS_LEVELS_MOST; level++) {
		levels->first[level] = parts + (1 + 2 * level) * size;
		levels->end[level] = levels->first[level] + size;
	}
	sort(levels, package, cache);
	for (int kind = 0; kind < KINDS; kind++) {
		find_groups(levels, package, kind == CACHE ? cache : NULL, kind == NODE, end);
		part(levels, end, parts);
		if (add(levels, end) && levels->large < 0 && end[0] < size)
			levels->large = levels->count - 1;
	}
	return true;
}

void
cs_levels_fini(struct cs_levels *levels)
{
	free(levels->order);
	*levels = (struct cs_levels){ 0 };
}

uint64_t
cs_levels_digest(const struct cs_levels *levels)
{
	size_t bytes = (size_t)levels->size * sizeof *levels->order;
	uint64_t hash = cs_hash_bytes(CS_HASH_START, levels->below, sizeof levels->below);
	hash = cs_hash_bytes(hash, levels->from, sizeof levels->from);
	hash = cs_hash_bytes(hash, &levels->hybrid_from, sizeof levels->hybrid_from);
	hash = cs_hash_bytes(hash, &levels->hybrid_fan, sizeof levels->hybrid_fan);
	hash = cs_hash_bytes(hash, levels->order, levels->order ? bytes : 0);
	for (int level = 0; level < levels->count; level++)
		hash = cs_hash_bytes(hash, levels->end[level], bytes);
	return hash;
}
