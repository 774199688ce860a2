/* A machine whose pages have 64 KiB, as Arm's and POWER's may, as far as a process can tell: linked
 * into a test with --wrap=sysconf,--wrap=mmap and so on. What such a kernel refuses ends the test;
 * so does advice about forks for less than whole pages, of which the rest would be somebody else's
 * memory that a child misses. */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE ((size_t)64 << 10)

long __real_sysconf(int name);
void *__real_mmap64(void *at, size_t bytes, int access, int flags, int fd, off_t from);
int __real_munmap(void *at, size_t bytes);
int __real_mprotect(void *at, size_t bytes, int access);
int __real_madvise(void *at, size_t bytes, int advice);
long __wrap_sysconf(int name);
void *__wrap_mmap64(void *at, size_t bytes, int access, int flags, int fd, off_t from);
void *__wrap_mmap(void *at, size_t bytes, int access, int flags, int fd, off_t from);
int __wrap_munmap(void *at, size_t bytes);
int __wrap_mprotect(void *at, size_t bytes, int access);
int __wrap_madvise(void *at, size_t bytes, int advice);

static size_t
whole(size_t bytes)
{
	return (bytes + PAGE - 1) / PAGE * PAGE;
}

static void
expect_pages(const char *function, const void *at, size_t bytes)
{
	if ((uintptr_t)at % PAGE == 0 && bytes % PAGE == 0)
		return;
	fprintf(stderr, "%s of %zu bytes at %p: no pages of 64 KiB\n", function, bytes, at);
	abort();
}

long
__wrap_sysconf(int name)
{
	return name == _SC_PAGESIZE ? (long)PAGE : __real_sysconf(name);
}

void *
__wrap_mmap64(void *at, size_t bytes, int access, int flags, int fd, off_t from)
{
	expect_pages("mmap", at, (size_t)from);
	if (at)
		return __real_mmap64(at, whole(bytes), access, flags, fd, from);
	char *room = __real_mmap64(NULL, whole(bytes) + PAGE, PROT_NONE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (room == MAP_FAILED)
		return room;
	char *begin = (char *)(((uintptr_t)room + PAGE - 1) / PAGE * PAGE);
	void *made = __real_mmap64(begin, whole(bytes), access, flags | MAP_FIXED, fd, from);
	if (begin > room)
		__real_munmap(room, (size_t)(begin - room));
	__real_munmap(begin + whole(bytes), PAGE - (size_t)(begin - room));
	return made;
}

void *
__wrap_mmap(void *at, size_t bytes, int access, int flags, int fd, off_t from)
{
	return __wrap_mmap64(at, bytes, access, flags, fd, from);
}

int
__wrap_munmap(void *at, size_t bytes)
{
	expect_pages("munmap", at, 0);
	return __real_munmap(at, whole(bytes));
}

int
__wrap_mprotect(void *at, size_t bytes, int access)
{
	expect_pages("mprotect", at, 0);
	return __real_mprotect(at, whole(bytes), access);
}

int
__wrap_madvise(void *at, size_t bytes, int advice)
{
	expect_pages("madvise", at, advice == MADV_DONTFORK || advice == MADV_DOFORK ? bytes : 0);
	return __real_madvise(at, whole(bytes), advice);
}
