/* comm/calls/icall.c — starts, queues, steps and completes non-blocking collectives. */
#include "comm/calls/icall.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/wait.h"
#include "comm/calls/serve_common.h"
#include "comm/engine.h"
#include "comm/host/pmpi.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 256
#define NAP_NS 50000
#define IN_VAIN 16 /* steps of which none ends a call, before a yield */

struct cs_icall {
	struct cs_serving serving; /* first: the entry has its address */
	struct cs_cached_choice choice; /* a copy: the cache may replace its own */
	uint64_t signature;
	uint64_t spent_ns; /* in the entry, if a report is wanted; at first the clock at its begin */
	struct cs_report_row *row; /* of the report, once the call is over; NULL: none */
	struct cs_icall *next;  /* in the list that it is in */
	struct cs_icall *chain; /* of those of a bucket, by request; with the lock */
	MPI_Request request;
	bool has_request; /* `request` is set, and the entry has done its part: until then no other
			   * thread steps the call */
	bool is_over;
	_Atomic bool is_freed; /* the MPI has freed the request */
};

/* Calls of a communicator. */
struct cs_icalls {
	struct cs_icall *queue, **queue_end;
	unsigned open; /* queued or under way */
	/* A thread is in a collective of the communicator; only with several threads. */
	bool is_busy;
	pthread_t busy;
	struct cs_comm *communicator;
	struct cs_icalls *next; /* of those with a queue */
};

_Atomic unsigned cs_icalls_open, cs_icalls_failed;
void (*cs_icalls_first)(void);

/* Guards all of the following, and the operations of all calls. Not held while the MPI is called
 * about requests, since the MPI calls freed() with locks of its own. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct cs_icall *under_way, **under_way_end = &under_way, *unused;
static struct cs_icalls *queues;
static struct cs_icall *buckets[BUCKETS];
static bool is_threaded; /* MPI_THREAD_MULTIPLE */
static _Atomic(struct cs_icall *) freed_ones; /* not yet unlinked; may be pushed without the lock */

static void end_all(struct cs_comm *communicator, bool may_wait);

static struct cs_icall *
of(struct cs_serving *serving)
{
	return (struct cs_icall *)serving;
}

static struct cs_icall **
bucket_of(MPI_Request request)
{
	uintptr_t handle = (uintptr_t)request;
	return &buckets[(handle ^ handle >> 6 ^ handle >> 14) % BUCKETS];
}

/* --- requests --------------------------------------------------------------------------------- */

static int
query(void *extra, MPI_Status *status)
{
	cs_pmpi.Status_set_elements(status, MPI_BYTE, 0);
	cs_pmpi.Status_set_cancelled(status, 0);
	status->MPI_SOURCE = MPI_UNDEFINED;
	status->MPI_TAG = MPI_UNDEFINED;
	return MPI_SUCCESS;
}

/* The MPI may have locked what a thread of ours waits for while it has our lock. */
static int
freed(void *extra)
{
	struct cs_icall *icall = extra;
	atomic_store(&icall->is_freed, true);
	struct cs_icall *head = atomic_load(&freed_ones);
	do
		icall->next = head;
	while (!atomic_compare_exchange_weak(&freed_ones, &head, icall));
	return MPI_SUCCESS;
}

static bool
is_over(struct cs_icall *icall)
{
	pthread_mutex_lock(&lock);
	bool is_over = icall->is_over;
	pthread_mutex_unlock(&lock);
	return is_over;
}

/* The MPI waits for a request of ours (MPICH). */
static int
poll(void *extra, MPI_Status *status)
{
	cs_icalls_drive();
	if (!is_threaded) /* with threads it has locked what its functions lock */
		cs_host_mpi.progress();
	return MPI_SUCCESS;
}

/* The same for several, until all of them are over. `timeout` is no number that MPICH fills in. */
static int
poll_all(int count, void **extras, double timeout, MPI_Status *status)
{
	for (int i = 0; i < count; i++)
		while (!is_over(extras[i]))
			poll(extras[i], status);
	return MPI_SUCCESS;
}

/* The MPI progresses anything (Open MPI). */
static int
on_progress(void)
{
	cs_icalls_drive();
	return 0;
}

/* Collectives cannot be cancelled (MPI 4.0, 6.12). */
static int
cancel(void *extra, int is_complete)
{
	return MPI_SUCCESS;
}

static int (*start_polled)(MPI_Grequest_query_function *, MPI_Grequest_free_function *,
			   MPI_Grequest_cancel_function *, int (*)(void *, MPI_Status *),
			   int (*)(int, void **, double, MPI_Status *), void *, MPI_Request *);

/* Finds how the MPI lets us step calls while it waits. Not the same on all ranks only if their MPIs
 * differ, which the agreement at MPI_Init finds. */
static bool
find_driver(void)
{
	void *start = cs_engine.door->lookup("PMPIX_Grequest_start");
	void *hook = start ? NULL : cs_engine.door->lookup("opal_progress_register");
	int level = MPI_THREAD_SINGLE;
	memcpy(&start_polled, &start, sizeof start);
	if (hook)
		((int (*)(int (*)(void)))hook)(on_progress);
	if ((!start && !hook) || !cs_pmpi.Grequest_start || !cs_pmpi.Grequest_complete ||
	    !cs_pmpi.Type_dup || !cs_pmpi.Status_set_elements || !cs_pmpi.Status_set_cancelled ||
	    !cs_pmpi.Query_thread || cs_pmpi.Query_thread(&level) != MPI_SUCCESS)
		return false;
	is_threaded = level == MPI_THREAD_MULTIPLE;
	cs_host_drive = cs_icalls_drive;
	cs_comm_end_calls = end_all;
	cs_icalls_first();
	return true;
}

static int
make_request(struct cs_icall *icall, MPI_Request *request)
{
	return start_polled ? start_polled(query, freed, cancel, poll, poll_all, icall, request)
			    : cs_pmpi.Grequest_start(query, freed, cancel, icall, request);
}

static void
unlink_request(struct cs_icall *icall)
{
	struct cs_icall **link = bucket_of(icall->request);
	while (*link && *link != icall)
		link = &(*link)->chain;
	if (*link)
		*link = icall->chain;
}

/* Takes those whose requests were freed off the table. With the lock. */
static void
reap(void)
{
	struct cs_icall *icall = atomic_exchange(&freed_ones, NULL);
	while (icall) {
		struct cs_icall *next = icall->next;
		unlink_request(icall);
		if (icall->serving.result != MPI_SUCCESS)
			atomic_fetch_sub(&cs_icalls_failed, 1);
		icall->next = unused;
		unused = icall;
		icall = next;
	}
}

static struct cs_icall *
find(MPI_Request request)
{
	struct cs_icall *icall = *bucket_of(request);
	while (icall && (icall->request != request || atomic_load(&icall->is_freed)))
		icall = icall->chain;
	return icall;
}

/* --- steps, all with the lock ----------------------------------------------------------------- */

static void
finish(struct cs_icall *icall)
{
	struct cs_serving *serving = &icall->serving;
	struct cs_op *op = &serving->op;
	cs_node_op_fini(&op->node);
	cs_serve_note_wrong(serving);
	if (serving->finish) {
		serving->finish(serving, serving->results);
		free(serving->results);
	}
	cs_serving_fini(serving);
	if (serving->result != MPI_SUCCESS)
		atomic_fetch_add(&cs_icalls_failed, 1);
	if (serving->communicator->seat->selection.is_reporting) {
		icall->row = cs_report_row(CS_NONBLOCKING + (int)op->call.coll, serving->bytes, false,
					   icall->choice.choice.algorithm->name,
					   icall->choice.choice.reason);
		cs_report_count(icall->row, serving->bytes, icall->spent_ns);
	}
	serving->communicator->icalls->open--;
	icall->is_over = true;
	atomic_fetch_sub(&cs_icalls_open, 1);
}

/* Appends a call that is over to those whose requests are to be completed. */
static void
end(struct cs_icall *icall, struct cs_icall ***over)
{
	finish(icall);
	icall->next = NULL;
	**over = icall;
	*over = &icall->next;
}

static bool
may_begin(struct cs_comm *communicator)
{
	struct cs_team *team = &communicator->seat->team;
	return cs_node_may_begin_now(&team->node) && cs_epoch_may_begin_now(team);
}

/* Begins the operation. Is it over? */
static bool
begin(struct cs_icall *icall)
{
	struct cs_op *op = &icall->serving.op;
	cs_op_join(op, &icall->serving.communicator->seat->team, icall->signature);
	op->node.extras &= ~(unsigned)CS_OP_GOES_ON;
	op->under_way = CS_UNDER_WAY_NOTHING;
	cs_selection_run_slow(&icall->choice, op);
	return !(op->node.extras & CS_OP_GOES_ON) || cs_op_step(op) == CS_OK;
}

/* Is a thread other than this one in a collective of the communicator? */
static bool
is_busy(const struct cs_icalls *icalls)
{
	return icalls->is_busy && !pthread_equal(icalls->busy, pthread_self());
}

static void
append(struct cs_icall *icall)
{
	icall->next = NULL;
	*under_way_end = icall;
	under_way_end = &icall->next;
}

/* Begins queued calls of a communicator, oldest first. */
static void
begin_queued(struct cs_icalls *icalls, struct cs_icall ***over)
{
	while (icalls->queue && icalls->queue->has_request && !is_busy(icalls) &&
	       may_begin(icalls->communicator)) {
		struct cs_icall *icall = icalls->queue;
		icalls->queue = icall->next;
		if (!icalls->queue)
			icalls->queue_end = &icalls->queue;
		if (begin(icall))
			end(icall, over);
		else
			append(icall);
	}
}

/* Gives the core to a rank that shares it, now and then, if a program tests in a loop. */
static void
yield_in_vain(bool is_in_vain)
{
	static unsigned times; /* in a row */
	times = is_in_vain ? times + 1 : 0;
	if (times % IN_VAIN == IN_VAIN - 1 && under_way->serving.op.node.node->facts.shares_cores)
		sched_yield();
}

static void
step_all(struct cs_icall ***over)
{
	struct cs_icall **over_begin = *over;
	struct cs_icall *icall, **link = &under_way;
	while ((icall = *link)) {
		if (!icall->has_request || is_busy(icall->serving.communicator->icalls) ||
		    cs_op_step(&icall->serving.op) == CS_AGAIN) {
			link = &icall->next;
			continue;
		}
		*link = icall->next;
		if (!*link)
			under_way_end = link;
		end(icall, over);
	}
	for (struct cs_icalls **queue = &queues; *queue;) {
		struct cs_icalls *icalls = *queue;
		begin_queued(icalls, over);
		if (icalls->queue) {
			queue = &icalls->next;
			continue;
		}
		*queue = icalls->next;
		if (!is_threaded)
			icalls->communicator->state = CS_COMM_TEAM;
	}
	yield_in_vain(under_way && !*over_begin);
}

/* --- without the lock ------------------------------------------------------------------------- */

static void
complete(struct cs_icall *over)
{
	while (over) {
		struct cs_icall *next = over->next; /* the program may free it at once */
		cs_pmpi.Grequest_complete(over->request);
		over = next;
	}
}

void
cs_icalls_step(void)
{
	struct cs_icall *over = NULL, **end_of_over = &over;
	if (pthread_mutex_trylock(&lock))
		return;
	step_all(&end_of_over);
	pthread_mutex_unlock(&lock);
	complete(over);
}

static void wait_for(struct cs_comm *communicator, bool is_for_queued);

/* Takes the communicator's calls off a list. */
static void
remove_from(struct cs_icall **list, struct cs_icall ***list_end, const struct cs_comm *communicator)
{
	struct cs_icall **link = list;
	while (*link)
		if ((*link)->serving.communicator == communicator)
			*link = (*link)->next;
		else
			link = &(*link)->next;
	if (list_end)
		*list_end = link;
}

/* cs_comm_end_calls */
static void
end_all(struct cs_comm *communicator, bool may_wait)
{
	struct cs_icalls *icalls = communicator->icalls;
	if (may_wait)
		wait_for(communicator, false);
	pthread_mutex_lock(&lock);
	struct cs_icalls **link = &queues;
	while (*link && *link != icalls)
		link = &(*link)->next;
	if (*link)
		*link = icalls->next;
	remove_from(&under_way, &under_way_end, communicator);
	atomic_fetch_sub(&cs_icalls_open, icalls->open);
	pthread_mutex_unlock(&lock);
	free(icalls);
	communicator->icalls = NULL;
}

/* Marks the communicator as busy with a collective of this thread. With the lock. */
static void
occupy(struct cs_serving *serving)
{
	struct cs_icalls *icalls = serving->communicator->icalls;
	if (!is_threaded)
		return;
	icalls->is_busy = true;
	icalls->busy = pthread_self();
	serving->op.node.extras |= CS_OP_BUSY;
}

void
cs_icalls_release(struct cs_serving *serving)
{
	pthread_mutex_lock(&lock);
	serving->communicator->icalls->is_busy = false;
	pthread_mutex_unlock(&lock);
	serving->op.node.extras &= ~(unsigned)CS_OP_BUSY;
}

struct cs_serving *
cs_icall_new(struct cs_comm *communicator)
{
	static enum { UNKNOWN, YES, NO } can_drive;
	struct cs_icall *icall;
	if (!communicator || !communicator->seat->selection.team ||
	    !cs_engine.settings.is_nonblocking)
		return NULL;
	pthread_mutex_lock(&lock);
	if (can_drive == UNKNOWN)
		can_drive = find_driver() ? YES : NO;
	reap();
	icall = can_drive == YES ? unused : NULL;
	if (icall)
		unused = icall->next;
	pthread_mutex_unlock(&lock);
	if (can_drive == NO)
		return NULL;
	if (!icall)
		icall = malloc(sizeof *icall);
	if (icall && !communicator->icalls)
		communicator->icalls = calloc(1, sizeof *communicator->icalls);
	if (!icall || !communicator->icalls) {
		cs_warn_local("no memory for a non-blocking call; ending the job");
		cs_host_mpi.abort("out of memory");
	}
	struct cs_serving *serving = &icall->serving;
	cs_serving_init(serving, communicator);
	serving->op.node.extras = CS_OP_NONBLOCKING;
	serving->op.under_way = CS_UNDER_WAY_NOTHING;
	serving->cached = NULL;
	serving->result = MPI_SUCCESS;
	serving->finish = NULL;
	serving->results = NULL;
	icall->has_request = icall->is_over = false;
	icall->row = NULL;
	icall->spent_ns = communicator->seat->selection.is_reporting ? cs_clock_ns() : 0;
	atomic_store_explicit(&icall->is_freed, false, memory_order_relaxed);
	pthread_mutex_lock(&lock);
	occupy(serving);
	pthread_mutex_unlock(&lock);
	return serving;
}

void
cs_icall_drop(struct cs_serving *serving)
{
	struct cs_icall *icall = of(serving);
	cs_serving_fini(serving);
	pthread_mutex_lock(&lock);
	icall->next = unused;
	unused = icall;
	pthread_mutex_unlock(&lock);
}

static void
enqueue(struct cs_icall *icall)
{
	struct cs_comm *communicator = icall->serving.communicator;
	struct cs_icalls *icalls = communicator->icalls;
	icall->next = NULL;
	if (!icalls->queue) {
		icalls->queue_end = &icalls->queue;
		icalls->communicator = communicator;
		icalls->next = queues;
		queues = icalls;
	}
	communicator->state = CS_COMM_QUEUED;
	*icalls->queue_end = icall;
	icalls->queue_end = &icall->next;
	icall->serving.op.under_way = CS_UNDER_WAY_LATER;
	/* For cs_serve_postpone: it has not ended. */
	icall->serving.op.node.extras |= CS_OP_GOES_ON;
}

void
cs_icall_run(struct cs_serving *serving, uint64_t signature)
{
	struct cs_icall *icall = of(serving);
	struct cs_comm *communicator = serving->communicator;
	icall->choice = *serving->cached;
	icall->signature = signature;
	pthread_mutex_lock(&lock);
	communicator->icalls->open++;
	if (is_threaded)
		communicator->state = CS_COMM_QUEUED; /* so that blocking calls ask */
	atomic_fetch_add(&cs_icalls_open, 1);
	if (communicator->icalls->queue || !may_begin(communicator))
		enqueue(icall);
	else if (!begin(icall))
		append(icall);
	pthread_mutex_unlock(&lock);
}

int
cs_icall_request(struct cs_serving *serving, MPI_Request *request)
{
	struct cs_icall *icall = of(serving);
	int result = make_request(icall, request);
	if (result != MPI_SUCCESS) {
		cs_warn_local("the MPI has no request for a non-blocking call; ending the job");
		cs_host_mpi.abort("MPI_Grequest_start");
	}
	pthread_mutex_lock(&lock);
	reap();
	icall->request = *request;
	icall->has_request = true;
	icall->chain = *bucket_of(*request);
	*bucket_of(*request) = icall;
	bool is_over = !(serving->op.node.extras & CS_OP_GOES_ON);
	serving->communicator->icalls->is_busy = false;
	if (icall->spent_ns)
		icall->spent_ns = cs_clock_ns() - icall->spent_ns;
	serving->op.node.extras &= ~(unsigned)CS_OP_BUSY;
	if (is_over)
		finish(icall);
	pthread_mutex_unlock(&lock);
	if (is_over)
		cs_pmpi.Grequest_complete(*request);
	return MPI_SUCCESS;
}

/* --- waits ------------------------------------------------------------------------------------ */

static struct cs_wait
wait_of(const struct cs_comm *communicator)
{
	const struct cs_node_shape *shape = &communicator->seat->team.node.shape;
	return (struct cs_wait){ .polls = shape->spin, .yields = shape->yields, .nap_ns = NAP_NS,
				 .progress = cs_host_mpi.progress };
}

bool
cs_icall_wait(MPI_Request request)
{
	pthread_mutex_lock(&lock);
	struct cs_icall *icall = find(request);
	bool is_over = !icall || icall->is_over;
	struct cs_wait wait = { 0 };
	uint64_t start = icall && icall->spent_ns ? cs_clock_ns() : 0;
	if (!is_over)
		wait = wait_of(icall->serving.communicator);
	pthread_mutex_unlock(&lock);
	while (!is_over) {
		cs_icalls_step();
		pthread_mutex_lock(&lock);
		is_over = icall->is_over;
		const struct cs_op *op = &icall->serving.op;
		bool is_local = op->under_way != CS_UNDER_WAY_LATER &&
				op->node.awaited.local != CS_AWAITS_MESSAGE &&
				op->node.awaited.local != CS_AWAITS_PIECE;
		pthread_mutex_unlock(&lock);
		/* Sleeps on what the operation waits for. Another thread might step it meanwhile. */
		if (!is_over && is_local && !is_threaded)
			cs_node_wait_awaited(&icall->serving.op.node);
		else if (!is_over)
			cs_wait_turn(&wait);
	}
	if (icall && icall->row)
		cs_report_spend(icall->row, cs_clock_ns() - start);
	return icall;
}

void
cs_icall_count_host(const struct cs_comm *communicator, const struct cs_serving *serving,
		    enum cs_coll coll, size_t bytes, uint64_t nanoseconds)
{
	const char *why = !communicator->seat->selection.team ? communicator->reason
			  : !serving ? "not blocking, and the MPI lacks what it takes"
			  : serving->cached ? serving->cached->choice.reason : serving->unasked;
	cs_report_count(cs_report_row(CS_NONBLOCKING + (int)coll, bytes, true, "host",
				      why ? why : "team not made yet"), bytes, nanoseconds);
}

struct cs_wait
cs_icalls_patience(void)
{
	const struct cs_limits *limits = cs_selector_limits(cs_engine.selector);
	return (struct cs_wait){ .polls = limits->spin, .yields = limits->yields,
				 .nap_ns = NAP_NS };
}

int
cs_icall_error(MPI_Request request)
{
	pthread_mutex_lock(&lock);
	struct cs_icall *icall = *bucket_of(request);
	while (icall && icall->request != request)
		icall = icall->chain;
	int result = icall && icall->is_over ? icall->serving.result : MPI_SUCCESS;
	MPI_Comm comm = result == MPI_SUCCESS ? MPI_COMM_NULL : icall->serving.communicator->comm;
	pthread_mutex_unlock(&lock);
	if (result != MPI_SUCCESS)
		cs_pmpi.Comm_call_errhandler(comm, result);
	return result;
}

static void
wait_for(struct cs_comm *communicator, bool is_for_queued)
{
	struct cs_icalls *icalls = communicator->icalls;
	struct cs_wait wait = wait_of(communicator);
	for (;;) {
		cs_icalls_step();
		pthread_mutex_lock(&lock);
		bool is_done = is_for_queued ? !icalls->queue : !icalls->open;
		pthread_mutex_unlock(&lock);
		if (is_done)
			return;
		cs_wait_turn(&wait);
	}
}

bool
cs_icalls_begin_all(struct cs_serving *serving)
{
	struct cs_comm *communicator = serving->communicator;
	if (communicator->state == CS_COMM_HOST)
		return false;
	wait_for(communicator, true);
	if (!is_threaded)
		return true;
	pthread_mutex_lock(&lock);
	if (communicator->icalls->open)
		occupy(serving);
	else
		communicator->state = CS_COMM_TEAM;
	pthread_mutex_unlock(&lock);
	return true;
}
