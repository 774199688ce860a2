#ifndef BENCH_NODE_H
#define BENCH_NODE_H

#include <mpi.h>
#include <sched.h>

/* The ranks of this one's node, in the order of MPI_COMM_WORLD, to be freed. All ranks call it. */
void bench_node(MPI_Comm *node);

/* Package and cache of this thread, which is of that rank of its node: 0 if the machine tells
 * nothing, negative: several; or as COLLSHIM_FAKE_LEVELS pretends (cs_fake_levels_of). Its CPUs. */
struct bench_place {
	int package, cache;
	cpu_set_t cpus;
};
struct bench_place bench_place(int local);

struct bench_world;
/* Collective over all ranks; about three seconds. Rank 0 prints the node model that the ranks of
 * its node measure together, as a tuning file has it (topo/node_model.h). */
void bench_node_model_print(const struct bench_world *world);

#endif
