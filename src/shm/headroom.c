/* shm/headroom.c — finds the memory that control groups and the machine leave. */
#include "shm/headroom.h"

#include "base/hash.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Values from here on are no limit: cgroup v1 writes the size of an address space */
#define NO_LIMIT ((uint64_t)1 << 62)

static FILE *
open_in(const char *root, const char *folder, const char *name)
{
	char path[2 * PATH_MAX];
	int length = snprintf(path, sizeof path, "%s%s/%s", root, folder, name);
	return length < (int)sizeof path ? fopen(path, "re") : NULL;
}

/* --- which groups ----------------------------------------------------------------------------- */

/* Decodes octal escapes of mountinfo: blanks and the like are written as \040. */
static void
unescape(char *text)
{
	char *to = text;
	for (const char *from = text; *from;) {
		if (from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] >= '0' &&
		    from[2] <= '7' && from[3] >= '0' && from[3] <= '7') {
			*to++ = (char)(
				(from[1] - '0') << 6 | (from[2] - '0') << 3 | (from[3] - '0'));
			from += 4;
		} else {
			*to++ = *from++;
		}
	}
	*to = '\0';
}

static bool
has_word(const char *list, const char *word)
{
	size_t length = strlen(word);
	for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
		if (!strncmp(at, word, length) && (at[length] == ',' || at[length] == '\0'))
			return true;
	return false;
}

/* Finds this process's group in the hierarchy with the memory controller: "N:memory:/path" (v1),
 * "0::/path". False: it has none. */
static bool
find_own(const char *root, bool is_v1, char *path, size_t bytes)
{
	char *line = NULL;
	size_t room = 0;
	bool is_found = false;
	FILE *file = open_in(root, "/proc/self", "cgroup");
	while (file && !is_found && getline(&line, &room, file) > 0) {
		line[strcspn(line, "\n")] = '\0';
		char *controllers = strchr(line, ':'),
		     *own = controllers ? strchr(controllers + 1, ':') : NULL;
		if (!own)
			continue;
		*own++ = '\0';
		controllers++;
		is_found = is_v1 ? has_word(controllers, "memory") : !*controllers &&
			   line[0] == '0';
		if (is_found)
			snprintf(path, bytes, "%s", own);
	}
	if (file)
		fclose(file);
	free(line);
	return is_found;
}

/* Finds the mounted part of the hierarchy (`top`) and its mount point (`place`). */
static bool
find_mount(const char *root, bool is_v1, char *top, char *place, size_t bytes)
{
	char *line = NULL;
	size_t room = 0;
	bool is_found = false;
	FILE *file = open_in(root, "/proc/self", "mountinfo");
	while (file && !is_found && getline(&line, &room, file) > 0) {
		line[strcspn(line, "\n")] = '\0';
		char *rest = strstr(line, " - "), *save = NULL;
		if (!rest)
			continue;
		*rest = '\0';
		char *kind = strtok_r(rest + 3, " ", &save), *options = NULL, *word;
		while ((word = strtok_r(NULL, " ", &save)))
			options = word; /* the last word */
		if (!kind || strcmp(kind, is_v1 ? "cgroup" : "cgroup2") ||
		    (is_v1 && (!options || !has_word(options, "memory"))))
			continue;
		/* 36 35 98:0 TOP PLACE ... */
		char *words[5] = { strtok_r(line, " ", &save) };
		for (int i = 1; i < 5 && words[i - 1]; i++)
			words[i] = strtok_r(NULL, " ", &save);
		if (!words[3] || !words[4])
			continue;
		unescape(words[3]);
		unescape(words[4]);
		snprintf(top, bytes, "%s", words[3]);
		snprintf(place, bytes, "%s", words[4]);
		is_found = true;
	}
	if (file)
		fclose(file);
	free(line);
	return is_found;
}

/* Path of the own group below the mount point. In a container the own group may be the top, or have
 * a path of the outside that does not exist here, even with "/../..": then the top is used, or as
 * much of the path as exists. */
static const char *
below_top(const char *own, const char *top)
{
	size_t length = strcmp(top, "/") ? strlen(top) : 0;
	if (strstr(own, "/..") || strncmp(own, top, length) || (own[length] && own[length] != '/'))
		return "";
	return strcmp(own + length, "/") ? own + length : "";
}

static void
add(struct cs_cgroups *groups, const char *root, const char *path, bool is_v1)
{
	char whole[2 * PATH_MAX];
	int length = snprintf(whole, sizeof whole, "%s%s", root, path);
	if (groups->count == CS_MOST_GROUPS || length >= (int)sizeof whole || access(whole, X_OK))
		return;
	char *copy = strdup(path);
	if (copy)
		groups->folder[groups->count++] = (struct cs_cgroup_folder){ copy, is_v1 };
}

static void
find_hierarchy(struct cs_cgroups *groups, const char *root, bool is_v1)
{
	char own[PATH_MAX], top[PATH_MAX], path[2 * PATH_MAX];
	if (!find_own(root, is_v1, own, sizeof own) ||
	    !find_mount(root, is_v1, top, path, PATH_MAX))
		return;
	groups->digest = cs_hash_text(groups->digest, own);
	size_t place = strlen(path);
	snprintf(path + place, sizeof path - place, "%s", below_top(own, top));
	for (size_t length = strlen(path);;) {
		path[length] = '\0';
		add(groups, root, path, is_v1);
		while (length > place && path[length - 1] != '/')
			length--;
		if (length <= place)
			return;
		length--;
	}
}

void
cs_cgroups_find(struct cs_cgroups *groups, const char *root)
{
	*groups = (struct cs_cgroups){ .digest = CS_HASH_START };
	find_hierarchy(groups, root, true);
	find_hierarchy(groups, root, false);
}

void
cs_cgroups_fini(struct cs_cgroups *groups)
{
	for (int i = 0; i < groups->count; i++)
		free(groups->folder[i].path);
	groups->count = 0;
}

/* --- what is free in them --------------------------------------------------------------------- */

/* Reads a number from a file. False: no file, or no limit ("max"). */
static bool
read_number(const char *root, const char *folder, const char *name, uint64_t *number)
{
	char line[64], *end = line;
	FILE *file = open_in(root, folder, name);
	bool is_read = file && fgets(line, sizeof line, file);
	if (file)
		fclose(file);
	if (!is_read)
		return false;
	unsigned long long value = strtoull(line, &end, 10);
	if (end == line || value >= NO_LIMIT)
		return false;
	*number = value;
	return true;
}

/* Reads a file's line "NAME NUMBER" or "NAME: NUMBER". */
static bool
read_line(const char *root, const char *folder, const char *name, const char *word,
	  uint64_t *number)
{
	char line[128];
	size_t length = strlen(word);
	bool is_found = false;
	FILE *file = open_in(root, folder, name);
	while (file && !is_found && fgets(line, sizeof line, file)) {
		is_found = !strncmp(line, word, length) &&
			   (line[length] == ' ' || line[length] == ':');
		if (is_found)
			*number = strtoull(line + length + 1, NULL, 10);
	}
	if (file)
		fclose(file);
	return is_found;
}

static void
narrow(struct cs_headroom *headroom, enum cs_limit by, uint64_t limit, uint64_t used)
{
	uint64_t free = limit > used ? limit - used : 0;
	if (free < headroom->free)
		*headroom = (struct cs_headroom){ by, free };
}

/* Bytes in use in the group, without inactive pages of files: the kernel reclaims them before it
 * kills. Pages of shared memory are never among them. */
static uint64_t
in_use(const char *root, const struct cs_cgroup_folder *group)
{
	uint64_t used = 0, idle = 0;
	if (!read_number(root, group->path, group->is_v1 ? "memory.usage_in_bytes"
							 : "memory.current", &used))
		return 0;
	read_line(root, group->path, "memory.stat",
		  group->is_v1 ? "total_inactive_file" : "inactive_file", &idle);
	return used > idle ? used - idle : 0;
}

/* A group of cgroup v1. False: it knows that no group around it has a limit. */
static bool
look_at_v1(struct cs_headroom *headroom, const struct cs_cgroup_folder *group, const char *root)
{
	uint64_t limit = 0, least = 0;
	bool has_limit = read_number(root, group->path, "memory.limit_in_bytes", &limit);
	/* Includes the limits of the groups around it, which a container may not see. */
	bool knows = read_line(root, group->path, "memory.stat", "hierarchical_memory_limit",
			       &least);
	if (knows && least < NO_LIMIT) {
		limit = has_limit && limit < least ? limit : least;
		has_limit = true;
	}
	if (has_limit)
		narrow(headroom, CS_LIMIT_V1, limit, in_use(root, group));
	return has_limit || !knows;
}

static void
look_at_v2(struct cs_headroom *headroom, const struct cs_cgroup_folder *group, const char *root)
{
	uint64_t limit = 0, high = 0;
	bool has_max = read_number(root, group->path, "memory.max", &limit);
	bool has_high = read_number(root, group->path, "memory.high", &high);
	if (!has_max && !has_high)
		return;
	uint64_t used = in_use(root, group);
	if (has_max)
		narrow(headroom, CS_LIMIT_MAX, limit, used);
	if (has_high)
		narrow(headroom, CS_LIMIT_HIGH, high, used);
}

void
cs_headroom_look(struct cs_headroom *headroom, const struct cs_cgroups *groups, const char *root)
{
	uint64_t kib;
	*headroom = (struct cs_headroom){ CS_LIMIT_NONE, UINT64_MAX };
	if (read_line(root, "/proc", "meminfo", "MemAvailable", &kib))
		narrow(headroom, CS_LIMIT_MACHINE, kib << 10, 0);
	bool is_limited = true; /* in v1 */
	for (int i = 0; i < groups->count; i++) {
		const struct cs_cgroup_folder *group = &groups->folder[i];
		if (!group->is_v1)
			look_at_v2(headroom, group, root);
		else if (is_limited)
			is_limited = look_at_v1(headroom, group, root);
	}
}

bool
cs_headroom_may_map(size_t bytes)
{
	struct rlimit limit;
	uint64_t kib;
	if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY ||
	    !read_line("", "/proc/self", "status", "VmSize", &kib))
		return true;
	uint64_t left = limit.rlim_cur > kib << 10 ? limit.rlim_cur - (kib << 10) : 0;
	if (bytes <= left / CS_HEADROOM_PARTS)
		return true;
	errno = ENOMEM;
	return false;
}

const char *
cs_limit_name(enum cs_limit limit)
{
	static const char *const names[CS_LIMITS] = {
		[CS_LIMIT_NONE] = "no limit",
		[CS_LIMIT_MACHINE] = "MemAvailable of /proc/meminfo",
		[CS_LIMIT_MAX] = "memory.max",
		[CS_LIMIT_HIGH] = "memory.high",
		[CS_LIMIT_V1] = "memory.limit_in_bytes",
	};
	return names[limit];
}
