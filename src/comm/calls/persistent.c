/* comm/calls/persistent.c — makes, starts, completes and frees persistent collectives. */
#include "comm/calls/persistent.h"

#include "base/clock.h"
#include "base/log.h"
#include "comm/calls/serve_common.h"
#include "comm/calls/icall_parts.h"
#include "comm/engine.h"
#include "comm/host/pmpi.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Tags on cs_self, of which pack.c has lower ones; 32767 is the highest that every MPI allows. */
#define FIRST_TAG 16384
#define MOST 16384 /* requests at a time */
#define TRIES 10000  /* for a message of this process to itself */

struct cs_persistent {
	struct cs_icall icall; /* first */
	struct cs_kept kept;
	cs_replay *replay;
	struct cs_comm *apart; /* with the team */
	int tag;
	_Atomic uint64_t starts;
	MPI_Message message; /* of the start that is under way */
	bool is_active, is_doomed; /* freed by the program while active */
	void *arrays[5]; /* owned */
	MPI_Datatype types[3]; /* duplicates, or MPI_DATATYPE_NULL */
	MPI_Datatype *many[2]; /* of each rank: type to use, then duplicates; NULL: none */
};

void (*cs_persistents_first)(void);
_Atomic unsigned cs_persistents_made;

/* With cs_icalls_lock. */
static struct cs_persistent **all; /* by tag; NULL: unused */
static int room;
static _Atomic(struct cs_icall *) postponed;

static struct cs_persistent *
of(struct cs_icall *icall)
{
	return (struct cs_persistent *)icall;
}

/* Nothing that is guarded here is used where one thread comes back to this file. */
static void
lock(void)
{
	if (cs_icalls_are_threaded)
		pthread_mutex_lock(&cs_icalls_lock);
}

static void
unlock(void)
{
	if (cs_icalls_are_threaded)
		pthread_mutex_unlock(&cs_icalls_lock);
}

static void *
need(void *memory)
{
	if (!memory) {
		cs_warn_local("no memory for a persistent call; ending the job");
		cs_host_mpi.abort("out of memory");
	}
	return memory;
}

/* --- arguments -------------------------------------------------------------------------------- */

static MPI_Datatype
duplicate(MPI_Datatype type)
{
	MPI_Datatype copy;
	if (cs_type_find(type))
		return MPI_DATATYPE_NULL;
	if (cs_pmpi.Type_dup(type, &copy) != MPI_SUCCESS)
		cs_host_mpi.abort("MPI_Type_dup");
	return copy;
}

static void
keep_type(struct cs_persistent *persistent, int which, MPI_Datatype *type)
{
	persistent->types[which] = duplicate(*type);
	if (persistent->types[which] != MPI_DATATYPE_NULL)
		*type = persistent->types[which];
}

/* Copies an array of the program's, one element a rank. */
static void
keep_array(struct cs_persistent *persistent, int which, const void **array, size_t each)
{
	if (!*array)
		return;
	size_t bytes = (size_t)persistent->apart->size * each;
	*array = memcpy(persistent->arrays[which] = need(malloc(bytes)), *array, bytes);
}

static void
keep_types(struct cs_persistent *persistent, int which, const MPI_Datatype **types,
	   const void *counts)
{
	if (!*types)
		return;
	size_t size = (size_t)persistent->apart->size;
	struct cs_vector_args vector = { counts, NULL, persistent->kept.is_large };
	MPI_Datatype *copies = persistent->many[which] = need(calloc(2 * size, sizeof *copies));
	for (size_t rank = 0; rank < size; rank++) {
		copies[rank] = (*types)[rank];
		copies[size + rank] = cs_serve_count_at(&vector, (int)rank)
				      ? duplicate((*types)[rank]) : MPI_DATATYPE_NULL;
		if (copies[size + rank] != MPI_DATATYPE_NULL)
			copies[rank] = copies[size + rank];
	}
	*types = copies;
}

/* Keeps all that the program may free or change after the call. Arguments that are not significant
 * on this rank are not looked at. */
static void
keep(struct cs_persistent *persistent)
{
	struct cs_kept *kept = &persistent->kept;
	const struct cs_coll_info *coll = &cs_colls[kept->coll];
	int rank = persistent->apart->rank;
	bool sends = cs_flow_reaches(coll->in, rank, kept->root) && kept->send != MPI_IN_PLACE,
	     receives = cs_flow_reaches(coll->out, rank, kept->root) && kept->recv != MPI_IN_PLACE;
	size_t count = kept->is_large ? sizeof(MPI_Count) : sizeof(int),
	       displ = kept->is_large ? sizeof(MPI_Aint) : sizeof(int);
	for (int i = 0; i < 3; i++)
		persistent->types[i] = MPI_DATATYPE_NULL;
	keep_array(persistent, 0, &kept->counts, count);
	if (kept->coll == CS_BCAST)
		keep_type(persistent, 0, &kept->type);
	if (cs_colls[kept->coll].reduces || kept->coll == CS_BCAST || kept->coll == CS_BARRIER)
		return;
	if (sends) {
		keep_array(persistent, 1, &kept->send_counts, count);
		keep_array(persistent, 2, &kept->send_displs, displ);
		if (kept->coll == CS_ALLTOALLW)
			keep_types(persistent, 0, &kept->send_types, kept->send_counts);
		else
			keep_type(persistent, 1, &kept->send_type);
	}
	if (receives) {
		keep_array(persistent, 3, &kept->recv_counts, count);
		keep_array(persistent, 4, &kept->recv_displs, displ);
		if (kept->coll == CS_ALLTOALLW)
			keep_types(persistent, 1, &kept->recv_types, kept->recv_counts);
		else
			keep_type(persistent, 2, &kept->recv_type);
	}
}

static void
free_types(MPI_Datatype *types, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (types[i] != MPI_DATATYPE_NULL)
			cs_pmpi.Type_free(&types[i]);
}

static void
drop(struct cs_persistent *persistent)
{
	size_t size = (size_t)persistent->apart->size;
	lock();
	cs_icall_remove(&persistent->icall);
	all[persistent->tag] = NULL;
	if (persistent->icall.serving.result != MPI_SUCCESS)
		atomic_fetch_sub(&cs_icalls_failed, 1);
	unlock();
	atomic_fetch_sub(&cs_persistents_made, 1);
	cs_comm_drop_apart(persistent->apart);
	free_types(persistent->types, 3);
	for (int i = 0; i < 2; i++) {
		if (persistent->many[i])
			free_types(persistent->many[i] + size, size);
		free(persistent->many[i]);
	}
	for (int i = 0; i < 5; i++)
		free(persistent->arrays[i]);
	free(persistent);
}

static void
close_all(void)
{
	for (int i = 0; i < room; i++)
		if (all[i])
			drop(all[i]);
	free(all);
	all = NULL;
	room = 0;
}

void
cs_persistents_orphan(const struct cs_comm *communicator)
{
	lock();
	for (int i = 0; i < room; i++)
		if (all[i] && all[i]->apart != communicator &&
		    all[i]->apart->comm == communicator->comm)
			all[i]->apart->comm = MPI_COMM_SELF; /* for the error handler */
	unlock();
}

/* --- making ----------------------------------------------------------------------------------- */

/* Does something stand before us that takes the functions that wait, and may go past us? */
static bool
is_behind(const char *name)
{
	Dl_info first, ours;
	void *symbol = dlsym(RTLD_DEFAULT, name);
	return !symbol || !dladdr(symbol, &first) || !dladdr((void *)cs_engine.door, &ours) ||
	       first.dli_fbase != ours.dli_fbase;
}

static void
count_host(const struct cs_comm *communicator, const struct cs_kept *kept, const char *why)
{
	if (!communicator || !communicator->seat->selection.is_reporting)
		return;
	struct cs_report_row *row = cs_report_row(CS_PERSISTENT + (int)kept->coll, kept->bytes,
						  true, "host", why ? why : "not served");
	uint64_t now = cs_clock_ns();
	cs_report_count(row, kept->bytes, 0);
	cs_report_site(cs_report_caller(kept->caller), row, now, now, CS_REPORT_NOT_KNOWN);
}

/* Would a non-blocking call with these arguments be served? The same on all ranks, as with
 * non-blocking calls. Sets *call_bytes for cs_comm_apart. */
static bool
would_serve(struct cs_comm *communicator, const struct cs_kept *kept, cs_replay *replay,
	    size_t *call_bytes, const char **why)
{
	*why = communicator->reason ? communicator->reason : "team not made yet";
	if (!communicator->seat->selection.team) {
		const struct cs_limits *limits = cs_selector_limits(cs_engine.selector);
		/* Made to be started often, it counts as all the calls before a team. */
		if (cs_engine.settings.team_after < 0 && communicator->calls < limits->team_after)
			communicator->calls = limits->team_after;
		if (communicator->state != CS_COMM_COUNTING || !cs_comm_count(communicator))
			return false;
	}
	*why = "persistent, on several nodes";
	if (communicator->seat->team.shape.nodes > 1)
		return false;
	struct cs_serving *serving = cs_icall_new(communicator);
	*why = "the MPI lacks what it takes";
	if (!serving)
		return false;
	struct cs_icall *icall = (struct cs_icall *)serving;
	icall->is_dry = true;
	icall->would_run = false;
	replay(serving, kept);
	if (__builtin_mul_overflow(serving->bytes, (size_t)communicator->size, call_bytes))
		*call_bytes = SIZE_MAX;
	bool would_run = icall->would_run;
	*why = cs_icall_drop(serving); /* to be another thread's */
	return would_run && cs_pmpi.Ssend_init && cs_pmpi.Improbe && cs_pmpi.Mrecv &&
	       cs_pmpi.Request_free;
}

/* Finds a tag; false: none is left. */
static bool
take_tag(struct cs_persistent *persistent)
{
	int tag = 0;
	lock();
	while (tag < room && all[tag])
		tag++;
	if (tag == room && room < MOST) {
		int more = room ? 2 * room : 16;
		all = need(realloc(all, (size_t)more * sizeof *all));
		memset(all + room, 0, (size_t)(more - room) * sizeof *all);
		room = more;
	}
	if (tag < room)
		all[tag] = persistent;
	persistent->tag = tag;
	unlock();
	return tag < room;
}

static struct cs_persistent *
make(struct cs_comm *apart, const struct cs_kept *kept, cs_replay *replay)
{
	struct cs_persistent *persistent = need(calloc(1, sizeof *persistent));
	struct cs_icall *icall = &persistent->icall;
	apart->icalls = need(calloc(1, sizeof *apart->icalls));
	persistent->apart = apart;
	persistent->kept = *kept;
	persistent->replay = replay;
	keep(persistent);
	icall->is_persistent = icall->is_over = icall->has_request = true;
	icall->serving.communicator = apart;
	icall->serving.caller = cs_report_caller(kept->caller);
	if (!take_tag(persistent) ||
	    cs_pmpi.Ssend_init(NULL, 0, MPI_BYTE, 0, FIRST_TAG + persistent->tag, cs_self,
			       &icall->request) != MPI_SUCCESS) {
		cs_warn_local("no request for a persistent call; ending the job");
		cs_host_mpi.abort("MPI_Ssend_init");
	}
	return persistent;
}

void
cs_persistent_make(struct cs_comm *communicator, const struct cs_kept *kept, cs_replay *replay,
		   MPI_Request *request)
{
	const char *why = NULL;
	size_t call_bytes;
	int saved = errno;
	struct cs_comm *apart = NULL;
	if (!communicator)
		return;
	if (cs_engine.settings.is_nonblocking &&
	    would_serve(communicator, kept, replay, &call_bytes, &why)) {
		/* A tool's MPI_Wait calls PMPI_Wait, in which MPICH would not let us step. */
		bool is_barred = !cs_icalls_is_hooked() && is_behind("MPI_Wait");
		apart = cs_comm_apart(communicator, call_bytes, is_barred);
		why = apart->reason;
	}
	if (!apart || !apart->seat->selection.team) {
		if (apart)
			cs_comm_drop_apart(apart);
		count_host(communicator, kept, why);
		errno = saved;
		return;
	}
	struct cs_persistent *persistent = make(apart, kept, replay);
	cs_pmpi.Request_free(request);
	*request = persistent->icall.request;
	lock();
	cs_icall_insert(&persistent->icall);
	cs_comms_closing = close_all;
	unlock();
	if (!atomic_fetch_add(&cs_persistents_made, 1))
		cs_persistents_first();
	errno = saved;
}

/* --- starting --------------------------------------------------------------------------------- */

static void
start(struct cs_persistent *persistent, MPI_Message message)
{
	struct cs_icall *icall = &persistent->icall;
	lock();
	if (icall->serving.result != MPI_SUCCESS) /* never told */
		atomic_fetch_sub(&cs_icalls_failed, 1);
	persistent->message = message;
	persistent->is_active = true;
	persistent->starts++;
	unlock();
	struct cs_serving *serving = cs_icall_prepare(icall, persistent->apart);
	if (!persistent->replay(serving, &persistent->kept)) {
		cs_warn_local("a persistent call is not served any more; ending the job");
		cs_host_mpi.abort("MPI_Start");
	}
	cs_icall_request(serving, &icall->request);
}

/* Receives the message of a start with this tag or MPI_ANY_TAG. False: there is none. */
static bool
take_start(int tag)
{
	MPI_Message message;
	MPI_Status status;
	int is_there = false;
	if (cs_pmpi.Improbe(0, tag, cs_self, &is_there, &message, &status) != MPI_SUCCESS ||
	    !is_there)
		return false;
	lock();
	struct cs_persistent *persistent = all[status.MPI_TAG - FIRST_TAG];
	unlock();
	start(persistent, message);
	return true;
}

void
cs_persistents_look(void)
{
	static _Thread_local bool is_looking;
	/* The MPI may progress within a step of ours, with the lock. */
	if (!cs_persistents_made || is_looking || cs_icalls_is_within() ||
	    pthread_mutex_trylock(&cs_icalls_lock))
		return;
	pthread_mutex_unlock(&cs_icalls_lock);
	is_looking = true;
	while (take_start(MPI_ANY_TAG))
		;
	is_looking = false;
}

/* Returns the call of that request, and the number of its starts, or NULL. */
static struct cs_persistent *
find(MPI_Request request, uint64_t *starts)
{
	struct cs_persistent *persistent = NULL;
	lock();
	struct cs_icall *icall = cs_icall_find(request);
	if (icall && icall->is_persistent) {
		persistent = of(icall);
		*starts = persistent->starts;
	}
	unlock();
	return persistent;
}

void
cs_persistents_start(int count, const MPI_Request *before, const MPI_Request *requests)
{
	int saved = errno;
	for (int i = 0; i < count; i++) {
		uint64_t starts;
		struct cs_persistent *persistent = find(before[i], &starts);
		if (!persistent)
			continue;
		if (requests[i] != before[i]) { /* Open MPI's, if the former start is not over */
			lock();
			cs_icall_remove(&persistent->icall);
			persistent->icall.request = requests[i];
			cs_icall_insert(&persistent->icall);
			unlock();
		}
		/* Another thread may take it, and a handle may be another request's if ours was
		 * freed by a name that is not intercepted. */
		int tries = 0, its_tag = FIRST_TAG + persistent->tag;
		while (tries++ < TRIES && !take_start(its_tag) && persistent->starts == starts)
			;
	}
	errno = saved;
}

/* --- the end ---------------------------------------------------------------------------------- */

void
cs_persistent_complete(struct cs_icall *icall)
{
	struct cs_persistent *persistent = of(icall);
	MPI_Message message = persistent->message;
	if (cs_icalls_is_within()) {
		lock();
		icall->next = postponed;
		postponed = icall;
		atomic_fetch_add(&cs_icalls_open, 1); /* so that somebody looks */
		unlock();
		return;
	}
	lock();
	persistent->is_active = false;
	bool is_doomed = persistent->is_doomed;
	unlock();
	/* From here on the program may start it again. */
	cs_pmpi.Mrecv(NULL, 0, MPI_BYTE, &message, MPI_STATUS_IGNORE);
	if (is_doomed)
		drop(persistent);
}

void
cs_persistents_complete(void)
{
	while (postponed && !cs_icalls_is_within()) {
		lock();
		struct cs_icall *icall = postponed;
		if (icall) {
			postponed = icall->next;
			atomic_fetch_sub(&cs_icalls_open, 1);
		}
		unlock();
		if (icall)
			cs_persistent_complete(icall);
	}
}

void
cs_persistent_free(MPI_Request before)
{
	uint64_t starts;
	struct cs_persistent *persistent = find(before, &starts);
	if (!persistent)
		return;
	lock();
	bool is_active = persistent->is_active;
	persistent->is_doomed = true;
	unlock();
	if (!is_active)
		drop(persistent);
}
