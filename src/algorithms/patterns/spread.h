/* patterns/spread.h — allgather and allgatherv share everything but the sizes. */
#ifndef CS_ALGORITHMS_PATTERNS_SPREAD_H
#define CS_ALGORITHMS_PATTERNS_SPREAD_H

#include "algorithms/team.h"
#include "coll/call.h"

/* Every rank's block to every rank; sizes from call->recv. `chunk`: bytes per round and rank on one node. */
void cs_spread(struct cs_team *team, struct cs_call *call, size_t chunk);

#endif
