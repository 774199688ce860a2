/* shm/headroom.h — memory left to this process before the kernel kills processes instead of
 * refusing memory.
 *
 * Limits of a control group (a container, a batch job), and of each group around it:
 *
 *   memory.max, memory.high, memory.current         cgroup v2, both may be mounted ("hybrid")
 *   memory.limit_in_bytes, memory.usage_in_bytes    cgroup v1
 *
 * Pages of shared memory are charged to the group when they are committed or first touched. At a
 * limit the kernel reclaims pages and then kills a process of the group; posix_fallocate does not
 * fail. So this is asked first. */
#ifndef CS_SHM_HEADROOM_H
#define CS_SHM_HEADROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The limit that leaves the least memory. */
enum cs_limit { CS_LIMIT_NONE, CS_LIMIT_MACHINE, CS_LIMIT_MAX, CS_LIMIT_HIGH, CS_LIMIT_V1,
		CS_LIMITS };

struct cs_headroom {
	enum cs_limit by;
	uint64_t free; /* bytes; UINT64_MAX: no limit is known */
};

/* Part of the free memory that segments may have, their own counted as free: one in so many bytes.
 * The rest is the program's. */
#define CS_HEADROOM_PARTS 4

#define CS_MOST_GROUPS 32

/* Folders of this process's groups, from its own outwards; paths are owned. */
struct cs_cgroups {
	int count;
	struct cs_cgroup_folder {
		char *path;
		int is_v1;
	} folder[CS_MOST_GROUPS];
	uint64_t digest; /* the same for processes of the same groups */
};

/* Finds the groups. `root`: "", or, for tests, a folder with proc/ and the mounts of its
 * proc/self/mountinfo. Unreadable files are no limit. */
void cs_cgroups_find(struct cs_cgroups *groups, const char *root);
void cs_cgroups_fini(struct cs_cgroups *groups);

/* Finds the limit by which the least memory is free: of these groups, or of the machine. */
void cs_headroom_look(struct cs_headroom *headroom, const struct cs_cgroups *groups,
		      const char *root);

/* May this process map a segment of `bytes`? A segment may have the same part of the rest of a
 * limited address space (RLIMIT_AS) as of memory. True if nothing is known; false sets errno to
 * ENOMEM. */
bool cs_headroom_may_map(size_t bytes);

/* The limit's name, such as "memory.max". */
const char *cs_limit_name(enum cs_limit limit);

#endif
