/* MPI_THREAD_MULTIPLE: several threads at once, each on communicators of its own, which it also
 * makes and frees; with blocking, non-blocking and persistent calls.
 *
 *   threads [ROUNDS [persistent]]    default 200; hosts' own persistent ones may be wrong */
#include "check.h"
#include "each.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 3
#define LARGEST 20000

static int rounds = 200, is_persistent;

struct worker {
	pthread_t thread;
	int number;
	MPI_Comm comm; /* of this thread alone */
	int *data;     /* of the persistent call: input, result */
};

/* At absolute addresses: such data goes through a message to ourselves, and each thread must get
 * its own. */
static void
at_bottom(const struct worker *worker, MPI_Comm comm, int round, int *in)
{
	int rank, size, lengths[2] = { 3, 40 };
	MPI_Aint at[2];
	MPI_Datatype type;
	PMPI_Comm_rank(comm, &rank);
	PMPI_Comm_size(comm, &size);
	PMPI_Get_address(in, &at[0]);
	PMPI_Get_address(in + 5, &at[1]);
	PMPI_Type_create_hindexed(2, lengths, at, MPI_INT, &type);
	PMPI_Type_commit(&type);
	for (int root = 0; root < size; root++) {
		int base = worker->number * 100000 + round * 10 + root;
		for (int i = 0; i < 45; i++)
			in[i] = rank == root ? base + i : -1;
		MPI_Bcast(MPI_BOTTOM, 1, type, root, comm);
		CHECK(in[0] == base && in[5] == base + 5 && in[44] == base + 44,
		      "thread %d round %d: bcast at addresses: %d", worker->number, round, in[0]);
	}
	PMPI_Type_free(&type);
}

/* Calls under way, others between them, and persistent ones of this communicator; completed in one
 * of several ways. */
static void
not_blocking(const struct worker *worker, MPI_Comm comm, MPI_Request *persistent, int round,
	     int *in, int *out)
{
	enum { CALLS = 5 };
	MPI_Request requests[CALLS];
	MPI_Status statuses[CALLS];
	int rank, size, flag = 0, index, count = round % 5 ? 10 : LARGEST / 2;
	PMPI_Comm_rank(comm, &rank);
	PMPI_Comm_size(comm, &size);
	int root = round % size, base = worker->number * 1000 + round, one = rank, blocking = -1,
	    *sums = in + count, *values = sums + count, sum = size * base + size * (size - 1) / 2;
	out[0] = out[count - 1] = base + rank;
	values[0] = rank == root ? base : -1;
	worker->data[0] = base + rank;
	MPI_Iallreduce(out, in, count, MPI_INT, MPI_SUM, comm, &requests[0]);
	MPI_Ibcast(values, 1, MPI_INT, root, comm, &requests[1]);
	if (is_persistent)
		MPI_Start(persistent);
	requests[2] = *persistent;
	MPI_Allreduce(&one, &blocking, 1, MPI_INT, MPI_SUM, comm);
	MPI_Iallgather(out, 1, MPI_INT, values + 1, 1, MPI_INT, comm, &requests[3]);
	MPI_Iscan(out, sums, count, MPI_INT, MPI_SUM, comm, &requests[4]);
	if (round % 3 == 0)
		for (int i = CALLS; i--;)
			MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
	else if (round % 3 == 1)
		for (int i = 0; i < CALLS; i++)
			MPI_Waitany(CALLS, requests, &index, statuses);
	else
		while (!flag)
			MPI_Testall(CALLS, requests, &flag, statuses);
	CHECK(in[0] == sum && in[count - 1] == sum, "thread %d round %d: iallreduce gives %d",
	      worker->number, round, in[0]);
	CHECK(values[0] == base && blocking == size * (size - 1) / 2 &&
	      values[size] == base + size - 1, "thread %d round %d: calls between",
	      worker->number, round);
	CHECK(sums[count - 1] == (rank + 1) * base + rank * (rank + 1) / 2,
	      "thread %d round %d: iscan gives %d", worker->number, round, sums[count - 1]);
	CHECK(worker->data[1] == sum || !is_persistent,
	      "thread %d round %d: the persistent call gives %d, not %d", worker->number, round,
	      worker->data[1], sum);
}

static void
one_round(const struct worker *worker, MPI_Comm comm, int round, int *in, int *out)
{
	int rank, size, root, count = round % 7 == 0 ? LARGEST : 1 + round * 37 % 600;
	PMPI_Comm_rank(comm, &rank);
	PMPI_Comm_size(comm, &size);
	root = round % size;
	int base = worker->number * 100000 + round * 10;
	for (int i = 0; i < count; i++)
		out[i] = base + rank + i;
	int sum = size * base + size * (size - 1) / 2;
	MPI_Allreduce(out, in, count, MPI_INT, MPI_SUM, comm);
	CHECK(in[0] == sum && in[count - 1] == sum + size * (count - 1),
	      "thread %d round %d: allreduce gives %d, not %d", worker->number, round, in[0], sum);
	if (rank == root)
		memcpy(in, out, (size_t)count * sizeof *in);
	MPI_Bcast(in, count, MPI_INT, root, comm);
	CHECK(in[0] == base + root && in[count - 1] == base + root + count - 1,
	      "thread %d round %d: bcast", worker->number, round);
	int few = count > 600 ? 600 : count;
	MPI_Allgather(out, few, MPI_INT, in, few, MPI_INT, comm);
	for (int r = 0; r < size; r++)
		CHECK(in[r * few] == base + r && in[r * few + few - 1] == base + r + few - 1,
		      "thread %d round %d: allgather, block %d", worker->number, round, r);
	MPI_Gather(out, few, MPI_INT, in, few, MPI_INT, root, comm);
	CHECK(rank != root || in[(size - 1) * few] == base + size - 1, "thread %d round %d: gather",
	      worker->number, round);
	MPI_Reduce_scatter_block(out, in, few / size, MPI_INT, MPI_SUM, comm);
	if (few / size > 0)
		CHECK(in[0] == sum + size * (rank * (few / size)),
		      "thread %d round %d: reduce_scatter_block", worker->number, round);
	at_bottom(worker, comm, round, in);
	MPI_Barrier(comm);
}

static void *
work(void *argument)
{
	const struct worker *worker = argument;
	int size;
	PMPI_Comm_size(worker->comm, &size);
	int *in = malloc((size_t)LARGEST * (size_t)size * sizeof *in),
	    *out = malloc(LARGEST * sizeof *out);
	MPI_Request persistent = MPI_REQUEST_NULL;
	if (is_persistent)
		INIT(Allreduce)(worker->data, worker->data + 1, 1, MPI_INT, MPI_SUM, worker->comm,
				MPI_INFO_NULL, &persistent);
	for (int round = 0; round < rounds; round++) {
		one_round(worker, worker->comm, round, in, out);
		not_blocking(worker, worker->comm, &persistent, round, in, out);
		if (round % 20 == 19) { /* one that is made while the others are busy */
			int rank;
			MPI_Comm made;
			PMPI_Comm_rank(worker->comm, &rank);
			MPI_Comm_split(worker->comm, rank % 2, -rank, &made);
			for (int i = 0; i < 4; i++)
				one_round(worker, made, round + i, in, out);
			MPI_Comm_free(&made);
		}
	}
	if (is_persistent)
		MPI_Request_free(&persistent);
	free(in);
	free(out);
	return NULL;
}

int
main(int argc, char **argv)
{
	int provided;
	struct worker workers[THREADS];
	if (argc > 1)
		rounds = atoi(argv[1]);
	is_persistent = argc > 2;
	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	PMPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
	if (provided < MPI_THREAD_MULTIPLE) {
		if (check_rank == 0)
			printf("this MPI gives no MPI_THREAD_MULTIPLE\n");
		MPI_Finalize();
		return 77;
	}
	for (int i = 0; i < THREADS; i++) {
		workers[i].number = i;
		workers[i].data = calloc(2, sizeof *workers[i].data);
		MPI_Comm_dup(MPI_COMM_WORLD, &workers[i].comm);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_create(&workers[i].thread, NULL, work, &workers[i]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	for (int i = 0; i < THREADS; i++)
		MPI_Comm_free(&workers[i].comm);
	for (int i = 0; i < THREADS; i++)
		free(workers[i].data);
	return check_finish("threads");
}
