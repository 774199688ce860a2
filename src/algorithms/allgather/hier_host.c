/* Allgather(v), hierarchical (seed 002, 2.3.1): copy-in side by side, leaders' host collective,
 * copy-out of everything.
 *
 *   node 0: | a | b |  -- host allgatherv of leaders -->  | a | b | c | d |  -> every rank's result
 *   node 1: | c | d |
 *
 * One node: no copy in between; each rank copies its peers' blocks straight out of their rings. Two
 * copies of each block per reader and one flag; blocks of 48 bytes and less travel with the flag.
 */
#include "algorithms/algorithm.h"
#include "algorithms/hier/node_allgather.h"

const struct cs_algorithm cs_algorithm_allgather_hier_host = {
	.colls = CS_SET(CS_ALLGATHER) | CS_SET(CS_ALLGATHERV),
	.name = "hier:host",
	.summary = "blocks side by side in node memory, host allgatherv between leaders",
	.needs = { .several_per_node = true },
	.params = CS_NODE_ALLGATHER_PARAMS,
	.composes = true,
	.fast = cs_node_allgather_fast,
	.run = cs_node_allgather,
};
