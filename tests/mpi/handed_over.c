/* handed_over: several threads with calls of one communicator (MPI 4.0, 11.6): started by one and
 * waited for by another; and persistent requests, each with a thread of its own.
 *
 *   handed_over [CASE...]    default: waits, starts */
#include "check.h"
#include "each.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>

enum { CALLS = 3000, ROOM = 100, THREADS = 3, STARTS = 500 };

static int rank, size;

/* --- waits ------------------------------------------------------------------------------------ */

static int in[ROOM], out[ROOM];
static MPI_Request requests[ROOM];
static _Atomic int begun, over;

static void *
wait_for_all(void *argument)
{
	for (int call = 0, most; call < CALLS; call += most) {
		MPI_Status statuses[ROOM];
		int at = call % ROOM;
		while (atomic_load(&begun) == call)
			sched_yield();
		most = atomic_load(&begun) - call;
		most = at + most > ROOM ? ROOM - at : most;
		if (call % 3)
			MPI_Waitall(most, &requests[at], statuses);
		else
			for (int i = most; i--;)
				MPI_Wait(&requests[at + i], MPI_STATUS_IGNORE);
		for (int i = 0; i < most; i++)
			CHECK(out[at + i] == size * (size - 1) / 2 + size * (call + i),
			      "call %d gave %d", call + i, out[at + i]);
		atomic_store(&over, call + most);
	}
	return NULL;
}

static void
waits(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, wait_for_all, NULL);
	for (int call = 0; call < CALLS; call++) {
		int at = call % ROOM, one = rank, sum = 0;
		while (call - atomic_load(&over) >= ROOM)
			sched_yield();
		in[at] = rank + call;
		MPI_Iallreduce(&in[at], &out[at], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
			       &requests[at]);
		atomic_store(&begun, call + 1);
		if (call % 50 == 7) {
			MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
			CHECK(sum == size * (size - 1) / 2, "a blocking call gave %d", sum);
		}
	}
	pthread_join(thread, NULL);
}

/* --- starts ----------------------------------------------------------------------------------- */

struct one {
	pthread_t thread;
	int number, in[4000], out[4000], count;
	MPI_Request request;
};

static void *
start_again(void *argument)
{
	struct one *one = argument;
	for (int turn = 0; turn < STARTS; turn++) {
		int flag = 0, last = one->count - 1;
		one->in[last] = rank + turn * one->number;
		MPI_Start(&one->request);
		for (int i = (turn * 7 + rank + one->number) % 5; i--;)
			sched_yield();
		while (turn % 2 && !flag)
			MPI_Test(&one->request, &flag, MPI_STATUS_IGNORE);
		MPI_Wait(&one->request, MPI_STATUS_IGNORE);
		CHECK(one->out[last] == size * (size - 1) / 2 + size * turn * one->number,
		      "start %d of request %d gave %d", turn, one->number, one->out[last]);
	}
	return NULL;
}

static void
starts(void)
{
	static struct one all[THREADS];
	for (int i = 0; i < THREADS; i++) {
		all[i].number = i;
		all[i].count = i == 1 ? 4000 : 1;
		INIT(Allreduce)(all[i].in, all[i].out, all[i].count, MPI_INT, MPI_SUM,
				MPI_COMM_WORLD, MPI_INFO_NULL, &all[i].request);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_create(&all[i].thread, NULL, start_again, &all[i]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(all[i].thread, NULL);
	for (int i = 0; i < THREADS; i++)
		MPI_Request_free(&all[i].request);
}

int
main(int argc, char **argv)
{
	static const struct check_case cases[] = { { "waits", waits }, { "starts", starts },
						   { NULL, NULL } };
	int provided;
	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	PMPI_Comm_size(MPI_COMM_WORLD, &size);
	check_rank = rank;
	MPI_Barrier(MPI_COMM_WORLD);
	if (provided == MPI_THREAD_MULTIPLE)
		check_cases(cases, argc, argv);
	return check_finish("handed_over");
}
