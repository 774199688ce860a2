#include "bench.h"
#include "node.h"

#include <ctype.h>
#include <mpi.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUSY 0.5 /* of a core: what a daemon or two do is less */
#define LOOK_US 200000

/* Total and idle time of each processor since the boot: ticks of 10 ms mostly. */
struct ticks {
	unsigned long long all[CPU_SETSIZE], idle[CPU_SETSIZE];
};

static void
look(struct ticks *ticks)
{
	char line[512];
	FILE *file = fopen("/proc/stat", "re");
	while (file && fgets(line, sizeof line, file)) {
		if (strncmp(line, "cpu", 3) || !isdigit((unsigned char)line[3]))
			continue;
		char *at;
		unsigned long cpu = strtoul(line + 3, &at, 10);
		/* User to steal */
		for (int column = 0; cpu < CPU_SETSIZE && column < 8; column++) {
			unsigned long long spent = strtoull(at, &at, 10);
			ticks->all[cpu] += spent;
			/* idle, and waiting for a disk */
			ticks->idle[cpu] += column == 3 || column == 4 ? spent : 0;
		}
	}
	if (file)
		fclose(file);
}

/* Collective over all ranks, which sleep meanwhile: so what is done then is done by others. */
void
bench_tell_busy(const struct bench_world *world)
{
	static struct ticks before, after;
	struct {
		double busy;
		int rank;
	} mine = { 0, world->rank }, most;
	MPI_Comm node;
	cpu_set_t cpus, ours;
	double load = 0;
	char host[128] = "", text[384];

	CPU_ZERO(&cpus);
	sched_getaffinity(0, sizeof cpus, &cpus);
	bench_node(&node);
	PMPI_Allreduce(&cpus, &ours, (int)sizeof cpus, MPI_BYTE, MPI_BOR, node);
	PMPI_Comm_free(&node);
	bench_gather_quietly();
	usleep(LOOK_US / 4);
	look(&before);
	usleep(LOOK_US);
	look(&after);
	usleep(LOOK_US / 4);

	for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &ours) && after.all[cpu] > before.all[cpu])
			mine.busy += 1 - (double)(after.idle[cpu] - before.idle[cpu]) /
						 (double)(after.all[cpu] - before.all[cpu]);
	PMPI_Allreduce(&mine, &most, 1, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
	if (most.busy < BUSY)
		return;
	(void)getloadavg(&load, 1);
	gethostname(host, sizeof host - 1);
	snprintf(text, sizeof text, "%.1f of %d cores of %s are busy with other work (load %.1f): "
				    "times will be noise",
		 mine.busy, CPU_COUNT(&ours), host, load);
	PMPI_Bcast(text, (int)sizeof text, MPI_CHAR, most.rank, MPI_COMM_WORLD);
	if (world->rank == 0)
		fprintf(stderr, "collshim-bench: %s\n", text);
}
