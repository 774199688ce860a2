/* topo/count.h — packages, NUMA domains, cores and threads of the machine, counted by hwloc. For
 * tools: hwloc opens plugins, which load drivers, and takes from milliseconds to seconds; so it is
 * in no program's process. */
#ifndef CS_TOPO_COUNT_H
#define CS_TOPO_COUNT_H

struct cs_topo_counts { /* 0: unknown */
	int packages, domains, cores, threads; /* of the machine; a core has one hardware thread or
						* more */
	/* That this process may run on, or on a part of */
	int near_packages, near_domains, near_cores, near_threads;
};

/* Fills *counts. Loads the topology and frees it again. */
void cs_topo_count(struct cs_topo_counts *counts);

#endif
