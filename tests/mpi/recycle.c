/* Communicators of the same ranks that are made and freed as a garbage collector does it: five are
 * alive, and each rank frees another one than the others do. What the report says of their teams is
 * looked at by must_say.
 *
 *   recycle [--comms N] [--calls N] [--threads N]
 *
 * Each thread makes that many communicators, and so many calls on each.
 */
#include "check.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define ALIVE 5
#define MOST_THREADS 16

static int comms = 100, calls = 20;

struct worker {
	pthread_t thread;
	MPI_Comm parent;
	unsigned seed; /* of this rank */
};

static void
use(MPI_Comm comm, int round)
{
	int rank, size;
	PMPI_Comm_rank(comm, &rank);
	PMPI_Comm_size(comm, &size);
	for (int call = 0; call < calls; call++) {
		int mine = rank + round + call, sum = 0, root = call % size,
		    told = rank == root ? mine : -1;
		if (call % 2) {
			MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm);
			CHECK(sum == size * (round + call) + size * (size - 1) / 2,
			      "round %d call %d: sum %d", round, call, sum);
		} else {
			MPI_Bcast(&told, 1, MPI_INT, root, comm);
			CHECK(told == root + round + call, "round %d call %d: told %d", round, call,
			      told);
		}
	}
}

static void *
work(void *argument)
{
	struct worker *self = argument;
	MPI_Comm kept[ALIVE];
	int count = 0;
	for (int round = 0; round < comms; round++) {
		if (count == ALIVE) {
			int victim = (int)((unsigned)rand_r(&self->seed) % ALIVE);
			MPI_Comm_free(&kept[victim]);
			kept[victim] = kept[--count];
		}
		MPI_Comm_dup(self->parent, &kept[count]);
		use(kept[count++], round);
	}
	while (count)
		MPI_Comm_free(&kept[--count]);
	return NULL;
}

int
main(int argc, char **argv)
{
	static struct worker workers[MOST_THREADS];
	int provided, threads = 1;
	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
	for (int i = 1; i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "--comms"))
			comms = atoi(argv[i + 1]);
		if (!strcmp(argv[i], "--calls"))
			calls = atoi(argv[i + 1]);
		if (!strcmp(argv[i], "--threads"))
			threads = atoi(argv[i + 1]);
	}
	CHECK(provided == MPI_THREAD_MULTIPLE && threads <= MOST_THREADS, "level %d, %d threads",
	      provided, threads);
	for (int i = 0; i < threads; i++) {
		PMPI_Comm_dup(MPI_COMM_WORLD, &workers[i].parent);
		workers[i].seed = 7u + 100u * (unsigned)i + (unsigned)check_rank;
	}
	if (threads == 1)
		work(&workers[0]);
	for (int i = 0; threads > 1 && i < threads; i++)
		CHECK(!pthread_create(&workers[i].thread, NULL, work, &workers[i]), "thread %d", i);
	for (int i = 0; threads > 1 && i < threads; i++)
		pthread_join(workers[i].thread, NULL);
	for (int i = 0; i < threads; i++)
		PMPI_Comm_free(&workers[i].parent);
	return check_finish("recycle");
}
