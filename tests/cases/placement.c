/* All ranks share one core, change cores or priorities on the way, or are stopped for a while. */
#include "case.h"

#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

static void
go_to(size_t core)
{
	cpu_set_t cores;
	CPU_ZERO(&cores);
	CPU_SET(core, &cores);
	sched_setaffinity(0, sizeof cores, &cores); /* where the machine has one core only, nothing
						     * changes */
}

static bool
is_stopped(pid_t pid)
{
	char name[32], state = '?';
	snprintf(name, sizeof name, "/proc/%d/stat", (int)pid);
	FILE *file = fopen(name, "r");
	if (file && fscanf(file, "%*d %*s %c", &state) != 1)
		state = '?';
	if (file)
		fclose(file);
	return state == 'T';
}

/* A child lets us go on as soon as it sees that we have stopped. */
static void
stop(void)
{
	pid_t self = getpid(), child = fork();
	if (child == 0) {
		while (!is_stopped(self))
			sched_yield();
		kill(self, SIGCONT);
		_exit(0);
	}
	raise(SIGSTOP);
	waitpid(child, NULL, 0);
}

int
main(int argc, char **argv)
{
	take_variant(argc, argv);
	if (is("one_core"))
		go_to(0);
	begin(&argc, &argv);
	for (int turn = 0; turn < 8; turn++) {
		if (is("changing"))
			go_to(turn % 2 ? (size_t)rank % 2 : 0);
		if (is("nice") && turn == 3)
			setpriority(PRIO_PROCESS, 0, rank % 2 ? 19 : 5);
		if (is("stopped") && rank == turn % size)
			stop();
		for (int i = 0; i < 8; i++)
			use(MPI_COMM_WORLD, 1 + 900 * turn + i);
	}
	return end();
}
