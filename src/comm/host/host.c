/* comm/host/host.c — collectives of the host MPI between nodes (wire/host.h). */
#include "comm/host/host.h"

#include "base/log.h"
#include "base/wait.h"
#include "comm/engine.h"
#include "comm/host/pmpi.h"
#include "comm/teams/rdma.h"
#include "comm/teams/rma_window.h"
#include "comm/types/types.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define NEVER_TAG 1 /* pack.c's messages have tags from 2 on */

static MPI_Comm
comm_of(void *leaders)
{
	return ((struct cs_group *)leaders)->comm;
}

__attribute__((noreturn)) static void
end_job(const char *why)
{
	cs_log_drain();
	cs_pmpi.Abort(MPI_COMM_WORLD, MPI_ERR_INTERN);
	abort(); /* MPI_Abort does not return */
}

/* Ends the job after a failure: peers wait for bytes that will not come. */
static void
check(int result, const char *what)
{
	if (result == MPI_SUCCESS)
		return;
	cs_warn_local("%s between the leaders of the nodes failed (MPI error code %d); ending the "
		      "job", what, result);
	end_job(what);
}

/* Truncation (CS_TOLD_ bits) that a collective between leaders has reported; ends the job after
 * other errors. If the program's ranks disagree about a size, the call may be truncated here: it
 * then goes on, and reports it. MPICH has general error classes for truncations, so the error's
 * text decides. A rank that receives less of a broadcast than it expects gets MPI_ERR_OTHER; ranks
 * further down the tree get that, too, or (from 4.2 on) MPI_ERR_IN_STATUS, with "Failure during
 * collective" as after any failure of another rank. A root that gathers gets only the bare class
 * MPI_ERR_IN_STATUS in 4.2 and later, without the statuses. In a non-blocking collective all ranks
 * with less room get a failed step of its schedule (4.0). Collectives of Open MPI (4.1) end the job
 * themselves, whatever the error handler is. */
static unsigned
told(int result, const char *what)
{
	char text[MPI_MAX_ERROR_STRING] = "";
	int class = MPI_SUCCESS, length;
	if (result == MPI_SUCCESS)
		return 0;
	cs_pmpi.Error_class(result, &class);
	if (class == MPI_ERR_OTHER || class == MPI_ERR_IN_STATUS)
		cs_pmpi.Error_string(result, text, &length);
	if (class == MPI_ERR_TRUNCATE || result == MPI_ERR_IN_STATUS || strstr(text, "truncated") ||
	    strstr(text, "Failure during collective") || strstr(text, "Sched_progress_state"))
		return CS_TOLD_MORE;
	if (strstr(text, "message sizes do not match"))
		return CS_TOLD_LESS;
	check(result, what);
	return 0;
}

/* Converts a size, which is bounded by an area slot: the tuning keeps those below INT_MAX. */
static int
to_int(size_t value)
{
	if (value > INT_MAX) {
		cs_warn_local("a piece of %zu bytes is too large for the wire; ending the job",
			      value);
		end_job("piece too large");
	}
	return (int)value;
}

/* Receive that no message ever matches: testing it progresses all requests of the MPI. (MPI_Iprobe
 * does not under MPICH over UCX: a peer that waited for our rendezvous message waited for ever.)
 * One thread at a time tests it, which progresses the others, too.
 *
 * A program that jumps out of a test, from a signal handler, which is an error, leaves the flag
 * set, and would never progress again. So the thread that has set the flag goes on testing: within
 * a callback of the MPI (which may call this function), or after a jump. The stack, which grows
 * downwards, shows which: if the frame that set the flag is not above this one, it is gone, and the
 * flag is taken over. Only threads that wait while another one has jumped out and makes no call are
 * not helped. */
static MPI_Request never = MPI_REQUEST_NULL;
static atomic_flag is_testing = ATOMIC_FLAG_INIT;
static _Thread_local uintptr_t testing; /* frame of this thread that has set it; 0: none */

void (*_Atomic cs_host_drive)(void);

static void
progress(void)
{
	int flag;
	void (*drive)(void) = atomic_load_explicit(&cs_host_drive, memory_order_acquire);
	if (drive)
		drive();
	struct cs_ib *ib = cs_rdma_here();
	if (ib)
		cs_ib_progress(ib);
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	bool is_within = testing > here;
	if (!testing && atomic_flag_test_and_set_explicit(&is_testing, memory_order_acquire))
		return;
	if (!is_within)
		testing = here;
	if (never != MPI_REQUEST_NULL)
		cs_pmpi.Test(&never, &flag, MPI_STATUS_IGNORE);
	if (is_within)
		return;
	testing = 0;
	atomic_flag_clear_explicit(&is_testing, memory_order_release);
}

bool
cs_host_open(void)
{
	static char nothing;
	return cs_pmpi.Irecv(&nothing, 1, MPI_BYTE, 0, NEVER_TAG, cs_self, &never) == MPI_SUCCESS;
}

void
cs_host_close(void)
{
	if (never == MPI_REQUEST_NULL)
		return;
	cs_pmpi.Cancel(&never);
	cs_pmpi.Wait(&never, MPI_STATUS_IGNORE);
}

static void
reduce_local(const struct cs_reduction *reduction, const void *in, void *inout, size_t count)
{
	const char *from = in;
	char *to = inout;
	while (count) {
		size_t now = count < INT_MAX / 2 ? count : INT_MAX / 2;
		check(cs_pmpi.Reduce_local(from, to, (int)now, (MPI_Datatype)reduction->type,
					   (MPI_Op)reduction->op),
		      "the local reduction");
		from += now * reduction->unit;
		to += now * reduction->unit;
		count -= now;
	}
}

/* --- collectives between leaders -------------------------------------------------------------- */

/* Non-blocking collective, in its request. */
struct begun {
	MPI_Request mpi;
	int *ints; /* arrays that the MPI reads until the end; NULL: none */
	const char *what;
};
_Static_assert(sizeof(struct begun) <= sizeof((struct cs_request *)0)->host,
	       "a request has room for it");

static struct begun *
begun_of(struct cs_request *request)
{
	return (struct begun *)(void *)request->host;
}

static unsigned
begin(struct cs_request *request, int result, const char *what)
{
	begun_of(request)->what = what;
	request->told = told(result, what);
	return 0;
}

/* Calls the blocking collective without a request, the non-blocking one with a request. If the MPI
 * lacks the latter, the former is called, and the request is over at once. */
#define MAKE_THIS(blocking, starting, request, ...) \
	(!(request)	    ? told(cs_pmpi.blocking(__VA_ARGS__), "MPI_" #blocking) \
	 : cs_pmpi.starting \
		 ? begin(request, cs_pmpi.starting(__VA_ARGS__, &begun_of(request)->mpi), \
				    "MPI_" #starting) \
			    : begin(request, cs_pmpi.blocking(__VA_ARGS__), "MPI_" #blocking))

bool cs_host_waits;

int
cs_host_wait(MPI_Request *request, size_t polls)
{
	struct cs_wait wait = { .eager = polls, .polls = polls, .yields = CS_WAIT_AWAKE,
				.call = cs_wait_call };
	int result, is_over = 0;
	while ((result = cs_pmpi.Test(request, &is_over, MPI_STATUS_IGNORE)) == MPI_SUCCESS &&
	       !is_over)
		cs_wait_turn(&wait);
	return result;
}

/* The same, but for cs_host_waits. */
#define MAKE(blocking, starting, request, ...) \
	((request) || !cs_host_waits || !cs_pmpi.starting \
	 ? MAKE_THIS(blocking, starting, request, __VA_ARGS__) \
	 : __extension__({ \
		MPI_Request mpi = MPI_REQUEST_NULL; \
		int result = cs_pmpi.starting(__VA_ARGS__, &mpi); \
		told(result == MPI_SUCCESS ? cs_host_wait(&mpi, CS_HOST_POLLS) : result, \
		     "MPI_" #starting); \
	}))

/* Initialises the request; before MAKE and ints(). */
static void
prepare(struct cs_request *request)
{
	if (request)
		*begun_of(request) = (struct begun){ .mpi = MPI_REQUEST_NULL };
}

static bool
test(struct cs_request *request)
{
	struct begun *begun = begun_of(request);
	int is_over = 0;
	int result = cs_pmpi.Test(&begun->mpi, &is_over, MPI_STATUS_IGNORE);
	request->told |= told(result, begun->what);
	if (!is_over && result == MPI_SUCCESS)
		return false;
	free(begun->ints);
	return true;
}

/* Array `which`, of four, of one int per node, filled with the values: the request's, or the
 * leaders' without one. */
static int *
ints(struct cs_group *self, struct cs_request *request, int which, const size_t *values)
{
	int *all = self->ints;
	if (request && !begun_of(request)->ints)
		begun_of(request)->ints = malloc(4 * (size_t)self->nodes * sizeof(int));
	if (request)
		all = begun_of(request)->ints;
	if (!all) {
		cs_warn_local("no memory for the sizes of %d nodes; ending the job", self->nodes);
		end_job("out of memory");
	}
	int *to = all + (size_t)which * (size_t)self->nodes;
	for (int node = 0; node < self->nodes; node++)
		to[node] = to_int(values[node]);
	return to;
}

static unsigned
barrier(void *leaders, struct cs_request *request)
{
	prepare(request);
	return MAKE(Barrier, Ibarrier, request, comm_of(leaders));
}

static unsigned
bcast(void *leaders, void *buffer, size_t bytes, int root, struct cs_request *request)
{
	prepare(request);
	return MAKE(Bcast, Ibcast, request, buffer, to_int(bytes), MPI_BYTE, root,
		    comm_of(leaders));
}

/* May MPI_Allgather be used, as all parts are alike and side by side? It is better tuned than
 * MPI_Allgatherv in every host. */
static bool
are_equal(const struct cs_group *self, const size_t *bytes, const size_t *at)
{
	for (int node = 0; node < self->nodes; node++)
		if (bytes[node] != bytes[0] || at[node] != (size_t)node * bytes[0])
			return false;
	return true;
}

static unsigned
allgatherv(void *leaders, void *buffer, const size_t *bytes, const size_t *at,
	   struct cs_request *request)
{
	prepare(request);
	if (are_equal(leaders, bytes, at))
		return MAKE(Allgather, Iallgather, request, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL,
			    buffer, to_int(bytes[0]), MPI_BYTE, comm_of(leaders));
	int *counts = ints(leaders, request, 0, bytes), *places = ints(leaders, request, 1, at);
	return MAKE(Allgatherv, Iallgatherv, request, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, buffer,
		    counts, places, MPI_BYTE, comm_of(leaders));
}

static unsigned
gatherv(void *leaders, void *buffer, const size_t *bytes, const size_t *at, int root,
	struct cs_request *request)
{
	struct cs_group *self = leaders;
	prepare(request);
	if (self->node != root)
		return MAKE(Gatherv, Igatherv, request, (char *)buffer + at[self->node],
			    to_int(bytes[self->node]), MPI_BYTE, NULL, NULL, NULL, MPI_BYTE, root,
			    self->comm);
	int *counts = ints(self, request, 0, bytes), *places = ints(self, request, 1, at);
	return MAKE(Gatherv, Igatherv, request, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, buffer, counts,
		    places, MPI_BYTE, root, self->comm);
}

static unsigned
scatterv(void *leaders, void *buffer, const size_t *bytes, const size_t *at, int root,
	 struct cs_request *request)
{
	struct cs_group *self = leaders;
	prepare(request);
	if (self->node != root)
		return MAKE(Scatterv, Iscatterv, request, NULL, NULL, NULL, MPI_BYTE,
			    (char *)buffer + at[self->node], to_int(bytes[self->node]), MPI_BYTE,
			    root, self->comm);
	int *counts = ints(self, request, 0, bytes), *places = ints(self, request, 1, at);
	return MAKE(Scatterv, Iscatterv, request, buffer, counts, places, MPI_BYTE, MPI_IN_PLACE, 0,
		    MPI_DATATYPE_NULL, root, self->comm);
}

static unsigned
alltoallv(void *leaders, const void *send, const size_t *send_bytes, const size_t *send_at,
	  void *recv, const size_t *recv_bytes, const size_t *recv_at, struct cs_request *request)
{
	prepare(request);
	int *send_counts = ints(leaders, request, 0, send_bytes),
	    *send_places = ints(leaders, request, 1, send_at);
	int *recv_counts = ints(leaders, request, 2, recv_bytes),
	    *recv_places = ints(leaders, request, 3, recv_at);
	/* The non-blocking one is broken in Open MPI 4.1.4. */
	return MAKE_THIS(Alltoallv, Ialltoallv, request, send, send_counts, send_places, MPI_BYTE,
			 recv, recv_counts, recv_places, MPI_BYTE, comm_of(leaders));
}

static unsigned
allreduce(void *leaders, void *buffer, size_t count, const struct cs_reduction *reduction,
	  struct cs_request *request)
{
	prepare(request);
	return MAKE(Allreduce, Iallreduce, request, MPI_IN_PLACE, buffer, to_int(count),
		    (MPI_Datatype)reduction->type, (MPI_Op)reduction->op, comm_of(leaders));
}

static unsigned
reduce(void *leaders, const void *in, void *out, size_t count, const struct cs_reduction *reduction,
       int root, struct cs_request *request)
{
	prepare(request);
	return MAKE(Reduce, Ireduce, request, in, out, to_int(count), (MPI_Datatype)reduction->type,
		    (MPI_Op)reduction->op, root, comm_of(leaders));
}

static unsigned
exscan(void *leaders, void *buffer, size_t count, const struct cs_reduction *reduction,
       struct cs_request *request)
{
	prepare(request);
	return MAKE(Exscan, Iexscan, request, MPI_IN_PLACE, buffer, to_int(count),
		    (MPI_Datatype)reduction->type, (MPI_Op)reduction->op, comm_of(leaders));
}

static unsigned
reduce_scatter(void *leaders, const void *in, void *out, const size_t *counts,
	       const struct cs_reduction *reduction, struct cs_request *request)
{
	prepare(request);
	int *elements = ints(leaders, request, 0, counts);
	return MAKE(Reduce_scatter, Ireduce_scatter, request, in, out, elements,
		    (MPI_Datatype)reduction->type, (MPI_Op)reduction->op, comm_of(leaders));
}

static unsigned
max(void *leaders, uint64_t *values, size_t count, struct cs_request *request)
{
	prepare(request);
	return MAKE(Allreduce, Iallreduce, request, MPI_IN_PLACE, values, to_int(count),
		    MPI_UINT64_T, MPI_MAX, comm_of(leaders));
}

const struct cs_host cs_host_mpi = {
	.progress = progress,
	.abort = end_job,
	.reduce_local = reduce_local,
	.open = cs_group_open,
	.wire = cs_host_wire,
	.messages = cs_host_messages,
	.window = cs_host_window,
	.make_lanes = cs_host_make_lanes,
	.barrier = barrier,
	.bcast = bcast,
	.allgatherv = allgatherv,
	.gatherv = gatherv,
	.scatterv = scatterv,
	.alltoallv = alltoallv,
	.allreduce = allreduce,
	.reduce = reduce,
	.exscan = exscan,
	.reduce_scatter = reduce_scatter,
	.max = max,
	.test = test,
};
