/* shm/segment.c — creates, attaches, commits and closes a shared segment. */
#include "shm/segment.h"

#include "base/log.h"
#include "shm/headroom.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

void
cs_segment_draw(uint64_t words[2])
{
	if (getrandom(words, 16, GRND_NONBLOCK) == 16)
		return;
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	words[0] = ((uint64_t)getpid() << 32) ^ (uint64_t)now.tv_nsec;
	words[1] = (uint64_t)now.tv_sec ^ (uint64_t)(uintptr_t)words;
}

size_t
cs_segment_round(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	return (bytes + page - 1) / page * page;
}

/* Maps the segment, but not for children of fork(), which would keep the memory as long as they
 * live, nor for core files, which would each have the segment of all ranks. */
static bool
map(struct cs_segment *segment)
{
	int saved = errno;
	if (!cs_headroom_may_map(segment->bytes))
		return false;
	void *base = mmap(NULL, segment->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, segment->fd, 0);
	if (base == MAP_FAILED)
		return false;
	if (madvise(base, segment->bytes, MADV_DONTFORK) ||
	    madvise(base, segment->bytes, MADV_DONTDUMP))
		errno = saved; /* not necessary */
	segment->base = base;
	return true;
}

/* Moves a descriptor above those of the standard streams: a program that has closed these might
 * write to our memory. */
static int
above_streams(int fd)
{
	if (fd < 0 || fd > STDERR_FILENO)
		return fd;
	int moved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1), saved = errno;
	close(fd);
	errno = saved;
	return moved;
}

/* Is vm.overcommit_memory 2 (strict), or not known? Then a page of shared memory that cannot be
 * allocated may be SIGBUS. */
static bool
promises_strictly(void)
{
	char mode = '2';
	int fd = open("/proc/sys/vm/overcommit_memory", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return true;
	bool is_read = read(fd, &mode, 1) == 1;
	close(fd);
	return !is_read || mode == '2';
}

/* Opens a new file. Without a name it is freed with its last process, even if that is killed: so a
 * name is the last resort, for systems without O_TMPFILE and for processes that cannot open each
 * other's files in /proc. */
static int
open_new(struct cs_segment_handle *handle, enum cs_shm_kind kind, bool needs_name)
{
	int fd = -1;
	if (!needs_name && kind != CS_SHM_NAMED)
		fd = above_streams(memfd_create("collshim", MFD_CLOEXEC));
	handle->may_come_late = fd >= 0 && !promises_strictly();
	if (fd >= 0 || (kind == CS_SHM_MEMFD && !needs_name))
		return fd;
	if (kind == CS_SHM_MEMFD) {
		errno = EOPNOTSUPP;
		return -1;
	}
	if (!needs_name)
		fd = above_streams(open("/dev/shm", O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, 0600));
	if (fd < 0) {
		handle->is_named = 1;
		fd = above_streams(shm_open(handle->name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC,
					    0600));
	}
	return fd;
}

static void
drop_name(struct cs_segment *segment)
{
	if (segment->is_owner && segment->handle.is_named)
		shm_unlink(segment->handle.name);
	segment->handle.is_named = 0;
}

/* Is the size within RLIMIT_FSIZE? A file that grows over it is SIGXFSZ to its process, memfds and
 * named segments included. */
static bool
is_within_limit(size_t bytes)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur == RLIM_INFINITY ||
	    bytes <= limit.rlim_cur)
		return true;
	errno = EFBIG;
	return false;
}

#define COMMITTED_AT_ONCE ((size_t)1 << 20)
#define COMMITTED_AT_LEAST ((size_t)4 << 10)

/* Allocates pages for that part of the file. Returns an error number. Kernels before 6.11 or so
 * (such as 6.1) fail with EINTR if a signal is pending, and free the pages again; so it is done in
 * pieces, and in smaller ones after that. */
static int
allocate(int fd, size_t from, size_t bytes)
{
	size_t most = COMMITTED_AT_ONCE;
	while (bytes) {
		size_t piece = bytes < most ? bytes : most;
		int error = posix_fallocate(fd, (off_t)from, (off_t)piece);
		if (error && error != EINTR)
			return error;
		if (error && most > COMMITTED_AT_LEAST)
			most /= 2;
		from += error ? 0 : piece;
		bytes -= error ? 0 : piece;
	}
	return 0;
}

/* An open *segment could not be attached by another process, which needs a name. */
enum cs_status
cs_segment_create(struct cs_segment *segment, size_t bytes, enum cs_shm_kind kind)
{
	bool needs_name = segment->base;
	if (needs_name)
		cs_segment_close(segment);
	struct cs_segment made = { .bytes = cs_segment_round(bytes), .fd = -1, .is_owner = 1 };
	struct cs_segment_handle *handle = &made.handle;
	if (!is_within_limit(made.bytes))
		return CS_SYSTEM;
	cs_segment_draw(handle->nonce);
	snprintf(handle->name, sizeof handle->name, "/collshim-%016llx%016llx",
		 (unsigned long long)handle->nonce[0], (unsigned long long)handle->nonce[1]);
	/* The name must not tell the nonce. */
	cs_segment_draw(handle->nonce);
	handle->bytes = made.bytes;
	handle->pid = getpid();
	made.fd = open_new(handle, kind, needs_name);
	handle->fd = made.fd;
	if (made.fd < 0)
		return CS_SYSTEM;
	int error = ftruncate(made.fd, (off_t)made.bytes)
		    ? errno : allocate(made.fd, 0, CS_SEGMENT_HEADER);
	if (!error && !map(&made))
		error = errno;
	if (error) {
		cs_segment_close(&made);
		errno = error;
		return CS_SYSTEM;
	}
	memcpy(made.base, handle->nonce, sizeof handle->nonce);
	*segment = made;
	return CS_OK;
}

static bool
is_whole(int fd, uint64_t bytes)
{
	struct stat status;
	return fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
	       (uint64_t)status.st_size == bytes;
}

int
cs_segment_file(const char *name, size_t bytes)
{
	if (!is_within_limit(bytes))
		return -1;
	int fd = above_streams(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
	int error = fd < 0 ? errno : ftruncate(fd, (off_t)bytes) ? errno : allocate(fd, 0, bytes);
	if (error && fd >= 0)
		close(fd);
	errno = error ? error : errno;
	return error ? -1 : fd;
}

/* Only a file of the right size: the pid may be another process's here, and opening a device or a
 * pipe has effects. */
int
cs_segment_open_of(const struct cs_segment_handle *handle)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%lld/fd/%d", (long long)handle->pid, handle->fd);
	int place = open(path, O_PATH | O_CLOEXEC), fd = -1;
	if (place < 0)
		return -1;
	if (is_whole(place, handle->bytes)) {
		snprintf(path, sizeof path, "/proc/self/fd/%d", place);
		fd = above_streams(open(path, O_RDWR | O_CLOEXEC));
	} else {
		errno = ENODEV;
	}
	int saved = errno;
	close(place);
	errno = saved;
	return fd;
}

enum cs_status
cs_segment_attach(struct cs_segment *segment, const struct cs_segment_handle *handle)
{
	struct cs_segment made = { .bytes = handle->bytes, .fd = -1, .handle = *handle };
	if (handle->is_named) {
		char name[sizeof handle->name];
		memcpy(name, handle->name, sizeof name);
		name[sizeof name - 1] = 0;
		made.fd = above_streams(shm_open(name, O_RDWR | O_CLOEXEC, 0));
	} else {
		made.fd = cs_segment_open_of(handle);
	}
	if (made.fd < 0)
		return CS_SYSTEM;
	if (!is_whole(made.fd, handle->bytes) || !map(&made)) {
		close(made.fd);
		return CS_SYSTEM;
	}
	if (memcmp(made.base, handle->nonce, sizeof handle->nonce)) {
		cs_segment_close(&made);
		return CS_UNSUPPORTED;
	}
	*segment = made;
	return CS_OK;
}

/* Drops the name first, as all have attached: committing takes most of the time. */
enum cs_status
cs_segment_commit(struct cs_segment *segment, size_t from, size_t bytes, size_t least)
{
	drop_name(segment);
	int error = allocate(segment->fd, from, segment->handle.may_come_late &&
			     least < bytes ? least : bytes);
	if (!error)
		return CS_OK;
	errno = error;
	return CS_NO_MEMORY;
}

void
cs_segment_seal(struct cs_segment *segment)
{
	if (segment->fd < 0)
		return;
	drop_name(segment);
	close(segment->fd);
	segment->fd = -1;
}

void
cs_segment_close(struct cs_segment *segment)
{
	cs_segment_seal(segment);
	if (segment->base)
		munmap(segment->base, segment->bytes);
	segment->base = NULL;
}

size_t
cs_cma_get(pid_t pid, void *local, uintptr_t remote, size_t bytes)
{
	size_t done = 0;
	while (done < bytes) {
		struct iovec to = { (char *)local + done, bytes - done },
			     from = { (void *)(remote + done), bytes - done };
		ssize_t n = process_vm_readv(pid, &to, 1, &from, 1, 0);
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	return done;
}
