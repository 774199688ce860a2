/* base/log.h — lines on stderr. A guest is silent by default and keeps errno.
 *
 * A warning says what happened and what we do now; it appears once per call site and process, and
 * only in a process that speaks for the job (see cs_log_set_speaker). Nothing is ever written to
 * stdout. */
#ifndef CS_BASE_LOG_H
#define CS_BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Before the rank is known a process speaks if the launcher's environment calls it rank 0, or says
 * nothing. */
void cs_log_set_speaker(bool is_speaker);
bool cs_log_is_speaker(void);

/* A number that all processes of this job know, and no other job; 0, as at first: there is none. */
void cs_log_set_job(uint64_t job);
/* True for the first process of the job on this node that asks with this reason, a number; true for
 * all if that cannot be known. For troubles that several processes could report without knowing of
 * each other. */
bool cs_log_is_first(unsigned reason);

/* A process that does not yet know whether others have the same trouble keeps its lines: from here
 * on those of cs_warn_once are neither written nor dropped. Not for more than one thread at a
 * time. */
void cs_log_keep(void);
/* Ends cs_log_keep. Returns the digest of the kept lines, the same for the same lines; 0: no
 * lines. */
uint64_t cs_log_kept(void);
/* Writes the kept lines, each between these two texts, and forgets them; cs_log_forget only forgets
 * them. */
void cs_log_tell(const char *before, const char *after);
void cs_log_forget(void);

/* Before a job is ended: a launcher that reads stderr by a pipe may be told to end before it has
 * read the last line. Waits until it has, two seconds at most; at once if stderr is no pipe. */
void cs_log_drain(void);

/* Words by which a program knows a line, whatever its sentence (docs/failure-model.md). */
#define CS_UNSERVED_JOB " [unserved:job]"
#define CS_UNSERVED_COMM " [unserved:communicator]"
#define CS_IGNORED " [ignored:%s]" /* a collective's forcing variable, or "tuning" */
#define CS_UNMET " [unmet:%s]"     /* a collective's, by calls that what it names cannot serve */

/* Room name to begin each line, then printf's format (%m allowed: errno is the caller's). Adds the
 * newline. */
#define cs_warn_once(...)                                                                          \
	do {                                                                                       \
		static _Atomic int cs_warned_here;                                                 \
		cs_log_warn(&cs_warned_here, __VA_ARGS__);                                         \
	} while (0)
/* The same, from this process whether or not it speaks for the job: for a trouble that only it can
 * see. */
#define cs_warn_local(...)                                                                         \
	do {                                                                                       \
		static _Atomic int cs_warned_here;                                                 \
		cs_log_warn_local(&cs_warned_here, __VA_ARGS__);                                   \
	} while (0)
/* Shown only with COLLSHIM_VERBOSE=1 or more (set by base/settings through
 * cs_log_set_verbosity). */
#define cs_info(...) cs_log_info(__VA_ARGS__)

/* Lines of any length, each time and whoever speaks, with one write(2). Nothing without memory. */
void cs_log_lines(const char *text);
void cs_log_warn(_Atomic int *warned, const char *format,
		 ...) __attribute__((format(printf, 2, 3)));
void cs_log_warn_local(_Atomic int *warned, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void cs_log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void cs_log_set_verbosity(int level);

#endif
