/* patterns/deal.h — reduce_scatter and reduce_scatter_block share everything but the counts. */
#ifndef CS_ALGORITHMS_PATTERNS_DEAL_H
#define CS_ALGORITHMS_PATTERNS_DEAL_H

#include "algorithms/team.h"
#include "coll/call.h"

/* The reduced vector, block r to rank r; counts from call->counts or equal. One node: vectors of
 * `direct_from` bytes and more are read where they are; 0: where measured to take less. */
void cs_deal(struct cs_team *team, struct cs_call *call, size_t direct_from);

#endif
