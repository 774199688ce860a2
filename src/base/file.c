#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_MS 2000 /* for a reader that takes nothing */

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

/* The kernel sends SIGPIPE to the thread that writes: here it is held back, and taken away again unless one was waiting
 * before. */
bool
cs_file_write(int file, const char *text, size_t bytes)
{
	static const struct timespec at_once;
	sigset_t broken, before, waiting;
	sigemptyset(&broken);
	sigaddset(&broken, SIGPIPE);
	bool is_held = !pthread_sigmask(SIG_BLOCK, &broken, &before);
	bool was_waiting = !sigpending(&waiting) && sigismember(&waiting, SIGPIPE) == 1;
	bool is_written = write_all(file, text, bytes);
	int error = errno;
	if (!is_written && error == EPIPE && is_held && !was_waiting)
		while (sigtimedwait(&broken, NULL, &at_once) < 0 && errno == EINTR)
			;
	if (is_held)
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = error;
	return is_written;
}

/* An error of close counts too (quota, network). */
static bool
write_into(const char *path, int flags, const char *text, size_t bytes)
{
	int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | flags, 0666);
	if (file < 0)
		return false;
	bool is_written = cs_file_write(file, text, bytes);
	int error = errno;
	if (close(file) != 0 && is_written) {
		is_written = false;
		error = errno;
	}
	errno = error;
	return is_written;
}

bool
cs_file_replace(const char *path, const char *text, size_t bytes)
{
	struct stat old;
	if (lstat(path, &old) == 0 && !S_ISREG(old.st_mode))
		return write_into(path, O_TRUNC | O_NONBLOCK, text, bytes);

	char *unfinished;
	if (asprintf(&unfinished, "%s.tmp.%ld", path, (long)getpid()) < 0) {
		errno = ENOMEM;
		return false;
	}
	bool is_written = write_into(unfinished, O_TRUNC | O_NOFOLLOW, text, bytes);
	if (is_written && rename(unfinished, path) != 0)
		is_written = false;
	int error = errno;
	if (!is_written)
		unlink(unfinished);
	free(unfinished);
	/* The file may be ours to write and its folder not, or its name too long for another one's. */
	if (!is_written && (error == EACCES || error == EPERM || error == ENAMETOOLONG))
		return write_into(path, O_TRUNC, text, bytes);
	errno = error;
	return is_written;
}
