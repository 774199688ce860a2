/* persistent: what programs do with persistent collectives.
 *
 *   persistent [CASE...]    default: all cases, below */
#include "check.h"
#include "each.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;

/* --- each: every collective, restarted, against the host's blocking one ----------------------- */

EACH(by_host, PMPI_, , , , )
EACH(make, PERSISTENT, _init, _init, , WITH_INFO)
#if MPI_VERSION >= 4
EACH(make_large, PERSISTENT, _init_c, _init, _c, WITH_INFO)
#else
#define make_large make
#endif

static void
each_of(int which, int count, bool is_large)
{
	struct each each = each_with(which, rank, count, which % size), kept = each;
	size_t ints = (size_t)size * ((size_t)count + 1);
	int *in = calloc(ints, sizeof *in), *out = calloc(ints, sizeof *out),
	    *right = calloc(ints, sizeof *right);
	MPI_Request request;
	(is_large ? make_large : make)(which, &kept, in, out, &request);
	/* Not as the standard has it, but as MPIs behave. */
	memset(&kept, 0x7f, sizeof kept);
	for (int turn = 0; turn < 4; turn++) {
		for (size_t i = 0; i < ints; i++) {
			in[i] = (int)i * 7 + rank * 1000 + turn;
			out[i] = right[i] = -5;
		}
		by_host(which, &each, in, right, NULL);
		MPI_Start(&request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		CHECK(request != MPI_REQUEST_NULL, "collective %d: the request is gone", which);
		CHECK(!memcmp(out, right, ints * sizeof *out),
		      "collective %d of %d ints, start %d: another result", which, count, turn);
	}
	MPI_Request_free(&request);
	CHECK(request == MPI_REQUEST_NULL, "collective %d: the request is there", which);
	free(in);
	free(out);
	free(right);
}

static void
each(void)
{
	static const int counts[] = { 2, 900, 70000 };
	for (int which = 0; which < EACH_COLLS; which++)
		for (int i = 0; i < 3; i++)
			each_of(which, counts[i], i == which % 2);
}

/* --- orders: starts in other orders on each rank, calls of other kinds between ---------------- */

static void
orders(void)
{
	enum { REQUESTS = 6 };
	MPI_Request requests[REQUESTS], some[REQUESTS];
	MPI_Status statuses[REQUESTS];
	int in[REQUESTS], out[REQUESTS], one = rank, sum = size * (size - 1) / 2;
	for (int i = 0; i < REQUESTS; i++)
		INIT(Allreduce)(&in[i], &out[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
				&requests[i]);
	for (int turn = 0; turn < 100; turn++) {
		MPI_Request begun = MPI_REQUEST_NULL;
		int blocking = sum, later = sum;
		for (int i = 0; i < REQUESTS; i++)
			in[i] = rank + i + turn;
		for (int k = 0; k < REQUESTS; k++) {
			int i = (k + rank + turn) % REQUESTS;
			if (turn % 2)
				some[k] = requests[i];
			else
				MPI_Start(&requests[i]);
			if (turn % 3 == 0 && k == REQUESTS / 2)
				MPI_Allreduce(&one, &blocking, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
			if (turn % 5 == 0 && k == 1)
				MPI_Iallreduce(&one, &later, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
					       &begun);
		}
		if (turn % 2)
			MPI_Startall(REQUESTS, some);
		for (int k = 0; k < REQUESTS; k++)
			if (turn % 2)
				requests[(k + rank + turn) % REQUESTS] = some[k];
		if (turn % 4 < 2)
			for (int k = 0; k < REQUESTS; k++)
				MPI_Wait(&requests[(k + 2 * rank) % REQUESTS], MPI_STATUS_IGNORE);
		else
			MPI_Waitall(REQUESTS, requests, statuses);
		MPI_Wait(&begun, MPI_STATUS_IGNORE);
		CHECK(blocking == sum && later == sum, "calls between gave %d and %d", blocking,
		      later);
		for (int i = 0; i < REQUESTS; i++)
			CHECK(out[i] == sum + size * (i + turn), "request %d gave %d in turn %d", i,
			      out[i], turn);
	}
	for (int i = 0; i < REQUESTS; i++)
		MPI_Request_free(&requests[i]);
}

/* --- mixed: among persistent messages, nulls and what is not started -------------------------- */

#ifdef HAS_GET_STATUS_ANY /* MPI 4.1 */
enum { WAYS = 11 };
#else
enum { WAYS = 8 };
#endif

static void
mixed(void)
{
	enum { SUM, FROM, NONE, TO, VALUE, IDLE, REQUESTS };
	MPI_Request requests[REQUESTS];
	MPI_Status statuses[REQUESTS];
	int next = (rank + 1) % size, before = (rank + size - 1) % size, in = 0, sum, got, value;
	MPI_Comm comm = MPI_COMM_WORLD;
	requests[NONE] = MPI_REQUEST_NULL;
	INIT(Allreduce)(&in, &sum, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &requests[SUM]);
	MPI_Recv_init(&got, 1, MPI_INT, before, 5, comm, &requests[FROM]);
	MPI_Send_init(&in, 1, MPI_INT, next, 5, comm, &requests[TO]);
	INIT(Bcast)(&value, 1, MPI_INT, 0, comm, MPI_INFO_NULL, &requests[VALUE]);
	INIT(Barrier)(comm, MPI_INFO_NULL, &requests[IDLE]);
	for (int turn = 0; turn < 10 * WAYS; turn++) {
		int seen = 0, flag = 0, index, done, indices[REQUESTS];
		in = rank + turn;
		sum = got = -1;
		value = rank ? -1 : turn;
		MPI_Startall(2, &requests[SUM]);
		MPI_Startall(2, &requests[TO]);
		switch (turn % WAYS) {
		case 0: MPI_Waitall(REQUESTS, requests, statuses); break;
		case 1:
			while (MPI_Waitany(REQUESTS, requests, &index, statuses),
			       index != MPI_UNDEFINED)
				seen++;
			break;
		case 2:
			while (MPI_Waitsome(REQUESTS, requests, &done, indices, statuses),
			       done != MPI_UNDEFINED)
				seen += done;
			break;
		case 3:
			while (!flag)
				MPI_Testall(REQUESTS, requests, &flag, statuses);
			break;
		case 4:
			while (MPI_Testany(REQUESTS, requests, &index, &flag, statuses),
			       !flag || index != MPI_UNDEFINED)
				seen += flag;
			break;
		case 5:
			while (MPI_Testsome(REQUESTS, requests, &done, indices, statuses),
			       done != MPI_UNDEFINED)
				seen += done;
			break;
		case 6:
			while (!flag)
				MPI_Request_get_status(requests[SUM], &flag, statuses);
			for (flag = 0; !flag;)
				MPI_Test(&requests[SUM], &flag, statuses);
			MPI_Waitall(REQUESTS, requests, statuses);
			break;
		case 7:
			for (int i = 0; i < REQUESTS; i++)
				MPI_Wait(&requests[i], &statuses[i]);
			break;
#ifdef HAS_GET_STATUS_ANY
		case 8:
			while (!flag)
				MPI_Request_get_status_all(REQUESTS, requests, &flag, statuses);
			MPI_Testall(REQUESTS, requests, &flag, statuses);
			CHECK(flag, "all were complete, and are not");
			break;
		case 9:
			while (!flag)
				MPI_Request_get_status_any(1, requests, &index, &flag, statuses);
			MPI_Test(&requests[index], &flag, statuses);
			CHECK(flag, "request %d was complete, and is not", index);
			MPI_Waitall(REQUESTS, requests, statuses);
			break;
		case 10:
			for (done = 0; !done;)
				MPI_Request_get_status_some(1, requests, &done, indices, statuses);
			MPI_Test(&requests[SUM], &flag, statuses);
			CHECK(flag, "the sum was complete, and is not");
			MPI_Waitall(REQUESTS, requests, statuses);
			break;
#endif
		}
		CHECK(!seen || seen == 4, "%d requests were completed, not 4, in turn %d", seen,
		      turn);
		CHECK(sum == size * (size - 1) / 2 + size * turn, "the sum is %d", sum);
		CHECK(value == turn, "the broadcast value is %d, not %d", value, turn);
		CHECK(got == before + turn, "the message is %d, not %d", got, before + turn);
		for (int i = 0; i < REQUESTS; i++)
			CHECK((requests[i] == MPI_REQUEST_NULL) == (i == NONE),
			      "request %d is null or not", i);
		MPI_Testall(REQUESTS, requests, &flag, statuses);
		CHECK(flag, "inactive requests are not complete");
	}
	for (int i = 0; i < REQUESTS; i++)
		if (i != NONE)
			MPI_Request_free(&requests[i]);
}

/* --- freed: datatypes after MPI_X_init, communicators under inactive requests ----------------- */

static void
freed(void)
{
	for (int turn = 0; turn < 20; turn++) {
		MPI_Comm comm;
		MPI_Datatype every_other;
		MPI_Request requests[2];
		MPI_Status statuses[2];
		int in = rank, sum = -1, data[64];
		MPI_Comm_dup(MPI_COMM_WORLD, &comm);
		MPI_Type_vector(32, 1, 2, MPI_INT, &every_other);
		MPI_Type_commit(&every_other);
		INIT(Allreduce)(&in, &sum, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &requests[0]);
		INIT(Bcast)(data, 1, every_other, 0, comm, MPI_INFO_NULL, &requests[1]);
		MPI_Type_free(&every_other);
		for (int start = 0; start < 3; start++) {
			for (int i = 0; i < 64; i++)
				data[i] = rank ? -1 : i + start;
			MPI_Startall(2, requests);
			MPI_Waitall(2, requests, statuses);
			CHECK(sum == size * (size - 1) / 2, "the sum is %d", sum);
			for (int i = 0; i < 64; i++)
				CHECK(data[i] == (i % 2 && rank ? -1 : i + start),
				      "element %d is %d", i, data[i]);
		}
		if (turn % 2)
			MPI_Comm_free(&comm);
		MPI_Request_free(&requests[turn % 3 == 0]);
		MPI_Request_free(&requests[turn % 3 != 0]);
		if (turn % 2 == 0)
			MPI_Comm_free(&comm);
	}
}

/* --- many: requests at a time, of which some stay to the end ---------------------------------- */

static void
many(void)
{
	enum { REQUESTS = 40 };
	MPI_Request requests[REQUESTS];
	MPI_Status statuses[REQUESTS];
	static int in[REQUESTS], out[REQUESTS];
	for (int i = 0; i < REQUESTS; i++) {
		in[i] = rank + i;
		INIT(Allreduce)(&in[i], &out[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
				&requests[i]);
	}
	for (int turn = 0; turn < 3; turn++) {
		memset(out, 0, sizeof out);
		MPI_Startall(REQUESTS, requests);
		MPI_Waitall(REQUESTS, requests, statuses);
		for (int i = 0; i < REQUESTS; i++)
			CHECK(out[i] == size * (size - 1) / 2 + size * i, "request %d gave %d", i,
			      out[i]);
	}
	for (int i = 0; i < REQUESTS - 2; i++)
		MPI_Request_free(&requests[i]);
}

/* --- own: an operation of the program's, which is the host's ---------------------------------- */

static void
larger(void *in, void *inout, int *count, MPI_Datatype *type)
{
	for (int i = 0; i < *count; i++)
		if (((int *)in)[i] > ((int *)inout)[i])
			((int *)inout)[i] = ((int *)in)[i];
}

static void
own(void)
{
	MPI_Op op;
	MPI_Request requests[2];
	MPI_Status statuses[2];
	int in = rank, out, sum;
	MPI_Op_create(larger, 1, &op);
	INIT(Allreduce)(&in, &out, 1, MPI_INT, op, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
	INIT(Allreduce)(&in, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
			&requests[1]);
	for (int turn = 0; turn < 10; turn++) {
		out = sum = -1;
		MPI_Startall(2, requests);
		MPI_Waitall(2, requests, statuses);
		CHECK(out == size - 1 && sum == size * (size - 1) / 2, "results are %d and %d", out,
		      sum);
	}
	MPI_Request_free(&requests[0]);
	MPI_Request_free(&requests[1]);
	MPI_Op_free(&op);
}

/* --- short: the root broadcasts more than others expect --------------------------------------- */

static void
short_ones(void)
{
	MPI_Comm comm;
	MPI_Request requests[2];
	int data[4] = { rank, rank, rank, rank }, in = rank, sum;
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	INIT(Bcast)(data, rank ? 2 : 4, MPI_INT, 0, comm, MPI_INFO_NULL, &requests[0]);
	INIT(Allreduce)(&in, &sum, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &requests[1]);
	for (int turn = 0; turn < 6; turn++) {
		MPI_Status statuses[2];
		int result, error_class;
		data[2] = rank;
		MPI_Startall(2, requests);
		if (turn % 2) {
			result = MPI_Waitall(2, requests, statuses);
			CHECK((result == MPI_ERR_IN_STATUS) == (rank != 0), "the result is %d",
			      result);
			result = rank ? statuses[0].MPI_ERROR : MPI_SUCCESS;
		} else {
			MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
			result = MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
		}
		MPI_Error_class(result, &error_class);
		CHECK(error_class == (rank ? MPI_ERR_TRUNCATE : MPI_SUCCESS), "the error is %d",
		      error_class);
		CHECK(data[2] == rank, "the element behind is %d", data[2]);
		CHECK(sum == size * (size - 1) / 2, "the sum is %d", sum);
		CHECK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE) == MPI_SUCCESS,
		      "an inactive request has an error");
	}
	MPI_Request_free(&requests[0]);
	MPI_Request_free(&requests[1]);
	MPI_Comm_free(&comm);
}

/* --- behind: started and completed by names that are not intercepted -------------------------- */

/* MPICH waits without the library there: such a program's requests stay with it (a tool in front),
 * or are not right. */
static void
behind(void)
{
#ifdef OPEN_MPI
	MPI_Request requests[2];
	MPI_Status statuses[2];
	int *in = calloc(100000, sizeof *in), *out = calloc(100000, sizeof *out), one = rank, sum;
	INIT(Allreduce)(in, out, 100000, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
			&requests[0]);
	INIT(Allreduce)(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
			&requests[1]);
	for (int turn = 0; turn < 10; turn++) {
		in[99999] = rank + turn;
		if (turn % 2) {
			PMPI_Start(&requests[1]);
			PMPI_Start(&requests[0]);
		} else {
			PMPI_Startall(2, requests);
		}
		PMPI_Waitall(2, requests, statuses);
		CHECK(out[99999] == size * (size - 1) / 2 + size * turn, "the sum is %d",
		      out[99999]);
		CHECK(sum == size * (size - 1) / 2, "the other sum is %d", sum);
	}
	PMPI_Request_free(&requests[0]);
	PMPI_Request_free(&requests[1]);
	free(in);
	free(out);
#endif
}

int
main(int argc, char **argv)
{
	static const struct check_case cases[] = {
		{ "each", each }, { "orders", orders }, { "mixed", mixed }, { "freed", freed },
		{ "own", own }, { "short", short_ones }, { "many", many }, { "behind", behind },
		{ NULL, NULL }
	};
	check_begin(&argc, &argv, &rank, &size);
	MPI_Barrier(MPI_COMM_WORLD);
	check_cases(cases, argc, argv);
	return check_finish("persistent");
}
