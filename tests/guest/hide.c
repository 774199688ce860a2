/* Preloaded before the library: an MPI that has not what HIDDEN names
 * ("PMPI_Exscan,PMPI_Reduce_local"), for whoever asks the loader for it by name. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static int
is_hidden(const char *name)
{
	const char *word = getenv("HIDDEN");
	for (size_t length; word && *word; word += length + (word[length] == ',')) {
		length = strcspn(word, ",");
		if (strlen(name) == length && !strncmp(word, name, length))
			return 1;
	}
	return 0;
}

__attribute__((visibility("default"))) void *dlsym(void *handle, const char *name);

/* The last call is a jump, so that libc's dlsym sees who has asked: RTLD_NEXT is what comes next
 * behind that one. */
void *
dlsym(void *handle, const char *name)
{
	static const char *const versions[] = { "GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5" };
	static void *(*next)(void *handle, const char *name);
	for (size_t i = 0; !next && i < sizeof versions / sizeof *versions; i++)
		next = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", versions[i]);
	if (!next || is_hidden(name))
		return NULL;
	return next(handle, name);
}
