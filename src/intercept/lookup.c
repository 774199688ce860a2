/* intercept/lookup.c — looks for symbols of the MPI in the objects that are loaded, past our
 * own. */
#include "intercept/lookup.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Base address of this library's mapping. */
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

const void *
cs_lookup_address(const struct dl_phdr_info *info, ElfW(Addr) value)
{
	return (const void *)(value >= info->dlpi_addr ? value : info->dlpi_addr + value);
}

/* The tables in which an object says what it defines (System V ABI, "Dynamic Section"; the hash is
 * GNU's). */
struct tables {
	const ElfW(Sym) *symbols;
	const char *strings;
	const uint32_t *hashes;
};

static bool
read_tables(struct tables *tables, const struct dl_phdr_info *info)
{
	const ElfW(Dyn) *entry = NULL;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			entry = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	*tables = (struct tables){ .symbols = NULL };
	for (; entry != NULL && entry->d_tag != DT_NULL; entry++) {
		const void *at = cs_lookup_address(info, entry->d_un.d_ptr);
		if (entry->d_tag == DT_SYMTAB)
			tables->symbols = at;
		else if (entry->d_tag == DT_STRTAB)
			tables->strings = at;
		else if (entry->d_tag == DT_GNU_HASH)
			tables->hashes = at;
	}
	return tables->symbols != NULL && tables->strings != NULL && tables->hashes != NULL;
}

static uint32_t
hash_of(const char *name)
{
	uint32_t hash = 5381;
	for (const unsigned char *at = (const unsigned char *)name; *at != '\0'; at++)
		hash = hash * 33 + *at;
	return hash;
}

/* May the object define the name? True also where it has no table that tells. */
static bool
may_define(const struct dl_phdr_info *info, const char *name)
{
	struct tables tables;
	if (!read_tables(&tables, info))
		return true;
	uint32_t buckets = tables.hashes[0], first = tables.hashes[1], words = tables.hashes[2];
	const uint32_t *bucket = tables.hashes + 4 + words * (sizeof(ElfW(Addr)) / sizeof *bucket);
	const uint32_t *chain = bucket + buckets;
	uint32_t hash = hash_of(name), index = buckets != 0 ? bucket[hash % buckets] : 0;
	if (index < first)
		return false;
	for (;; index++) {
		uint32_t here = chain[index - first];
		if ((here | 1) == (hash | 1) &&
		    strcmp(tables.strings + tables.symbols[index].st_name, name) == 0)
			return true;
		if (here & 1)
			return false;
	}
}

struct objects {
	const char *name;
	char **paths;
	size_t count, room;
};

/* Notes objects that may define the name. Others are not opened: an MPI's UCX looks through all
 * objects at each dlopen, once it has started (1 ms; a Fortran program's start took 0.1 s more).
 * dlopen inside dl_iterate_phdr's callback could deadlock, so the paths are copied first. */
static int
note_object(struct dl_phdr_info *info, size_t size, void *data)
{
	struct objects *objects = data;
	if (info->dlpi_name == NULL || info->dlpi_name[0] == '\0' ||
	    !may_define(info, objects->name))
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
	struct objects objects = { .name = name };
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
