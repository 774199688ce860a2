/* comm/teams/comm.c — finds a communicator's cs_comm, and releases it with the communicator. */
#include "comm/teams/comm.h"

#include "base/log.h"
#include "comm/engine.h"
#include "comm/host/flavour.h"
#include "comm/host/pmpi.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

_Atomic(struct cs_comm *) cs_comm_cache[CS_COMM_CACHE];
struct cs_seat cs_no_seat;
void (*cs_comm_end_calls)(struct cs_comm *communicator, bool may_wait);
void (*cs_comms_closing)(void);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Hash table, by handle, of each cs_comm that is its communicator's attribute: no handle in it is
 * stale. */
#define BUCKETS 64
static struct cs_comm *living[BUCKETS], *unused;
static int keyval = MPI_KEYVAL_INVALID;

struct cs_freeing {
	MPI_Comm comm;
	struct cs_comm *aside;  /* the communicator's; NULL: it has none */
	struct cs_freeing *outer;
};
/* Communicators being freed by this thread: in another one the handle may be a new communicator's
 * before MPI_Comm_free has returned to us. An entry stays if a program's error handler leaves
 * MPI_Comm_free by longjmp or a C++ exception; the communicator lives on, with the host. */
static _Thread_local struct cs_freeing *innermost_freeing;

static struct cs_comm **
bucket_of(MPI_Comm comm)
{
	uintptr_t handle = (uintptr_t)comm;
	return &living[(handle ^ handle >> 6 ^ handle >> 12) % BUCKETS];
}

static void
link_comm(struct cs_comm *communicator)
{
	pthread_mutex_lock(&lock);
	struct cs_comm **bucket = bucket_of(communicator->comm);
	communicator->next = *bucket;
	*bucket = communicator;
	pthread_mutex_unlock(&lock);
}

static struct cs_comm *
look_up(MPI_Comm comm)
{
	pthread_mutex_lock(&lock);
	struct cs_comm *communicator = *bucket_of(comm);
	while (communicator && communicator->comm != comm)
		communicator = communicator->next;
	pthread_mutex_unlock(&lock);
	return communicator;
}

static struct cs_comm *
take(MPI_Comm comm)
{
	pthread_mutex_lock(&lock);
	struct cs_comm *communicator = unused;
	if (communicator)
		unused = communicator->next;
	else
		communicator = malloc(sizeof *communicator);
	/* End the job: without a cs_comm this rank alone would go on without a team, and the others
	 * wait for it. */
	if (!communicator) {
		cs_warn_local("no memory to know a communicator by; ending the job");
		cs_host_mpi.abort("out of memory");
	}
	memset(communicator, 0, sizeof *communicator);
	communicator->comm = comm;
	communicator->seat = &cs_no_seat;
	communicator->known_type = cs_type_find(MPI_BYTE);
	pthread_mutex_unlock(&lock);
	return communicator;
}

static void
unlink_comm(struct cs_comm *communicator)
{
	pthread_mutex_lock(&lock);
	struct cs_comm **link = bucket_of(communicator->comm);
	while (*link && *link != communicator)
		link = &(*link)->next;
	if (*link)
		*link = communicator->next;
	pthread_mutex_unlock(&lock);
}

/* Puts a cs_comm that is in no list on the list of unused ones. */
static void
give_back(struct cs_comm *communicator)
{
	pthread_mutex_lock(&lock);
	communicator->comm = MPI_COMM_NULL;
	communicator->next = unused;
	unused = communicator;
	pthread_mutex_unlock(&lock);
}

/* `may_wait`: for calls that are under way, with other ranks. */
static void
release(struct cs_comm *communicator, bool may_wait)
{
	if (communicator->icalls)
		cs_comm_end_calls(communicator, may_wait);
	cs_comm_drop_team(communicator);
	cs_op_memory_free(&communicator->idle);
	free(communicator->sizes);
	communicator->sizes = NULL;
}

struct cs_comm *
cs_comm_apart(const struct cs_comm *communicator, size_t call_bytes, bool is_barred)
{
	struct cs_comm *apart = take(communicator->comm);
	apart->rank = communicator->rank;
	apart->size = communicator->size;
	apart->is_within_world = apart->is_apart = true;
	apart->is_barred = is_barred;
	apart->call_bytes = call_bytes;
	cs_comm_make_team(apart);
	return apart;
}

void
cs_comm_drop_apart(struct cs_comm *apart)
{
	release(apart, false);
	give_back(apart);
}

static void
forget(MPI_Comm comm)
{
	_Atomic(struct cs_comm *) *slot = &cs_comm_cache[cs_comm_index(comm)];
	struct cs_comm *communicator = atomic_load(slot);
	if (communicator && communicator->comm == comm)
		atomic_compare_exchange_strong(slot, &communicator, NULL);
}

/* Attribute delete callback (MPI 4.0, 7.7.2): for communicators freed without cs_comm_freeing, as
 * by PMPI_Comm_free. */
static int
on_delete(MPI_Comm comm, int key, void *value, void *extra)
{
	struct cs_comm *communicator = value;
	if (!communicator || communicator->is_aside)
		return MPI_SUCCESS;
	forget(communicator->comm); /* not `comm`: Open MPI 6.0.0rc2's standard ABI library may pass
				     * a handle of its own */
	unlink_comm(communicator);
	release(communicator, true);
	give_back(communicator);
	return MPI_SUCCESS;
}

bool
cs_comms_open(void)
{
	cs_no_seat.selection.is_reporting = cs_engine.is_reporting &&
					    !cs_engine.settings.is_disabled;
	cs_no_seat.selection.is_recording = cs_engine.settings.arrivals != NULL &&
					    !cs_engine.settings.is_disabled;
	cs_no_seat.selection.is_telling = cs_engine.settings.report != NULL &&
					  !cs_engine.settings.is_disabled;
	cs_no_seat.selection.is_timed = cs_no_seat.selection.is_telling ||
					cs_no_seat.selection.is_recording ? CS_TIMED_ALL : 0;
	return cs_pmpi.Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &keyval, NULL) ==
	       MPI_SUCCESS;
}

void
cs_comms_tell(void)
{
	for (int i = 0; i < BUCKETS; i++)
		for (struct cs_comm *communicator = living[i]; communicator;
		     communicator = communicator->next)
			cs_selection_tell(&communicator->seat->selection);
}

void
cs_comms_close(void)
{
	for (int i = 0; i < CS_COMM_CACHE; i++)
		atomic_store(&cs_comm_cache[i], NULL);
	if (cs_comms_closing)
		cs_comms_closing();
	/* Communicators that the program did not free, MPI_COMM_WORLD among them. */
	for (int i = 0; i < BUCKETS; i++)
		while (living[i]) {
			struct cs_comm *communicator = living[i];
			if (cs_pmpi.Comm_delete_attr(communicator->comm, keyval) == MPI_SUCCESS &&
			    living[i] != communicator)
				continue;
			unlink_comm(communicator);
			release(communicator, false);
			give_back(communicator);
		}
	cs_pmpi.Comm_free_keyval(&keyval);
}

/* May another thread make calls now? */
static bool
has_threads(void)
{
	int level = MPI_THREAD_MULTIPLE;
	return !cs_pmpi.Query_thread || cs_pmpi.Query_thread(&level) != MPI_SUCCESS ||
	       level == MPI_THREAD_MULTIPLE;
}

size_t
cs_comms_give_back(bool of_all)
{
	size_t bytes = 0;
	if (has_threads())
		return 0;
	pthread_mutex_lock(&lock);
	for (int i = 0; i < BUCKETS; i++)
		for (struct cs_comm *one = living[i]; one; one = one->next) {
			struct cs_seat *seat = one->seat;
			struct cs_node *node = &seat->team.node;
			/* Non-blocking calls may be stepped by a thread. Committed pages stay:
			 * without memory, touching them again would be SIGBUS. */
			if (one->state != CS_COMM_TEAM || one->icalls || seat->pin ||
			    !node->segment.handle.may_come_late)
				continue;
			if (of_all || seat->looked_at == node->calls)
				bytes += cs_node_give_back(node);
			seat->looked_at = node->calls;
		}
	pthread_mutex_unlock(&lock);
	if (bytes)
		cs_info("shm: %zu bytes of idle teams were given back", bytes);
	return bytes;
}

void
cs_comms_say_elsewhere(const struct cs_node *but, const struct cs_stall *stall)
{
	if (has_threads() || pthread_mutex_trylock(&lock))
		return;
	for (int i = 0; i < BUCKETS; i++)
		for (struct cs_comm *one = living[i]; one; one = one->next) {
			struct cs_node *node = &one->seat->team.node;
			if (one->seat->selection.team && node != but && node->shape.size > 1)
				cs_stall_publish(node, stall);
		}
	pthread_mutex_unlock(&lock);
}

/* Do all processes of the group belong to this job's MPI_COMM_WORLD? Spawned or connected ones have
 * no part in our agreement at MPI_Init. The result is the same on all ranks, since a mixed group is
 * mixed for each of its members. */
static bool
is_within_world(MPI_Comm comm, int size)
{
	enum { PIECE = 64 };
	MPI_Group group;
	bool inside;
	if (cs_pmpi.Comm_group(comm, &group))
		return false;
	/* In pieces that need no memory, which might fail on one rank alone. */
	inside = true;
	for (int first = 0; inside && first < size; first += PIECE) {
		int from[PIECE], to[PIECE], count = size - first < PIECE ? size - first : PIECE;
		for (int i = 0; i < count; i++)
			from[i] = first + i;
		inside = cs_pmpi.Group_translate_ranks(group, count, from, cs_engine.world, to) ==
			 MPI_SUCCESS;
		for (int i = 0; inside && i < count; i++)
			inside = to[i] != MPI_UNDEFINED;
	}
	cs_pmpi.Group_free(&group);
	return inside;
}

static struct cs_comm *
join(MPI_Comm comm)
{
	struct cs_comm *communicator = take(comm);
	int is_inter = 0;
	if (cs_pmpi.Comm_test_inter(comm, &is_inter) ||
	    cs_pmpi.Comm_rank(comm, &communicator->rank) ||
	    cs_pmpi.Comm_size(comm, &communicator->size) ||
	    cs_pmpi.Comm_set_attr(comm, keyval, communicator)) {
		give_back(communicator);
		return NULL;
	}
	link_comm(communicator);
	communicator->state = CS_COMM_HOST;
	communicator->is_inter = is_inter;
	if (is_inter)
		communicator->reason = "intercommunicator";
	else if (communicator->size == 1)
		communicator->reason = "one rank";
	else if (!is_within_world(comm, communicator->size))
		communicator->reason = "processes outside MPI_COMM_WORLD";
	else
		communicator->state = CS_COMM_COUNTING;
	communicator->is_within_world = communicator->state == CS_COMM_COUNTING;
	return communicator;
}

/* Is it (still) a communicator? Compared with cs_self, so that an error is returned by cs_self's
 * handler, and not raised on MPI_COMM_WORLD before the host's own call does. */
static bool
is_alive(MPI_Comm comm)
{
	int relation;
	return cs_flavour.follows_stale_handles || comm == MPI_COMM_WORLD ||
	       cs_pmpi.Comm_compare(cs_self, comm, &relation) == MPI_SUCCESS;
}

/* Takes our attribute off the communicator and keeps its cs_comm. */
static struct cs_comm *
set_aside(MPI_Comm comm)
{
	struct cs_comm *communicator = look_up(comm);
	if (!communicator)
		return NULL;
	communicator->is_aside = true;
	if (cs_pmpi.Comm_delete_attr(comm, keyval) != MPI_SUCCESS) {
		communicator->is_aside = false;
		return NULL;
	}
	unlink_comm(communicator);
	return communicator;
}

/* Restores the attribute after the host has not freed the communicator: a delete callback
 * failed. */
static void
put_back(struct cs_comm *communicator)
{
	if (is_alive(communicator->comm) &&
	    cs_pmpi.Comm_set_attr(communicator->comm, keyval, communicator) == MPI_SUCCESS) {
		communicator->is_aside = false;
		link_comm(communicator);
		return;
	}
	release(communicator, true);
	give_back(communicator);
}

static struct cs_freeing *
freeing_of(MPI_Comm comm)
{
	struct cs_freeing *freeing = innermost_freeing;
	while (freeing && freeing->comm != comm)
		freeing = freeing->outer;
	return freeing;
}

struct cs_freeing *
cs_comm_freeing(MPI_Comm comm)
{
	if (comm == MPI_COMM_NULL)
		return NULL;
	struct cs_freeing *freeing = freeing_of(comm);
	if (freeing) /* freed once more after a longjmp */
		return freeing;
	int saved = errno;
	freeing = malloc(sizeof *freeing);
	errno = saved;
	/* Without memory, on_delete is called through the attribute. */
	if (!freeing)
		return NULL;
	forget(comm);
	bool is_open = atomic_load_explicit(&cs_engine.state, memory_order_acquire) ==
		       CS_ENGINE_OPEN;
	*freeing = (struct cs_freeing){ .comm = comm, .outer = innermost_freeing };
	freeing->aside = is_open ? set_aside(comm) : NULL;
	innermost_freeing = freeing;
	return freeing;
}

void
cs_comm_freed(struct cs_freeing *freeing, bool is_gone)
{
	if (!freeing)
		return;
	struct cs_freeing **link = &innermost_freeing;
	while (*link && *link != freeing)
		link = &(*link)->outer;
	if (*link)
		*link = freeing->outer;
	int saved = errno;
	if (freeing->aside && !is_gone) {
		put_back(freeing->aside);
	} else if (freeing->aside) {
		release(freeing->aside, true);
		give_back(freeing->aside);
	}
	free(freeing);
	errno = saved;
}

struct cs_comm *
cs_comm_find(MPI_Comm comm)
{
	if (freeing_of(comm))
		return NULL;
	struct cs_comm *communicator = look_up(comm);
	if (!communicator && is_alive(comm))
		communicator = join(comm);
	if (communicator)
		atomic_store_explicit(&cs_comm_cache[cs_comm_index(comm)], communicator,
				      memory_order_release);
	return communicator;
}

bool
cs_comm_count(struct cs_comm *communicator)
{
	int saved = errno;
	size_t after = cs_selector_limits(cs_engine.selector)->team_after;
	if (cs_engine.settings.team_after >= 0)
		after = (size_t)cs_engine.settings.team_after;
	if (after < communicator->try_at)
		after = (size_t)communicator->try_at;
	/* MPI_COMM_WORLD lives long, so its team is made at once. The count is the same on all
	 * ranks, which make the same calls on a communicator. */
	if (++communicator->calls >= after || communicator->comm == MPI_COMM_WORLD)
		cs_comm_make_team(communicator);
	/* Without a team the caller, which may have filled the sizes, goes to the host. */
	if (!communicator->seat->selection.team) {
		free(communicator->sizes);
		communicator->sizes = NULL;
	}
	errno = saved;
	return communicator->seat->selection.team;
}

void
cs_comm_duplicating(void)
{
	if (cs_flavour.may_hang_in_idup)
		atomic_store(&cs_engine.has_duplicated, 1);
}

struct cs_report_row *
cs_comm_left_row(enum cs_left coll, size_t bytes)
{
	return cs_report_host_row((int)coll, bytes, "never served");
}
