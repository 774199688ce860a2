/* The environment and the working directory of a process change under it, and it becomes another
 * program. */
#include "case.h"

#include <locale.h>
#include <sys/stat.h>

extern char **environ;

static void
leave_for_a_folder_that_goes(void)
{
	char name[] = "/tmp/case-XXXXXX";
	if (!mkdtemp(name) || chdir(name) || rmdir(name))
		CHECK(false, "no folder to leave");
	setlocale(LC_ALL, "");
}

static void
spoil_environment(void)
{
	char name[32];
	for (int i = 0; i < 200; i++) {
		snprintf(name, sizeof name, "CASE_%d", i);
		setenv(name, "x", 1);
	}
	setenv("COLLSHIM_ALLREDUCE", rank % 2 ? "host" : "hier:host", 1);
	setenv("COLLSHIM_DISABLE", rank % 2 ? "1" : "0", 1);
	unsetenv("LD_PRELOAD");
}

int
main(int argc, char **argv)
{
	char *none[] = { NULL };
	MPI_Comm comm;
	begin(&argc, &argv);
	if (is("no_environment"))
		environ = none;
	else if (is("no_folder"))
		leave_for_a_folder_that_goes();
	else if (is("changed"))
		spoil_environment();
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	for (int turn = 0; turn < 30; turn++) {
		use(comm, 1 + 170 * turn);
		use(MPI_COMM_WORLD, 1 + 290 * turn);
	}
	MPI_Comm_free(&comm);
	if (!is("exec"))
		return end();
	int code = end_quietly();
	execl("/bin/sh", "sh", "-c", code ? "exit 3" : rank ? "exit 0" : "echo ok", (char *)NULL);
	return 9;
}
