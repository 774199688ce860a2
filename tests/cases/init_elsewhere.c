/* MPI is initialised and finalized outside main: by a constructor and a destructor, by an exit
 * handler, in another thread. */
#include "case.h"

#include <pthread.h>

static bool is_begun; /* by the constructor */

static void
use_and_end(void)
{
	use(MPI_COMM_WORLD, 2500);
	int code = end();
	if (code)
		_exit(code);
}

__attribute__((constructor)) static void
before_main(int argc, char **argv)
{
	take_variant(argc, argv);
	if (is("constructor")) {
		MPI_Init(NULL, NULL);
		is_begun = true;
	}
}

__attribute__((destructor)) static void
after_main(void)
{
	if (is_begun)
		use_and_end();
}

static void *
init(void *unused)
{
	int provided;
	MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided);
	return unused;
}

static void *
use_often(void *unused)
{
	for (int turn = 0; turn < 15; turn++)
		use(MPI_COMM_WORLD, 1 + 600 * turn);
	return unused;
}

static void
in_thread(void *(*work)(void *))
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, work, NULL))
		abort();
	pthread_join(thread, NULL);
}

int
main(int argc, char **argv)
{
	if (is("exit_handler")) {
		atexit(use_and_end);
		MPI_Init(&argc, &argv);
	} else if (is("thread")) {
		in_thread(init);
	}
	learn_rank();
	use_often(NULL);
	if (!is("thread"))
		return 0;
	for (int turn = 0; turn < 4; turn++)
		in_thread(use_often);
	return end();
}
