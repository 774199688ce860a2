/* patterns/combine.h — reduce and allreduce share everything but who gets the result. */
#ifndef CS_ALGORITHMS_PATTERNS_COMBINE_H
#define CS_ALGORITHMS_PATTERNS_COMBINE_H

#include "algorithms/team.h"
#include "coll/call.h"

struct cs_combine_params {
	size_t read_all; /* vectors up to this: everybody (or the root) reads everybody's and reduces alone */
	size_t chunk;    /* bytes per round of longer vectors */
};

/* call->root < 0: all ranks get the result. */
void cs_combine(struct cs_team *team, struct cs_call *call, const struct cs_combine_params *params);

#endif
