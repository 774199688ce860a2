/* An MPI that comes late and into a private scope, as under an interpreter:
 *
 *   late library NAME   dlopens the MPI itself with RTLD_LOCAL and calls through our own exported
 *                       names, which the program finds with dlsym(RTLD_DEFAULT) as an extension
 *                       module's undefined symbols would
 *   late plugin PATH    dlopens a plugin that is linked with the MPI and calls its run()
 *
 * or two of them:
 *
 *   late beside NAME PATH   dlopens an MPI that is only asked for its version, then as `plugin`
 *   late after NAME PATH    the same, but that MPI is closed before
 *   late both PATH PATH     dlopens two plugins (fake_caller.c) with an MPI each, and calls both in
 *                           turns; the test module takes the calls of the first, if there is a
 *                           third argument */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static void *
load(const char *path)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (handle == NULL)
		printf("FAILED %s\n", dlerror());
	return handle;
}

static int
run_plugin(void *handle)
{
	int (*run)(void) = handle != NULL ? (int (*)(void))dlsym(handle, "plugin_run") : NULL;
	return run == NULL || run();
}

static int
use_beside(const char *library, const char *plugin, int is_closed)
{
	static char text[16384];
	int length = 0;
	void *handle = load(library);
	int (*version)(char *, int *) =
		handle != NULL ? (int (*)(char *, int *))dlsym(handle, "MPI_Get_library_version")
			       : NULL;
	if (version == NULL || version(text, &length) != 0 || length == 0)
		return 1;
	if (is_closed)
		dlclose(handle);
	return run_plugin(load(plugin));
}

static int
use_both(const char *one, const char *other, int is_served)
{
	void *first = load(one), *second = load(other);
	if (first == NULL || second == NULL)
		return 1;
	int (*call_first)(int) = (int (*)(int))dlsym(first, "plugin_calls");
	int (*call_second)(int) = (int (*)(int))dlsym(second, "plugin_calls");
	if (call_first == NULL || call_second == NULL)
		return 1;
	for (int i = 0; i < 2; i++)
		if (call_first(is_served) != 0 || call_second(0) != 0)
			return 1;
	/* Nothing of ours may keep the second, nor point into it when it is gone. */
	dlclose(second);
	if (dlopen(other, RTLD_LAZY | RTLD_NOLOAD) != NULL) {
		printf("FAILED %s is still there\n", other);
		return 1;
	}
	return call_first(is_served) != 0;
}

int
main(int argc, char **argv)
{
	if (argc > 3)
		return strcmp(argv[1], "both") == 0 ? use_both(argv[2], argv[3], argc > 4)
						    : use_beside(argv[2], argv[3],
								 strcmp(argv[1], "after") == 0);
	if (argc != 3)
		return 98;
	void *handle = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
	if (handle == NULL) {
		printf("FAILED %s\n", dlerror());
		return 1;
	}
	if (strcmp(argv[1], "plugin") == 0)
		return run_plugin(handle);
	/* With the library preloaded these are the door's, without it the MPI's own. */
	void *init = dlsym(RTLD_DEFAULT, "MPI_Init"), *finalize = dlsym(handle, "MPI_Finalize");
	int (*do_init)(int *, char ***) =
		(int (*)(int *, char ***))(init ? init : dlsym(handle, "MPI_Init"));
	int (*do_finalize)(void) = (int (*)(void))finalize;
	if (do_init == NULL || do_finalize == NULL || do_init(NULL, NULL) != 0 ||
	    do_finalize() != 0) {
		puts("FAILED MPI_Init or MPI_Finalize");
		return 1;
	}
	puts("late: ok");
	return 0;
}
