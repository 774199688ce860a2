/* base/process.h — other processes of this machine, by /proc. */
#ifndef CS_BASE_PROCESS_H
#define CS_BASE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

/* Reads the first bytes of /proc/PID/NAME, room - 1 at most, and puts a 0 behind them. Returns how
 * many; 0: it cannot be read. */
size_t cs_process_read(const char *pid, const char *name, char *text, size_t room);

/* The parent of a process; 0: not known. */
long cs_process_parent(const char *pid);

/* Does a process have a file mapped with `part` in its path? True, too, if its mappings cannot be
 * read. */
bool cs_process_has_mapped(const char *pid, const char *part);

#endif
