/* intercept/lookup.c — looks for symbols of the MPI in the objects that are loaded, past our
 * own. */
#include "intercept/lookup.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

/* Where this library is mapped. */
static void *
own_base(void)
{
	Dl_info info;
	return dladdr((void *)own_base, &info) != 0 ? info.dli_fbase : NULL;
}

bool
cs_lookup_is_ours(void *address)
{
	Dl_info info;
	return dladdr(address, &info) != 0 && info.dli_fbase == own_base();
}

void *
cs_lookup_object(void *address)
{
	Dl_info info;
	if (dladdr(address, &info) == 0)
		return NULL;
	void *handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	/* The program itself has no name */
	return handle != NULL ? handle : dlopen(NULL, RTLD_LAZY);
}

struct objects {
	char **paths;
	size_t count, room;
};

/* dlopen inside dl_iterate_phdr's callback could deadlock, so the names are copied first. */
static int
note_object(struct dl_phdr_info *info, size_t size, void *data)
{
	struct objects *objects = data;
	if (info->dlpi_name == NULL || info->dlpi_name[0] == '\0')
		return 0;
	if (objects->count == objects->room) {
		size_t room = objects->room == 0 ? 64 : 2 * objects->room;
		char **paths = realloc(objects->paths, room * sizeof *paths);
		if (paths == NULL)
			return 1;
		objects->paths = paths;
		objects->room = room;
	}
	char *path = strdup(info->dlpi_name);
	if (path == NULL)
		return 1;
	objects->paths[objects->count++] = path;
	return 0;
}

/* Puts the different definitions of `name` in loaded objects into found[], in load order, whatever
 * their scope (an MPI that came by dlopen with RTLD_LOCAL is in nobody's). Objects in which
 * something was found stay loaded. */
static size_t
search_objects(const char *name, void **found, size_t room)
{
	struct objects objects = {0};
	size_t count = 0;
	dl_iterate_phdr(note_object, &objects);
	for (size_t i = 0; i < objects.count; i++) {
		void *handle = count < room ? dlopen(objects.paths[i], RTLD_LAZY | RTLD_NOLOAD)
					    : NULL;
		free(objects.paths[i]);
		if (handle == NULL)
			continue;
		void *symbol = dlsym(handle, name);
		bool is_new = symbol != NULL && !cs_lookup_is_ours(symbol);
		for (size_t j = 0; j < count; j++)
			if (found[j] == symbol)
				is_new = false;
		if (is_new)
			found[count++] = symbol;
		else
			dlclose(handle);
	}
	free(objects.paths);
	return count;
}

size_t
cs_lookup_all(const char *name, void **found, size_t room)
{
	int saved = errno;
	size_t count = 0;
	/* The program's own copy (a Fortran common block, a copy relocation) has no file name to be
	 * found by. */
	void *global = dlsym(RTLD_DEFAULT, name);
	if (global != NULL && !cs_lookup_is_ours(global) && room > 0)
		found[count++] = global;
	void *more[16];
	size_t others = search_objects(name, more, sizeof more / sizeof *more);
	for (size_t i = 0; i < others && count < room; i++)
		if (more[i] != global)
			found[count++] = more[i];
	dlerror();
	errno = saved;
	return count;
}

void *
cs_lookup_in_scope(const char *name, void *scope)
{
	void *symbol = dlsym(RTLD_NEXT, name);
	if (symbol == NULL && scope != NULL)
		symbol = dlsym(scope, name);
	return symbol != NULL && !cs_lookup_is_ours(symbol) ? symbol : NULL;
}

void *
cs_lookup_next(const char *name, void *scope, bool widely)
{
	void *symbol = cs_lookup_in_scope(name, scope);
	if (symbol == NULL && cs_door_mpi != NULL)
		symbol = cs_lookup_in_scope(name, cs_door_mpi);
	if (symbol != NULL)
		return symbol;
	return widely && search_objects(name, &symbol, 1) == 1 ? symbol : NULL;
}

void *
cs_lookup_identity(void *scope)
{
	static const char *const marks[] = {"PMPI_Get_library_version", "MPI_Get_library_version",
					    "PMPI_Init", "MPI_Init"};
	void *mark = NULL;
	for (size_t i = 0; mark == NULL && i < sizeof marks / sizeof *marks; i++)
		mark = cs_lookup_in_scope(marks[i], scope);
	return mark;
}

void *
cs_lookup(const char *name)
{
	int saved = errno;
	void *symbol = cs_door_mpi != NULL ? dlsym(cs_door_mpi, name) : NULL;
	if (symbol == NULL || cs_lookup_is_ours(symbol))
		symbol = cs_lookup_next(name, NULL, false);
	dlerror(); /* a failed search is not for the application to see */
	errno = saved;
	return symbol;
}
