/* Preloaded: writes down which files of /sys the library's modules open, a line "RANK PATH" each,
 * behind the file that OPENED names. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void
note(const char *path)
{
	char line[512];
	const char *rank = getenv("PMI_RANK"), *log = getenv("OPENED");
	rank = rank ? rank : getenv("OMPI_COMM_WORLD_RANK");
	int length = snprintf(line, sizeof line, "%s %s\n", rank ? rank : "?", path);
	int file = log ? (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_APPEND | O_CREAT,
				      0600) : -1;
	if (file < 0)
		return;
	if (write(file, line, (size_t)length) != length)
		abort();
	close(file);
}

__attribute__((visibility("default"))) int
open(const char *path, int flags, ...)
{
	va_list arguments;
	va_start(arguments, flags);
	int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, int) : 0;
	va_end(arguments);
	Dl_info caller;
	if (!strncmp(path, "/sys/", 5) && dladdr(__builtin_return_address(0), &caller) &&
	    caller.dli_fname && strstr(caller.dli_fname, "/collshim/"))
		note(path);
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}
