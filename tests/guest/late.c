/* An MPI that comes late and into a private scope, as under an interpreter:
 *
 *   late library NAME   dlopens the MPI itself with RTLD_LOCAL and calls through our own exported names, which the
 *                       program finds with dlsym(RTLD_DEFAULT) as an extension module's undefined symbols would
 *   late plugin PATH    dlopens a plugin that is linked with the MPI and calls its run() */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int
main(int argc, char **argv)
{
	if (argc != 3)
		return 98;
	void *handle = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
	if (handle == NULL) {
		printf("FAILED %s\n", dlerror());
		return 1;
	}
	if (strcmp(argv[1], "plugin") == 0) {
		int (*run)(void) = (int (*)(void))dlsym(handle, "plugin_run");
		return run == NULL || run();
	}
	/* With the library preloaded these are the door's, without it the MPI's own. */
	void *init = dlsym(RTLD_DEFAULT, "MPI_Init"), *finalize = dlsym(handle, "MPI_Finalize");
	int (*do_init)(int *, char ***) = (int (*)(int *, char ***))(init ? init : dlsym(handle, "MPI_Init"));
	int (*do_finalize)(void) = (int (*)(void))finalize;
	if (do_init == NULL || do_finalize == NULL || do_init(NULL, NULL) != 0 || do_finalize() != 0) {
		puts("FAILED MPI_Init or MPI_Finalize");
		return 1;
	}
	puts("late: ok");
	return 0;
}
