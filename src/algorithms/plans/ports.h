/* plans/ports.h — allgather in rounds in which what a rank has grows (k + 1)-fold: Bruck and
 * dissemination.
 *
 * With n = (k + 1)^round blocks on every rank, each sends up to n of them to the ranks n, 2n .. kn
 * away at once. */
#ifndef CS_ALGORITHMS_PLANS_PORTS_H
#define CS_ALGORITHMS_PLANS_PORTS_H

#include "algorithms/algorithm.h"
#include "coll/problem.h"

/* Blocks that the rank `distance` away gets in the round in which all have n; 0: that rank gets no
 * message. */
static inline int
cs_ports_blocks(int ranks, int n, int distance)
{
	return distance >= ranks ? 0 : ranks - distance < n ? ranks - distance : n;
}

/* Of blocks of one size, with k messages at once. */
void cs_ports_cost(const struct cs_problem *problem, size_t k, struct cs_cost *cost);

#endif
