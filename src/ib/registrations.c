/* ib/registrations.c — keeps the program's memory registered while it may be used again. */
#include "ib/registrations.h"
#include "ib/watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/queue.h>
#include <unistd.h>

/* Watched memory is cut out of its mapping, so an idle registration may cost the program two of the
 * 65530 mappings that it may have (vm.max_map_count). */
enum { MOST_IDLE = 2048 };

struct entry {
	struct cs_registration shown; /* first: the caller's pointer is ours */
	struct ibv_mr *mr;
	uintptr_t low, high;
	int users;
	bool is_pinned;
	bool is_listed;  /* in the slots: take may find it */
	bool is_watched; /* its pages, as far as they are still mapped */
	bool is_stale;   /* something there has changed: it is to be ended when nobody uses it */
	TAILQ_ENTRY(entry) link;
};

TAILQ_HEAD(queue, entry);

/* Sorted by low. Registrations may overlap and contain each other; `reach`, the largest `high` up
 * to here, tells where a search may stop. Searching: O(log n) and the registrations that reach over
 * the place; adding and taking out: O(n), 24 bytes each, beside a verb of microseconds. */
struct slot {
	uintptr_t low, reach;
	struct entry *entry;
};

struct cs_registrations {
	const struct cs_verbs *verbs;
	struct ibv_pd *pd;
	size_t budget;
	uintptr_t page;
	bool is_fork_safe;
	struct cs_watch_forks forks; /* seen so far */
	struct cs_watch *watch;      /* NULL: there is none */
	struct cs_watch_changes changes;
	struct slot *slots; /* pinned ones, and of the watched ones those that are not stale */
	size_t count, room;
	struct queue idle;  /* listed, used by nobody, the one given back last at the end */
	struct queue loose; /* used, and not listed */
	size_t idle_count, idle_bytes;
	struct cs_registration_counters counters;
};

/* ---- the sorted slots */

/* The first slot from which on something may reach beyond `low`. */
static size_t
first_reaching(const struct cs_registrations *registrations, uintptr_t low)
{
	size_t from = 0, to = registrations->count;
	while (from < to) {
		size_t middle = from + (to - from) / 2;
		if (registrations->slots[middle].reach > low)
			to = middle;
		else
			from = middle + 1;
	}
	return from;
}

/* The first slot that begins behind `low`. */
static size_t
first_behind(const struct cs_registrations *registrations, uintptr_t low)
{
	size_t from = 0, to = registrations->count;
	while (from < to) {
		size_t middle = from + (to - from) / 2;
		if (registrations->slots[middle].low > low)
			to = middle;
		else
			from = middle + 1;
	}
	return from;
}

static void
update_reach(struct cs_registrations *registrations, size_t from)
{
	uintptr_t reach = from ? registrations->slots[from - 1].reach : 0;
	for (size_t i = from; i < registrations->count; i++) {
		uintptr_t high = registrations->slots[i].entry->high;
		reach = high > reach ? high : reach;
		registrations->slots[i].reach = reach;
	}
}

static bool
make_room(struct cs_registrations *registrations)
{
	if (registrations->count < registrations->room)
		return true;
	size_t room = registrations->room ? 2 * registrations->room : 64;
	struct slot *slots = realloc(registrations->slots, room * sizeof *slots);
	if (!slots)
		return false;
	registrations->slots = slots;
	registrations->room = room;
	return true;
}

/* There is room. */
static void
list(struct cs_registrations *registrations, struct entry *entry)
{
	size_t at = first_behind(registrations, entry->low);
	struct slot *slot = &registrations->slots[at];
	memmove(slot + 1, slot, (registrations->count++ - at) * sizeof *slot);
	*slot = (struct slot){ .low = entry->low, .entry = entry };
	entry->is_listed = true;
	update_reach(registrations, at);
}

static void
unlist(struct cs_registrations *registrations, struct entry *entry)
{
	size_t at = first_behind(registrations, entry->low) - 1;
	while (registrations->slots[at].entry != entry)
		at--;
	struct slot *slot = &registrations->slots[at];
	memmove(slot, slot + 1, (--registrations->count - at) * sizeof *slot);
	entry->is_listed = false;
	update_reach(registrations, at);
}

static struct entry *
find(const struct cs_registrations *registrations, uintptr_t low, uintptr_t high, bool is_writable,
     bool is_settled)
{
	const struct slot *slots = registrations->slots;
	for (size_t i = first_behind(registrations, low); i-- > 0 && slots[i].reach >= high;) {
		struct entry *entry = slots[i].entry;
		if (entry->high >= high && (entry->shown.is_writable || !is_writable) &&
		    (is_settled || entry->is_pinned))
			return entry;
	}
	return NULL;
}

/* ---- the watch */

/* Not what another listed one covers. */
static void
unwatch(struct cs_registrations *registrations, uintptr_t low, uintptr_t high)
{
	const struct slot *slots = registrations->slots;
	for (size_t i = first_reaching(registrations, low);
	     i < registrations->count && slots[i].low < high && low < high; i++) {
		const struct entry *other = slots[i].entry;
		if (!other->is_watched || other->high <= low)
			continue;
		if (low < other->low)
			cs_watch_remove(registrations->watch, low, other->low);
		low = other->high;
	}
	if (low < high)
		cs_watch_remove(registrations->watch, low, high);
}

/* Nor what has gone by one of the changes, from that of number `next` on. */
static void
unwatch_rest(struct cs_registrations *registrations, uintptr_t low, uintptr_t high, size_t next)
{
	const struct cs_watch_changes *changes = &registrations->changes;
	for (size_t i = next; i < changes->count && low < high; i++) {
		const struct cs_watch_change *change = &changes->list[i];
		if (!change->is_gone || change->high <= low || high <= change->low)
			continue;
		if (low < change->low)
			unwatch_rest(registrations, low, change->low, i + 1);
		low = change->high;
	}
	if (low < high)
		unwatch(registrations, low, high);
}

/* ---- the end of one */

static void
leave_idle(struct cs_registrations *registrations, struct entry *entry)
{
	TAILQ_REMOVE(&registrations->idle, entry, link);
	registrations->idle_count--;
	registrations->idle_bytes -= entry->shown.bytes;
}

/* Ends a registration that is in no list any more. */
static void
end(struct cs_registrations *registrations, struct entry *entry)
{
	registrations->verbs->dereg_mr(entry->mr);
	registrations->counters.ended++;
	registrations->counters.bytes -= entry->shown.bytes;
	free(entry);
}

/* Ends a listed registration that nobody uses. */
static void
end_idle(struct cs_registrations *registrations, struct entry *entry)
{
	leave_idle(registrations, entry);
	unlist(registrations, entry);
	unwatch(registrations, entry->low, entry->high);
	end(registrations, entry);
}

static void
evict(struct cs_registrations *registrations, size_t bytes, size_t count)
{
	while (registrations->idle_bytes > bytes || registrations->idle_count > count) {
		end_idle(registrations, TAILQ_FIRST(&registrations->idle));
		registrations->counters.evicted++;
	}
}

/* ---- stale ones */

static void
mark(struct cs_registrations *registrations, struct entry *entry)
{
	registrations->counters.invalidated += !entry->is_stale;
	entry->is_stale = true;
}

static void
mark_range(struct cs_registrations *registrations, uintptr_t low, uintptr_t high)
{
	const struct slot *slots = registrations->slots;
	for (size_t i = first_reaching(registrations, low); i < registrations->count &&
	     slots[i].low < high; i++)
		if (slots[i].entry->is_watched && slots[i].entry->high > low)
			mark(registrations, slots[i].entry);
}

static void
mark_all(struct cs_registrations *registrations)
{
	for (size_t i = 0; i < registrations->count; i++)
		if (!registrations->slots[i].entry->is_pinned)
			mark(registrations, registrations->slots[i].entry);
}

static void
unlist_stale(struct cs_registrations *registrations, struct queue *stale)
{
	size_t kept = 0;
	for (size_t i = 0; i < registrations->count; i++) {
		struct entry *entry = registrations->slots[i].entry;
		if (!entry->is_stale) {
			registrations->slots[kept++] = registrations->slots[i];
			continue;
		}
		if (entry->users == 0)
			leave_idle(registrations, entry);
		entry->is_listed = false;
		TAILQ_INSERT_TAIL(stale, entry, link);
	}
	registrations->count = kept;
	update_reach(registrations, 0);
}

/* Ends stale registrations; one in use ends when it is given back. */
static void
end_stale(struct cs_registrations *registrations)
{
	struct queue stale = TAILQ_HEAD_INITIALIZER(stale);
	unlist_stale(registrations, &stale);
	struct entry *entry;
	while ((entry = TAILQ_FIRST(&stale))) {
		TAILQ_REMOVE(&stale, entry, link);
		if (entry->is_watched)
			unwatch_rest(registrations, entry->low, entry->high, 0);
		entry->is_watched = false;
		if (entry->users)
			TAILQ_INSERT_TAIL(&registrations->loose, entry, link);
		else
			end(registrations, entry);
	}
}

/* Stops watching memory at the address to which mremap has moved it. If the mapping has grown, its
 * new end stays watched, as the event does not tell the size: it costs the program one slower
 * munmap. */
static void
unwatch_moved(struct cs_registrations *registrations)
{
	for (size_t i = 0; i < registrations->changes.count; i++) {
		struct cs_watch_change change = registrations->changes.list[i];
		if (change.moved_to)
			unwatch_rest(registrations, change.moved_to,
				     change.moved_to + (change.high - change.low), i + 1);
	}
}

/* Nobody knows what has changed. A new watch: with the old one goes all that it had. */
static void
start_again(struct cs_registrations *registrations)
{
	for (size_t i = 0; i < registrations->count; i++)
		registrations->slots[i].entry->is_watched = false;
	mark_all(registrations);
	end_stale(registrations);
	cs_watch_close(registrations->watch);
	registrations->watch = NULL;
	if (cs_watch_open(&registrations->watch) != CS_OK)
		registrations->watch = NULL;
}

static void
heed_changes(struct cs_registrations *registrations)
{
	struct cs_watch_changes *changes = &registrations->changes;
	cs_watch_collect(registrations->watch, changes);
	if (changes->is_lost) {
		start_again(registrations);
		return;
	}
	if (changes->count == 0)
		return;
	for (size_t i = 0; i < changes->count; i++)
		mark_range(registrations, changes->list[i].low, changes->list[i].high);
	end_stale(registrations);
	unwatch_moved(registrations);
	changes->count = 0;
}

static void
heed_forks(struct cs_registrations *registrations)
{
	struct cs_watch_forks forks = cs_watch_forks();
	if (forks.made == registrations->forks.made)
		return;
	registrations->forks = forks;
	/* The first write after the fork gives us another page, and the device keeps the old
	 * one. */
	if (!registrations->is_fork_safe && registrations->watch) {
		registrations->changes.count = 0;
		mark_all(registrations);
		end_stale(registrations);
	}
}

/* False: what is listed as watched must not be trusted now. */
static bool
heed(struct cs_registrations *registrations)
{
	heed_forks(registrations);
	if (!registrations->watch)
		return false;
	/* First the state, then the changes: see ib/watch.h. While something changes nothing is
	 * trusted, so that it can be heeded the next time: no waiting for another thread's
	 * munmap. */
	enum cs_watch_state state = cs_watch_state(registrations->watch);
	if (state == CS_WATCH_SETTLED)
		heed_changes(registrations);
	else if (state == CS_WATCH_LOST)
		start_again(registrations);
	return state == CS_WATCH_SETTLED && registrations->watch;
}

/* A child of the process that opened it: descriptors, device and thread are the parent's. */
static bool
is_inherited(const struct cs_registrations *registrations)
{
	return cs_watch_forks().depth != registrations->forks.depth;
}

/* ---- making one */

static struct ibv_mr *
register_memory(struct cs_registrations *registrations, uintptr_t low, uintptr_t high,
		bool is_writable, int more_access)
{
	int access = IBV_ACCESS_REMOTE_READ | more_access;
	if (is_writable)
		access |= IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	struct ibv_mr *mr = registrations->verbs->reg_mr(registrations->pd, (void *)low, high - low,
							 access);
	/* After ibv_fork_init (UCX under MPICH calls it), libibverbs takes these pages away from
	 * children, which crash if they touch them. The kernel copies them. */
	if (mr && registrations->is_fork_safe)
		madvise((void *)low, high - low, MADV_DOFORK);
	return mr;
}

/* In no list yet, and with room for it in the slots. NULL with errno. */
static struct entry *
make(struct cs_registrations *registrations, uintptr_t low, uintptr_t high, bool is_writable,
     int more_access)
{
	struct entry *entry = malloc(sizeof *entry);
	if (!entry || !make_room(registrations))
		goto free_entry;
	struct ibv_mr *mr = register_memory(registrations, low, high, is_writable, more_access);
	if (!mr && registrations->idle_count) {
		evict(registrations, 0, 0);
		mr = register_memory(registrations, low, high, is_writable, more_access);
	}
	if (!mr)
		goto free_entry;
	*entry = (struct entry){
		.shown = { .base = (char *)low, .bytes = high - low, .lkey = mr->lkey,
			   .rkey = mr->rkey,
			.is_writable = is_writable },
		.mr = mr,
		.low = low,
		.high = high,
	};
	struct cs_registration_counters *counters = &registrations->counters;
	counters->made++;
	counters->bytes += high - low;
	if (counters->bytes > counters->peak)
		counters->peak = counters->bytes;
	return entry;

free_entry:;
	int error = errno;
	free(entry);
	errno = error;
	return NULL;
}

/* Idle ones that nobody would take any more, now that there is `entry`. */
static void
end_covered(struct cs_registrations *registrations, const struct entry *entry)
{
	for (size_t i = first_behind(registrations, entry->high);
	     i-- > 0 && registrations->slots[i].low >= entry->low;) {
		struct entry *other = registrations->slots[i].entry;
		if (other->users == 0 && !other->is_pinned && other->high <= entry->high &&
		    (entry->shown.is_writable || !other->shown.is_writable))
			end_idle(registrations, other);
	}
}

/* The pages have been registered, hence touched. Between that and the watch only a program could
 * change them that gives us a buffer and unmaps it meanwhile. */
static bool
begin_watch(struct cs_registrations *registrations, struct entry *entry)
{
	if (entry->shown.bytes > registrations->budget)
		return false;
	enum cs_status status = cs_watch_add(registrations->watch, entry->low, entry->high);
	if (status == CS_NO_MEMORY)
		unwatch(registrations, entry->low, entry->high);
	return status == CS_OK;
}

static bool
to_pages(const struct cs_registrations *registrations, const void *base, size_t bytes,
	 uintptr_t *low, uintptr_t *high)
{
	uintptr_t mask = registrations->page - 1;
	*low = (uintptr_t)base & ~mask;
	*high = ((uintptr_t)base + bytes + mask) & ~mask;
	return *low < *high && *high - *low >= bytes;
}

/* ---- the contract */

enum cs_status
cs_registrations_open(struct cs_registrations **registrations, const struct cs_verbs *verbs,
		      struct ibv_pd *pd, size_t budget)
{
	struct cs_registrations *new = calloc(1, sizeof *new);
	if (!new)
		return CS_NO_MEMORY;
	new->verbs = verbs;
	new->pd = pd;
	new->budget = budget;
	new->page = (uintptr_t)sysconf(_SC_PAGESIZE);
	new->is_fork_safe = verbs->is_fork_safe();
	TAILQ_INIT(&new->idle);
	TAILQ_INIT(&new->loose);
	/* Without one, each ends when it is given back. */
	if (cs_watch_open(&new->watch) != CS_OK)
		new->watch = NULL;
	new->forks = cs_watch_forks();
	*registrations = new;
	return CS_OK;
}

void
cs_registrations_close(struct cs_registrations *registrations)
{
	if (!registrations || is_inherited(registrations))
		return;
	if (registrations->watch)
		heed_changes(registrations);
	while (registrations->count) {
		struct entry *entry = registrations->slots[registrations->count - 1].entry;
		unlist(registrations, entry);
		if (entry->is_watched)
			unwatch(registrations, entry->low, entry->high);
		end(registrations, entry);
	}
	struct entry *entry;
	while ((entry = TAILQ_FIRST(&registrations->loose))) {
		TAILQ_REMOVE(&registrations->loose, entry, link);
		end(registrations, entry);
	}
	cs_watch_close(registrations->watch);
	free(registrations->slots);
	free(registrations);
}

struct cs_registration *
cs_registrations_take(struct cs_registrations *registrations, const void *base, size_t bytes,
		      bool is_writable)
{
	uintptr_t low, high;
	if (is_inherited(registrations) || !to_pages(registrations, base, bytes, &low, &high)) {
		errno = EINVAL;
		return NULL;
	}
	bool is_settled = heed(registrations);
	struct entry *entry = find(registrations, low, high, is_writable, is_settled);
	if (entry) {
		if (entry->users++ == 0 && !entry->is_pinned)
			leave_idle(registrations, entry);
		registrations->counters.found++;
		return &entry->shown;
	}
	entry = make(registrations, low, high, is_writable, 0);
	if (!entry)
		return NULL;
	entry->users = 1;
	if (is_settled && begin_watch(registrations, entry)) {
		entry->is_watched = true;
		list(registrations, entry);
		end_covered(registrations, entry);
	} else {
		TAILQ_INSERT_TAIL(&registrations->loose, entry, link);
	}
	return &entry->shown;
}

void
cs_registrations_give(struct cs_registrations *registrations, struct cs_registration *registration)
{
	struct entry *entry = (struct entry *)registration;
	if (is_inherited(registrations))
		return;
	if (registrations->watch)
		heed_changes(registrations);
	if (--entry->users || entry->is_pinned)
		return;
	if (entry->is_listed) {
		TAILQ_INSERT_TAIL(&registrations->idle, entry, link);
		registrations->idle_count++;
		registrations->idle_bytes += entry->shown.bytes;
		evict(registrations, registrations->budget, MOST_IDLE);
	} else {
		TAILQ_REMOVE(&registrations->loose, entry, link);
		end(registrations, entry);
	}
}

struct cs_registration *
cs_registrations_pin_for(struct cs_registrations *registrations, void *base, size_t bytes,
			 int more_access)
{
	uintptr_t low, high;
	if (is_inherited(registrations) || !to_pages(registrations, base, bytes, &low, &high)) {
		errno = EINVAL;
		return NULL;
	}
	struct entry *entry = make(registrations, low, high, true, more_access);
	if (!entry)
		return NULL;
	entry->is_pinned = true;
	list(registrations, entry);
	return &entry->shown;
}

void
cs_registrations_unpin(struct cs_registrations *registrations, struct cs_registration *registration)
{
	if (is_inherited(registrations))
		return;
	struct entry *entry = (struct entry *)registration;
	unlist(registrations, entry);
	end(registrations, entry);
}

const struct cs_registration_counters *
cs_registrations_counters(const struct cs_registrations *registrations)
{
	return &registrations->counters;
}
