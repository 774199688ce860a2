/* Limits of the process come down after MPI_Init: address space, size of files, locked memory,
 * umask, a thread's stack. */
#include "case.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* MPICH 4.0.2 by itself needs more than 64 KiB now and then. */
#ifdef OPEN_MPI
#define SMALL_STACK ((size_t)64 << 10)
#else
#define SMALL_STACK ((size_t)256 << 10)
#endif

static rlim_t
mapped_bytes(void)
{
	unsigned long pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");
	if (!file || fscanf(file, "%lu", &pages) != 1)
		CHECK(false, "no /proc/self/statm");
	if (file)
		fclose(file);
	return pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

static void
set_limit(int which, rlim_t most)
{
	struct rlimit limit;
	getrlimit(which, &limit);
	limit.rlim_cur = most;
	CHECK(!setrlimit(which, &limit), "setrlimit");
}

static void *
use_a_copy(void *unused)
{
	MPI_Comm comm;
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	for (int turn = 0; turn < 30; turn++)
		use(comm, 1 + 450 * turn);
	MPI_Comm_free(&comm);
	return unused;
}

static void
use_on_a_small_stack(void)
{
	pthread_attr_t attributes;
	pthread_t thread;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, SMALL_STACK);
	if (pthread_create(&thread, &attributes, use_a_copy, NULL))
		abort();
	pthread_join(thread, NULL);
}

int
main(int argc, char **argv)
{
	int provided;
	take_variant(argc, argv);
	MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
	learn_rank();
	if (is("address_space"))
		set_limit(RLIMIT_AS, mapped_bytes() + (12 << 20));
	else if (is("file_size"))
		set_limit(RLIMIT_FSIZE, 64 << 10);
	else if (is("locked")) /* what may not be locked is not mapped, from now on */
		mlockall(MCL_FUTURE);
	else if (is("umask"))
		umask(0777);
	if (is("stack"))
		use_on_a_small_stack();
	for (int turn = 0; turn < 15; turn++)
		use(MPI_COMM_WORLD, 1 + 2700 * turn);
	for (int turn = 0; turn < 3; turn++) {
		MPI_Comm comm;
		MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
		for (int i = 0; i < 25; i++)
			use(comm, 1 + 280 * i);
		MPI_Comm_free(&comm);
	}
	return end();
}
