/* base/process.c — reads /proc. */
#include "base/process.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

size_t
cs_process_read(const char *pid, const char *name, char *text, size_t room)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%.20s/%s", pid, name);
	int file = open(path, O_RDONLY | O_CLOEXEC);
	size_t bytes = 0;
	ssize_t more = 0;
	while (file >= 0 && bytes < room - 1 &&
	       (more = read(file, text + bytes, room - 1 - bytes)) > 0)
		bytes += (size_t)more;
	if (file >= 0)
		close(file);
	text[bytes] = 0;
	return bytes;
}

long
cs_process_parent(const char *pid)
{
	char text[1024];
	long parent = 0;
	cs_process_read(pid, "stat", text, sizeof text);
	const char *after_name = strrchr(text, ')');
	if (after_name && sscanf(after_name, ") %*c %ld", &parent) != 1)
		return 0;
	return parent;
}

bool
cs_process_has_mapped(const char *pid, const char *part)
{
	char path[64], *line = NULL;
	size_t room = 0;
	bool has = false, is_empty = true;
	snprintf(path, sizeof path, "/proc/%.20s/maps", pid);
	FILE *maps = fopen(path, "re");
	while (maps && !has && getline(&line, &room, maps) > 0) {
		has = strstr(line, part);
		is_empty = false;
	}
	if (maps)
		fclose(maps);
	free(line);
	return has || is_empty;
}
