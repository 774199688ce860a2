/* comm/calls/icall.c — starts, queues, steps and completes non-blocking collectives. */
#include "comm/calls/icall_parts.h"

#include "base/clock.h"
#include "base/log.h"
#include "comm/calls/serve_common.h"
#include "comm/engine.h"
#include "comm/host/pmpi.h"

#include <sched.h>
#include <stdlib.h>

#define NAP_NS 50000
#define IN_VAIN 16 /* steps of which none ends a call, before a yield */

_Atomic unsigned cs_icalls_open, cs_icalls_failed;

/* With cs_icalls_lock. */
static struct cs_icall *under_way, **under_way_end = &under_way, *unused;
static struct cs_icall *ended; /* by the progress thread, but for what needs the MPI */
static unsigned own_steps; /* of the program */
static struct cs_icalls *queues;

static struct cs_icall *
of(struct cs_serving *serving)
{
	return (struct cs_icall *)serving;
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
	serving->communicator->icalls->open--;
	icall->is_over = true;
	atomic_fetch_sub(&cs_icalls_open, 1);
}

/* Appends a call that is over to those whose requests are to be completed. `over` is NULL in the
 * progress thread. */
static void
end(struct cs_icall *icall, struct cs_icall ***over)
{
	if (!over) {
		icall->next = ended;
		ended = icall;
		return;
	}
	finish(icall);
	if (atomic_load(&icall->is_freed)) /* by the program, which may not */
		return;
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

/* May this thread step the communicator's calls? The progress thread, where messages take calls of
 * the MPI, only if the MPI takes calls by several threads. */
static bool
may_step(const struct cs_comm *communicator, bool is_aside)
{
	return !is_busy(communicator->icalls) &&
	       (!is_aside || cs_mpi_is_threaded || communicator->seat->team.shape.nodes == 1 ||
		communicator->seat->selection.facts.by_thread);
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
	while (icalls->queue && icalls->queue->has_request &&
	       may_step(icalls->communicator, !over) &&
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

/* A number that is another one once the operation has gone on. */
static uintptr_t
place_of(const struct cs_op *op)
{
	const struct cs_awaited *awaited = &op->node.awaited;
	return (uintptr_t)op->phase + (uintptr_t)awaited->local * 64 + awaited->tag;
}

/* Has a call gone on? */
static bool
step_all(struct cs_icall ***over)
{
	struct cs_icall *icall, **link = &under_way;
	bool is_on = false;
	while (over && (icall = ended)) {
		ended = icall->next;
		end(icall, over);
	}
	while ((icall = *link)) {
		struct cs_op *op = &icall->serving.op;
		uintptr_t before = place_of(op);
		if (!icall->has_request || !may_step(icall->serving.communicator, !over) ||
		    cs_op_step(op) == CS_AGAIN) {
			is_on = is_on || place_of(op) != before;
			link = &icall->next;
			continue;
		}
		*link = icall->next;
		if (!*link)
			under_way_end = link;
		end(icall, over);
		is_on = true;
	}
	for (struct cs_icalls **queue = &queues; *queue;) {
		struct cs_icalls *icalls = *queue;
		begin_queued(icalls, over);
		if (icalls->queue) {
			queue = &icalls->next;
			continue;
		}
		*queue = icalls->next;
		if (!cs_icalls_are_threaded)
			icalls->communicator->state = CS_COMM_TEAM;
	}
	return is_on;
}

/* --- without the lock ------------------------------------------------------------------------- */

static void
complete_one(struct cs_icall *icall)
{
	if (icall->is_persistent) {
		cs_persistent_complete(icall);
		return;
	}
	MPI_Request request = icall->request;
	/* The MPI hands the results over to another thread; ThreadSanitizer does not see how. */
	atomic_store_explicit(&icall->is_freed, false, memory_order_release);
	cs_pmpi.Grequest_complete(request);
}

static void
complete(struct cs_icall *over)
{
	while (over) {
		struct cs_icall *next = over->next; /* the program may free it at once */
		complete_one(over);
		over = next;
	}
}

void
cs_icalls_step(void)
{
	struct cs_icall *over = NULL, **end_of_over = &over;
	if (pthread_mutex_trylock(&cs_icalls_lock))
		return;
	own_steps++;
	step_all(&end_of_over);
	yield_in_vain(under_way && !over);
	pthread_mutex_unlock(&cs_icalls_lock);
	cs_persistents_complete();
	complete(over);
}

enum cs_stepped
cs_icalls_step_aside(void)
{
	static unsigned seen; /* own_steps */
	if (pthread_mutex_trylock(&cs_icalls_lock))
		return CS_STEPPED_BY_PROGRAM;
	enum cs_stepped stepped;
	if (!under_way && !queues)
		stepped = CS_STEPPED_NOTHING;
	else if (seen != own_steps)
		stepped = CS_STEPPED_BY_PROGRAM;
	else
		stepped = step_all(NULL) ? CS_STEPPED_ON : CS_STEPPED_IN_VAIN;
	seen = own_steps;
	pthread_mutex_unlock(&cs_icalls_lock);
	return stepped;
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
	cs_persistents_orphan(communicator);
	if (may_wait)
		wait_for(communicator, false);
	pthread_mutex_lock(&cs_icalls_lock);
	struct cs_icalls **link = &queues;
	while (*link && *link != icalls)
		link = &(*link)->next;
	if (*link)
		*link = icalls->next;
	remove_from(&under_way, &under_way_end, communicator);
	remove_from(&ended, NULL, communicator);
	atomic_fetch_sub(&cs_icalls_open, icalls->open);
	pthread_mutex_unlock(&cs_icalls_lock);
	free(icalls);
	communicator->icalls = NULL;
}

/* Marks the communicator as busy with a collective of this thread. With the lock. */
static void
occupy(struct cs_serving *serving)
{
	struct cs_icalls *icalls = serving->communicator->icalls;
	icalls->is_busy = true;
	icalls->busy = pthread_self();
	serving->op.node.extras |= CS_OP_BUSY;
}

void
cs_icalls_occupy(struct cs_serving *serving)
{
	struct cs_icalls *icalls = serving->communicator->icalls;
	if (!cs_icalls_are_threaded || !icalls)
		return;
	pthread_mutex_lock(&cs_icalls_lock);
	if (icalls->open)
		occupy(serving);
	pthread_mutex_unlock(&cs_icalls_lock);
}

void
cs_icalls_release(struct cs_serving *serving)
{
	pthread_mutex_lock(&cs_icalls_lock);
	serving->communicator->icalls->is_busy = false;
	pthread_mutex_unlock(&cs_icalls_lock);
	serving->op.node.extras &= ~(unsigned)CS_OP_BUSY;
}

struct cs_serving *
cs_icall_prepare(struct cs_icall *icall, struct cs_comm *communicator)
{
	struct cs_serving *serving = &icall->serving;
	cs_serving_init(serving, communicator);
	serving->op.node.extras = CS_OP_NONBLOCKING;
	serving->op.under_way = CS_UNDER_WAY_NOTHING;
	serving->cached = NULL;
	serving->unasked = NULL;
	serving->result = MPI_SUCCESS;
	serving->finish = NULL;
	serving->results = NULL;
	icall->sizes = communicator->sizes;
	communicator->sizes = NULL;
	communicator->seat->selection.is_timed |= CS_TIMED_NOT_BLOCKING;
	icall->has_request = icall->is_over = icall->is_dry = false;
	icall->row = NULL;
	icall->begun_ns = communicator->seat->selection.is_reporting ? cs_clock_ns() : 0;
	atomic_store_explicit(&icall->is_freed, false, memory_order_relaxed);
	if (cs_icalls_are_threaded) {
		pthread_mutex_lock(&cs_icalls_lock);
		occupy(serving);
		pthread_mutex_unlock(&cs_icalls_lock);
	}
	return serving;
}

struct cs_serving *
cs_icall_new(struct cs_comm *communicator)
{
	static enum { UNKNOWN, YES, NO } can_drive;
	struct cs_icall *icall;
	if (!communicator || !communicator->seat->selection.team ||
	    !cs_engine.settings.is_nonblocking)
		return NULL;
	pthread_mutex_lock(&cs_icalls_lock);
	if (can_drive == UNKNOWN)
		can_drive = cs_icalls_find_driver(communicator->seat->team.node.shape.size, end_all)
			    ? YES : NO;
	cs_icalls_reap(&unused);
	icall = can_drive == YES ? unused : NULL;
	if (icall)
		unused = icall->next;
	pthread_mutex_unlock(&cs_icalls_lock);
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
	icall->is_persistent = false;
	return cs_icall_prepare(icall, communicator);
}

/* Undoes cs_icall_new's marks of the communicator, which blocking calls read. */
static void
end_entry(struct cs_icall *icall)
{
	struct cs_comm *communicator = icall->serving.communicator;
	communicator->sizes = icall->sizes;
	communicator->seat->selection.is_timed &= (unsigned char)~CS_TIMED_NOT_BLOCKING;
}

const char *
cs_icall_drop(struct cs_serving *serving)
{
	struct cs_icall *icall = of(serving);
	const char *why = serving->cached ? serving->cached->choice.reason : serving->unasked;
	end_entry(icall);
	cs_serving_fini(serving);
	pthread_mutex_lock(&cs_icalls_lock);
	icall->next = unused;
	unused = icall;
	pthread_mutex_unlock(&cs_icalls_lock);
	return why;
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

bool
cs_icall_is_dry(const struct cs_serving *serving)
{
	return ((const struct cs_icall *)serving)->is_dry;
}

bool
cs_icall_run(struct cs_serving *serving, uint64_t signature)
{
	struct cs_icall *icall = of(serving);
	struct cs_comm *communicator = serving->communicator;
	if (icall->is_dry) {
		icall->would_run = true;
		return false;
	}
	icall->choice = *serving->cached;
	icall->signature = signature;
	pthread_mutex_lock(&cs_icalls_lock);
	communicator->icalls->open++;
	if (cs_icalls_are_threaded)
		communicator->state = CS_COMM_QUEUED; /* so that blocking calls ask */
	atomic_fetch_add(&cs_icalls_open, 1);
	if (communicator->icalls->queue || !may_begin(communicator))
		enqueue(icall);
	else if (!begin(icall))
		append(icall);
	pthread_mutex_unlock(&cs_icalls_lock);
	return true;
}

/* Counts a call at the end of its entry, for the report. */
static void
count(struct cs_icall *icall)
{
	struct cs_serving *serving = &icall->serving;
	int form = icall->is_persistent ? CS_PERSISTENT : CS_NONBLOCKING;
	uint64_t now = cs_clock_ns();
	icall->row = cs_selection_row(serving->communicator->seat->selection.selector, form,
				      &icall->choice.choice, serving->op.call.coll, serving->bytes);
	if (!icall->row)
		return;
	if (!icall->is_persistent)
		serving->caller = cs_report_caller(serving->caller);
	cs_report_count(icall->row, serving->bytes, now - icall->begun_ns);
	cs_report_site(serving->caller, icall->row, icall->begun_ns, now, CS_REPORT_NOT_KNOWN);
}

int
cs_icall_request(struct cs_serving *serving, MPI_Request *request)
{
	struct cs_icall *icall = of(serving);
	end_entry(icall);
	int result = icall->is_persistent ? MPI_SUCCESS : cs_icall_make_request(icall, request);
	if (result != MPI_SUCCESS) {
		cs_warn_local("the MPI has no request for a non-blocking call; ending the job");
		cs_host_mpi.abort("MPI_Grequest_start");
	}
	pthread_mutex_lock(&cs_icalls_lock);
	cs_icalls_reap(&unused);
	icall->has_request = true;
	if (!icall->is_persistent) {
		icall->request = *request;
		cs_icall_insert(icall);
	}
	bool is_over = !(serving->op.node.extras & CS_OP_GOES_ON);
	serving->communicator->icalls->is_busy = false;
	if (icall->begun_ns)
		count(icall);
	serving->op.node.extras &= ~(unsigned)CS_OP_BUSY;
	if (is_over)
		finish(icall);
	pthread_mutex_unlock(&cs_icalls_lock);
	if (is_over)
		complete_one(icall);
	else
		cs_progress_thread_wake();
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
	pthread_mutex_lock(&cs_icalls_lock);
	struct cs_icall *icall = cs_icall_find(request);
	bool is_over = !icall || icall->is_over;
	struct cs_wait wait = { 0 };
	uint64_t start = icall && icall->row ? cs_clock_ns() : 0;
	if (!is_over)
		wait = wait_of(icall->serving.communicator);
	pthread_mutex_unlock(&cs_icalls_lock);
	while (!is_over) {
		cs_icalls_step();
		pthread_mutex_lock(&cs_icalls_lock);
		is_over = icall->is_over;
		const struct cs_op *op = &icall->serving.op;
		bool is_local = op->under_way != CS_UNDER_WAY_LATER &&
				op->node.awaited.local != CS_AWAITS_MESSAGE &&
				op->node.awaited.local != CS_AWAITS_PIECE;
		bool is_for_one = is_local && op->node.awaited.local >= 0;
		wait.call = op->under_way == CS_UNDER_WAY_LATER ? NULL : &op->node;
		wait.whom = is_for_one ? op->node.awaited.local + 1 : 0;
		pthread_mutex_unlock(&cs_icalls_lock);
		/* Sleeps on what the operation waits for. Another thread might step it. */
		if (!is_over && is_local && !cs_icalls_are_threaded)
			cs_node_wait_awaited(&icall->serving.op.node);
		else if (!is_over)
			cs_wait_turn(&wait);
	}
	if (start)
		cs_report_site_spend(icall->serving.caller, icall->row, start, cs_clock_ns());
	return icall;
}

struct cs_report_row *
cs_icall_host_row(const struct cs_comm *communicator, const struct cs_serving *serving,
		  enum cs_coll coll, size_t bytes)
{
	const struct cs_selection *selection = &communicator->seat->selection;
	const char *why = !selection->team ? communicator->reason
			  : !serving ? "not blocking, and the MPI lacks what it takes"
			  : serving->unasked;
	if (selection->team && serving && serving->cached)
		return cs_selection_row(selection->selector, CS_NONBLOCKING,
					&serving->cached->choice, coll, bytes);
	return cs_report_host_row(CS_NONBLOCKING + (int)coll, bytes,
				  why ? why : "team not made yet");
}

struct cs_wait
cs_icalls_patience(void)
{
	const struct cs_limits *limits = cs_selector_limits(cs_engine.selector);
	return (struct cs_wait){ .polls = limits->spin, .yields = limits->yields,
				 .nap_ns = NAP_NS };
}

static void
wait_for(struct cs_comm *communicator, bool is_for_queued)
{
	struct cs_icalls *icalls = communicator->icalls;
	struct cs_wait wait = wait_of(communicator);
	for (;;) {
		cs_icalls_step();
		pthread_mutex_lock(&cs_icalls_lock);
		bool is_done = is_for_queued ? !icalls->queue : !icalls->open;
		pthread_mutex_unlock(&cs_icalls_lock);
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
	if (!cs_icalls_are_threaded)
		return true;
	pthread_mutex_lock(&cs_icalls_lock);
	if (communicator->icalls->open)
		occupy(serving);
	else
		communicator->state = CS_COMM_TEAM;
	pthread_mutex_unlock(&cs_icalls_lock);
	return true;
}
