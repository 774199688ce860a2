/* Scan and exscan, recursive doubling (plans/prefix_doubling.h): in round k each rank sends its sum
 * to the rank 2^k above it.
 *
 * Cost: at most log2 p rounds, rounded down, in which the first rank sends the vector log2 p
 * times, rounded up. For small vectors. */
#include "algorithms/plans/prefix_doubling.h"

const struct cs_algorithm cs_algorithm_scan_recursive_doubling = {
	.colls = CS_SET(CS_SCAN) | CS_SET(CS_EXSCAN),
	.name = "recursive-doubling",
	.summary = "each rank sends its sum to ranks behind it, farther in each round",
	.build = cs_prefix_doubling_build,
	.cost = cs_prefix_doubling_cost,
};
