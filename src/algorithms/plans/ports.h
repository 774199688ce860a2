/* plans/ports.h — allgather in rounds in which a rank's blocks grow (k + 1)-fold: Bruck and
 * dissemination.
 *
 * With n = (k + 1)^round blocks on every rank, each sends up to n of them to the ranks n, 2n .. kn
 * away at once. */
#ifndef CS_ALGORITHMS_PLANS_PORTS_H
#define CS_ALGORITHMS_PLANS_PORTS_H

#include "algorithms/algorithm.h"
#include "coll/problem.h"

/* Blocks that the rank `distance` away gets in the round in which all have n; 0: no message. */
static inline int
cs_ports_blocks(int ranks, int n, int distance)
{
	return distance >= ranks ? 0 : ranks - distance < n ? ranks - distance : n;
}

/* Cost with k messages at once; CS_PRICE_NONE unless blocks have one size. */
void cs_ports_cost(const struct cs_problem *problem, size_t k, struct cs_cost *cost);

#endif
