/* Reduce, hierarchical (seed 002, 2.3.1, with the parallel node reduction: each process one slice).
 *
 *   short   everybody publishes its vector and goes on; the root (or each leader) reduces them
 *   long    chunk by chunk: publish | reduce own slice | leaders' host reduce | the root copies out
 */
#include "algorithms/algorithm.h"
#include "algorithms/late/node_barriers.h"
#include "algorithms/hier/node_reduce.h"

/* Parameters. */
enum { READ_ALL, CHUNK, WIRE_CHUNK, LANES, BARRIER };

static void
run(struct cs_op *op, const size_t *params)
{
	const struct cs_node_reduce_params given = { .read_all = params[READ_ALL],
						     .chunk = params[CHUNK],
						     .wire_chunk = params[WIRE_CHUNK],
						     .lanes = params[LANES] };
	cs_node_reduce(op, &given);
	if (params[BARRIER])
		cs_node_barriers(op);
}

static bool
fast(struct cs_op *op, const size_t *params)
{
	return !params[BARRIER] && cs_node_reduce_fast(op, params[READ_ALL], 0);
}

const struct cs_algorithm cs_algorithm_reduce_hier_host = {
	.colls = CS_SET(CS_REDUCE),
	.name = "hier:host",
	.summary = "slices reduced in node memory, host reduce between leaders",
	.needs = { .several_per_node = true, .block_if_not_commutative = true },
	.params = { [READ_ALL] = { "read_all",
				   "vectors up to this are reduced by the root alone (of two ranks "
				   "or on few cores, longer ones)", 2 << 10, 0, 64 << 20,
				   .role = CS_ROLE_READ_ALL },
		    [CHUNK] = { "chunk", "bytes per piece of longer vectors", 128 << 10, 4 << 10,
				64 << 20 },
		    [WIRE_CHUNK] = { "wire_chunk", "bytes that leaders reduce at once", 4 << 20,
				     4 << 10, 64 << 20 },
		    [LANES] = { "lanes", "ranks of a node that drive the wire with long "
					 "vectors; " CS_LANES_ZERO, 2, 0,
				CS_LANES },
		    [BARRIER] = CS_NODE_BARRIERS },
	.composes = true,
	.fast = fast,
	.run = run,
};
