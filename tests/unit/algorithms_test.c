/* Algorithms that nobody runs: names, needs and parameters for the tests of select. */
#include "algorithms/algorithm.h"
#include "plan/build.h"
#include "sim/hier.h"

/* Says that it is no plan. */
static void
run_never(struct cs_op *op, const size_t *params)
{
	(void)op, (void)params;
}

#define NAMED(collective, COLL)                                                                    \
	extern const struct cs_algorithm cs_algorithm_##collective##_hier_host;                    \
	const struct cs_algorithm cs_algorithm_##collective##_hier_host = {                        \
		.colls = CS_SET(COLL), .name = "hier:host", .summary = "test", \
		.run = run_never,                                                                  \
		.needs = { .several_per_node = true, .block_if_not_commutative = true },           \
		.params = { { "chunk", "bytes in one piece", 65536, 1024, 1048576 } },             \
	}

NAMED(allgather, CS_ALLGATHER);
NAMED(allgatherv, CS_ALLGATHERV);
NAMED(allreduce, CS_ALLREDUCE);
NAMED(alltoall, CS_ALLTOALL);
NAMED(alltoallv, CS_ALLTOALLV);
NAMED(alltoallw, CS_ALLTOALLW);
NAMED(barrier, CS_BARRIER);
NAMED(bcast, CS_BCAST);
NAMED(exscan, CS_EXSCAN);
NAMED(gather, CS_GATHER);
NAMED(gatherv, CS_GATHERV);
NAMED(reduce, CS_REDUCE);
NAMED(reduce_scatter, CS_REDUCE_SCATTER);
NAMED(reduce_scatter_block, CS_REDUCE_SCATTER_BLOCK);
NAMED(scan, CS_SCAN);
NAMED(scatter, CS_SCATTER);
NAMED(scatterv, CS_SCATTERV);

extern const struct cs_algorithm cs_algorithm_allgather_ring, cs_algorithm_bcast_ring,
	cs_algorithm_bcast_hier_host_tree, cs_algorithm_reduce_hier_host_tree,
	cs_algorithm_allreduce_node_only;

/* No needs, and as many parameters as there may be. */
const struct cs_algorithm cs_algorithm_allgather_ring = {
	.colls = CS_SET(CS_ALLGATHER), .name = "ring", .summary = "test",
	.params = { { "chunk", "bytes", 4096, 1, 1 << 20 },
		    { "depth", "pieces under way", 2, 1, 64 },
		    { "third", "any", 3, 0, 9 },
		    { "fourth", "any", 4, 0, 9 } },
};

/* A plan that costs one round of all bytes for each rank. It refuses one size. */
static void
cost_of_ring(const struct cs_problem *problem, struct cs_cost *cost)
{
	*cost = (struct cs_cost){ .rounds = (uint64_t)problem->ranks, .bytes = problem->bytes };
}

static void
build_ring(struct cs_builder *builder)
{
	const struct cs_problem *problem = builder->problem;
	if (problem->bytes == 4711)
		cs_build_refuse(builder, "it is 4711 bytes");
	for (int i = 0; i < problem->ranks; i++)
		cs_build_send(builder, 0, cs_in(0), problem->bytes / (size_t)problem->ranks);
}

const struct cs_algorithm cs_algorithm_bcast_ring = {
	.colls = CS_SET(CS_BCAST), .name = "ring", .summary = "test", .build = build_ring,
		.cost = cost_of_ring,
};

/* Names that begin with another's, which stands before the one and behind the other. */
const struct cs_algorithm cs_algorithm_bcast_hier_host_tree = {
	.colls = CS_SET(CS_BCAST), .name = "hier:host:tree", .summary = "test",
	.params = { { "radix", "children", 2, 2, 64 } },
};

const struct cs_algorithm cs_algorithm_reduce_hier_host_tree = {
	.colls = CS_SET(CS_REDUCE), .name = "hier:host:tree", .summary = "test",
	.params = { { "radix", "children", 2, 2, 64 } },
};

const struct cs_algorithm cs_algorithm_allreduce_node_only = {
	.colls = CS_SET(CS_ALLREDUCE), .name = "node", .summary = "test",
		.needs = { .one_node = true },
};

/* None of them composes: nothing is asked for what ranks of a node do. */
enum cs_status
cs_hier_time_on_node(struct cs_sim_call *call, const struct cs_sim_hier *hier,
		     const struct cs_model *model, int64_t *time,
		     struct cs_counted_node *first)
{
	(void)call, (void)hier, (void)model, (void)time;
	*first = (struct cs_counted_node){ 0 };
	return CS_UNSUPPORTED;
}

enum cs_status
cs_hier_count(struct cs_sim_call *call, const struct cs_sim_hier *hier,
	      struct cs_counted_node *first)
{
	(void)call, (void)hier;
	*first = (struct cs_counted_node){ 0 };
	return CS_UNSUPPORTED;
}

void
cs_counted_drop_steps(struct cs_counted_node *counted)
{
	(void)counted;
}

void
cs_counted_fini(struct cs_counted_node *counted)
{
	(void)counted;
}
