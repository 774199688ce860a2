/* algorithms/lanes.c — the ranks of a node that are lanes, and the messages that each lane
 * carries. */
#include "algorithms/lanes.h"

#include "algorithms/slice.h"

/* Number of ranks of the same domain before this one. */
static int
turn_of(const int *domain_of, int local)
{
	int turn = 0;
	for (int other = 0; other < local; other++)
		turn += domain_of[other] == domain_of[local];
	return turn;
}

int
cs_lanes_domains(const int *domain_of, int locals)
{
	int domains = 0;
	for (int local = 0; local < locals; local++) {
		if (domain_of[local] < 0)
			return 0;
		domains += turn_of(domain_of, local) == 0;
	}
	return domains;
}

void
cs_lanes_order(const int *domain_of, int locals, int lanes, int *local_of)
{
	for (int turn = 0, lane = 0; lane < lanes; turn++)
		for (int local = 0; local < locals && lane < lanes; local++)
			if (turn_of(domain_of, local) == turn)
				local_of[lane++] = local;
}

struct cs_lane_map
cs_lanes_map(int nodes, int lanes, bool may_cut)
{
	int others = nodes - 1, parts = may_cut && lanes > others ? lanes / others : 1;
	return (struct cs_lane_map){ nodes, lanes < others * parts ? lanes : others * parts,
				     parts };
}

size_t
cs_lanes_share(const struct cs_lane_map *map, int lane, int from, int to, size_t bytes,
	       size_t *first)
{
	*first = 0;
	if (from == to)
		return lane == 0 ? bytes : 0;
	int distance = (to - from + map->nodes) % map->nodes;
	/* With several parts each has a lane of its own, else lanes take turns. */
	int part = lane - (distance - 1) * map->parts % map->lanes;
	return part < 0 || part >= map->parts ? 0 : cs_slice(bytes, 1, map->parts, part, first);
}

size_t
cs_lanes_most(const struct cs_lane_map *map, size_t bytes)
{
	size_t first;
	return cs_slice(bytes, 1, map->parts, 0, &first); /* no part is longer than the first, nor
							   * that of a shorter message */
}
