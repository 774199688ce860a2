/* topo/topo.h — where this process runs: on which node, and, by hwloc, on what part of it. */
#ifndef CS_TOPO_TOPO_H
#define CS_TOPO_TOPO_H

#include <stdint.h>

struct cs_spot {
	int numa;   /* logical index of the NUMA domain that holds all allowed cores; -1: several, or unknown */
	int socket; /* the same for packages */
};

/* Loads the machine's topology (some milliseconds, some memory), looks, and gives it back. Asks once per process and
 * remembers. Never fails: what hwloc cannot tell is -1. */
const struct cs_spot *cs_topo_place(void);

/* A word that processes have in common which have one kernel, host name, PID namespace and /dev/shm, and others not, but for one
 * chance in 2^64. 0: not to be told. */
uint64_t cs_topo_node(void);

struct cs_topo_counts { /* 0: unknown */
	int packages, domains, cores, threads; /* of the machine; a core has one hardware thread or more */
	int near_packages, near_domains, near_cores, near_threads; /* that this process may run on, or on a part of */
};

/* Loads the topology and gives it back. */
void cs_topo_count(struct cs_topo_counts *counts);

/* How far an RDMA device is from the cores of this process: 0 in a NUMA domain of theirs, or unknown; 1 in another domain
 * of their package; 2 in another package. The topology is loaded, with its devices, at the first call (tens of
 * milliseconds), and given back; where the process was bound then is remembered. Any thread may ask. */
int cs_topo_distance(const char *device);

#endif
