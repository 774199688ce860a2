
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool speaker = true;
static int verbosity;

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

/* One write(2) a line, so that lines of several ranks do not mix. */
static void
write_line(const char *format, va_list arguments)
{
	int saved = errno;
	char line[1024] = "collshim: ";
	size_t used = strlen(line);
	errno = saved; /* for %m */
	int more = vsnprintf(line + used, sizeof line - used - 1, format, arguments);
	if (more > 0)
		used += (size_t)more < sizeof line - used - 1 ? (size_t)more : sizeof line - used - 2;
	line[used++] = '\n';
	size_t done = 0;
	while (done < used) {
		ssize_t n = write(STDERR_FILENO, line + done, used - done);
		if (n < 0 && errno != EINTR)
			break;
		if (n > 0)
			done += (size_t)n;
	}
	errno = saved;
}

void
cs_log_warn(_Atomic int *warned, const char *format, ...)
{
	if (!speaker || atomic_exchange(warned, 1))
		return;
	va_list arguments;
	va_start(arguments, format);
	write_line(format, arguments);
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
