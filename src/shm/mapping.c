/* shm/mapping.c — reads /proc/self/maps. */
#include "shm/mapping.h"

#include "base/hash.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* start-end rwxp offset major:minor inode   name */
static bool
read_line(const char *line, struct cs_mapping *mapping)
{
	unsigned long from, to, offset, inode;
	unsigned major, minor;
	char flags[5];
	int name = 0;
	if (sscanf(line, "%lx-%lx %4s %lx %x:%x %lu %n", &from, &to, flags, &offset, &major,
		   &minor, &inode, &name) < 7)
		return false;
	*mapping = (struct cs_mapping){ .from = from, .to = to, .offset = offset,
					.is_shared = flags[3] == 's',
					.is_writable = flags[1] == 'w' };
	if (inode)
		mapping->file = cs_hash_number(cs_hash_number(CS_HASH_START,
							      (uint64_t)major << 32 | minor),
					       inode) | 1;
	snprintf(mapping->name, sizeof mapping->name, "%.*s", (int)strcspn(line + name, "\n"),
		 line + name);
	mapping->is_plain = !inode && !mapping->is_shared && !*mapping->name;
	return true;
}

bool
cs_mapping_find(const void *address, struct cs_mapping *mapping)
{
	char line[512];
	int saved = errno;
	uintptr_t wanted = (uintptr_t)address;
	bool is_found = false, is_begin = true;
	FILE *maps = fopen("/proc/self/maps", "re");
	while (maps && !is_found && fgets(line, sizeof line, maps)) {
		is_found = is_begin && read_line(line, mapping) && mapping->from <= wanted &&
			   wanted < mapping->to;
		is_begin = strchr(line, '\n'); /* a long name goes on in the next one */
	}
	if (maps)
		fclose(maps);
	errno = saved;
	return is_found;
}
