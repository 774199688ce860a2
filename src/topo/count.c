#include "topo/topo.h"

#include "base/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <hwloc.h>
#include <stdatomic.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

uint64_t
cs_topo_node(void)
{
	char boot[64], name[256];
	struct stat pids, memory = { 0 };
	int saved = errno, file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t got = file < 0 ? -1 : read(file, boot, sizeof boot);
	if (file >= 0)
		close(file);
	if (got <= 0 || gethostname(name, sizeof name) || stat("/proc/self/ns/pid", &pids)) {
		errno = saved;
		return 0;
	}
	name[sizeof name - 1] = '\0';
	stat("/dev/shm", &memory); /* may be absent, then for all of them */
	errno = saved;
	uint64_t word = cs_hash_bytes(CS_HASH_START, boot, (size_t)got);
	word = cs_hash_text(word, name);
	word = cs_hash_number(cs_hash_number(word, pids.st_dev), pids.st_ino);
	word = cs_hash_number(cs_hash_number(word, memory.st_dev), memory.st_ino);
	return word ? word : 1;
}

/* What hwloc is to leave out: its plugins for other devices than ours, which load drivers and talk to X servers, none of a guest's
 * business (that a plugin is opened cannot be helped from here); and "x86", which binds the caller to each core in turn to ask it
 * what /sys says as well, and waits there for a time slice where a rank spins on that core. A name that this hwloc does not know
 * is an error without consequence. */
static bool
begin(hwloc_topology_t *topology)
{
	if (hwloc_topology_init(topology))
		return false;
#if HWLOC_API_VERSION >= 0x00020100
	static const char *const names[] = { "x86", "cuda", "gl", "levelzero", "nvml", "opencl", "rsmi" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		hwloc_topology_set_components(*topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, names[i]);
#endif
	return true;
}

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
	if (!begin(&topology))
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

/* --- counts ------------------------------------------------------------------------------------------------------ */

static void
count(hwloc_topology_t topology, hwloc_const_cpuset_t cpus, hwloc_obj_type_t type, int *all, int *near)
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

/* --- distance of devices ----------------------------------------------------------------------------------------- */

struct device {
	struct device *next;
	int distance;
	char name[];
};

/* The cores of all objects of that type that the process may run on. */
static void
spread(hwloc_topology_t topology, hwloc_const_cpuset_t cpus, hwloc_obj_type_t type, hwloc_bitmap_t cores)
{
	hwloc_obj_t object = NULL;
	hwloc_bitmap_copy(cores, cpus);
	while ((object = hwloc_get_next_obj_by_type(topology, type, object)))
		if (object->cpuset && hwloc_bitmap_intersects(object->cpuset, cpus))
			hwloc_bitmap_or(cores, cores, object->cpuset);
}

/* Puts every RDMA device before those of *list. */
static void
measure(hwloc_topology_t topology, hwloc_const_cpuset_t domains, hwloc_const_cpuset_t packages, struct device **list)
{
	hwloc_obj_t object = NULL;
	while ((object = hwloc_get_next_osdev(topology, object))) {
		hwloc_obj_t place = hwloc_get_non_io_ancestor_obj(topology, object);
		if (object->attr->osdev.type != HWLOC_OBJ_OSDEV_OPENFABRICS || !object->name || !place || !place->cpuset)
			continue;
		struct device *device = malloc(sizeof *device + strlen(object->name) + 1);
		if (!device)
			return;
		strcpy(device->name, object->name);
		device->distance = hwloc_bitmap_intersects(place->cpuset, domains)    ? 0
				   : hwloc_bitmap_intersects(place->cpuset, packages) ? 1
										      : 2;
		device->next = *list;
		*list = device;
	}
}

static struct device *
look_at_devices(void)
{
	struct device *list = NULL;
	hwloc_topology_t topology;
	if (!begin(&topology))
		return NULL;
	hwloc_topology_set_cache_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
	hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
	hwloc_topology_set_type_filter(topology, HWLOC_OBJ_OS_DEVICE, HWLOC_TYPE_FILTER_KEEP_ALL);
	hwloc_bitmap_t cpus = hwloc_bitmap_alloc(), domains = hwloc_bitmap_alloc(), packages = hwloc_bitmap_alloc();
	if (cpus && domains && packages && hwloc_topology_load(topology) == 0 &&
	    hwloc_get_cpubind(topology, cpus, HWLOC_CPUBIND_PROCESS) == 0) {
		spread(topology, cpus, HWLOC_OBJ_NUMANODE, domains);
		spread(topology, cpus, HWLOC_OBJ_PACKAGE, packages);
		measure(topology, domains, packages, &list);
	}
	hwloc_bitmap_free(cpus);
	hwloc_bitmap_free(domains);
	hwloc_bitmap_free(packages);
	hwloc_topology_destroy(topology);
	return list;
}

int
cs_topo_distance(const char *name)
{
	static struct device *devices; /* for the process's life */
	static _Atomic int state;      /* 0 not asked, 1 being asked, 2 known */
	int expected = 0;
	if (atomic_compare_exchange_strong(&state, &expected, 1)) {
		devices = look_at_devices();
		atomic_store(&state, 2);
	}
	while (atomic_load(&state) != 2)
		sched_yield();
	for (const struct device *device = devices; device; device = device->next)
		if (!strcmp(device->name, name))
			return device->distance;
	return 0;
}
