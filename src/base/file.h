/* base/file.h — text to files, in a process that is not ours: no signal, no waiting without end, nothing half-written. */
#ifndef CS_BASE_FILE_H
#define CS_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* All of the `bytes` at `text`, or false with errno set. A pipe that nobody reads any more is an error like others, and no
 * signal that would end the program; one whose reader takes nothing for two seconds, where the descriptor does not block, is
 * EAGAIN. */
bool cs_file_write(int file, const char *text, size_t bytes);

/* Makes `text` the content of `path`; false with errno set. A reader sees the old file or the whole new one. What is not a
 * plain file (a device, a pipe, a link) must not be replaced by one, so that is written to as it is, and a pipe without a reader
 * is ENXIO. A file is also written to as it is where another cannot be made beside it. */
bool cs_file_replace(const char *path, const char *text, size_t bytes);

#endif
