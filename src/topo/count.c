/* topo/count.c — counts packages, domains, cores and threads by hwloc, for tools. */
#include "topo/count.h"

#include <hwloc.h>
#include <stdbool.h>
#include <stddef.h>

/* hwloc is to leave out its plugins for devices, which load drivers and talk to X servers (they are
 * opened all the same), and "x86", which binds the caller to each core in turn to ask it what /sys
 * says as well, and waits there for a time slice where a rank spins on that core. A name that this
 * hwloc does not know is an error without consequence. */
static bool
begin(hwloc_topology_t *topology)
{
	if (hwloc_topology_init(topology))
		return false;
#if HWLOC_API_VERSION >= 0x00020100
	static const char *const names[] = { "x86", "cuda", "gl", "levelzero", "nvml", "opencl",
					     "rsmi" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		hwloc_topology_set_components(*topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST,
					      names[i]);
#endif
	return true;
}

static void
count(hwloc_topology_t topology, hwloc_const_cpuset_t cpus, hwloc_obj_type_t type, int *all,
      int *near)
{
	hwloc_obj_t object = NULL;
	while ((object = hwloc_get_next_obj_by_type(topology, type, object))) {
		++*all;
		*near += object->cpuset && hwloc_bitmap_intersects(object->cpuset, cpus);
	}
}

void
cs_topo_count(struct cs_topo_counts *counts)
{
	hwloc_topology_t topology;
	*counts = (struct cs_topo_counts){ 0 };
	if (!begin(&topology))
		return;
	hwloc_topology_set_cache_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
	hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
	if (cpus && hwloc_topology_load(topology) == 0 &&
	    hwloc_get_cpubind(topology, cpus, HWLOC_CPUBIND_PROCESS) == 0) {
		count(topology, cpus, HWLOC_OBJ_PACKAGE, &counts->packages, &counts->near_packages);
		count(topology, cpus, HWLOC_OBJ_NUMANODE, &counts->domains, &counts->near_domains);
		count(topology, cpus, HWLOC_OBJ_CORE, &counts->cores, &counts->near_cores);
		count(topology, cpus, HWLOC_OBJ_PU, &counts->threads, &counts->near_threads);
	}
	hwloc_bitmap_free(cpus);
	hwloc_topology_destroy(topology);
}
