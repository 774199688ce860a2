/* Communicators are made and freed all the time: at once, in the order in which they were made, in
 * another order on each rank (as garbage collectors do it), by several threads that each have their
 * own. */
#include "case.h"

#include <pthread.h>

#define COMMS 40
#define ALIVE 5
#define CALLS 12
#define THREADS 4
#define PER_THREAD 25

static void
call_often(MPI_Comm comm)
{
	int ranks, all = 0, one = 1;
	MPI_Comm_size(comm, &ranks);
	for (int i = 0; i < CALLS; i++) {
		MPI_Barrier(comm);
		MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, comm);
		CHECK(all == ranks, "allreduce: %d", all);
	}
}

static void
one_after_the_other(int alive)
{
	MPI_Comm kept[ALIVE];
	unsigned seed = 7u + (unsigned)rank;
	int count = 0;
	for (int made = 0; made < COMMS; made++) {
		if (count == alive) {
			int victim = is("any_order")
				     ? (int)((unsigned)rand_r(&seed) % (unsigned)alive) : 0;
			MPI_Comm_free(&kept[victim]);
			memmove(kept + victim, kept + victim + 1,
				(size_t)(--count - victim) * sizeof *kept);
		}
		MPI_Comm_dup(MPI_COMM_WORLD, &kept[count]);
		call_often(kept[count++]);
	}
	while (count)
		MPI_Comm_free(&kept[--count]);
}

static void *
make_and_free(void *argument)
{
	MPI_Comm own = *(MPI_Comm *)argument, comm;
	MPI_Group group;
	for (int i = 0; i < PER_THREAD; i++) {
		MPI_Comm_group(own, &group);
		MPI_Comm_create(own, group, &comm);
		MPI_Barrier(comm);
		MPI_Comm_free(&comm);
		MPI_Group_free(&group);
	}
	return NULL;
}

static void
in_threads(void)
{
	pthread_t threads[THREADS];
	MPI_Comm comms[THREADS];
	for (int i = 0; i < THREADS; i++)
		MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, make_and_free, &comms[i]))
			abort();
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < THREADS; i++)
		MPI_Comm_free(&comms[i]);
}

int
main(int argc, char **argv)
{
	int provided;
	take_variant(argc, argv);
	MPI_Init_thread(&argc, &argv, is("threads") ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
			&provided);
	learn_rank();
	if (is("threads"))
		in_threads();
	else
		one_after_the_other(is("one_alive") ? 1 : ALIVE);
	use(MPI_COMM_WORLD, 1000);
	return end();
}
