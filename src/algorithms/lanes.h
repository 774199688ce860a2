/* algorithms/lanes.h — lanes: the ranks of a node that drive the wire, and the messages of each.
 * Arithmetic only; comm/teams/make_lanes.c makes the lanes.
 *
 *   local rank     0 1 2 3 4 5 6 7       lane       0 1 2 3
 *   NUMA domain    A A A A B B B B       local rank 0 4 1 5
 */
#ifndef CS_ALGORITHMS_LANES_H
#define CS_ALGORITHMS_LANES_H

#include <stdbool.h>
#include <stddef.h>

#define CS_LANES 64     /* most lanes of a team */
#define CS_LANES_TURN 4 /* that are made with the team; without domains another one of these
			 * local ranks is first on each node */
#define CS_LANES_ZERO "0: one per NUMA domain" /* of the parameter `lanes` */

/* Number of different NUMA domains in domain_of, by local rank; 0 if one is unknown (negative). */
int cs_lanes_domains(const int *domain_of, int locals);

/* Fill in the local ranks of the first `lanes` lanes, `lanes` <= `locals`: the first rank of each
 * domain, in the order in which domains appear, then the second of each that has two, and so on.
 * Lane 0 is always local rank 0. */
void cs_lanes_order(const int *domain_of, int locals, int lanes, int *local_of);

/* Local rank of a lane if domains are unknown or there is one, so that all ranks of a node are as
 * near to its card. Node n's lanes begin with local rank n mod `turn`: nodes that share the cores
 * of a machine (containers, virtual machines) and bind their ranks alike would else have all their
 * leaders on the same core. `turn` does not depend on the number of lanes, as these are made when
 * they are wanted, and a rank stays in its lane: lane `turn` and later ones are those local
 * ranks. */
static inline int
cs_lanes_local(int lane, int node, int turn)
{
	return lane < turn ? (lane + node) % turn : lane;
}

/* The lane of a local rank. */
static inline int
cs_lanes_lane(int local, int node, int turn)
{
	return local < turn ? (local + turn - node % turn) % turn : local;
}

/* `turn`, if the smallest node has so many ranks. */
static inline int
cs_lanes_turn(int ppn_min)
{
	return ppn_min < CS_LANES_TURN ? ppn_min : CS_LANES_TURN;
}

/* Messages from each node to each other one, dealt to lanes: the message to the node d further on
 * is lane d - 1's, in turn, at its sender and its receiver. If there are more lanes than other
 * nodes, messages may be cut, for several lanes each:
 *
 *   lane                      0     1     2     3
 *   4 lanes, 6 nodes, d =     1 5   2     3     4
 *            3 nodes          1a    1b    2a    2b      (cut)
 *
 * The map follows from numbers that are equal on all ranks, not from sizes. */
struct cs_lane_map {
	int nodes; /* two or more */
	int lanes; /* the first ones, which carry something */
	int parts; /* of a message */
};

struct cs_lane_map cs_lanes_map(int nodes, int lanes, bool may_cut);

/* The lane's part of the message of `bytes` from one node to another: [*first, *first + returned).
 * Lane 0 carries the message from a node to itself. */
size_t cs_lanes_share(const struct cs_lane_map *map, int lane, int from, int to, size_t bytes,
		      size_t *first);

/* Most bytes that a lane carries of a message to another node, if none is longer than `bytes`. */
size_t cs_lanes_most(const struct cs_lane_map *map, size_t bytes);

#endif
