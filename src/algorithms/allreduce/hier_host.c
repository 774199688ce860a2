/* Allreduce, hierarchical (seed 002, 2.3.1, with the parallel node reduction: each process one
 * slice).
 *
 *   short  everybody publishes its vector, everybody reduces all of them: one hop (one node)
 *          the leader reduces, host allreduce between leaders, everybody copies out (several nodes)
 *   long   chunk by chunk: publish | reduce own slice | leaders' host allreduce | copy out
 *
 * One node whose ranks have cores of their own: vectors may be read where they are
 * (shm/copy_choice.h). Sources are always reduced in rank order with the same bracketing: all ranks
 * get the same bits. */
#include "algorithms/algorithm.h"
#include "algorithms/hier/node_reduce.h"

/* Parameters. */
enum { READ_ALL, CHUNK, WIRE_CHUNK, LANES, CMA_MIN };

static void
run(struct cs_op *op, const size_t *params)
{
	struct cs_call *call = &op->call;
	call->root = -1;
	const struct cs_node_reduce_params given = { .read_all = params[READ_ALL],
						     .chunk = params[CHUNK],
						     .wire_chunk = params[WIRE_CHUNK],
						     .lanes = params[LANES],
						     .cma_min = params[CMA_MIN] };
	cs_node_reduce(op, &given);
}

static bool
fast(struct cs_op *op, const size_t *params)
{
	op->call.root = -1;
	return cs_node_reduce_fast(op, params[READ_ALL], params[CMA_MIN]);
}

const struct cs_algorithm cs_algorithm_allreduce_hier_host = {
	.colls = CS_SET(CS_ALLREDUCE),
	.name = "hier:host",
	.summary = "slices reduced in node memory, host allreduce between leaders",
	.needs = { .several_per_node = true, .block_if_not_commutative = true },
	.params = { [READ_ALL] = { "read_all",
				   "vectors up to this are read whole by everybody (of two ranks "
				   "or on few cores, longer ones)", 1 << 10, 0, 64 << 20,
				   .role = CS_ROLE_READ_ALL },
		    [CHUNK] = { "chunk", "bytes per piece of longer vectors", 512 << 10, 4 << 10,
				64 << 20 },
		    [WIRE_CHUNK] = { "wire_chunk", "bytes that leaders reduce at once", 4 << 20,
				     4 << 10, 64 << 20 },
		    [LANES] = { "lanes", "ranks of a node that drive the wire with long "
					 "vectors; " CS_LANES_ZERO, 2, 0,
				CS_LANES },
		    [CMA_MIN] = CS_CMA_MIN },
	.composes = true,
	.fast = fast,
	.run = run,
};
