/* Allgather(v) from the nodes' shared memory, copy-out overlapping the transfers (seed 004, 4).
 *
 *   node 0's area        copy-in    step 0        step 1
 *   4 nodes of 2 ranks   | ab |     | ab cd |     | ab cd | ef gh |
 *                                     ^ from node 1         ^ from node 2
 *                                     copied out meanwhile: ab, then cd, at last ef gh
 *
 * The seed doubles between nodes in pairs, for powers of two; here, as in Bruck's algorithm, each
 * node receives from the one 2^k above, which takes ceil(log2 nodes) steps for any number of nodes:
 * one write per node and step, and no copy but copy-in and copy-out. With s senders it receives
 * from s nodes in a step, by a rank each: ceil(log_(s + 1) nodes) steps (seed 002, 2.3.2). Over
 * verbs, with small and middle blocks: every other way copies once more or pays a message per
 * rank. */
#include "algorithms/algorithm.h"
#include "algorithms/hier/overlap.h"

/* Parameters. */
enum { CHUNK, SENDERS };

static void
run(struct cs_op *op, const size_t *params)
{
	cs_overlap_allgather(op, params[CHUNK], params[SENDERS]);
}

const struct cs_algorithm cs_algorithm_allgather_hier_overlap = {
	.colls = CS_SET(CS_ALLGATHER) | CS_SET(CS_ALLGATHERV),
	.name = "hier:overlap",
	.summary = "from node memory into node memory, copy-out while the next step's data is on "
		   "its way",
	.needs = { .several_per_node = true, .several_nodes = true },
	.params = { [CHUNK] = CS_OVERLAP_CHUNK, [SENDERS] = CS_HIER_SENDERS },
	.run = run,
};
