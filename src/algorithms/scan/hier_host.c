/* Scan and exscan, hierarchical (the scheme of seed 002, 2.3.1, which has none for prefixes):
 * vectors in the memory of a node, whose ranks sum up those before them; between nodes an exscan of
 * the nodes' sums (hier/prefix.h). */
#include "algorithms/algorithm.h"
#include "algorithms/hier/prefix.h"

const struct cs_algorithm cs_algorithm_scan_hier_host = {
	.colls = CS_SET(CS_SCAN) | CS_SET(CS_EXSCAN),
	.name = "hier:host",
	.summary = "ranks sum up those before them in node memory, host exscan between leaders",
	.needs = { .several_per_node = true, .block_placed = true },
	.params = CS_PREFIX_PARAMS,
	.composes = true,
	.fast = cs_prefix_fast,
	.run = cs_prefix,
};
