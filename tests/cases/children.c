/* An MPI process has children by fork and posix_spawn, which end by exit(), become another program,
 * or live as long as it. */
#include "case.h"

#include <spawn.h>
#include <sys/wait.h>

#define TURNS 12
#define MOST 16

extern char **environ;
static int hold[2]; /* children that live on read here until their parent closes its end */

_Noreturn static void
be_child(void)
{
	char byte;
	if (is("exec")) {
		execlp("sh", "sh", "-c", "exit 7", (char *)NULL);
		_exit(1);
	}
	close(hold[1]);
	if (is("live") && read(hold[0], &byte, 1))
		_exit(1);
	char *memory = malloc(1 << 20);
	memset(memory, 1, 1 << 20);
	free(memory);
	if (is("exit"))
		exit(7);
	_exit(7);
}

static void
bury(pid_t child)
{
	int status = 0;
	waitpid(child, &status, 0);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7, "child: status %x", (unsigned)status);
}

static pid_t
have_child(void)
{
	char *command[] = { "sh", "-c", "exit 7", NULL };
	pid_t child = -1;
	if (is("spawn")) {
		CHECK(!posix_spawn(&child, "/bin/sh", NULL, NULL, command, environ), "posix_spawn");
		return child;
	}
	child = fork();
	if (child == 0)
		be_child();
	return child;
}

int
main(int argc, char **argv)
{
	pid_t living[MOST];
	int count = 0;
	begin(&argc, &argv);
	if (pipe(hold))
		return 9;
	fflush(NULL);
	for (int turn = 0; turn < TURNS; turn++) {
		MPI_Comm comm;
		MPI_Comm_dup(MPI_COMM_WORLD, &comm);
		use(comm, 80 + 1800 * turn);
		pid_t child = have_child();
		if (is("live"))
			living[count++] = child;
		else
			bury(child);
		for (int i = 0; i < 5; i++)
			use(comm, 80 + 2500 * turn);
		use(MPI_COMM_WORLD, 30000);
		MPI_Comm_free(&comm);
	}
	close(hold[1]);
	while (count)
		bury(living[--count]);
	return end();
}
