/* shm/segment.h: whose memory is attached, which descriptors stay open, and that each page is asked
 * for whatever signals come. */
#include "unit.h"

#include "shm/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define KIB ((size_t)1 << 10)
#define BYTES (5000 * KIB)

static size_t asked[64][2]; /* of posix_fallocate, where it went well */
static int asked_count, refusals;

/* libc's is not asked: this one stops with EINTR as often as told, as Linux before 6.11 does where
 * a signal is pending. */
int
posix_fallocate(int fd, off_t from, off_t bytes)
{
	if (refusals) {
		refusals--;
		return EINTR;
	}
	assert_true(asked_count < 64);
	asked[asked_count][0] = (size_t)from;
	asked[asked_count++][1] = (size_t)bytes;
	return 0;
}

static int looks, opens; /* files of other processes that were looked at, and that were opened */

/* libc's is not asked either. */
int
open(const char *path, int flags, ...)
{
	va_list arguments;
	va_start(arguments, flags);
	mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
	va_end(arguments);
	if (!strncmp(path, "/proc/", 6) && strstr(path, "/fd/"))
		*(flags & O_PATH ? &looks : &opens) += 1;
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

static struct cs_segment
made(void)
{
	struct cs_segment segment = { .fd = -1 };
	assert_int_equal(cs_segment_create(&segment, BYTES, CS_SHM_AUTO), CS_OK);
	asked_count = 0;
	return segment;
}

/* The pieces are one after another, and all there is. */
static void
expect_asked(size_t from, size_t bytes)
{
	size_t at = from;
	for (int i = 0; i < asked_count; i++) {
		assert_int_equal(asked[i][0], at);
		at += asked[i][1];
	}
	assert_int_equal(at, from + bytes);
}

TEST(pages_are_asked_for_again_where_a_signal_came)
{
	struct cs_segment segment = made();
	for (int times = 0; times < 12; times += 3) {
		asked_count = 0;
		refusals = times;
		assert_int_equal(cs_segment_commit(&segment, 4 * KIB, 100 * KIB, SIZE_MAX), CS_OK);
		expect_asked(4 * KIB, 100 * KIB);
		assert_int_equal(refusals, 0);
	}
	asked_count = 0;
	assert_int_equal(cs_segment_commit(&segment, 0, BYTES, SIZE_MAX), CS_OK);
	expect_asked(0, BYTES);
	cs_segment_close(&segment);
}

TEST(memory_of_another_segment_is_not_attached)
{
	struct cs_segment segment = made(), other = { .fd = -1 };
	struct cs_segment_handle handle = segment.handle;
	assert_int_equal(cs_segment_attach(&other, &handle), CS_OK);
	((char *)other.base)[CS_SEGMENT_HEADER] = 7;
	assert_int_equal(((char *)segment.base)[CS_SEGMENT_HEADER], 7);
	cs_segment_close(&other);
	handle.nonce[1] ^= 1;
	assert_int_not_equal(cs_segment_attach(&other, &handle), CS_OK);
	handle = segment.handle;
	handle.bytes += 4 * KIB;
	assert_int_not_equal(cs_segment_attach(&other, &handle), CS_OK);
	assert_null(other.base);
	cs_segment_close(&segment);
}

/* The lowest one that is free. */
static int
next_descriptor(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	close(fd);
	return fd;
}

TEST(sealed_segments_have_no_descriptor)
{
	int before = next_descriptor();
	struct cs_segment segment = made(), other = { .fd = -1 };
	struct cs_segment_handle wrong = segment.handle;
	wrong.nonce[0] ^= 1;
	assert_int_not_equal(cs_segment_attach(&other, &wrong), CS_OK);
	wrong.bytes *= 2;
	assert_int_not_equal(cs_segment_attach(&other, &wrong), CS_OK);
	assert_int_equal(cs_segment_attach(&other, &segment.handle), CS_OK);
	cs_segment_seal(&segment);
	cs_segment_seal(&other);
	assert_int_equal(next_descriptor(), before);
	((char *)segment.base)[CS_SEGMENT_HEADER] = 7; /* and still are memory */
	assert_int_equal(((char *)other.base)[CS_SEGMENT_HEADER], 7);
	cs_segment_close(&segment);
	cs_segment_close(&other);
	cs_segment_close(&other);
	assert_int_equal(next_descriptor(), before);
}

/* By the number in the handle another process may have anything. */
TEST(what_is_no_file_of_that_size_is_not_opened)
{
	struct cs_segment segment = made(), other = { .fd = -1 };
	struct cs_segment_handle handle = segment.handle;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), ends[2];
	assert_int_equal(pipe(ends), 0);
	int wrong[] = { null, ends[0], ends[1] };
	looks = opens = 0;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		handle.fd = wrong[i];
		assert_int_not_equal(cs_segment_attach(&other, &handle), CS_OK);
	}
	handle.fd = segment.handle.fd;
	handle.bytes += 4 * KIB;
	assert_int_not_equal(cs_segment_attach(&other, &handle), CS_OK);
	assert_int_equal(looks, 4);
	assert_int_equal(opens, 0);
	close(null);
	close(ends[0]);
	close(ends[1]);
	cs_segment_close(&segment);
}

/* In a process whose standard streams are closed: 0 where none of ours is one. */
static int
without_streams(enum cs_shm_kind kind)
{
	struct cs_segment segment = { .fd = -1 }, other = { .fd = -1 };
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		close(fd);
	if (cs_segment_create(&segment, BYTES, kind) != CS_OK)
		return 1;
	if (segment.fd <= STDERR_FILENO || segment.handle.fd != segment.fd)
		return 2;
	if (cs_segment_attach(&other, &segment.handle) != CS_OK)
		return 3;
	if (other.fd <= STDERR_FILENO)
		return 4;
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			return 5;
	cs_segment_close(&other);
	cs_segment_close(&segment);
	return 0;
}

TEST(no_descriptor_is_a_standard_stream)
{
	for (int i = 0; i < 2; i++) {
		int status;
		pid_t child = fork();
		if (child == 0)
			_exit(without_streams(i ? CS_SHM_NAMED : CS_SHM_AUTO));
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
	}
}

/* The flags of the mapping at `base`, as /proc/self/smaps has them. */
static void
mapping_flags(const void *base, char *flags, size_t bytes)
{
	char line[512], start[32];
	bool is_it = false;
	FILE *file = fopen("/proc/self/smaps", "r");
	assert_non_null(file);
	snprintf(start, sizeof start, "%08lx-", (unsigned long)(uintptr_t)base);
	*flags = '\0';
	while (fgets(line, sizeof line, file)) {
		if (!strncmp(line, start, strlen(start)))
			is_it = true;
		else if (is_it && !strncmp(line, "VmFlags:", 8)) {
			snprintf(flags, bytes, "%s", line);
			break;
		}
	}
	fclose(file);
}

/* An emulator of another processor may keep advice to itself. */
static bool
is_advised(void)
{
	size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
	char flags[512];
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			    0);
	assert_true(memory != MAP_FAILED);
	assert_int_equal(madvise(memory, bytes, MADV_DONTFORK), 0);
	mapping_flags(memory, flags, sizeof flags);
	munmap(memory, bytes);
	return strstr(flags, " dc");
}

TEST(neither_children_nor_core_files_get_a_segment)
{
	struct cs_segment segment = made(), other = { .fd = -1 };
	char flags[512];
	assert_int_equal(cs_segment_attach(&other, &segment.handle), CS_OK);
	for (int i = 0; i < 2; i++) {
		mapping_flags(i ? other.base : segment.base, flags, sizeof flags);
		if (!*flags)
			leave_out("the kernel has no smaps");
		if (!strstr(flags, " dc") && !is_advised())
			leave_out("advice does not reach the kernel here");
		assert_non_null(strstr(flags, " dc"));
		assert_non_null(strstr(flags, " dd"));
	}
	cs_segment_close(&other);
	cs_segment_close(&segment);
}

/* A segment may have a quarter of the address space that is left. */
TEST(a_spent_address_space_is_left_to_the_program)
{
	struct rlimit before, limit;
	struct cs_segment segment;
	unsigned long kib = 0;
	char line[128];
	FILE *file = fopen("/proc/self/status", "r");
	assert_non_null(file);
	while (!kib && fgets(line, sizeof line, file))
		sscanf(line, "VmSize: %lu kB", &kib);
	fclose(file);
	assert_int_not_equal(kib, 0);
	assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
	limit = before;
	limit.rlim_cur = ((rlim_t)kib << 10) + 3 * BYTES;
	assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
	rlim_t set = limit.rlim_cur;
	if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur != set)
		/* By an emulator, which needs its own */
		leave_out("the address space of a process cannot be limited here");
	enum cs_status refused = cs_segment_create(&segment, BYTES, CS_SHM_AUTO);
	int error = errno;
	enum cs_status made = refused == CS_OK
			      ? CS_OK : cs_segment_create(&segment, BYTES / 4, CS_SHM_AUTO);
	assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
	assert_int_not_equal(refused, CS_OK);
	assert_int_equal(error, ENOMEM);
	assert_int_equal(made, CS_OK);
	cs_segment_close(&segment);
}

RUN_TESTS(NULL, NULL)
