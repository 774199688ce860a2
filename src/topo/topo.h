/* topo/topo.h — where this process may run, by hwloc. */
#ifndef CS_TOPO_TOPO_H
#define CS_TOPO_TOPO_H

struct cs_spot {
	int numa;   /* logical index of the NUMA domain that holds all allowed cores; -1: several, or unknown */
	int socket; /* the same for packages */
};

/* Loads the machine's topology (some milliseconds, some memory), looks, and gives it back. Asks once per process and
 * remembers. Never fails: what hwloc cannot tell is -1. */
const struct cs_spot *cs_topo_place(void);

#endif
