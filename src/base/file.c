/* base/file.c — reads small files and writes files that are not there yet. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include <linux/magic.h>

#ifndef RENAME_NOREPLACE /* musl has no renameat2 */
#define RENAME_NOREPLACE 1
#endif

#define PATIENCE_MS 2000 /* for a reader that takes nothing */
#define LOCK_MS 5000     /* for other processes that have a lock */
#define MOST_LINKS 40    /* as the kernel follows */
#define MOST_NUMBER 9999 /* PATH.9999 */

static bool
write_all(int file, const char *text, size_t bytes)
{
	while (bytes > 0) {
		ssize_t n = write(file, text, bytes);
		if (n < 0 && errno == EAGAIN) {
			struct pollfd room = { .fd = file, .events = POLLOUT };
			int ready = poll(&room, 1, PATIENCE_MS);
			if (ready == 0)
				errno = EAGAIN;
			if (ready > 0 || (ready < 0 && errno == EINTR))
				continue;
			return false;
		}
		if (n < 0 && errno != EINTR)
			return false;
		if (n > 0) {
			text += n;
			bytes -= (size_t)n;
		}
	}
	return true;
}

/* The kernel sends SIGPIPE, or SIGXFSZ beyond RLIMIT_FSIZE, to the thread that writes: here it is
 * held back, and taken away again unless one was waiting before. */
bool
cs_file_write(int file, const char *text, size_t bytes)
{
	static const struct timespec at_once;
	sigset_t broken, before, waiting;
	sigemptyset(&broken);
	sigaddset(&broken, SIGPIPE);
	sigaddset(&broken, SIGXFSZ);
	bool is_held = !pthread_sigmask(SIG_BLOCK, &broken, &before);
	bool is_known = !sigpending(&waiting);
	bool is_written = write_all(file, text, bytes);
	int error = errno, sent = error == EPIPE ? SIGPIPE : SIGXFSZ;
	bool was_waiting = is_known && sigismember(&waiting, sent) == 1;
	sigemptyset(&broken);
	sigaddset(&broken, sent);
	if (!is_written && (error == EPIPE || error == EFBIG) && is_held && !was_waiting)
		while (sigtimedwait(&broken, NULL, &at_once) < 0 && errno == EINTR)
			;
	if (is_held)
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = error;
	return is_written;
}

/* --- where it goes ---------------------------------------------------------------------------- */

/* A name in a folder that is held open, so that nobody puts another folder in its place
 * meanwhile. */
struct place {
	int folder;
	char *name;
	struct stat is; /* what has the name now; st_mode 0: nothing */
	bool is_magic;  /* a link of /proc, which has no path that could be read: /dev/stderr ends
			 * there */
};

static void
leave(struct place *place)
{
	int saved = errno;
	if (place->folder >= 0)
		close(place->folder);
	free(place->name);
	errno = saved;
}

/* Replaces the place by that of `path`, which is relative to the place's own folder. */
static bool
enter(struct place *place, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	struct place old = *place;
	char *folder = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path))
			     : strdup(".");
	*place = (struct place){ .folder = -1, .name = strdup(name) };
	bool is_there = false;
	if (!folder || !place->name)
		errno = ENOMEM;
	else if (!*name || !strcmp(name, ".") || !strcmp(name, ".."))
		errno = EISDIR;
	else
		place->folder = openat(old.folder, folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (place->folder >= 0) {
		is_there = fstatat(place->folder, name, &place->is, AT_SYMLINK_NOFOLLOW) == 0;
		if (!is_there && errno == ENOENT) {
			place->is = (struct stat){ 0 };
			is_there = true;
		}
	}
	free(folder);
	leave(&old);
	return is_there;
}

/* Others that may write in the folder could have put a link there that leads to a file of ours; or
 * a second name of a link that is ours elsewhere. */
static bool
is_followed(const struct stat *link)
{
	return S_ISLNK(link->st_mode) && link->st_nlink == 1 &&
	       (link->st_uid == geteuid() || link->st_uid == 0);
}

static bool
find(struct place *place, const char *path)
{
	*place = (struct place){ .folder = AT_FDCWD };
	if (!enter(place, path))
		return false;
	for (int links = 0; is_followed(&place->is); links++) {
		struct statfs system;
		char *to = calloc(1, PATH_MAX);
		if (fstatfs(place->folder, &system) == 0 && system.f_type == PROC_SUPER_MAGIC) {
			free(to);
			place->is_magic = true;
			return true;
		}
		ssize_t bytes = to ? readlinkat(place->folder, place->name, to, PATH_MAX - 1) : -1;
		if (bytes == 0 || links == MOST_LINKS)
			errno = ELOOP;
		bool is_next = bytes > 0 && links < MOST_LINKS && enter(place, to);
		free(to);
		if (!is_next)
			return false;
	}
	if (S_ISDIR(place->is.st_mode))
		errno = EISDIR;
	return !S_ISDIR(place->is.st_mode);
}

/* --- one file --------------------------------------------------------------------------------- */

/* An error of close counts too (quota, network). */
static bool
write_and_close(int file, bool is_synced, const char *text, size_t bytes)
{
	bool is_written = cs_file_write(file, text, bytes) && (!is_synced || fsync(file) == 0);
	int error = errno;
	if (close(file) != 0 && is_written) {
		is_written = false;
		error = errno;
	}
	errno = error;
	return is_written;
}

/* Writes to what has the name already: a device, a pipe, or a file beside which no other can be
 * made. A file with a second name may be a file of ours that somebody else has given that name. */
static bool
write_into(const struct place *place, bool is_replacing, const char *text, size_t bytes)
{
	int flags = O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
	int file = openat(place->folder, place->name,
			  flags | (place->is_magic ? O_APPEND : O_NOFOLLOW));
	struct stat is;
	if (file < 0)
		return false;
	bool is_ours = fstat(file, &is) == 0;
	if (is_ours && S_ISREG(is.st_mode))
		is_ours = (place->is_magic || is.st_nlink == 1) &&
			  (!is_replacing || ftruncate(file, 0) == 0);
	if (!is_ours) {
		close(file);
		errno = EPERM;
		return false;
	}
	return write_and_close(file, false, text, bytes);
}

#define UNFINISHED_NAME 256

/* A file of a name that nobody can have guessed. That of an old file of ours is as readable as that
 * was. */
static int
make_unfinished(const struct place *place, char *name)
{
	int file = -1;
	for (int tries = 0; file < 0 && tries < 8 && (tries == 0 || errno == EEXIST); tries++) {
		uint64_t number;
		struct timespec now;
		if (getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number) {
			/* O_EXCL holds in any case. */
			clock_gettime(CLOCK_MONOTONIC, &now);
			number = (uint64_t)now.tv_nsec << 32 ^ (uint64_t)getpid() <<
				 8 ^ (uint64_t)(uintptr_t)&number;
		}
		snprintf(name, UNFINISHED_NAME, ".%.200s.%016llx", place->name,
			 (unsigned long long)number);
		file = openat(place->folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW |
			      O_CLOEXEC | O_NOCTTY, 0600);
	}
	if (file >= 0 && S_ISREG(place->is.st_mode) && place->is.st_uid == geteuid())
		(void)fchmod(file, place->is.st_mode & 0777);
	return file;
}

/* Gives it a name that is free, or fails with EEXIST. Not all file systems can do that in one
 * step. */
static bool
name_it(int folder, const char *unfinished, const char *name)
{
	if (syscall(SYS_renameat2, folder, unfinished, folder, name, RENAME_NOREPLACE) == 0)
		return true;
	if (errno != EINVAL && errno != ENOSYS)
		return false;
	if (linkat(folder, unfinished, folder, name, 0) == 0) {
		unlinkat(folder, unfinished, 0);
		return true;
	}
	struct stat is;
	if (errno == EEXIST || fstatat(folder, name, &is, AT_SYMLINK_NOFOLLOW) == 0) {
		errno = EEXIST;
		return false;
	}
	return renameat(folder, unfinished, folder, name) == 0;
}

/* The first of NAME, NAME.2, NAME.3 that is free: its number, or 0. */
static unsigned
name_next(const struct place *place, const char *unfinished)
{
	if (name_it(place->folder, unfinished, place->name))
		return 1;
	for (unsigned number = 2; number <= MOST_NUMBER && errno == EEXIST; number++) {
		char *name;
		if (asprintf(&name, "%s.%u", place->name, number) < 0) {
			errno = ENOMEM;
			return 0;
		}
		bool is_named = name_it(place->folder, unfinished, name);
		free(name);
		if (is_named)
			return number;
	}
	return 0;
}

static bool
is_as_it_is(const struct place *place)
{
	return place->is_magic ||
	       (place->is.st_mode && !S_ISREG(place->is.st_mode) && !S_ISLNK(place->is.st_mode));
}

enum manner { ADD, REPLACE, RENEW };

/* Nothing, or a file of this user with write permission; else errno is set. */
static bool
is_renewable(const struct stat *is)
{
	bool is_ours = S_ISREG(is->st_mode) && is->st_uid == geteuid() && is->st_mode & S_IWUSR;
	errno = S_ISREG(is->st_mode) ? EACCES : EINVAL;
	return !is->st_mode || is_ours;
}

/* The number of the name that it got, or 0. */
static unsigned
put(const struct place *place, enum manner manner, const char *text, size_t bytes)
{
	if (manner == RENEW && !is_renewable(&place->is))
		return 0;
	if (is_as_it_is(place))
		return write_into(place, manner == REPLACE, text, bytes);
	char unfinished[UNFINISHED_NAME];
	unsigned number = 0;
	int file = make_unfinished(place, unfinished);
	bool is_made = file >= 0;
	if (is_made && write_and_close(file, manner == RENEW, text, bytes)) {
		if (manner == ADD)
			number = name_next(place, unfinished);
		else
			number = renameat(place->folder, unfinished, place->folder, place->name) ==
				 0;
	}
	int error = errno;
	if (is_made && !number)
		unlinkat(place->folder, unfinished, 0);
	/* The file may be ours to write and its folder not. */
	if (!number && manner == REPLACE && S_ISREG(place->is.st_mode) &&
	    (error == EACCES || error == EPERM || error == EROFS))
		return write_into(place, true, text, bytes);
	errno = error;
	return number;
}

bool
cs_file_replace(const char *path, const char *text, size_t bytes)
{
	struct place place;
	bool is_written = find(&place, path) && put(&place, REPLACE, text, bytes);
	leave(&place);
	return is_written;
}

bool
cs_file_renew(const char *path, const char *text, size_t bytes)
{
	struct place place;
	bool is_written = find(&place, path) && put(&place, RENEW, text, bytes);
	leave(&place);
	return is_written;
}

int
cs_file_lock(const char *path)
{
	static const struct timespec pause = { .tv_nsec = 10000000 };
	char *name;
	if (asprintf(&name, "%s.lock", path) < 0) {
		errno = ENOMEM;
		return -1;
	}
	int file = open(name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
			0600);
	int error = errno;
	for (int waited = 0; file >= 0 && flock(file, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK;
	     waited += 10) {
		nanosleep(&pause, NULL);
		if (waited < LOCK_MS)
			continue;
		error = EAGAIN;
		close(file);
		file = -1;
	}
	free(name);
	errno = error;
	return file;
}

/* An empty file has been made for what is to come: by mktemp, or by whoever may write in its
 * folder. */
unsigned
cs_file_add(const char *path, const char *text, size_t bytes)
{
	struct place place;
	unsigned number = 0;
	if (find(&place, path))
		number = put(&place,
			     S_ISREG(place.is.st_mode) && place.is.st_size == 0 ? REPLACE : ADD,
			     text, bytes);
	leave(&place);
	return number;
}

int
cs_file_create(const char *path, unsigned *number)
{
	int file = -1;
	size_t room = strlen(path) + sizeof ".4294967295";
	char *name = malloc(room);
	if (!name) {
		errno = ENOMEM;
		return -1;
	}
	for (unsigned tried = 1; file < 0 && tried <= MOST_NUMBER && (tried == 1 ||
								      errno == EEXIST); tried++) {
		snprintf(name, room, tried == 1 ? "%s" : "%s.%u", path, tried);
		file = open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY,
			    0600);
		*number = tried;
	}
	int error = errno;
	free(name);
	errno = error;
	return file;
}

enum cs_status
cs_file_read(const char *path, size_t most, char **text, size_t *bytes)
{
	/* Non-blocking, so that a named pipe put there by mistake cannot hang a job. */
	int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (file < 0)
		return CS_SYSTEM;
	struct stat stat;
	char *made = malloc(most + 1);
	size_t used = 0;
	int failure = made ? 0 : ENOMEM;
	if (!failure && fstat(file, &stat))
		failure = errno;
	else if (!failure && !S_ISREG(stat.st_mode))
		failure = S_ISDIR(stat.st_mode) ? EISDIR : EINVAL;
	while (!failure) {
		ssize_t got = read(file, made + used, most + 1 - used);
		if (got == 0)
			break;
		if (got < 0 && errno != EINTR)
			failure = errno;
		if (got > 0)
			used += (size_t)got;
		if (used > most)
			failure = EFBIG;
	}
	close(file);
	if (failure) {
		free(made);
		errno = failure;
		return failure == ENOMEM ? CS_NO_MEMORY : CS_SYSTEM;
	}
	made[used] = '\0';
	*text = made;
	*bytes = used;
	return CS_OK;
}
