/* algorithms/op.h — one collective call of this rank as an object, from its start to its end: what, by what, and what it holds.
 *
 * What belongs to the call being made is here and nowhere else, so that several may be under way on one team. A blocking call has
 * its operation on the stack. */
#ifndef CS_ALGORITHMS_OP_H
#define CS_ALGORITHMS_OP_H

#include "algorithms/team.h"
#include "coll/call.h"

struct cs_op {
	struct cs_team *team;
	struct cs_call *call;
	struct cs_node_op node; /* its part in the node's memory */
	/* What serves between the nodes: an algorithm and its parameters, or NULL for the host's collectives. */
	const struct cs_algorithm *between;
	const size_t *between_params;
};

#endif
