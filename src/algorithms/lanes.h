/* algorithms/lanes.h — which ranks of a node drive the wire, and which of its messages. Arithmetic
 * only; who is where is comm/teams/make_team.c's business.
 *
 *   local rank     0 1 2 3 4 5 6 7       lane       0 1 2 3
 *   NUMA domain    A A A A B B B B       local rank 0 4 1 5
 */
#ifndef CS_ALGORITHMS_LANES_H
#define CS_ALGORITHMS_LANES_H

#include <stdbool.h>
#include <stddef.h>

#define CS_LANES 64 /* most lanes of a team */
#define CS_LANES_ZERO "0: one per NUMA domain" /* of the parameter `lanes` */

/* Different domains of a node's ranks, given by local rank; 0 if one of them is not known
 * (negative). */
int cs_lanes_domains(const int *domain_of, int locals);

/* The local ranks of the first `lanes` lanes, `lanes` <= `locals`: first the first rank of each
 * domain, in the order in which domains appear, then the second of each that has two, and so on.
 * The first lane is always local rank 0. */
void cs_lanes_order(const int *domain_of, int locals, int lanes, int *local_of);

/* Where domains are not known, or there is one, all of a node's ranks are as near to its card, and
 * node n's lanes begin with local rank n mod `lanes`: nodes that share the cores of a machine
 * (containers, virtual machines) and bind their ranks alike would else have all their leaders on
 * the same core. */
static inline int
cs_lanes_local(int lane, int node, int lanes)
{
	return (lane + node) % lanes;
}

/* The lane of one of the first `lanes` local ranks. */
static inline int
cs_lanes_lane(int local, int node, int lanes)
{
	return (local + lanes - node % lanes) % lanes;
}

/* Messages from each node to each other one, dealt to lanes: the node d further on is lane d - 1's,
 * in turn, for those that send and those that hear. Where there are more lanes than other nodes,
 * messages may be cut, for several lanes each:
 *
 *   lane                      0     1     2     3
 *   4 lanes, 6 nodes, d =     1 5   2     3     4
 *            3 nodes          1a    1b    2a    2b      (cut)
 *
 * All of it follows from numbers that are equal on all ranks, not from sizes. */
struct cs_lane_map {
	int nodes; /* two or more */
	int lanes; /* those that carry something, the first ones */
	int parts; /* of a message */
};

struct cs_lane_map cs_lanes_map(int nodes, int lanes, bool may_cut);

/* What the lane carries of the message of `bytes` from one node to another: [*first, *first +
 * returned). Lane 0 carries what a node has for itself. */
size_t cs_lanes_share(const struct cs_lane_map *map, int lane, int from, int to, size_t bytes,
		      size_t *first);

/* The most that any lane carries of any message to another node, if none is longer than `bytes`. */
size_t cs_lanes_most(const struct cs_lane_map *map, size_t bytes);

#endif
