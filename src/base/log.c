/* base/log.c — writes lines on stderr, each once per job. */

#include "base/log.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/printable.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static bool speaker = true;
static int verbosity;
static _Atomic uint64_t job;

#define LINE_BYTES 1024

/* One after the other, each with its end. */
static bool is_keeping;
static char kept[8 * LINE_BYTES];
static size_t kept_bytes;
static uint64_t kept_digest = CS_HASH_START;

void
cs_log_set_speaker(bool is_speaker)
{
	speaker = is_speaker;
}

bool
cs_log_is_speaker(void)
{
	return speaker;
}

void
cs_log_set_verbosity(int level)
{
	verbosity = level;
}

void
cs_log_set_job(uint64_t number)
{
	atomic_store(&job, number);
}

/* The memory of a node that needs no file: an abstract socket's name, which is free again when its
 * process ends. So the descriptor stays open. */
bool
cs_log_is_first(unsigned reason)
{
	int saved = errno;
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	uint64_t number = atomic_load(&job);
	int length = snprintf(address.sun_path + 1, sizeof address.sun_path - 1,
			      "collshim-%016llx-said-%u", (unsigned long long)number, reason);
	int fd = number ? socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;
	bool is_first = true;
	if (fd >= 0 && bind(fd, (struct sockaddr *)&address,
			    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
					(size_t)length))) {
		is_first = errno != EADDRINUSE;
		close(fd);
	}
	errno = saved;
	return is_first;
}

/* One write(2) a line, so that lines of several ranks do not mix. */
static void
write_line(const char *format, va_list arguments)
{
	int saved = errno;
	char line[LINE_BYTES] = "collshim: ";
	size_t used = strlen(line);
	errno = saved; /* for %m */
	int more = vsnprintf(line + used, sizeof line - used - 1, format, arguments);
	if (more > 0)
		used += (size_t)more < sizeof line - used - 1 ? (size_t)more : sizeof line - used -
			2;
	line[used] = '\0';
	cs_printable_make(line, false);
	line[used++] = '\n';
	(void)cs_file_write(STDERR_FILENO, line, used);
	errno = saved;
}

/* Lines that are too many are not kept, but they are in the digest. */
static void
keep_line(const char *format, va_list arguments)
{
	int saved = errno;
	char line[LINE_BYTES];
	vsnprintf(line, sizeof line, format, arguments);
	kept_digest = cs_hash_text(kept_digest, line);
	size_t bytes = strlen(line) + 1;
	if (kept_bytes + bytes <= sizeof kept) {
		memcpy(kept + kept_bytes, line, bytes);
		kept_bytes += bytes;
	}
	errno = saved;
}

void
cs_log_keep(void)
{
	cs_log_forget();
	is_keeping = true;
}

uint64_t
cs_log_kept(void)
{
	is_keeping = false;
	return kept_bytes ? kept_digest : 0;
}

static void __attribute__((format(printf, 1, 2)))
write_text(const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	write_line(format, arguments);
	va_end(arguments);
}

void
cs_log_tell(const char *before, const char *after)
{
	for (size_t at = 0; at < kept_bytes; at += strlen(kept + at) + 1)
		write_text("%s%s%s", before, kept + at, after);
	cs_log_forget();
}

void
cs_log_forget(void)
{
	is_keeping = false;
	kept_bytes = 0;
	kept_digest = CS_HASH_START;
}

void
cs_log_lines(const char *text)
{
	int saved = errno;
	char *lines = NULL;
	size_t bytes;
	FILE *out = open_memstream(&lines, &bytes);
	for (size_t length; out && *text; text += length) {
		length = strcspn(text, "\n");
		fprintf(out, "collshim: %.*s\n", (int)length, text);
		length += text[length] == '\n';
	}
	if (out && fclose(out) == 0) {
		cs_printable_make(lines, true);
		(void)cs_file_write(STDERR_FILENO, lines, bytes);
	}
	free(lines);
	errno = saved;
}

void
cs_log_warn(_Atomic int *warned, const char *format, ...)
{
	if ((!speaker && !is_keeping) || atomic_exchange(warned, 1))
		return;
	va_list arguments;
	va_start(arguments, format);
	(is_keeping ? keep_line : write_line)(format, arguments);
	va_end(arguments);
}

void
cs_log_warn_local(_Atomic int *warned, const char *format, ...)
{
	if (atomic_exchange(warned, 1))
		return;
	va_list arguments;
	va_start(arguments, format);
	write_line(format, arguments);
	va_end(arguments);
}

void
cs_log_info(const char *format, ...)
{
	if (verbosity < 1)
		return;
	va_list arguments;
	va_start(arguments, format);
	write_line(format, arguments);
	va_end(arguments);
}

void
cs_log_drain(void)
{
	struct stat stat;
	struct timespec start, now;
	int unread = 0;
	if (fstat(STDERR_FILENO, &stat) || !S_ISFIFO(stat.st_mode))
		return;
	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		if (ioctl(STDERR_FILENO, FIONREAD, &unread) || !unread)
			return;
		sched_yield();
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec - start.tv_sec < 2);
}
