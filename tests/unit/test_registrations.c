/* ib/registrations.c against verbs that count, refuse, and remember which memory they were given.
 * The mappings are real. */
#include "unit.h"

#include "ib/registrations.h"
#include "ib/watch.h"
#include "watched.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/wait.h>

/* ---- the verbs */

enum { ARENA = 64 };

struct fake_mr {
	struct ibv_mr mr;
	uintptr_t low, high;
	int access, users;
	uint32_t generations[ARENA];
};

static uintptr_t page;
static struct fake_mr *known[1 << 20]; /* by lkey; NULL: ended */
static uint32_t made, ended, asked;
static uint32_t refuse_from, refuse_count; /* the calls of reg_mr of these numbers get ENOMEM */
static size_t live_bytes;
static int fork_safe;

/* The random test counts, page by page, how often the program changed its mapping. */
static char *arena;
static _Atomic(uint32_t) generations[ARENA];

/* Registering brings the pages in: whole ones, beyond the program's block. */
__attribute__((no_sanitize_address)) static void
touch(volatile char *base, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += page)
		(void)base[i];
}

static struct ibv_mr *
reg_mr(struct ibv_pd *pd, void *base, size_t bytes, int access)
{
	asked++;
	if (asked >= refuse_from && asked - refuse_from < refuse_count) {
		errno = ENOMEM;
		return NULL;
	}
	assert_int_equal((uintptr_t)base % page, 0);
	assert_int_equal(bytes % page, 0);
	struct fake_mr *fake = calloc(1, sizeof *fake);
	assert_non_null(fake);
	fake->low = (uintptr_t)base;
	fake->high = fake->low + bytes;
	fake->access = access;
	for (size_t i = 0; i < ARENA; i++)
		fake->generations[i] = atomic_load_explicit(&generations[i], memory_order_relaxed);
	fake->mr.lkey = ++made;
	fake->mr.rkey = made ^ 0x80000000;
	assert_true(made < COUNT(known));
	known[made] = fake;
	live_bytes += bytes;
	touch(base, bytes);
	return &fake->mr;
}

static int
dereg_mr(struct ibv_mr *mr)
{
	struct fake_mr *fake = (struct fake_mr *)mr;
	assert_ptr_equal(known[mr->lkey], fake);
	assert_int_equal(fake->users, 0);
	known[mr->lkey] = NULL;
	live_bytes -= fake->high - fake->low;
	ended++;
	free(fake);
	return 0;
}

static int
is_fork_safe(void)
{
	return fork_safe;
}

static const struct cs_verbs verbs = { .reg_mr = reg_mr, .dereg_mr = dereg_mr,
				       .is_fork_safe = is_fork_safe };

/* ---- allocations */

static size_t allocations, failing_allocation; /* 0: none fails */

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);

static bool
fails(void)
{
	bool does = failing_allocation && ++allocations == failing_allocation;
	if (does)
		errno = ENOMEM;
	return does;
}

void *
__wrap_malloc(size_t bytes)
{
	return fails() ? NULL : __real_malloc(bytes);
}

void *
__wrap_calloc(size_t count, size_t bytes)
{
	return bytes != sizeof(struct fake_mr) && fails() ? NULL : __real_calloc(count, bytes);
}

void *
__wrap_realloc(void *old, size_t bytes)
{
	return fails() ? NULL : __real_realloc(old, bytes);
}

/* ---- helpers */

static struct cs_registrations *registrations;
static const struct cs_registration_counters *counters;

static void
open_with(size_t budget)
{
	made = ended = asked = refuse_from = refuse_count = 0;
	live_bytes = 0;
	assert_int_equal(cs_registrations_open(&registrations, &verbs, NULL, budget), CS_OK);
	counters = cs_registrations_counters(registrations);
}

static void
expect_counters(void)
{
	assert_int_equal(counters->made, made);
	assert_int_equal(counters->ended, ended);
	assert_int_equal(counters->bytes, live_bytes);
	assert_true(counters->peak >= counters->bytes);
}

static void
close_all(void)
{
	expect_counters();
	cs_registrations_close(registrations);
	registrations = NULL;
	assert_int_equal(made, ended);
	assert_int_equal(live_bytes, 0);
}

static struct cs_registration *
take(const void *base, size_t bytes, bool is_writable)
{
	struct cs_registration *taken = cs_registrations_take(registrations, base, bytes,
							      is_writable);
	assert_non_null(taken);
	struct fake_mr *fake = known[taken->lkey];
	assert_non_null(fake);
	assert_int_equal(taken->rkey, fake->mr.rkey);
	assert_true(fake->low == (uintptr_t)taken->base && fake->high - fake->low == taken->bytes);
	assert_true(fake->low <= (uintptr_t)base && fake->high >= (uintptr_t)base + bytes);
	int writes = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	assert_int_equal(fake->access & writes, taken->is_writable ? writes : 0);
	assert_true(taken->is_writable || !is_writable);
	fake->users++;
	return taken;
}

static void
give(struct cs_registration *taken)
{
	known[taken->lkey]->users--;
	cs_registrations_give(registrations, taken);
}

/* Its number. */
static uint32_t
take_and_give(const void *base, size_t bytes, bool is_writable)
{
	struct cs_registration *taken = take(base, bytes, is_writable);
	uint32_t key = taken->lkey;
	give(taken);
	return key;
}

/* Where the tests' memory is. Above it is a hole, where other threads' mappings go (a sanitizer's,
 * at a thread's start), so that nobody takes what a test has just unmapped. */
static char *region;
enum { REGION = 256 << 20 };

static void
reserve_region(void)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	char *hole = mmap(NULL, REGION, PROT_NONE, flags, -1, 0);
	region = mmap(NULL, REGION, PROT_NONE, flags, -1, 0);
	assert_true(hole != MAP_FAILED && region != MAP_FAILED);
	munmap(hole, REGION);
}

/* NULL: anywhere in the region. */
static char *
map_at(char *place, size_t pages)
{
	static size_t used;
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE |
		    (place ? MAP_FIXED_NOREPLACE : MAP_FIXED);
	if (!place) {
		place = region + used;
		used += pages * page;
		assert_true(used <= REGION);
	}
	char *memory = mmap(place, pages * page, PROT_READ | PROT_WRITE, flags, -1, 0);
	assert_true(memory == place);
	return memory;
}

static void
remap(char *place, size_t pages)
{
	assert_int_equal(munmap(place, pages * page), 0);
	map_at(place, pages);
}

/* ---- without a watch */

enum { UNWATCHED = 4 }; /* tests */

TEST(without_a_watch_each_ends_when_it_is_given_back)
{
	/* No descriptor is left for one. */
	struct rlimit before, none;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = (struct rlimit){ .rlim_cur = 0, .rlim_max = before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	open_with(64 * page);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	char *memory = map_at(NULL, 4);
	struct cs_registration *first = take(memory, 2 * page, true),
			       *second = take(memory, 2 * page, true);
	assert_true(first->lkey != second->lkey);
	give(second);
	assert_int_equal(ended, 1);
	give(first);
	assert_int_equal(ended, 2);
	assert_int_equal(counters->found, 0);
	assert_int_equal(counters->peak, 4 * page);
	first = take(memory, page, true);
	known[first->lkey]->users = 0; /* close ends also what nobody gave back */
	close_all();
	munmap(memory, 4 * page);
}

TEST(pinned_ones_are_found_and_outside_the_budget)
{
	open_with(0);
	char *memory = map_at(NULL, 8);
	struct cs_registration *pinned = cs_registrations_pin(registrations, memory, 4 * page);
	assert_non_null(pinned);
	assert_int_equal(take_and_give(memory + page + 5, page, true), pinned->lkey);
	assert_int_equal(take_and_give(memory, 4 * page, false), pinned->lkey);
	assert_int_equal(counters->found, 2);
	assert_int_not_equal(take_and_give(memory + page, 4 * page, true), pinned->lkey);
	assert_int_equal(live_bytes, 4 * page);
	cs_registrations_unpin(registrations, pinned);
	assert_int_equal(live_bytes, 0);
	assert_int_equal(take_and_give(memory, 1, true), 3);
	refuse_from = asked + 1;
	refuse_count = 1;
	errno = 0;
	assert_null(cs_registrations_pin(registrations, memory, page));
	assert_int_equal(errno, ENOMEM);
	close_all();
	munmap(memory, 8 * page);
}

TEST(a_range_beyond_the_address_space_is_refused)
{
	open_with(0);
	errno = 0;
	assert_null(cs_registrations_take(registrations, (void *)(UINTPTR_MAX - 100), 200, false));
	assert_int_equal(errno, EINVAL);
	errno = 0;
	assert_null(cs_registrations_take(registrations, (void *)page, SIZE_MAX, false));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(asked, 0);
	close_all();
	cs_registrations_close(NULL);
}

TEST(every_allocation_may_fail)
{
	char *memory = map_at(NULL, 4);
	size_t n = 0;
	bool has_failed;
	do {
		made = ended = asked = 0;
		allocations = 0;
		failing_allocation = ++n;
		enum cs_status status = cs_registrations_open(&registrations, &verbs, NULL,
							      64 * page);
		struct cs_registration *taken = NULL;
		errno = 0;
		if (status == CS_OK)
			taken = cs_registrations_take(registrations, memory, page, true);
		has_failed = allocations >= failing_allocation;
		int error = errno;
		failing_allocation = 0;
		assert_true(status == CS_OK || status == CS_NO_MEMORY);
		assert_true(taken || status != CS_OK || error == ENOMEM);
		if (taken)
			cs_registrations_give(registrations, taken);
		if (status == CS_OK)
			cs_registrations_close(registrations);
		assert_int_equal(made, ended);
	} while (has_failed);
	assert_true(n >= 4);
	munmap(memory, 4 * page);
}

/* ---- the cache */

TEST(a_known_range_costs_no_verb)
{
	open_with(64 * page);
	char *memory = map_at(NULL, 16);
	uint32_t key = take_and_give(memory + 10, 6 * page, true);
	assert_int_equal(take_and_give(memory, 7 * page, true), key);
	assert_int_equal(take_and_give(memory + 3 * page, 1, false), key);
	struct cs_registration *first = take(memory, page, true),
			       *second = take(memory + page, page, false);
	assert_ptr_equal(first, second);
	give(first);
	give(second);
	assert_int_equal(asked, 1);
	assert_int_equal(counters->found, 4);
	assert_int_equal(take_and_give(memory, 8 * page, true), 2);
	/* A shorter one between it and the place does not hide it. */
	assert_int_equal(take_and_give(memory + 10 * page, 6 * page, false), 3);
	assert_int_equal(take_and_give(memory + 12 * page, page, true), 4);
	assert_int_equal(take_and_give(memory + 14 * page, page, false), 3);
	close_all();
	assert_int_equal(watched_bytes(memory, 16 * page), 0);
	munmap(memory, 16 * page);
}

TEST(writing_wants_a_writable_one_and_replaces_the_other)
{
	open_with(64 * page);
	char *memory = map_at(NULL, 4);
	assert_int_equal(take_and_give(memory, 4 * page, false), 1);
	assert_int_equal(take_and_give(memory, 4 * page, true), 2);
	assert_null(known[1]);
	assert_int_equal(take_and_give(memory, 4 * page, false), 2);
	remap(memory + page, 1);
	assert_int_equal(take_and_give(memory, 4 * page, false), 3);
	close_all();
	munmap(memory, 4 * page);
}

TEST(the_least_recently_used_go_first)
{
	open_with(4 * page);
	char *memory = map_at(NULL, 16);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(take_and_give(memory + 2 * i * page, page, true), i + 1);
	assert_int_equal(live_bytes, 4 * page);
	assert_int_equal(take_and_give(memory, page, true), 1);
	struct cs_registration *fifth = take(memory + 8 * page, page, true);
	assert_int_equal(live_bytes, 5 * page); /* it is in use */
	assert_int_equal(ended, 0);
	give(fifth);
	assert_null(known[2]);
	assert_true(known[1] && known[3] && known[4] && known[5]);
	assert_int_equal(take_and_give(memory + 10 * page, 3 * page, true), 6);
	assert_true(known[5] && known[6]);
	assert_int_equal(ended, 4);
	assert_int_equal(counters->evicted, 4);
	/* One larger than the budget drives nobody out. */
	assert_int_equal(take_and_give(memory + 4 * page, 5 * page, true), 7);
	assert_true(known[5] && known[6] && !known[7]);
	assert_int_equal(counters->evicted, 4);
	close_all();
	munmap(memory, 16 * page);
}

TEST(so_many_stay_that_mappings_do_not_run_out)
{
	enum { PIECES = 5000 };
	open_with(SIZE_MAX);
	char *memory = map_at(NULL, 2 * PIECES);
	for (size_t i = 0; i < PIECES; i++)
		take_and_give(memory + 2 * i * page, page, true);
	assert_true(live_bytes <= 2048 * page);
	assert_int_equal(counters->evicted, PIECES - 2048);
	close_all();
	munmap(memory, 2 * PIECES * page);
}

TEST(a_refusal_throws_out_the_idle_ones_and_then_is_the_callers)
{
	open_with(64 * page);
	char *memory = map_at(NULL, 16);
	struct cs_registration *used = take(memory, page, true);
	for (size_t i = 1; i < 4; i++)
		take_and_give(memory + 2 * i * page, page, true);
	refuse_from = 5;
	refuse_count = 1;
	assert_int_equal(take_and_give(memory + 8 * page, page, true), 5);
	assert_int_equal(counters->evicted, 3);
	assert_true(known[1] && !known[2] && !known[3] && !known[4] && known[5]);
	refuse_from = asked + 1;
	refuse_count = 2;
	errno = 0;
	assert_null(cs_registrations_take(registrations, memory + 10 * page, page, true));
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(asked, refuse_from + 1);
	assert_true(known[1] && !known[5]);
	/* Nothing idle: asking twice would not help. */
	refuse_from = asked + 1;
	assert_null(cs_registrations_take(registrations, memory + 10 * page, page, true));
	assert_int_equal(asked, refuse_from);
	refuse_count = 0;
	assert_int_equal(take_and_give(memory + 10 * page, page, true), 6);
	give(used);
	close_all();
	munmap(memory, 16 * page);
}

/* ---- the program's changes */

TEST(other_memory_at_the_same_address_is_registered_anew)
{
	open_with(64 * page);
	char *memory = map_at(NULL, 8);
	uint32_t key = take_and_give(memory, 8 * page, true);
	assert_int_equal(take_and_give(memory, 8 * page, true), key);
	remap(memory, 8);
	assert_int_equal(take_and_give(memory, 8 * page, true), key + 1);
	assert_null(known[key]);
	assert_int_equal(counters->invalidated, 1);
	assert_int_equal(take_and_give(memory, 8 * page, true), key + 1);
	assert_int_equal(watched_bytes(memory, 8 * page), 8 * page);
	close_all();
	munmap(memory, 8 * page);
}

TEST(a_hole_in_the_middle_ends_it_and_the_rest_is_left_alone)
{
	open_with(64 * page);
	char *memory = map_at(NULL, 8);
	uint32_t whole = take_and_give(memory, 8 * page, false);
	uint32_t part = take_and_give(memory, 2 * page, true);
	remap(memory + 3 * page, 2);
	assert_int_equal(take_and_give(memory, 2 * page, true), part);
	assert_null(known[whole]);
	assert_int_equal(watched_bytes(memory, 8 * page), 2 * page);
	assert_int_equal(take_and_give(memory, 8 * page, false), 3);
	assert_int_equal(watched_bytes(memory, 8 * page), 8 * page);
	close_all();
	munmap(memory, 8 * page);
}

TEST(what_another_one_covers_stays_watched)
{
	open_with(4 * page);
	char *memory = map_at(NULL, 8);
	uint32_t first = take_and_give(memory, 3 * page, true);
	struct cs_registration *second = take(memory + page, 4 * page, true);
	uint32_t key = second->lkey;
	give(second); /* and the first goes, for the budget */
	assert_null(known[first]);
	assert_int_equal(watched_bytes(memory, page), 0);
	assert_int_equal(watched_bytes(memory + page, 7 * page), 4 * page);
	remap(memory + page, 1);
	assert_int_equal(take_and_give(memory + 2 * page, page, true), 3);
	assert_null(known[key]);
	close_all();
	assert_int_equal(watched_bytes(memory, 8 * page), 0);
	munmap(memory, 8 * page);
}

TEST(moved_away_and_back_is_registered_anew)
{
	open_with(64 * page);
	char *memory = map_at(NULL, 4), *place = map_at(NULL, 4);
	int flags = MREMAP_MAYMOVE | MREMAP_FIXED;
	uint32_t key = take_and_give(memory, 4 * page, true);
	assert_true(mremap(memory, 4 * page, 4 * page, flags, place) == place);
	assert_int_equal(take_and_give(place, 4 * page, true), key + 1);
	assert_null(known[key]);
	assert_true(mremap(place, 4 * page, 4 * page, flags, memory) == memory);
	assert_true(mremap(memory, 4 * page, 4 * page, flags, place) == place);
	assert_true(mremap(place, 4 * page, 4 * page, flags, memory) == memory);
	map_at(place, 4);
	assert_int_equal(take_and_give(place, page, true), key + 2);
	assert_null(known[key + 1]);
	assert_int_equal(watched_bytes(memory, 4 * page), 0);
	assert_int_equal(watched_bytes(place, 4 * page), page);
	close_all();
	munmap(memory, 4 * page);
	munmap(place, 4 * page);
}

TEST(emptied_pages_are_registered_anew)
{
	open_with(64 * page);
	char *memory = map_at(NULL, 4);
	uint32_t key = take_and_give(memory, 4 * page, true);
	assert_int_equal(madvise(memory + page, page, MADV_DONTNEED), 0);
	assert_int_equal(take_and_give(memory + 3 * page, page, true), key + 1);
	assert_int_equal(watched_bytes(memory, 4 * page), page);
	close_all();
	munmap(memory, 4 * page);
}

TEST(a_heap_that_shrinks_and_grows_is_registered_anew)
{
	open_with(64 * page);
	take_and_give(arena, page, true); /* the thread's start allocates: before the heap's end is
					   * ours */
	char *top = sbrk(0);
	char *low = (char *)(((uintptr_t)top + page - 1) & ~(page - 1));
	assert_true(sbrk(low - top + (intptr_t)(4 * page)) == top);
	memset(low, 1, 4 * page);
	uint32_t key = take_and_give(low, 4 * page, true);
	assert_int_equal(take_and_give(low + 2 * page, page, true), key);
	assert_true(sbrk(-(intptr_t)(2 * page)) == low + 4 * page);
	assert_true(sbrk((intptr_t)(2 * page)) == low + 2 * page);
	memset(low, 1, 4 * page);
	assert_int_equal(take_and_give(low + 2 * page, page, true), key + 1);
	assert_null(known[key]);
	close_all();
	assert_int_equal(watched_bytes(low, 4 * page), 0);
}

#ifndef __SANITIZE_ADDRESS__ /* its malloc keeps what is freed */
TEST(a_freed_block_that_comes_again_is_registered_anew)
{
	enum { BYTES = 64 << 20 }; /* above all that malloc keeps */
	open_with(2 * BYTES);
	uint32_t before = 0;
	int same = 0;
	char *old = NULL;
	for (int i = 0; i < 5; i++) {
		char *block = malloc(BYTES);
		assert_non_null(block);
		uint32_t key = take_and_give(block, BYTES, true);
		assert_int_equal(take_and_give(block + 100, 5000, true), key);
		assert_int_equal(key, before + 1);
		before = key;
		same += block == old;
		old = block;
		free(block);
	}
	assert_true(same > 0); /* else it was no test */
	assert_int_equal(take_and_give(arena, page, true), before + 1);
	assert_int_equal(live_bytes, page);
	assert_int_equal(counters->invalidated, 5);
	close_all();
}
#endif

TEST(a_stale_one_in_use_is_served_to_nobody_and_ends_when_given_back)
{
	open_with(64 * page);
	char *memory = map_at(NULL, 4);
	struct cs_registration *first = take(memory, 4 * page, true),
			       *again = take(memory, page, true);
	assert_ptr_equal(first, again);
	remap(memory + page, 1);
	struct cs_registration *other = take(memory, page, true);
	assert_int_equal(other->lkey, 2);
	assert_int_equal(ended, 0);
	give(first);
	assert_int_equal(ended, 0);
	give(again);
	assert_true(ended == 1 && !known[1]);
	give(other);
	assert_int_equal(take_and_give(memory, page, true), 2);
	assert_int_equal(counters->invalidated, 1);
	/* Stale while in use, and nobody asks before it is given back. */
	first = take(memory + 2 * page, page, true);
	remap(memory + 2 * page, 1);
	give(first);
	assert_null(known[3]);
	close_all();
	munmap(memory, 4 * page);
}

TEST(more_changes_than_are_noted_make_all_of_them_stale)
{
	enum { PIECES = 600 };
	open_with(4 * PIECES * page);
	char *memory = map_at(NULL, 4 * PIECES);
	for (size_t i = 0; i < PIECES; i++)
		take_and_give(memory + 2 * i * page, page, true);
	char *other = memory + (2 * PIECES + 1) * page;
	take_and_give(other, page, true);
	struct cs_registration *pinned = cs_registrations_pin(registrations, other + 2 * page,
							      page);
	for (size_t i = 0; i < PIECES; i++)
		remap(memory + 2 * i * page, 1);
	assert_int_equal(take_and_give(other, page, true), PIECES + 3);
	assert_int_equal(take_and_give(other + 2 * page, page, true), pinned->lkey);
	assert_int_equal(counters->invalidated, PIECES + 1);
	assert_int_equal(live_bytes, 2 * page);
	assert_int_equal(watched_bytes(memory, 4 * PIECES * page), page);
	remap(other, 1);
	assert_int_equal(take_and_give(other, page, true), PIECES + 4);
	cs_registrations_unpin(registrations, pinned);
	close_all();
	munmap(memory, 4 * PIECES * page);
}

TEST(memory_that_cannot_be_watched_is_not_kept)
{
	open_with(64 * page);
	int id = shmget(IPC_PRIVATE, 4 * page, IPC_CREAT | 0600);
	assert_true(id >= 0);
	char *segment = shmat(id, NULL, 0);
	shmctl(id, IPC_RMID, NULL);
	assert_true(segment != (char *)-1);
	assert_int_equal(take_and_give(segment, 4 * page, true), 1);
	assert_null(known[1]);
	assert_int_equal(take_and_give(segment, 4 * page, true), 2);
	close_all();
	shmdt(segment);
}

/* ---- forks */

static void
fork_and(int (*in_child)(char *memory), char *memory)
{
	pid_t child = fork();
	if (child == 0) {
		alarm(60); /* ends it if something waits for a reader */
		setenv("CMOCKA_TEST_ABORT", "1", 1); /* a failed assertion must not go on with the
						      * next test here */
		_exit(in_child(memory));
	}
	assert_true(child > 0);
	int status;
	assert_true(waitpid(child, &status, 0) == child);
	assert_int_equal(status, 0);
}

static int
use_in_child(char *memory)
{
	uint32_t before = asked;
	bool is_refused = !cs_registrations_take(registrations, memory, page, true) &&
			  errno == EINVAL &&
		!cs_registrations_pin(registrations, memory, page);
	munmap(memory, page);
	cs_registrations_close(registrations);
	if (!is_refused || asked != before || ended)
		return 1;
#ifndef __SANITIZE_THREAD__ /* it supports no thread that is made after a fork */
	/* Its own ones work. */
	open_with(64 * page);
	uint32_t key = take_and_give(memory + page, page, true);
	if (take_and_give(memory + page, page, true) != key)
		return 2;
	remap(memory + page, 1);
	if (take_and_give(memory + page, page, true) == key)
		return 3;
	close_all();
#endif
	return 0;
}

TEST(a_child_can_do_no_harm_and_its_parent_goes_on)
{
	fork_safe = 1;
	open_with(64 * page);
	char *memory = map_at(NULL, 4);
	uint32_t key = take_and_give(memory, 4 * page, true);
	struct cs_registration *used = take(memory, page, true);
	fork_and(use_in_child, memory);
	give(used);
	assert_int_equal(take_and_give(memory, 4 * page, true), key);
	remap(memory, 1);
	assert_int_equal(take_and_give(memory, 4 * page, true), key + 1);
	close_all();
	munmap(memory, 4 * page);
}

static int
do_nothing(char *memory)
{
	return 0;
}

TEST(an_unsafe_fork_ends_all_but_the_pinned)
{
	fork_safe = 0;
	open_with(64 * page);
	fork_safe = 1;
	char *memory = map_at(NULL, 8);
	uint32_t key = take_and_give(memory, page, true);
	struct cs_registration *used = take(memory + 2 * page, page, true);
	struct cs_registration *pinned = cs_registrations_pin(registrations, memory + 4 * page,
							      page);
	fork_and(do_nothing, memory);
	assert_int_equal(take_and_give(memory, page, true), 4);
	assert_null(known[key]);
	assert_int_equal(take_and_give(memory + 2 * page, page, true), 5);
	assert_non_null(known[2]);
	give(used);
	assert_null(known[2]);
	assert_int_equal(take_and_give(memory + 4 * page, page, true), pinned->lkey);
	assert_int_equal(counters->invalidated, 2);
	assert_int_equal(take_and_give(memory, page, true), 4);
	close_all();
	munmap(memory, 8 * page);
}

/* ---- at random, against a model: a page that was changed since a registration must not be
 * served from it */

static size_t budget_of_model;
static struct cs_registration *held[12];
static struct cs_registration *pins[2];

static void
expect_fresh(const struct cs_registration *taken, size_t first, size_t count)
{
	for (size_t i = first; i < first + count; i++)
		if (known[taken->lkey]->generations[i] != generations[i])
			fail_msg("page %zu: registration %u is of its mapping %u, it has its %u", i,
				 taken->lkey,
				known[taken->lkey]->generations[i], generations[i]);
}

static void
take_something(uint64_t *seed)
{
	struct cs_registration **place = &held[random_below(seed, COUNT(held))];
	if (*place) {
		give(*place);
		*place = NULL;
		return;
	}
	size_t count = 1 + random_below(seed, random_below(seed, 8) ? 6 : 24),
	       first = random_below(seed, ARENA - (uint32_t)count);
	bool is_writable = random_below(seed, 2);
	*place = take(arena + first * page + random_below(seed, (uint32_t)page),
		      (count - 1) * page + 1, is_writable);
	expect_fresh(*place, first, count);
	/* Nothing has happened since: no verb. */
	uint32_t before = asked;
	if (random_below(seed, 2) && count + 1 <= budget_of_model / page) {
		take_and_give(arena + first * page, count * page, is_writable);
		assert_int_equal(asked, before);
	}
}

static void
change_something(uint64_t *seed)
{
	size_t count = 1 + random_below(seed, 8),
	       first = random_below(seed, ARENA - (uint32_t)count);
	char *place = arena + first * page;
	for (size_t i = first; i < first + count; i++)
		generations[i]++;
	switch (random_below(seed, 4)) {
	case 0:
		remap(place, count);
		break;
	case 1:
		assert_true(mmap(place, count * page, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
			    place);
		break;
	case 2:
		assert_int_equal(madvise(place, count * page, MADV_DONTNEED), 0);
		break;
	case 3: { /* from beside the arena, where it was never watched */
		char *other = mmap(NULL, count * page, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		assert_true(other != MAP_FAILED);
		assert_true(mremap(other, count * page, count * page, MREMAP_MAYMOVE | MREMAP_FIXED,
				   place) == place);
		break;
	}
	}
}

static void
pin_something(uint64_t *seed, char *ours)
{
	struct cs_registration **pin = &pins[random_below(seed, COUNT(pins))];
	if (*pin)
		cs_registrations_unpin(registrations, *pin);
	*pin = *pin ? NULL
		    : cs_registrations_pin(registrations, ours + random_below(seed, 3) * page,
					   2 * page);
}

static void
expect_budget(void)
{
	size_t used = 0;
	for (size_t i = 0; i < COUNT(held); i++) {
		bool is_first = held[i] != NULL;
		for (size_t k = 0; k < i && is_first; k++)
			is_first = held[k] != held[i];
		used += is_first ? held[i]->bytes : 0;
	}
	for (size_t i = 0; i < COUNT(pins); i++)
		used += pins[i] ? pins[i]->bytes : 0;
	assert_true(live_bytes >= used && live_bytes - used <= budget_of_model);
	expect_counters();
}

TEST(random_use_never_meets_a_stale_one)
{
	uint64_t seed = first_seed();
	print_message("seed %llu (TEST_SEED replays it)\n", (unsigned long long)seed);
	char *ours = map_at(NULL, 4);
	for (int round = 0; round < 10; round++) {
		budget_of_model = (16 + random_below(&seed, 64)) * page;
		open_with(budget_of_model);
		for (int i = 0; i < 10000; i++) {
			uint32_t what = random_below(&seed, 100);
			if (what < 80)
				take_something(&seed);
			else if (what < 98)
				change_something(&seed);
			else
				pin_something(&seed, ours);
			expect_budget();
		}
		for (size_t i = 0; i < COUNT(held); i++)
			if (held[i])
				give(held[i]);
		memset(held, 0, sizeof held);
		memset(pins, 0, sizeof pins);
		assert_true(counters->found && counters->evicted && counters->invalidated);
		close_all();
		assert_int_equal(watched_bytes(arena, ARENA * page), 0);
	}
	munmap(ours, 4 * page);
}

/* ---- threads */

static _Atomic(int) owner[ARENA / 4]; /* of four pages each; 0: nobody */
static _Atomic(bool) is_over;

static size_t
own(uint64_t *seed)
{
	for (;;) {
		size_t at = random_below(seed, COUNT(owner));
		int nobody = 0;
		if (atomic_compare_exchange_strong(&owner[at], &nobody, 1))
			return at;
	}
}

static void *
change_slots(void *argument)
{
	uint64_t seed = first_seed() + 1;
	while (!atomic_load(&is_over)) {
		size_t at = own(&seed);
		size_t first = 4 * at + random_below(&seed, 3), count = 1 + random_below(&seed, 2);
		char *place = arena + first * page;
		for (size_t i = first; i < first + count; i++)
			generations[i]++;
		if (random_below(&seed, 2))
			madvise(place, count * page, MADV_DONTNEED);
		else if (munmap(place, count * page) ||
			 mmap(place, count * page, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != place)
			abort();
		atomic_store(&owner[at], 0);
	}
	return NULL;
}

TEST(a_thread_changes_what_another_has_used)
{
	uint64_t seed = first_seed();
	open_with(ARENA / 2 * page);
	atomic_store(&is_over, false);
	pthread_t thread;
	assert_int_equal(pthread_create(&thread, NULL, change_slots, NULL), 0);
	/* As long as it takes: the other thread may have no core for a while. */
	for (int i = 0; i < 10000 || !counters->found || !counters->invalidated; i++) {
		size_t at = own(&seed);
		struct cs_registration *taken = take(arena + 4 * at * page, 4 * page, true);
		expect_fresh(taken, 4 * at, 4);
		give(taken);
		atomic_store(&owner[at], 0);
		expect_counters();
	}
	atomic_store(&is_over, true);
	pthread_join(thread, NULL);
	assert_true(counters->found && counters->invalidated);
	close_all();
}

static void *
unmap_two_pages(void *place)
{
	munmap(place, 2 * page);
	return NULL;
}

/* The other thread's munmap has not returned, as nobody has noted it, and the address has other
 * memory already. */
TEST(memory_got_before_munmap_returns_is_registered_anew)
{
	open_with(64 * page);
	char *memory = map_at(NULL, 2);
	uint32_t key = take_and_give(memory, 2 * page, true);
	struct cs_registration *pinned = cs_registrations_pin(registrations, arena, page);
	pthread_mutex_lock(&gate);
	pthread_t thread;
	assert_int_equal(pthread_create(&thread, NULL, unmap_two_pages, memory), 0);
	unsigned char is_there;
	while (mincore(memory, page, &is_there) == 0)
		sched_yield();
	map_at(memory, 2);
	struct cs_registration *taken = cs_registrations_take(registrations, memory, 2 * page,
							      true);
	struct cs_registration *ours = cs_registrations_take(registrations, arena, page, true);
	pthread_mutex_unlock(&gate);
	pthread_join(thread, NULL);
	assert_non_null(taken);
	assert_int_equal(taken->lkey, key + 2);
	assert_ptr_equal(ours, pinned);
	assert_int_equal(take_and_give(memory, 2 * page, true), key + 3);
	assert_null(known[key]);
	cs_registrations_give(registrations, taken);
	assert_null(known[key + 2]);
	cs_registrations_give(registrations, ours);
	cs_registrations_unpin(registrations, pinned);
	assert_int_equal(take_and_give(memory, 2 * page, true), key + 3);
	close_all();
	munmap(memory, 2 * page);
}

static _Atomic(char *) to_unmap;

static void *
unmap_what_is_shown(void *argument)
{
	while (!atomic_load(&is_over)) {
		char *place = atomic_load(&to_unmap);
		if (!place) {
			sched_yield();
			continue;
		}
		munmap(place, 2 * page);
		atomic_store(&to_unmap, NULL);
	}
	return NULL;
}

/* The same as it happens. */
TEST(memory_is_got_while_another_thread_unmaps_it)
{
	open_with(64 * page);
	char *memory = map_at(NULL, 2);
	atomic_store(&is_over, false);
	pthread_t thread;
	assert_int_equal(pthread_create(&thread, NULL, unmap_what_is_shown, NULL), 0);
	uint32_t before = 0;
	for (int i = 0; i < 1000; i++) {
		uint32_t key = take_and_give(memory, 2 * page, true);
		assert_true(key > before);
		before = key;
		atomic_store(&to_unmap, memory);
		int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
		while (mmap(memory, 2 * page, PROT_READ | PROT_WRITE, flags, -1, 0) != memory)
			sched_yield();
		key = take_and_give(memory, 2 * page, true);
		assert_true(key > before);
		before = key;
		while (atomic_load(&to_unmap))
			sched_yield();
		munmap(memory, 2 * page);
		map_at(memory, 2);
	}
	atomic_store(&is_over, true);
	pthread_join(thread, NULL);
	close_all();
	munmap(memory, 2 * page);
}

static int
run_some(size_t first, size_t end)
{
	struct CMUnitTest some[COUNT(unit_tests)] = { 0 };
	memcpy(some, &unit_tests[first], (end - first) * sizeof *some);
	return cmocka_run_group_tests(some, NULL, NULL);
}

int
main(void)
{
	page = (uintptr_t)sysconf(_SC_PAGESIZE);
	fork_safe = 1;
	reserve_region();
	arena = map_at(NULL, ARENA);
	int failed = run_some(0, UNWATCHED);
	struct cs_watch *watch;
	enum cs_status status = cs_watch_open(&watch);
	if (!failed && status == CS_UNSUPPORTED) {
		fprintf(stderr, "skipped: nothing can be kept where this kernel gives no "
				"userfaultfd with write protection: %s\n",
			strerror(errno));
		return 77;
	}
	if (status == CS_OK)
		cs_watch_close(watch);
	return failed + run_some(UNWATCHED, unit_test_count);
}
