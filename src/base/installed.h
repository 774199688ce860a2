/* base/installed.h — places of an installation, found by where this code lies, so that an
 * installation may be moved or be reached by another path. */
#ifndef CS_BASE_INSTALLED_H
#define CS_BASE_INSTALLED_H

#include <stddef.h>

/* Writes the path of the site's tuning file, cut off at `room` bytes: below the prefix that the
 * module or tool with this code stands in; as the build was set up if it stands in none (a build
 * folder), or if the site's files are outside of the prefix (/etc). Leaves errno as it was. */
void cs_installed_tuning(char *path, size_t room);

#endif
