/* bench/facts.c — facts of a node, measured longer than by the library (src/shm/measure.c). */
#include "bench.h"

#include "node.h"
#include "shm/node_facts.h"

#include <mpi.h>
#include <sched.h>

#define APART 256 /* bytes; more than a cache line */
#define MOST_NS UINT64_C(1000000000)

/* A turn of a core that both ranks share: the first CPU that local rank 0 may use. */
static double
play_turn(char *lines, int local)
{
	void *ball = lines + APART, *other = lines + (size_t)2 * APART;
	_Atomic uint32_t *const balls[2] = { ball, other };
	_Atomic int *cpu = (_Atomic int *)(void *)lines; /* its number and 1; -1: none */
	cpu_set_t before, one;
	CPU_ZERO(&one);
	bool is_known = !sched_getaffinity(0, sizeof before, &before);
	int first = 0;
	while (is_known && first < CPU_SETSIZE && !CPU_ISSET((size_t)first, &before))
		first++;
	if (local == 0)
		atomic_store(cpu, is_known && first < CPU_SETSIZE ? first + 1 : -1);
	while (!atomic_load(cpu))
		sched_yield();
	int shared = atomic_load(cpu) - 1;
	if (shared < 0)
		return 0;
	CPU_SET((size_t)shared, &one);
	bool is_there = !sched_setaffinity(0, sizeof one, &one);
	/* Without the other rank's answer in time the result is 0. */
	uint32_t ns = is_there ? cs_measure_hop(balls, local == 1, true, 1000, MOST_NS) : 0;
	if (is_known)
		sched_setaffinity(0, sizeof before, &before);
	return ns * 1e-9;
}

void
bench_facts_print(const struct bench_world *world)
{
	MPI_Comm node;
	bench_node(&node);
	int first = world->rank;
	PMPI_Bcast(&first, 1, MPI_INT, 0, node);
	PMPI_Comm_free(&node);
	bool is_here = first == 0, has_cores = world->nodes > 1 || world->cores > 1;
	double line = has_cores ? bench_line_seconds(is_here) : 0,
	       turn = bench_on_lines(is_here, play_turn);
	if (world->rank == 0)
		printf("limits: # of a node, by collshim-bench --node; 0: not known, and measured "
		       "by each job\n"
		       "  copy_rate: %u\n  line_ns: %.0f\n  turn_ns: %.0f\n  page_ns: %u\n"
		       "  call_ns: %u\n",
		       cs_measure(CS_COPY_RATE, 5000), line * 1e9, turn * 1e9,
		       cs_measure(CS_PAGE_NS, 200), cs_measure(CS_CALL_NS, 20000));
	bench_gather_quietly();
	bench_node_model_print(world);
}
