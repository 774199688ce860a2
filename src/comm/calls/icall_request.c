/* comm/calls/icall_request.c — requests of non-blocking calls: generalized ones of the MPI, a table
 * by their handles, and how calls are stepped while the MPI waits for them. */
#include "comm/calls/icall_parts.h"

#include "comm/engine.h"
#include "comm/host/host.h"
#include "comm/host/pmpi.h"
#include "ib/ib.h"
#include "run/run.h"

#include <dlfcn.h>
#include <string.h>

#define BUCKETS 256

pthread_mutex_t cs_icalls_lock = PTHREAD_MUTEX_INITIALIZER;
bool cs_icalls_are_threaded;
bool cs_mpi_is_threaded;
void (*cs_icalls_first)(void);

static struct cs_icall *buckets[BUCKETS];
static _Atomic(struct cs_icall *) freed_ones; /* in the table still; pushed without the lock */

static struct cs_icall **
bucket_of(MPI_Request request)
{
	uintptr_t handle = (uintptr_t)request;
	return &buckets[(handle ^ handle >> 6 ^ handle >> 14) % BUCKETS];
}

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
	atomic_exchange(&icall->is_freed, true); /* acquires what complete_one released */
	struct cs_icall *head = atomic_load(&freed_ones);
	do
		icall->next = head;
	while (!atomic_compare_exchange_weak(&freed_ones, &head, icall));
	return MPI_SUCCESS;
}

static bool
is_over(struct cs_icall *icall)
{
	pthread_mutex_lock(&cs_icalls_lock);
	bool is_over = icall->is_over;
	pthread_mutex_unlock(&cs_icalls_lock);
	return is_over;
}

static _Thread_local bool is_within;

bool
cs_icalls_is_within(void)
{
	return is_within;
}

/* The MPI waits for a request of ours (MPICH). */
static int
poll(void *extra, MPI_Status *status)
{
	/* With threads the MPI has locked what its functions lock. */
	bool was_within = is_within;
	is_within = cs_mpi_is_threaded;
	cs_icalls_drive();
	if (!is_within)
		cs_host_mpi.progress();
	is_within = was_within;
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
	static _Atomic unsigned times;
	if (cs_ib_is_held())
		return 0;
	cs_icalls_drive();
	if (atomic_load_explicit(&cs_persistents_made, memory_order_relaxed) &&
	    atomic_fetch_add_explicit(&times, 1, memory_order_relaxed) % 16 == 0)
		cs_persistents_look();
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

/* --- who steps calls while the program is in the MPI ------------------------------------------ */

/* A function that is not the standard's, of the object that has MPI_Grequest_start. Another one may
 * be of a library behind that of the standard ABI, with other handles. */
static void *
extension(const char *name)
{
	Dl_info its, mpis;
	void *function = cs_engine.door->lookup(name);
	bool is_mpis = function && dladdr(function, &its) &&
		       dladdr((void *)cs_pmpi.Grequest_start, &mpis) &&
		       its.dli_fbase == mpis.dli_fbase;
	return is_mpis ? function : NULL;
}

static _Atomic bool is_progressed;

static int
note_progress(void)
{
	is_progressed = true;
	return 0;
}

static int
free_nothing(void *extra)
{
	return MPI_SUCCESS;
}

typedef int registration(int (*function)(void));

#define TESTS 100 /* until a registered function is called */

/* Registers on_progress if the MPI calls a registered function when it tests a generalized request.
 * libopen-pal may be there without being this MPI's: a wrapper of the standard ABI may have another
 * one. One test might miss it: Open MPI moves the functions in its list, without a lock, when
 * another thread takes one off, as its non-blocking collectives do at their end. */
static bool
hook(void)
{
	registration *add = (registration *)cs_engine.door->lookup("opal_progress_register"),
		     *remove = (registration *)cs_engine.door->lookup("opal_progress_unregister");
	MPI_Request request;
	int flag;
	if (!add || !remove || add(note_progress))
		return false;
	if (cs_pmpi.Grequest_start(query, free_nothing, cancel, NULL, &request) == MPI_SUCCESS) {
		for (int i = 0; i < TESTS && !is_progressed; i++)
			cs_pmpi.Test(&request, &flag, MPI_STATUS_IGNORE);
		cs_pmpi.Grequest_complete(request);
		cs_pmpi.Wait(&request, MPI_STATUS_IGNORE);
	}
	remove(note_progress);
	return is_progressed && !add(on_progress);
}

bool
cs_icalls_find_driver(int ranks,
		      void (*end)(struct cs_comm *communicator, bool may_wait))
{
	int level = MPI_THREAD_SINGLE;
	enum cs_progress_kind kind = cs_engine.settings.progress;
	bool has_spare = cs_progress_thread_has_cores(ranks);
	if (!cs_pmpi.Grequest_start || !cs_pmpi.Grequest_complete || !cs_pmpi.Type_dup ||
	    !cs_pmpi.Status_set_elements || !cs_pmpi.Status_set_cancelled ||
	    !cs_pmpi.Query_thread || cs_pmpi.Query_thread(&level) != MPI_SUCCESS)
		return false;
	void *start = extension("PMPIX_Grequest_start");
	if (!start) /* MPICH's libmpi_abi */
		start = extension("MPIX_Grequest_start");
	memcpy(&start_polled, &start, sizeof start);
	bool is_hooked = !start && hook();
	/* Without a hook nothing but a thread steps calls while the MPI waits for something else,
	 * for which a peer may need our steps. */
	if (!is_hooked && (!start || kind == CS_PROGRESS_CALLS))
		return false;
	cs_mpi_is_threaded = level == MPI_THREAD_MULTIPLE;
	cs_messages_progress = is_hooked;
	bool wants_thread = kind == CS_PROGRESS_THREAD ||
			    (kind == CS_PROGRESS_AUTO && (has_spare || !is_hooked));
	cs_icalls_are_threaded = (wants_thread && cs_progress_thread_start(has_spare)) ||
				 cs_mpi_is_threaded;
	cs_host_drive = cs_icalls_drive;
	cs_comm_end_calls = end;
	cs_icalls_first();
	return true;
}

bool
cs_icalls_is_hooked(void)
{
	return !start_polled;
}

int
cs_icall_make_request(struct cs_icall *icall, MPI_Request *request)
{
	return start_polled ? start_polled(query, freed, cancel, poll, poll_all, icall, request)
			    : cs_pmpi.Grequest_start(query, freed, cancel, icall, request);
}

void
cs_icall_insert(struct cs_icall *icall)
{
	struct cs_icall **bucket = bucket_of(icall->request);
	icall->chain = *bucket;
	*bucket = icall;
}

void
cs_icall_remove(struct cs_icall *icall)
{
	struct cs_icall **link = bucket_of(icall->request);
	while (*link && *link != icall)
		link = &(*link)->chain;
	if (*link)
		*link = icall->chain;
}

void
cs_icalls_reap(struct cs_icall **unused)
{
	struct cs_icall *icall = atomic_exchange(&freed_ones, NULL);
	while (icall) {
		struct cs_icall *next = icall->next;
		cs_icall_remove(icall);
		if (icall->serving.result != MPI_SUCCESS)
			atomic_fetch_sub(&cs_icalls_failed, 1);
		if (icall->is_over) {
			icall->next = *unused;
			*unused = icall;
		}
		icall = next;
	}
}

struct cs_icall *
cs_icall_find(MPI_Request request)
{
	struct cs_icall *icall = *bucket_of(request);
	while (icall && (icall->request != request || atomic_load(&icall->is_freed)))
		icall = icall->chain;
	return icall;
}

int
cs_icall_error(MPI_Request request)
{
	pthread_mutex_lock(&cs_icalls_lock);
	struct cs_icall *icall = *bucket_of(request);
	while (icall && icall->request != request)
		icall = icall->chain;
	int result = icall && icall->is_over ? icall->serving.result : MPI_SUCCESS;
	MPI_Comm comm = result == MPI_SUCCESS ? MPI_COMM_NULL : icall->serving.communicator->comm;
	if (result != MPI_SUCCESS && icall->is_persistent) { /* told once for each start */
		icall->serving.result = MPI_SUCCESS;
		atomic_fetch_sub(&cs_icalls_failed, 1);
	}
	pthread_mutex_unlock(&cs_icalls_lock);
	if (comm != MPI_COMM_NULL)
		cs_pmpi.Comm_call_errhandler(comm, result);
	return result;
}
