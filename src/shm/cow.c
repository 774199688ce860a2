/* shm/cow.c — files of results, and their mapping. */
#include "shm/cow.h"

#include "shm/mapping.h"
#include "shm/segment.h"
#include "trace/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME "collshim-result"
#define MAPPED "/memfd:" NAME " (deleted)"

static uintptr_t
page_size(void)
{
	return (uintptr_t)sysconf(_SC_PAGESIZE);
}

size_t
cs_cow_offset(const void *result)
{
	return (uintptr_t)result % page_size();
}

/* The whole pages of a result; false: there are none. */
static bool
inside(const char *result, size_t bytes, char **from, char **to)
{
	uintptr_t page = page_size();
	*from = (char *)(((uintptr_t)result + page - 1) / page * page);
	*to = (char *)(((uintptr_t)result + bytes) / page * page);
	return *from < *to;
}

/* Has the process no locked, pinned or huge pages? Such memory may be anywhere. */
static bool
has_plain_pages(void)
{
	static const char *const none[] = { "VmLck:", "VmPin:", "HugetlbPages:" };
	char line[128];
	size_t seen = 0;
	FILE *status = fopen("/proc/self/status", "re");
	while (status && fgets(line, sizeof line, status))
		for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
			unsigned long kilobytes = 1;
			size_t length = strlen(none[i]);
			if (!strncmp(line, none[i], length) &&
			    sscanf(line + length, "%lu", &kilobytes) == 1 && !kilobytes)
				seen++;
		}
	if (status)
		fclose(status);
	return seen == sizeof none / sizeof *none;
}

/* Is it all private anonymous memory or a mapping of ours, without a gap? */
static bool
is_plain(const char *from, const char *to)
{
	struct cs_mapping mapping;
	while (from < to) {
		if (!cs_mapping_find(from, &mapping) || !mapping.is_writable || mapping.is_shared ||
		    (!mapping.is_plain && strcmp(mapping.name, MAPPED) != 0))
			return false;
		from = (const char *)mapping.to;
	}
	return true;
}

/* The head of a block of glibc's malloc: the bytes before it that alignment took, and its size,
 * with three bits, of which the second alone says that the block is mapped by itself. */
#define HEAD (2 * sizeof(size_t))
#define IS_MAPPED ((size_t)2)
#define BITS ((size_t)7)

/* Does the result begin a block that glibc has mapped by itself? */
static bool
begins_block(const char *result, size_t bytes, const char **from, const char **to)
{
#ifdef __GLIBC__
	struct cs_mapping mapping;
	size_t head[2], page = page_size();
	const char *chunk = result - HEAD;
	if ((uintptr_t)result % HEAD || !cs_mapping_find(chunk, &mapping) || !mapping.is_plain ||
	    !mapping.is_writable)
		return false;
	memcpy(head, chunk, sizeof head);
	size_t size = head[1] & ~BITS;
	*from = chunk - head[0];
	*to = chunk + size;
	return (head[1] & BITS) == IS_MAPPED && head[0] < page && (uintptr_t)*from % page == 0 &&
	       (head[0] + size) % page == 0 && size >= HEAD && bytes <= size - HEAD;
#else
	(void)result, (void)bytes, (void)from, (void)to;
	return false;
#endif
}

static bool
may_be_mapped(const char *result, size_t bytes)
{
	const char *from, *to;
	char *first, *end;
	return inside(result, bytes, &first, &end) && begins_block(result, bytes, &from, &to) &&
	       is_plain(from, to) && has_plain_pages();
}

int
cs_cow_open(const void *result, size_t bytes, struct cs_cow_told *told)
{
	int saved = errno, file = -1;
	struct stat status;
	size_t all = cs_segment_round(cs_cow_offset(result) + bytes);
	*told = (struct cs_cow_told){ 0 };
	if (may_be_mapped(result, bytes))
		file = cs_segment_file(NAME, all);
	if (file >= 0 && fstat(file, &status)) {
		close(file);
		file = -1;
	}
	if (file >= 0) {
		told->file = (uint64_t)cs_cow_offset(result) << 32 | (uint64_t)(file + 1);
		told->inode = status.st_ino;
	}
	errno = saved;
	return file;
}

bool
cs_cow_write(int file, const void *own, size_t at, const void *from, size_t bytes)
{
	int saved = errno;
	for (size_t done = 0; done < bytes;) {
		ssize_t now = pwrite(file, (const char *)from + done, bytes - done,
				     (off_t)(cs_cow_offset(own) + at + done));
		if (now <= 0 && errno != EINTR)
			return false;
		done += now > 0 ? (size_t)now : 0;
	}
	errno = saved;
	return true;
}

void
cs_cow_seal(int file)
{
	int saved = errno;
	if (fcntl(file, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE))
		errno = saved; /* nobody writes to it anyway */
}

int
cs_cow_attach(int64_t pid, struct cs_cow_told told, size_t bytes)
{
	int saved = errno;
	struct stat status;
	struct cs_segment_handle handle = {
		.pid = pid, .fd = (int32_t)(told.file & UINT32_MAX) - 1,
		.bytes = cs_segment_round(cs_cow_told_offset(told) + bytes),
	};
	int file = cs_segment_open_of(&handle);
	if (file >= 0 && (fstat(file, &status) || status.st_ino != told.inode)) {
		close(file);
		file = -1;
	}
	errno = saved;
	return file;
}

static bool
read_part(int file, size_t offset, char *to, size_t bytes)
{
	for (size_t done = 0; done < bytes;) {
		ssize_t now = pread(file, to + done, bytes - done, (off_t)(offset + done));
		if (now == 0 || (now < 0 && errno != EINTR))
			return false;
		done += now > 0 ? (size_t)now : 0;
	}
	return true;
}

/* Maps the whole pages. False: it was refused; then memory of the process is there, as before. */
static bool
map_pages(int file, size_t offset, char *from, char *to)
{
	struct cs_mapping left;
	size_t bytes = (size_t)(to - from);
	if (mmap(from, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, file,
		 (off_t)offset) == from) {
		cs_report_more(CS_SUM_MAPPED);
		return true;
	}
	/* The kernel may have taken away what was there. Reading fails if this does, too. */
	if (!cs_mapping_find(from, &left) &&
	    mmap(from, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS, -1,
		 0) != from)
		return false;
	return false;
}

bool
cs_cow_take(int file, size_t offset, void *result, size_t bytes)
{
	int saved = errno;
	char *begin = result, *end = begin + bytes, *from, *to;
	bool is_mapped = offset == cs_cow_offset(result) && may_be_mapped(result, bytes) &&
			 inside(result, bytes, &from, &to) &&
			 map_pages(file, offset + (size_t)(from - begin), from, to);
	bool is_there = is_mapped
			? read_part(file, offset, begin, (size_t)(from - begin)) &&
				  read_part(file, offset + (size_t)(to - begin), to,
					    (size_t)(end - to))
			: read_part(file, offset, begin, bytes);
	errno = is_there ? saved : errno;
	return is_there;
}
