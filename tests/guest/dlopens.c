/* Preloaded: counts how often the library calls dlopen, and writes "dlopen N" to stderr at the end
 * of each process that has called it. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static atomic_int calls;

__attribute__((visibility("default"))) void *
dlopen(const char *path, int mode)
{
	void *(*next)(const char *, int) = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
	Dl_info caller;
	if (dladdr(__builtin_return_address(0), &caller) && caller.dli_fname &&
	    strstr(caller.dli_fname, "collshim"))
		calls++;
	return next(path, mode);
}

__attribute__((destructor)) static void
say(void)
{
	if (calls)
		fprintf(stderr, "dlopen %d\n", calls);
}
