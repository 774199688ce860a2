/* watched.h — what the tests of ib/watch.c and of those that it watches for share: its reads held
 * back, and which pages the kernel watches. */
#ifndef CS_TESTS_UNIT_WATCHED_H
#define CS_TESTS_UNIT_WATCHED_H

#include "unit.h"

#include <pthread.h>

/* While it is locked, the watch's thread is kept from reading, and who changes a mapping waits. */
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

ssize_t __real_read(int fd, void *buffer, size_t bytes);
ssize_t __wrap_read(int fd, void *buffer, size_t bytes);

ssize_t
__wrap_read(int fd, void *buffer, size_t bytes)
{
	pthread_mutex_lock(&gate);
	pthread_mutex_unlock(&gate);
	return __real_read(fd, buffer, bytes);
}

/* Bytes of [base, base + bytes) that the kernel reports changes of. */
static size_t
watched_bytes(const char *base, size_t bytes)
{
	FILE *file = fopen("/proc/self/smaps", "r");
	assert_non_null(file);
	uintptr_t low = 0, high = 0, from = (uintptr_t)base, to = from + bytes;
	size_t sum = 0;
	char line[512];
	while (fgets(line, sizeof line, file)) {
		unsigned long first, last;
		if (sscanf(line, "%lx-%lx ", &first, &last) == 2) {
			low = first > from ? first : from;
			high = last < to ? last : to;
		}
		if (!strncmp(line, "VmFlags:", 8) && strstr(line, " uw") && low < high)
			sum += high - low;
	}
	fclose(file);
	return sum;
}

#endif
