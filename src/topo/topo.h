/* topo/topo.h — where processes run: on which node, and on what part of it, by a few files of /sys.
 *
 *   /sys/devices/system/node/has_cpu, node0/cpulist, ..   a file for each NUMA domain with CPUs
 *   /sys/devices/system/cpu/online, cpu0/topology/package_cpus_list, ..   one for each package
 *                                   cpu0/cache/index3/shared_cpu_list, ..   for last-level caches
 *
 * One process of a node reads them and hands the table to the others; each then looks up the CPUs
 * that it may use. Nothing is loaded and nothing is allocated: this is in the program's process.
 * (The tools count by hwloc: topo/count.h.) */
#ifndef CS_TOPO_TOPO_H
#define CS_TOPO_TOPO_H

#include <stdint.h>

#define CS_TOPO_CPUS 1024 /* CPUs with larger numbers are not told of */
#define CS_TOPO_WORDS (CS_TOPO_CPUS / 64)
#define CS_TOPO_UNKNOWN UINT16_MAX

enum cs_topo_kind { CS_TOPO_PACKAGE, CS_TOPO_DOMAIN, CS_TOPO_CACHE, CS_TOPO_KINDS };

/* A table without pointers, for shared memory. Packages, NUMA domains with CPUs, and caches of the
 * last level are numbered from 0 in the order in which they are met. */
struct cs_topo_machine {
	uint16_t count[CS_TOPO_KINDS];
	uint16_t files;                          /* opened to make it, those that are not there as
						  * well */
	uint16_t of[CS_TOPO_KINDS][CS_TOPO_CPUS]; /* by CPU: which it is in; CS_TOPO_UNKNOWN */
};

struct cs_spot {
	int at[CS_TOPO_KINDS]; /* the only one that all of the CPUs are in; -1: several, or
				* unknown */
};

/* Reads the machine's table below `root` ("": the one we are on). Never fails: values that cannot
 * be read are unknown. */
void cs_topo_read(const char *root, struct cs_topo_machine *machine);

/* Table of this machine, valid for the life of the process: read at the first call, unless
 * cs_topo_learn came before. Any thread. */
const struct cs_topo_machine *cs_topo_machine(void);
/* Takes over the machine data that another process of the node has read. The first one holds. */
void cs_topo_learn(const struct cs_topo_machine *told);

/* Place of a process that may use these CPUs, a bit for each. */
struct cs_spot cs_topo_spot(const struct cs_topo_machine *machine,
			    const uint64_t cpus[CS_TOPO_WORDS]);

/* Distance of an RDMA device below `root` from such a process: 0 in a NUMA domain of its CPUs, or
 * unknown; 1 in another domain of their package; 2 in another package. */
int cs_topo_distance_from(const char *root, const struct cs_topo_machine *machine,
			  const uint64_t cpus[CS_TOPO_WORDS], const char *device);
/* Distance of the device from this thread's CPUs on this machine. */
int cs_topo_distance(const char *device);

/* Identity of the node: a 64-bit hash that is equal for processes with the same kernel, host name,
 * PID namespace and /dev/shm. 0: unknown. *host: the same of kernel and host name alone. */
uint64_t cs_topo_node(uint64_t *host);
/* Hash of such a `host` and of /dev/shm: processes with equal hashes can share memory by name, in
 * any PID namespace. 0: there is no /dev/shm. */
uint64_t cs_topo_memory(uint64_t host);

#endif
