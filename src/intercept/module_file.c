/* intercept/module_file.c — tells by an MPI's version, ABI and handles which module fits it, and
 * opens the module's file. */
#include "intercept/module_file.h"

#include "base/log.h"
#include "intercept/lookup.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef CS_VERSION
#error "the build defines CS_VERSION"
#endif

/* The folder of this library, as an absolute path. The loader may know us by a path relative to a
 * working directory that the application has left since; the kernel knows better. */
static bool
own_folder(char *folder)
{
	Dl_info info;
	if (dladdr((void *)own_folder, &info) == 0 || info.dli_fname == NULL)
		return false;
	char path[PATH_MAX] = "";
	if (info.dli_fname[0] == '/') {
		if (strlen(info.dli_fname) >= sizeof path)
			return false;
		strcpy(path, info.dli_fname);
	} else {
		FILE *maps = fopen("/proc/self/maps", "re");
		if (maps == NULL)
			return false;
		char line[PATH_MAX + 128];
		while (path[0] == '\0' && fgets(line, sizeof line, maps) != NULL) {
			unsigned long low, high;
			int at = 0;
			if (sscanf(line, "%lx-%lx %*s %*s %*s %*s %n", &low, &high, &at) != 2 ||
			    at == 0)
				continue;
			line[strcspn(line, "\n")] = '\0';
			unsigned long here = (unsigned long)info.dli_fbase;
			if (here >= low && here < high && strlen(line + at) < sizeof path)
				strcpy(path, line + at);
		}
		fclose(maps);
	}
	/* A link to the library may lie elsewhere than the library and its modules. */
	if (realpath(path, folder) == NULL)
		return false;
	char *slash = strrchr(folder, '/');
	if (slash == NULL)
		return false;
	*slash = '\0';
	return true;
}

/* The module for an MPI that calls itself `version`, or NULL. MPIs with MPICH's ABI have had it
 * since 2014. The name must begin the text: wrappers with handles of their own (MPItrampoline,
 * mpi_abi_wrapper) name the MPI inside them further down. */
static const char *
module_for(const char *version)
{
	static const char openmpi[] = "Open MPI v";
	if (!strncmp(version, openmpi, strlen(openmpi))) {
		int major = atoi(version + strlen(openmpi));
		return major >= 3 && major <= 6 ? "openmpi" : NULL;
	}
	static const char *const kin[] = {"MPICH", "MVAPICH", "Intel(R) MPI", "ParaStation MPI"};
	for (size_t i = 0; i < sizeof kin / sizeof *kin; i++)
		if (!strncmp(version, kin[i], strlen(kin[i])))
			return "mpich";
	/* "MPI VERSION    : CRAY MPICH version 8.1.25.17 (ANL base 3.4a2)" */
	static const char cray[] = "MPI VERSION";
	if (!strncmp(version, cray, strlen(cray))) {
		version += strlen(cray);
		version += strspn(version, " \t:");
		if (!strncmp(version, "CRAY MPICH", strlen("CRAY MPICH")))
			return "mpich";
	}
	return NULL;
}

#define ABI_LIBRARY "libmpi_abi" /* MPI 5.0, 21.2.1: what the standard ABI's library is called */
#define ABI_VERSION 1            /* the one that is known here */

/* The major version of the standard ABI that the MPI says it has; -1: none. MPI_Abi_get_version may
 * be called at any time, and an MPI's own library, with handles of its own, must not say that it
 * has that ABI. */
static int
abi_version(void)
{
	int major = -1, minor = -1;
	int (*get_version)(int *, int *) =
		cs_door_mpi != NULL
		? (int (*)(int *, int *))dlsym(cs_door_mpi, "PMPI_Abi_get_version") : NULL;
	return get_version != NULL && !get_version(&major, &minor) ? major : -1;
}

/* Does the object that the MPI is in call itself the standard ABI's library? It may lie in a file
 * of another name. */
static bool
is_abi_library(void)
{
	Dl_info info;
	struct link_map *map = NULL;
	void *init = cs_door_mpi != NULL ? dlsym(cs_door_mpi, "PMPI_Init") : NULL;
	if (init == NULL || !dladdr1(init, &info, (void **)&map, RTLD_DL_LINKMAP) || map == NULL)
		return false;
	const char *slash = strrchr(map->l_name, '/');
	const char *file = slash != NULL ? slash + 1 : map->l_name, *strings = NULL;
	size_t name = 0; /* no name begins at 0, where the empty one is */
	for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++) {
		if (entry->d_tag == DT_STRTAB) /* most loaders have made it an address */
			strings =
				(const char *)(entry->d_un.d_ptr +
					       (entry->d_un.d_ptr < map->l_addr ? map->l_addr : 0));
		else if (entry->d_tag == DT_SONAME)
			name = entry->d_un.d_val;
	}
	return !strncmp(file, ABI_LIBRARY, strlen(ABI_LIBRARY)) ||
	       (strings != NULL && name != 0 &&
		!strncmp(strings + name, ABI_LIBRARY, strlen(ABI_LIBRARY)));
}

/* Has it the handles of this flavour, as far as it can be told before MPI is initialised? The
 * module asks again then. */
static bool
has_handles_of(const char *flavour)
{
	return cs_door_mpi != NULL && (strcmp(flavour, "openmpi") != 0 ||
				       (dlsym(cs_door_mpi, "ompi_mpi_comm_world") != NULL &&
					dlsym(cs_door_mpi, "ompi_mpi_byte") != NULL));
}

const char *
cs_module_file_flavour(const char **reason)
{
	const char *flavour = module_for(cs_door_library);
	int abi = abi_version();
	bool is_abi = is_abi_library();
	if (is_abi && abi == ABI_VERSION)
		return "abi";
	if (is_abi && abi > ABI_VERSION)
		*reason = "this MPI (\"%s\") has a later version of the standard ABI than is known "
			  "here";
	else if (flavour == NULL)
		*reason = "this MPI is neither MPICH nor Open MPI 3 to 6 nor a relative of MPICH "
			  "(its version string is "
			  "\"%s\")";
	else if (is_abi || abi > 0 || !has_handles_of(flavour))
		*reason = "this MPI is called \"%s\", but has another ABI";
	return *reason == NULL ? flavour : NULL;
}

const struct cs_module *
cs_module_file_open(const char *flavour, const struct cs_door *door)
{
	char folder[PATH_MAX], path[2 * PATH_MAX];
	const char *elsewhere = secure_getenv("COLLSHIM_MODULE_DIR"); /* for tests */
	if (elsewhere != NULL && elsewhere[0] != '\0')
		snprintf(path, sizeof path, "%s/collshim-%s.so", elsewhere, flavour);
	else if (own_folder(folder))
		snprintf(path, sizeof path, "%s/collshim/collshim-%s.so", folder, flavour);
	else {
		cs_warn_once("cannot tell where libcollshim.so lies, so its modules cannot be "
			     "found; every call is "
			     "forwarded to the MPI" CS_UNSERVED_JOB);
		return NULL;
	}
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (handle == NULL) {
		cs_warn_once("%s; every call is forwarded to the MPI" CS_UNSERVED_JOB, dlerror());
		return NULL;
	}
	cs_module_open_fn *open = (cs_module_open_fn *)dlsym(handle, CS_MODULE_OPEN);
	if (open == NULL) {
		cs_warn_once("%s is not a module of collshim; every call is forwarded to the "
			     "MPI" CS_UNSERVED_JOB, path);
		return NULL;
	}
	const struct cs_module *module = open(door);
	if (module == NULL)
		return NULL;
	if (module->abi != CS_MODULE_ABI || strcmp(module->version, CS_VERSION) != 0) {
		cs_warn_once("%s is version %s (interface %u), libcollshim.so is version %s "
			     "(interface %u); every call is "
			     "forwarded to the MPI" CS_UNSERVED_JOB, path, module->version,
			     module->abi, CS_VERSION, CS_MODULE_ABI);
		return NULL;
	}
	return module;
}
