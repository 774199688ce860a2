/* base/installed.c — relocation: from the file that holds this code back to the prefix. */
#include "base/installed.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* TUNING_IN_PREFIX is "" if the file is outside of the prefix. */
#if !defined(CS_TUNING_INSTALLED) || !defined(CS_TUNING_IN_PREFIX) || \
	!defined(CS_MODULES_IN_PREFIX) || !defined(CS_PROGRAMS_IN_PREFIX)
#error "the build says where things are installed"
#endif

/* The folder of the module or program with this code, links resolved; PATH_MAX bytes. */
static bool
own_folder(char *folder)
{
	Dl_info info;
	struct link_map *map = NULL;
	if (!dladdr1((void *)own_folder, &info, (void **)&map, RTLD_DL_LINKMAP) || !map)
		return false;
	/* The loader has no name for the program itself. */
	if (!realpath(*map->l_name ? map->l_name : "/proc/self/exe", folder))
		return false;
	*strrchr(folder, '/') = '\0';
	return true;
}

/* Length of the folder without `inside` at its end; 0 if it does not end so. */
static size_t
prefix_length(const char *folder, const char *inside)
{
	size_t length = strlen(folder), end = strlen(inside);
	bool ends_so = length > end + 1 && folder[length - end - 1] == '/' &&
		       !strcmp(folder + length - end, inside);
	return ends_so ? length - end - 1 : 0;
}

void
cs_installed_tuning(char *path, size_t room)
{
	int saved = errno;
	char folder[PATH_MAX];
	size_t length = 0;
	if (*CS_TUNING_IN_PREFIX && own_folder(folder)) {
		length = prefix_length(folder, CS_MODULES_IN_PREFIX);
		if (!length)
			length = prefix_length(folder, CS_PROGRAMS_IN_PREFIX);
	}
	if (length)
		snprintf(path, room, "%.*s/%s", (int)length, folder, CS_TUNING_IN_PREFIX);
	else
		snprintf(path, room, "%s", CS_TUNING_INSTALLED);
	errno = saved;
}
