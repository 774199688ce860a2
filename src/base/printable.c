/* base/printable.c — makes any bytes fit for one line of a terminal. */
#include "base/printable.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define PART_BYTES 4096

/* The beginning of a character whose rest comes with the next bytes. */
struct stream {
	int file;
	char begun[4];
	size_t begun_bytes;
};

static bool
write_all(int file, const char *text, size_t bytes)
{
	while (bytes > 0) {
		ssize_t n = write(file, text, bytes);
		if (n < 0 && errno != EINTR)
			return false;
		if (n > 0) {
			text += n;
			bytes -= (size_t)n;
		}
	}
	return true;
}

/* Number of bytes at the end that begin an incomplete character. */
static size_t
begun_at_end(const char *text, size_t bytes)
{
	for (size_t back = 1; back <= 3 && back <= bytes; back++) {
		unsigned char byte = (unsigned char)text[bytes - back];
		if ((byte & 0xc0) == 0x80)
			continue;
		size_t length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
		return length > back ? back : 0;
	}
	return 0;
}

static ssize_t
write_printable(void *cookie, const char *text, size_t bytes)
{
	struct stream *stream = cookie;
	char part[PART_BYTES + sizeof stream->begun + 1];
	for (size_t done = 0; done < bytes;) {
		size_t used = stream->begun_bytes, more = bytes - done < PART_BYTES
							  ? bytes - done : PART_BYTES;
		memcpy(part, stream->begun, used);
		memcpy(part + used, text + done, more);
		used += more;
		done += more;
		stream->begun_bytes = begun_at_end(part, used);
		memcpy(stream->begun, part + used - stream->begun_bytes, stream->begun_bytes);
		used -= stream->begun_bytes;
		for (char *at = part; (at = memchr(at, '\0', used - (size_t)(at - part)));)
			*at = '?';
		part[used] = '\0';
		cs_printable_make(part, true);
		if (!write_all(stream->file, part, used))
			return 0;
	}
	return (ssize_t)bytes;
}

FILE *
cs_printable_stream(int file)
{
	static struct stream streams[2];
	struct stream *stream = &streams[file == STDERR_FILENO];
	*stream = (struct stream){ .file = file };
	FILE *out = fopencookie(stream, "w", (cookie_io_functions_t){ .write = write_printable });
	if (out)
		setvbuf(out, NULL, file == STDERR_FILENO ? _IONBF : isatty(file) ? _IOLBF : _IOFBF,
			BUFSIZ);
	return out;
}
