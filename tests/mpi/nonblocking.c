/* nonblocking: what programs do with non-blocking collectives beyond the differential test.
 *
 *   nonblocking [CASE...]    default: all cases, below */
#include "check.h"

#include <stdlib.h>

static int rank, size;

/* --- many: more than can be under way --------------------------------------------------------- */

static void
many(void)
{
	enum { CALLS = 10000 };
	static int in[CALLS], out[CALLS];
	static MPI_Request requests[CALLS];
	static MPI_Status statuses[CALLS];
	int sum = size * (size - 1) / 2, one = rank, all = 0;
	for (int i = 0; i < CALLS; i++) {
		in[i] = rank + i;
		MPI_Iallreduce(&in[i], &out[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
			       &requests[i]);
		if (i == CALLS / 2) /* behind some thousand that have not begun */
			MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	}
	MPI_Waitall(CALLS, requests, statuses);
	CHECK(all == sum, "the blocking call gave %d, not %d", all, sum);
	for (int i = 0; i < CALLS; i++)
		CHECK(out[i] == sum + size * i, "call %d gave %d, not %d", i, out[i],
		      sum + size * i);
}

/* --- exchanges: more small blocks for all than memory of the node has room for ---------------- */

static int
value(int call, int from, int to)
{
	return call * 31 + from * 5 + to;
}

static void
exchanges(void)
{
	enum { CALLS = 40, EACH = 60 };
	int block = EACH * size, bad = 0, *in = malloc(2 * sizeof *in * (size_t)(CALLS * block)),
	    *out = in + CALLS * block;
	MPI_Request requests[CALLS];
	MPI_Status statuses[CALLS];
	for (int i = 0; i < CALLS * block; i++) {
		in[i] = value(i / block, rank, i % block / EACH);
		out[i] = -1;
	}
	for (int call = 0; call < CALLS; call++)
		MPI_Ialltoall(in + call * block, EACH, MPI_INT, out + call * block, EACH, MPI_INT,
			      MPI_COMM_WORLD, &requests[call]);
	MPI_Waitall(CALLS, requests, statuses);
	for (int i = 0; i < CALLS * block; i++)
		bad += out[i] != value(i / block, i % block / EACH, rank);
	CHECK(!bad, "exchanges: %d of %d ints are wrong", bad, CALLS * block);
	free(in);
}

/* --- orders: other orders on different ranks across communicators ----------------------------- */

static void
orders(void)
{
	enum { COMMS = 4 };
	MPI_Comm comms[COMMS];
	MPI_Request requests[COMMS];
	int in[COMMS], out[COMMS], one = rank, sum = size * (size - 1) / 2;
	for (int i = 0; i < COMMS; i++) {
		MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
		MPI_Barrier(comms[i]);
	}
	for (int turn = 0; turn < 100; turn++) {
		for (int k = 0; k < COMMS; k++) {
			int i = (k + rank + turn) % COMMS;
			in[i] = rank + i;
			MPI_Iallreduce(&in[i], &out[i], 1, MPI_INT, MPI_SUM, comms[i],
				       &requests[i]);
		}
		int blocking = 0;
		if (turn % 3 == 0)
			MPI_Allreduce(&one, &blocking, 1, MPI_INT, MPI_SUM, comms[turn % COMMS]);
		CHECK(turn % 3 || blocking == sum, "a blocking call between gave %d", blocking);
		for (int k = 0; k < COMMS; k++)
			MPI_Wait(&requests[(k + 2 * rank) % COMMS], MPI_STATUS_IGNORE);
		for (int i = 0; i < COMMS; i++)
			CHECK(out[i] == sum + size * i, "communicator %d gave %d", i, out[i]);
	}
	for (int i = 0; i < COMMS; i++)
		MPI_Comm_free(&comms[i]);
}

/* --- between: a message that is sent after the call, awaited before its end ------------------- */

static void
between(void)
{
	enum { LARGE = 1 << 20, BARRIERS = 100 };
	static int in[LARGE], out[LARGE];
	static MPI_Request requests[BARRIERS];
	static MPI_Status statuses[BARRIERS];
	for (int which = 0; which < 4; which++) {
		int count = 1, answer = -1;
		for (int block = 1; block <= size; block++)
			in[LARGE / size * block - 1] = rank;
		out[LARGE / size * size - 1] = rank ? -1 : size;
		switch (which) {
		case 0:
			MPI_Iallreduce(in, out, LARGE, MPI_INT, MPI_SUM, MPI_COMM_WORLD, requests);
			break;
		case 1: MPI_Ibcast(out, LARGE, MPI_INT, 0, MPI_COMM_WORLD, requests); break;
		case 2:
			MPI_Ialltoall(in, LARGE / size, MPI_INT, out, LARGE / size, MPI_INT,
				      MPI_COMM_WORLD, requests);
			break;
		case 3:
			for (count = 0; count < BARRIERS; count++)
				MPI_Ibarrier(MPI_COMM_WORLD, &requests[count]);
			break;
		}
		if (rank == 0)
			MPI_Recv(&answer, 1, MPI_INT, size - 1, which, MPI_COMM_WORLD,
				 MPI_STATUS_IGNORE);
		MPI_Waitall(count, requests, statuses);
		if (rank == size - 1)
			MPI_Send(&which, 1, MPI_INT, 0, which, MPI_COMM_WORLD);
		CHECK(rank || answer == which, "the message is %d, not %d", answer, which);
		int last = which == 0 ? size * (size - 1) / 2 : which == 1 ? size : size - 1;
		CHECK(which == 3 || out[LARGE / size * size - 1] == last,
		      "the last element of call %d is %d, not %d", which, out[LARGE - 1], last);
	}
}

/* --- freed, disconnected: communicators and datatypes that are freed after the start ---------- */

static void
let_go_of(int (*let_go)(MPI_Comm *))
{
	for (int turn = 0; turn < 15; turn++) {
		MPI_Comm comm;
		MPI_Datatype every_other;
		MPI_Request requests[2];
		MPI_Status statuses[2];
		int in = rank, sum = -1, data[64];
		MPI_Comm_dup(MPI_COMM_WORLD, &comm);
		MPI_Barrier(comm);
		MPI_Type_vector(32, 1, 2, MPI_INT, &every_other);
		MPI_Type_commit(&every_other);
		for (int i = 0; i < 64; i++)
			data[i] = rank ? -1 : i;
		MPI_Iallreduce(&in, &sum, 1, MPI_INT, MPI_SUM, comm, &requests[0]);
		MPI_Ibcast(data, 1, every_other, 0, comm, &requests[1]);
		MPI_Type_free(&every_other);
		if (turn % 2)
			let_go(&comm);
		MPI_Waitall(2, requests, statuses);
		CHECK(sum == size * (size - 1) / 2, "the sum is %d", sum);
		for (int i = 0; i < 64; i++)
			CHECK(data[i] == (i % 2 && rank ? -1 : i), "element %d is %d", i, data[i]);
		if (turn % 2 == 0)
			MPI_Comm_free(&comm);
	}
}

static void
freed(void)
{
	let_go_of(MPI_Comm_free);
}

/* For calls that are served: MPICH 4.0.2's own never end, with nothing preloaded. */
static void
disconnected(void)
{
	let_go_of(MPI_Comm_disconnect);
}

/* --- mixed: among messages and nulls, by names that are not intercepted ----------------------- */

static void
mixed(void)
{
	for (int turn = 0; turn < 60; turn++) {
		MPI_Request requests[5] = { MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL,
					    MPI_REQUEST_NULL, MPI_REQUEST_NULL };
		MPI_Status statuses[5];
		int next = (rank + 1) % size, before = (rank + size - 1) % size;
		int in = rank, sum = -1, root = turn % size, value = rank == root ? turn : -1, got,
		    flag = 0, index, seen = 0;
		MPI_Irecv(&got, 1, MPI_INT, before, turn, MPI_COMM_WORLD, &requests[0]);
		MPI_Iallreduce(&in, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[1]);
		MPI_Isend(&in, 1, MPI_INT, next, turn, MPI_COMM_WORLD, &requests[3]);
		MPI_Ibcast(&value, 1, MPI_INT, root, MPI_COMM_WORLD, &requests[4]);
		switch (turn % 6) {
		case 0: MPI_Waitall(5, requests, statuses); break;
		case 1: PMPI_Waitall(5, requests, statuses); break;
		case 2:
			while (PMPI_Waitany(5, requests, &index, statuses), index != MPI_UNDEFINED)
				seen++;
			CHECK(seen == 4, "%d requests were completed, not 4", seen);
			break;
		case 3:
			while (!flag)
				PMPI_Testall(5, requests, &flag, statuses);
			break;
		case 4:
			while (!flag)
				MPI_Request_get_status(requests[1], &flag, statuses);
			CHECK(requests[1] != MPI_REQUEST_NULL, "the request is gone");
			MPI_Waitall(5, requests, statuses);
			break;
		case 5:
			while (MPI_Waitany(5, requests, &index, statuses), index != MPI_UNDEFINED)
				seen++;
			CHECK(seen == 4, "%d requests were completed, not 4", seen);
			break;
		}
		CHECK(sum == size * (size - 1) / 2, "the sum is %d", sum);
		CHECK(value == turn, "the broadcast value is %d, not %d", value, turn);
		CHECK(got == before, "the message is %d, not %d", got, before);
	}
}

/* --- left: never waited for, which is wrong; MPIs end such a program all the same ------------- */

static void
left(void)
{
	enum { CALLS = 100, LARGE = 1 << 18 };
	static int in[LARGE], out[LARGE], more[LARGE], sums[CALLS];
	MPI_Comm comm;
	MPI_Request request;
	for (int i = 0; i < CALLS; i++)
		MPI_Iallreduce(in, &sums[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
	MPI_Iallreduce(in, out, LARGE, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Barrier(comm);
	MPI_Iallreduce(in, more, LARGE, MPI_INT, MPI_SUM, comm, &request);
	MPI_Comm_free(&comm);
}

int
main(int argc, char **argv)
{
	static const struct check_case cases[] = {
		{ "many", many }, { "exchanges", exchanges }, { "orders", orders },
		{ "between", between }, { "freed", freed }, { "disconnected", disconnected },
		{ "mixed", mixed }, { "left", left }, { NULL, NULL }
	};
	check_begin(&argc, &argv, &rank, &size);
	MPI_Barrier(MPI_COMM_WORLD);
	check_cases(cases, argc, argv);
	return check_finish("nonblocking");
}
