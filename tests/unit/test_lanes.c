/* Which ranks of a node are in its lanes, and what each lane carries. */
#include "unit.h"

#include "algorithms/lanes.h"

#define MOST_NODES 20

static void
order_is(const int *domain_of, int locals, const int *wanted)
{
	int local_of[16];
	for (int lanes = 1; lanes <= locals; lanes++) {
		memset(local_of, -1, sizeof local_of);
		cs_lanes_order(domain_of, locals, lanes, local_of);
		assert_memory_equal(local_of, wanted, (size_t)lanes * sizeof *wanted);
		assert_int_equal(local_of[lanes], -1);
	}
}

TEST(first_ranks_of_the_domains_come_first)
{
	order_is((int[]){ 0, 0, 0, 0, 1, 1, 1, 1 }, 8, (int[]){ 0, 4, 1, 5, 2, 6, 3, 7 });
	order_is((int[]){ 0, 0, 1, 2 }, 4, (int[]){ 0, 2, 3, 1 });
	order_is((int[]){ 0, 0, 0, 0, 0, 3 }, 6, (int[]){ 0, 5, 1, 2, 3, 4 });
}

TEST(domains_come_in_the_order_of_their_first_rank)
{
	order_is((int[]){ 7, 2, 7, 2, 5 }, 5, (int[]){ 0, 1, 4, 2, 3 });
	order_is((int[]){ 3, 3, 1, 0, 1 }, 5, (int[]){ 0, 2, 3, 1, 4 });
}

TEST(one_domain_leaves_the_order_of_local_ranks)
{
	order_is((int[]){ 4, 4, 4, 4, 4 }, 5, (int[]){ 0, 1, 2, 3, 4 });
}

/* Without domains: each lane has one rank of a node, each rank one lane, and leaders take turns.
 * More lanes than take turns change none of the first ones. */
TEST(lanes_begin_elsewhere_on_each_node)
{
	for (int turn = 1; turn <= 5; turn++)
		for (int node = 0; node < 12; node++) {
			assert_int_equal(cs_lanes_local(0, node, turn), node % turn);
			for (int lane = 0; lane < CS_LANES; lane++) {
				int local = cs_lanes_local(lane, node, turn);
				if (lane < turn)
					assert_in_range(local, 0, turn - 1);
				else
					assert_int_equal(local, lane);
				assert_int_equal(cs_lanes_lane(local, node, turn), lane);
			}
		}
}

TEST(domains_are_counted_if_all_are_known)
{
	assert_int_equal(cs_lanes_domains((int[]){ 0, 0, 0 }, 3), 1);
	assert_int_equal(cs_lanes_domains((int[]){ 1, 0, 1, 5 }, 4), 3);
	assert_int_equal(cs_lanes_domains((int[]){ 0, 1, -1 }, 3), 0);
	assert_int_equal(cs_lanes_domains((int[]){ -1 }, 1), 0);
}

/* Every byte of a message by one lane, in order; returns the lanes that carry some. */
static int
carriers(const struct cs_lane_map *map, int from, int to, size_t bytes)
{
	size_t next = 0, first;
	int count = 0;
	for (int lane = 0; lane < map->lanes; lane++) {
		size_t part = cs_lanes_share(map, lane, from, to, bytes, &first);
		assert_true(from == to || part <= cs_lanes_most(map, bytes));
		if (!part)
			continue;
		assert_int_equal(first, next);
		next += part;
		count++;
	}
	assert_int_equal(next, bytes);
	return count;
}

TEST(each_message_is_carried_once)
{
	const size_t sizes[] = { 0, 1, 63, 64, 65, 1000, 65536, 100001 };
	for (int nodes = 2; nodes <= MOST_NODES; nodes++)
		for (int lanes = 1; lanes <= 9; lanes++)
			for (int may_cut = 0; may_cut < 2; may_cut++) {
				struct cs_lane_map map = cs_lanes_map(nodes, lanes, may_cut);
				assert_in_range(map.lanes, 1, lanes);
				assert_true(may_cut || map.parts == 1);
				for (int pair = 0; pair < nodes * nodes; pair++)
					for (size_t i = 0; i < COUNT(sizes); i++)
						carriers(&map, pair / nodes, pair % nodes,
							 sizes[i]);
			}
}

/* With messages of one size, the busiest lane sends, and hears, one more than the idlest; all lanes
 * that can be are used. */
TEST(lanes_have_like_work)
{
	for (int nodes = 2; nodes <= MOST_NODES; nodes++)
		for (int lanes = 1; lanes <= 9; lanes++)
			for (int may_cut = 0; may_cut < 2; may_cut++) {
				struct cs_lane_map map = cs_lanes_map(nodes, lanes, may_cut);
				int sent[9] = { 0 }, heard[9] = { 0 }, self = nodes / 2;
				size_t first;
				for (int n = 0; n < nodes; n++)
					for (int lane = 0; n != self && lane < map.lanes; lane++) {
						sent[lane] += cs_lanes_share(&map, lane, self, n,
									     64000, &first) != 0;
						heard[lane] += cs_lanes_share(&map, lane, n, self,
									      64000, &first) != 0;
					}
				for (int lane = 0; lane < map.lanes; lane++) {
					assert_in_range(sent[lane], 1, nodes);
					assert_in_range(sent[0] - sent[lane], 0, 1);
					assert_int_equal(sent[lane], heard[lane]);
				}
				int useful = may_cut ? lanes / (nodes - 1) * (nodes - 1)
						     : nodes - 1;
				assert_int_equal(map.lanes, lanes < nodes - 1 ? lanes : useful);
			}
}

TEST(messages_are_cut_where_lanes_outnumber_nodes)
{
	struct cs_lane_map map = cs_lanes_map(2, 4, true);
	size_t first;
	assert_int_equal(carriers(&map, 0, 1, 100000), 4);
	assert_int_equal(cs_lanes_share(&map, 1, 1, 0, 4096, &first), 1024);
	assert_int_equal(first, 1024);
	map = cs_lanes_map(3, 4, true);
	assert_int_equal(carriers(&map, 2, 0, 100000), 2);
	/* Two nodes further on: its first part */
	assert_int_equal(cs_lanes_share(&map, 2, 2, 1, 4096, &first), 2048);
	map = cs_lanes_map(2, 4, false);
	assert_int_equal(map.lanes, 1);
	assert_int_equal(carriers(&map, 1, 1, 100000), 1);
}

/* What a lane's messages have room for: its own part of the longest one, whatever parts there are
 * of shorter ones. */
TEST(no_part_is_longer_than_the_most)
{
	for (int nodes = 2; nodes <= 5; nodes++)
		for (int lanes = 1; lanes <= 9; lanes++)
			for (size_t most = 0; most <= 1000; most += 37) {
				struct cs_lane_map map = cs_lanes_map(nodes, lanes, true);
				size_t longest = 0, first;
				for (size_t bytes = 0; bytes <= most; bytes++)
					for (int lane = 0; lane < map.lanes; lane++) {
						size_t part = cs_lanes_share(&map, lane, 1, 0,
									     bytes, &first);
						longest = part > longest ? part : longest;
					}
				assert_int_equal(cs_lanes_most(&map, most), longest);
			}
}

RUN_TESTS(NULL, NULL)
