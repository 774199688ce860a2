#include "topo/topo.h"

#include <hwloc.h>
#include <stdatomic.h>

/* The only object of that type that covers all allowed cores, or -1. */
static int
covering(hwloc_topology_t topology, hwloc_const_cpuset_t cpus, hwloc_obj_type_t type)
{
	int found = -1;
	hwloc_obj_t object = NULL;
	while ((object = hwloc_get_next_obj_by_type(topology, type, object)))
		if (object->cpuset && hwloc_bitmap_isincluded(cpus, object->cpuset))
			found = (int)object->logical_index;
	return found;
}

static struct cs_spot
look(void)
{
	struct cs_spot place = { -1, -1 };
	hwloc_topology_t topology;
	if (hwloc_topology_init(&topology))
		return place;
	/* Only what is asked below: reading caches and devices takes the longest. */
	hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
	hwloc_topology_set_type_filter(topology, HWLOC_OBJ_PACKAGE, HWLOC_TYPE_FILTER_KEEP_ALL);
	hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
	if (cpus && hwloc_topology_load(topology) == 0 &&
	    hwloc_get_cpubind(topology, cpus, HWLOC_CPUBIND_PROCESS) == 0) {
		place.numa = covering(topology, cpus, HWLOC_OBJ_NUMANODE);
		place.socket = covering(topology, cpus, HWLOC_OBJ_PACKAGE);
	}
	hwloc_bitmap_free(cpus);
	hwloc_topology_destroy(topology);
	return place;
}

const struct cs_spot *
cs_topo_place(void)
{
	static struct cs_spot place;
	static _Atomic int state; /* 0 not asked, 1 being asked, 2 known */
	int expected = 0;
	if (atomic_compare_exchange_strong(&state, &expected, 1)) {
		place = look();
		atomic_store(&state, 2);
	}
	while (atomic_load(&state) != 2)
		;
	return &place;
}
