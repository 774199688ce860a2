/* shm/headroom.h — how much memory this process may still have before the kernel kills instead of
 * refusing.
 *
 * A control group (a container, a batch job) has limits of its own, and so has each group around
 * it:
 *
 *   memory.max, memory.high, memory.current         cgroup v2, both may be mounted ("hybrid")
 *   memory.limit_in_bytes, memory.usage_in_bytes    cgroup v1
 *
 * Pages of shared memory are charged to the group when they are committed or first touched. Where a
 * limit is reached the kernel gives back what it can and then kills a process of the group;
 * posix_fallocate is not refused. So it is asked here first. */
#ifndef CS_SHM_HEADROOM_H
#define CS_SHM_HEADROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The limit that leaves the least memory; of two that leave the same the later one. */
enum cs_limit { CS_LIMIT_NONE, CS_LIMIT_MACHINE, CS_LIMIT_MAX, CS_LIMIT_HIGH, CS_LIMIT_V1,
		CS_LIMITS };

struct cs_headroom {
	enum cs_limit by;
	uint64_t free; /* UINT64_MAX: nothing is known to end it */
};

/* Segments have at most this part of what is free, theirs counted as free: the rest is the
 * program's. */
#define CS_HEADROOM_PARTS 4

#define CS_MOST_GROUPS 32

/* The folders of this process's groups, from its own outwards. */
struct cs_cgroups {
	int count;
	struct cs_cgroup_folder {
		char *path;
		int is_v1;
	} folder[CS_MOST_GROUPS];
	uint64_t digest; /* the same for processes of the same groups */
};

/* `root`: "", or a folder that has proc/ and what proc/self/mountinfo names. What cannot be read is
 * no limit. */
void cs_cgroups_find(struct cs_cgroups *groups, const char *root);
void cs_cgroups_fini(struct cs_cgroups *groups);

/* The least that is free in any of these groups, or on the machine. */
void cs_headroom_look(struct cs_headroom *headroom, const struct cs_cgroups *groups,
		      const char *root);

/* May this process map a segment of so many bytes? Of what a limited address space (RLIMIT_AS) has
 * left, a segment may take the same part as of memory. Yes where nothing is known; no sets errno to
 * ENOMEM. */
bool cs_headroom_may_map(size_t bytes);

/* "memory.max" and the like. */
const char *cs_limit_name(enum cs_limit limit);

#endif
