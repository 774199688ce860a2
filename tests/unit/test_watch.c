/* ib/watch.c against the kernel. Which pages the kernel watches is read from /proc/self/smaps
 * ("uw"). */
#include "unit.h"

#include "ib/watch.h"
#include "watched.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>

static uintptr_t page;
static struct cs_watch *watch;
static struct cs_watch_changes changes;

static char *
map_at(char *place, size_t pages)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE | (place ? MAP_FIXED_NOREPLACE : 0);
	char *memory = mmap(place, pages * page, PROT_READ | PROT_WRITE, flags, -1, 0);
	assert_true(memory != MAP_FAILED);
	assert_true(!place || memory == place);
	return memory;
}

static enum cs_status
add(const char *base, size_t pages)
{
	return cs_watch_add(watch, (uintptr_t)base, (uintptr_t)base + pages * page);
}

static void
drop(const char *base, size_t pages)
{
	cs_watch_remove(watch, (uintptr_t)base, (uintptr_t)base + pages * page);
}

static int
open_watch(void **state)
{
	assert_int_equal(cs_watch_open(&watch), CS_OK);
	return 0;
}

static int
close_watch(void **state)
{
	cs_watch_close(watch);
	return 0;
}

static void
expect_one(const char *base, size_t pages, bool is_gone, const char *moved_to)
{
	assert_int_equal(cs_watch_state(watch), CS_WATCH_SETTLED);
	cs_watch_collect(watch, &changes);
	assert_false(changes.is_lost);
	assert_int_equal(changes.count, 1);
	assert_true(changes.list[0].low == (uintptr_t)base);
	assert_true(changes.list[0].high == (uintptr_t)base + pages * page);
	assert_int_equal(changes.list[0].is_gone, is_gone);
	assert_true(changes.list[0].moved_to == (uintptr_t)moved_to);
}

static void
expect_none(void)
{
	cs_watch_collect(watch, &changes);
	assert_false(changes.is_lost);
	assert_int_equal(changes.count, 0);
}

TEST(an_unmapped_part_is_reported_and_the_rest_stays_watched)
{
	char *memory = map_at(NULL, 8);
	assert_int_equal(add(memory, 8), CS_OK);
	assert_int_equal(watched_bytes(memory, 8 * page), 8 * page);
	assert_int_equal(munmap(memory + 2 * page, 3 * page), 0);
	expect_one(memory + 2 * page, 3, true, NULL);
	assert_int_equal(watched_bytes(memory, 8 * page), 5 * page);
	drop(memory, 2);
	assert_int_equal(watched_bytes(memory, 8 * page), 3 * page);
	munmap(memory, 2 * page);
	expect_none();
	munmap(memory + 5 * page, 3 * page);
	expect_one(memory + 5 * page, 3, true, NULL);
}

TEST(memory_mapped_over_is_reported)
{
	char *memory = map_at(NULL, 4);
	assert_int_equal(add(memory, 4), CS_OK);
	assert_true(mmap(memory + page, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
			 -1, 0) == memory + page);
	expect_one(memory + page, 1, true, NULL);
	munmap(memory, 4 * page);
}

TEST(emptied_pages_are_reported_and_stay_watched)
{
	char *memory = map_at(NULL, 4);
	assert_int_equal(add(memory, 4), CS_OK);
	assert_int_equal(madvise(memory, page, MADV_DONTNEED), 0);
	expect_one(memory, 1, false, NULL);
	assert_int_equal(madvise(memory + 2 * page, page, MADV_FREE), 0);
	expect_one(memory + 2 * page, 1, false, NULL);
	assert_int_equal(watched_bytes(memory, 4 * page), 4 * page);
	munmap(memory, 4 * page);
	expect_one(memory, 4, true, NULL);
}

TEST(moved_memory_is_reported_with_where_it_went)
{
	char *memory = map_at(NULL, 4), *place = map_at(NULL, 4);
	assert_int_equal(add(memory, 4), CS_OK);
	assert_true(mremap(memory, 4 * page, 4 * page, MREMAP_MAYMOVE | MREMAP_FIXED, place) ==
		    place);
	cs_watch_collect(watch, &changes);
	assert_true(changes.count >= 1); /* kernels also report the old place as unmapped */
	assert_true(changes.list[0].low == (uintptr_t)memory &&
		    changes.list[0].moved_to == (uintptr_t)place);
	assert_true(changes.list[0].high == (uintptr_t)memory + 4 * page &&
		    changes.list[0].is_gone);
	assert_int_equal(watched_bytes(place, 4 * page), 4 * page);
	drop(place, 4);
	assert_int_equal(watched_bytes(place, 4 * page), 0);
	munmap(place, 4 * page);
	expect_none();
}

TEST(a_shrunk_heap_is_reported)
{
	char *top = sbrk(0);
	char *low = (char *)(((uintptr_t)top + page - 1) & ~(page - 1));
	assert_true(sbrk(low - top + (intptr_t)(4 * page)) == top);
	memset(low, 1, 4 * page);
	assert_int_equal(add(low, 4), CS_OK);
	assert_true(sbrk(-(intptr_t)(2 * page)) == low + 4 * page);
	expect_one(low + 2 * page, 2, true, NULL);
	drop(low, 2);
	assert_true(sbrk(low - (char *)sbrk(0)) != (void *)-1);
	expect_none();
}

TEST(neighbours_are_one_change_and_too_many_changes_are_lost)
{
	enum { MOST = COUNT(changes.list) };
	char *memory = map_at(NULL, 4 * MOST);
	assert_int_equal(add(memory, 4 * MOST), CS_OK);
	for (size_t i = 0; i < 2 * MOST; i++)
		munmap(memory + i * page, page);
	expect_one(memory, 2 * MOST, true, NULL);
	for (size_t i = 0; i < MOST; i++)
		munmap(memory + (2 * MOST + 2 * i) * page, page);
	cs_watch_collect(watch, &changes);
	assert_false(changes.is_lost);
	assert_int_equal(changes.count, MOST);
	memory = map_at(memory, 2 * MOST);
	assert_int_equal(add(memory, 2 * MOST), CS_OK);
	for (size_t i = 0; i <= MOST; i++)
		madvise(memory + (i == MOST ? 1 : 2 * i) * page, page, MADV_DONTNEED);
	cs_watch_collect(watch, &changes);
	assert_true(changes.is_lost);
	expect_none();
	munmap(memory, 4 * MOST * page);
}

/* For shmdt there would be no event: stale data. */
TEST(what_cannot_be_watched_is_refused)
{
	int id = shmget(IPC_PRIVATE, 4 * page, IPC_CREAT | 0600);
	assert_true(id >= 0);
	char *segment = shmat(id, NULL, 0);
	shmctl(id, IPC_RMID, NULL);
	assert_true(segment != (char *)-1);
	assert_int_equal(add(segment, 4), CS_UNSUPPORTED);
	shmdt(segment);
	int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	char *memory = mmap(NULL, page, PROT_READ, MAP_PRIVATE, file, 0);
	close(file);
	assert_true(memory != MAP_FAILED);
	assert_int_equal(add(memory, 1), CS_UNSUPPORTED);
	munmap(memory, page);
}

static void *
unmap_page(void *place)
{
	munmap(place, page);
	return NULL;
}

/* The window that collecting alone would leave open: the pages are gone, and may be somebody
 * else's, but not noted. */
TEST(a_change_on_its_way_is_known)
{
	char *memory = map_at(NULL, 3);
	assert_int_equal(add(memory, 3), CS_OK);
	pthread_mutex_lock(&gate);
	pthread_t thread;
	assert_int_equal(pthread_create(&thread, NULL, unmap_page, memory + page), 0);
	unsigned char is_there;
	while (mincore(memory + page, page, &is_there) == 0)
		sched_yield();
	map_at(memory + page, 1);
	assert_int_equal(cs_watch_state(watch), CS_WATCH_CHANGING);
	pthread_mutex_unlock(&gate);
	pthread_join(thread, NULL);
	expect_one(memory + page, 1, true, NULL);
	munmap(memory, 3 * page);
}

TEST(a_child_is_not_watched_and_its_parent_still_is)
{
	char *memory = map_at(NULL, 2);
	struct cs_watch_forks before = cs_watch_forks();
	assert_int_equal(add(memory, 2), CS_OK);
	pid_t child = fork();
	if (child == 0) {
		alarm(60); /* ends it if munmap waits for a reader */
		munmap(memory, page);
		_exit(cs_watch_forks().depth == before.depth + 1 &&
		      watched_bytes(memory, 2 * page) == 0 ? 0 : 1);
	}
	assert_true(child > 0);
	int status;
	assert_true(waitpid(child, &status, 0) == child);
	assert_int_equal(status, 0);
	assert_int_equal(cs_watch_forks().made, before.made + 1);
	assert_int_equal(cs_watch_forks().depth, before.depth);
	expect_none();
	munmap(memory, 2 * page);
	expect_one(memory, 2, true, NULL);
}

/* Else the parent would wait forever in a munmap that nobody reads of. */
TEST(a_living_child_does_not_keep_memory_watched)
{
	char *memory = map_at(NULL, 2);
	assert_int_equal(add(memory, 2), CS_OK);
	int ends[2];
	char said = 'x';
	assert_int_equal(pipe(ends), 0);
	pid_t child = fork();
	if (child == 0) {
		if (write(ends[1], &said, 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	assert_true(child > 0);
	assert_int_equal(read(ends[0], &said, 1), 1); /* fork has returned there, too */
	cs_watch_close(watch);
	size_t left = watched_bytes(memory, 2 * page);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(ends[0]);
	close(ends[1]);
	assert_int_equal(cs_watch_open(&watch), CS_OK);
	assert_int_equal(left, 0);
	munmap(memory, 2 * page);
}

#ifndef __SANITIZE_THREAD__ /* it takes that for a race, and rightly */
static int
is_userfaultfd(int fd)
{
	char path[64], target[64] = "";
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	ssize_t length = readlink(path, target, sizeof target - 1);
	return length > 0 && strstr(target, "userfaultfd") != NULL;
}

TEST(a_descriptor_that_the_program_closes_is_noticed)
{
	char *memory = map_at(NULL, 2);
	assert_int_equal(add(memory, 2), CS_OK);
	for (int fd = 3; fd < 1024; fd++)
		if (is_userfaultfd(fd))
			close(fd);
	assert_int_equal(cs_watch_state(watch), CS_WATCH_LOST);
	munmap(memory, 2 * page);
}
#endif

static void *
map_and_unmap(void *count)
{
	for (size_t i = 0; i < *(size_t *)count; i++)
		munmap(map_at(NULL, 4), 4 * page);
	return NULL;
}

TEST(many_watches_open_and_close_while_a_thread_works)
{
	size_t count = 2000;
	pthread_t thread;
	assert_int_equal(pthread_create(&thread, NULL, map_and_unmap, &count), 0);
	for (int i = 0; i < 200; i++) {
		struct cs_watch *other;
		assert_int_equal(cs_watch_open(&other), CS_OK);
		char *memory = map_at(NULL, 4);
		assert_int_equal(cs_watch_add(other, (uintptr_t)memory,
					      (uintptr_t)memory + 4 * page), CS_OK);
		if (i % 2)
			munmap(memory, page);
		cs_watch_close(other);
		assert_int_equal(watched_bytes(memory, 4 * page), 0);
		munmap(memory, 4 * page);
	}
	pthread_join(thread, NULL);
}

int
main(void)
{
	page = (uintptr_t)sysconf(_SC_PAGESIZE);
	enum cs_status status = cs_watch_open(&watch);
	if (status == CS_UNSUPPORTED) {
		fprintf(stderr, "skipped: this kernel gives ordinary programs no userfaultfd with "
				"write protection: %s\n",
			strerror(errno));
		return 77;
	}
	if (status == CS_OK)
		cs_watch_close(watch);
	return run_each(open_watch, close_watch);
}
