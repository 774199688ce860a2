/* base/file.h — text to files and from them, in a process that is not ours: no signal, no waiting
 * without end, nothing half-written. */
#ifndef CS_BASE_FILE_H
#define CS_BASE_FILE_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* Writes all `bytes` at `text`; false with errno set. A pipe without a reader is an error like
 * others, and raises no SIGPIPE; EAGAIN if the descriptor does not block and the pipe's reader
 * takes nothing for two seconds. */
bool cs_file_write(int file, const char *text, size_t bytes);

/* Makes `text` the content of `path`; false with errno set. A reader sees the old file or the whole
 * new one, which is as readable as the old one was, or for its owner alone. Others may write to the
 * folder, too: the unfinished file has a name that cannot be guessed, and a link at `path` is
 * followed only if it is ours or root's, else the link itself is replaced. A device or a pipe is
 * written to as it is; a pipe without a reader is ENXIO. A file is also written to as it is if no
 * other can be made beside it. */
bool cs_file_replace(const char *path, const char *text, size_t bytes);

/* Like cs_file_replace, but the old file stays as it is until the new one is whole and synced to
 * the disk (fsync), so that a crash leaves one or the other. Fails for a file of another user or
 * without write permission (EACCES), and for what is no regular file (EINVAL). */
bool cs_file_renew(const char *path, const char *text, size_t bytes);

/* Waits, five seconds at most, for the lock on `path` among processes: an flock of the file
 * `path`.lock, which is created and stays. Returns a descriptor; closing it, or the end of the
 * process, frees the lock. -1 with errno set: EAGAIN if the lock was held all the time. On a file
 * system without flock nobody waits. */
int cs_file_lock(const char *path);

/* Like cs_file_replace, but a file that exists and is not empty stays as it is: the text then goes
 * to `path`.2, or the first such number that is free. Returns the number, 1 for `path` itself; 0
 * with errno set. */
unsigned cs_file_add(const char *path, const char *text, size_t bytes);

/* Opens a new, empty file for writing: `path`, or where there is something of that name `path`.2,
 * or the first such number that is free, in *number (1 for `path` itself). Links are not followed,
 * and only its owner may read it. Returns the descriptor, or -1 with errno set. */
int cs_file_create(const char *path, unsigned *number);

/* Reads a regular file of up to `most` bytes, and a 0 behind them, into memory that is the
 * caller's. CS_NO_MEMORY, or CS_SYSTEM with errno set: EFBIG if there are more, EINVAL if it is no
 * regular file. */
CS_CHECKED enum cs_status cs_file_read(const char *path, size_t most, char **text, size_t *bytes);

#endif
